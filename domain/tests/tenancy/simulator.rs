//! Rounds of the real decision functions on the model: observe what is wanted, decide, do it, and check the standing rules.

use std::collections::BTreeSet;

use domain::tenancy::decide::{Step, Then};
use domain::tenancy::effect::{TenantEffect, tenant_status_id};
use domain::tenancy::facts::{LoginFact, Seen, Wants};
use domain::tenancy::failure::Failure;
use domain::tenancy::names::Uid;
use domain::tenancy::reason::{Reason, Retry};
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase};

use crate::world::{World, uid};

/// More rounds at once than any walk may take.
const ROUNDS_MAX: usize = 60;

/// How a run of rounds ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rested {
    pub retry: Retry,
    pub notice: Option<String>,
}

impl World {
    pub fn wants(&self) -> Wants {
        if self.object.deleting {
            self.object.departing().wants()
        } else {
            self.object.tenant().wants()
        }
    }

    pub fn decide(&self) -> Step {
        let facts = self.observe(self.wants());
        if self.object.deleting {
            self.object.departing().decide(&facts)
        } else {
            self.object.tenant().decide(&facts)
        }
    }

    fn after_failure(&self, failure: &Failure) -> Step {
        if self.object.deleting {
            self.object.departing().after_failure(failure)
        } else {
            self.object.tenant().after_failure(failure)
        }
    }

    /// One round. `Some` if it ended in a pause.
    pub fn round(&mut self) -> Option<Rested> {
        let step = self.decide();
        self.check(&step);
        match step {
            Step::Effect(effect) => {
                self.trace.push(effect.id());
                match self.apply(&effect) {
                    Ok(()) => None,
                    Err(failure) => {
                        let step = self.after_failure(&failure);
                        self.check(&step);
                        self.conclude(step)
                    }
                }
            }
            conclusion => self.conclude(conclusion),
        }
    }

    /// Does what a step that is no effect says.
    pub fn conclude(&mut self, step: Step) -> Option<Rested> {
        match step {
            Step::Save { status, then } => {
                self.trace.push(tenant_status_id(status.phase));
                self.api_writes += 1;
                self.object.status = status;
                match then {
                    Then::Continue => None,
                    Then::Rest(retry) => Some(Rested {
                        retry,
                        notice: None,
                    }),
                }
            }
            Step::Rest { retry, notice } => Some(Rested { retry, notice }),
            Step::Effect(effect) => panic!("an effect as the answer to a failure: {effect:?}"),
        }
    }

    /// Rounds until a pause; more than [`ROUNDS_MAX`] of them is a livelock.
    pub fn run(&mut self) -> Rested {
        for _ in 0..ROUNDS_MAX {
            if let Some(rested) = self.round() {
                return rested;
            }
            if self.object.gone() {
                return Rested {
                    retry: Retry::Slow,
                    notice: None,
                };
            }
        }
        panic!("no pause after {ROUNDS_MAX} rounds: {:?}", self.trace);
    }

    /// Rounds and ESO in turn, until neither has anything to do.
    pub fn converge(&mut self) -> Rested {
        for _ in 0..ROUNDS_MAX {
            let before = self.trace.len();
            let rested = self.run();
            let settled = self.trace.len() == before;
            if !self.tick() && settled {
                return rested;
            }
        }
        panic!("rounds and ESO never settle: {:?}", self.trace);
    }

    /// ESO and the garbage collector act once; true if anything changed.
    pub fn tick(&mut self) -> bool {
        let before = format!("{:?}{:?}", self.projections, self.secrets);
        self.projections
            .retain(|_, projection| !projection.deleting);
        let living: BTreeSet<Uid> = self.projections.values().map(|p| p.uid.clone()).collect();
        let dead = |owner: &Uid| owner.as_str().starts_with("es-") && !living.contains(owner);
        self.secrets
            .retain(|_, owner| !owner.as_ref().is_some_and(dead));
        if !self.eso_down {
            self.sync();
        }
        before != format!("{:?}{:?}", self.projections, self.secrets)
    }

    fn sync(&mut self) {
        let target = self.object.definition().secret_name.to_string();
        let path = self.path();
        let ours = uid(self.object.identity.uid.as_str());
        let readable = |pinned: Option<u64>| {
            let entry = self.entries.get(&path)?;
            let index = usize::try_from(pinned?).ok()?.checked_sub(1)?;
            entry.versions.get(index).filter(|version| !version.deleted)
        };
        for projection in self.projections.values_mut() {
            if projection.owner.as_ref() != Some(&ours) {
                continue;
            }
            let forced = projection
                .force_sync
                .is_some_and(|age| age <= projection.failing);
            let backing_off = projection.ready == Some(false) && projection.synced && !forced;
            if backing_off {
                continue;
            }
            let free = self
                .secrets
                .get(&target)
                .is_none_or(|owner| owner.as_ref() == Some(&projection.uid));
            projection.synced = true;
            if free && !self.bao_down && readable(projection.pinned).is_some() {
                projection.ready = Some(true);
                projection.failing = 0;
                self.secrets
                    .insert(target.clone(), Some(projection.uid.clone()));
            } else if projection.ready != Some(false) {
                projection.ready = Some(false);
                projection.failing = 0;
            }
        }
    }

    /// The standing rules, at every step.
    fn check(&self, step: &Step) {
        match step {
            Step::Save { status, .. } => {
                assert_ne!(*status, self.object.status, "a write that changes nothing");
                let ready = status.ready.as_ref();
                if ready.is_some_and(|ready| ready.reason == Reason::Ready) {
                    assert_eq!(self.untrue(), None, "premature Ready: {status:?}");
                    assert_eq!(status.observed_generation, Some(self.object.generation));
                }
                let observed = status.observed_generation;
                assert!(observed.is_none_or(|observed| observed <= self.object.generation));
            }
            Step::Effect(effect) => {
                assert!(
                    intends(self.phase(), effect),
                    "{} in {:?}, whose intent is not saved",
                    effect.id(),
                    self.phase()
                );
                if effect.is_destructive() {
                    self.check_destruction(effect);
                }
            }
            Step::Rest { .. } => {}
        }
    }

    fn check_destruction(&self, effect: &TenantEffect) {
        assert!(self.object.deleting, "{effect:?} on a living tenant");
        let frozen = self.row().and_then(|row| row.frozen_policy);
        let policy = frozen.unwrap_or(self.object.policy);
        assert_eq!(policy, DeletionPolicy::Delete, "{effect:?}");
        let claimed = self
            .row()
            .is_some_and(|row| row.instance_uid == self.instance_uid);
        assert!(
            claimed || *effect == TenantEffect::DeleteProjection,
            "{effect:?}"
        );
    }

    /// What is missing to be truly ready, if anything is.
    pub fn untrue(&self) -> Option<&'static str> {
        let definition = self.object.definition();
        let Some(row) = self.row() else {
            return Some("claim");
        };
        let role = self.roles.get(&row.role);
        let database = self.databases.get(&row.database);
        let (Some(role), Some(database)) = (role, database) else {
            return Some("role or database");
        };
        let projected = self.projections.get(&self.projection_name());
        let login = self.login_fact(true);
        let checks = [
            (row.instance_uid == self.instance_uid, "instance"),
            (
                row.database == definition.database.as_str(),
                "database name",
            ),
            (row.role == definition.role.as_str(), "role name"),
            (row.role_oid == Some(role.fact.oid), "role"),
            (role.fact.can_login, "LOGIN"),
            (database.owner == role.fact.oid, "owner"),
            (row.database_oid == Some(database.oid), "database"),
            (!database.public_access, "public"),
            (
                definition
                    .extensions
                    .iter()
                    .all(|name| database.extensions.contains(name.as_str())),
                "extensions",
            ),
            (
                projected.is_some_and(|p| p.ready == Some(true) && !p.tampered),
                "projection",
            ),
            (
                self.secrets.contains_key(definition.secret_name.as_str()),
                "secret",
            ),
            (login == Seen::Known(LoginFact::Accepted), "login"),
        ];
        checks.iter().find(|(met, _)| !met).map(|(_, what)| *what)
    }
}

/// True if the saved phase is the one whose work the effect is.
pub fn intends(phase: TenantPhase, effect: &TenantEffect) -> bool {
    use TenantEffect as E;
    use TenantPhase as P;
    let phases: &[P] = match effect {
        E::AddFinalizer => return phase >= P::Planned && phase != P::Deleting,
        E::RemoveFinalizer => return true,
        E::Claim | E::WriteEntry | E::WriteEntryMetadata => &[P::Planned],
        E::CreateRole | E::RepairRole => &[P::CredentialCreated],
        E::SetVerifier => &[P::CredentialCreated, P::CredentialProjected],
        E::CreateDatabase
        | E::CloseDatabase
        | E::RepairDatabase
        | E::CreateExtension(_)
        | E::RecordDatabase => &[P::RoleCreated],
        E::ApplyProjection => &[P::DatabaseCreated],
        E::ForceSync => &[P::ExternalSecretCreated, P::CredentialProjected, P::Ready],
        E::MarkUnmanaged(_) => &[P::Pending, P::Planned, P::Deleting],
        E::FreezePolicy
        | E::DeleteProjection
        | E::ForbidLogin
        | E::EndSessions
        | E::DropDatabase
        | E::DropRole
        | E::DestroyEntry
        | E::ReleaseClaim => &[P::Deleting],
    };
    phases.contains(&phase)
}
