//! A living Tenant's round: facts in, one step out.
//!
//! Decides which parts to observe in each phase and what the next step is (contract, section 7). [`Tenant::decide`] is total
//! and deterministic, and it never asks for an effect whose phase is not saved yet. Phases up to `RoleCreated` are in
//! `creating`, those of the ExternalSecret in `projecting`, the final proof and drift are in `ready`, proofs of ownership are in `ownership`. It performs nothing.

// `Err` is a step too, the one that ends the round early; it is made once and handed on.
#![allow(clippy::result_large_err)]

mod creating;
mod ownership;
mod projecting;
mod ready;

use super::effect::TenantEffect;
use super::facts::{Facts, InstanceFact, Seen, Wants};
use super::failure::{Class, Failure};
use super::reason::{Ready, Reason, Retry};
use crate::violation::Violations;

use super::tenant::{
    DeletionPolicy, SecretLayout, TenantDefinition, TenantIdentity, TenantPhase, TenantStatus,
};

/// What a round does next; exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Save this status, which differs from the saved one.
    Save {
        /// The whole status.
        status: TenantStatus,
        /// What follows once it is saved.
        then: Then,
    },
    /// Perform one effect, then observe again.
    Effect(TenantEffect),
    /// Nothing to write.
    Rest {
        /// When to look again.
        retry: Retry,
        /// Something that people should know though the condition stays as it is.
        notice: Option<String>,
    },
}

/// What follows a saved status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next round, at once, from the object that the API server returned.
    Continue,
    /// A pause.
    Rest(Retry),
}

/// A living Tenant in one round.
#[derive(Clone, Debug)]
pub struct Tenant {
    identity: TenantIdentity,
    revision: i64,
    definition: TenantDefinition,
    saved: TenantStatus,
    finalizer: bool,
    layout: SecretLayout,
}

impl Tenant {
    /// The Tenant of this round: `revision` is `metadata.generation`, `saved` the stored status, `finalizer` whether ours is on.
    #[must_use]
    pub fn reconstitute(
        identity: TenantIdentity,
        revision: i64,
        definition: TenantDefinition,
        saved: TenantStatus,
        finalizer: bool,
        layout: SecretLayout,
    ) -> Self {
        Self {
            identity,
            revision,
            definition,
            saved,
            finalizer,
            layout,
        }
    }

    /// Which Tenant it is.
    #[must_use]
    pub fn identity(&self) -> &TenantIdentity {
        &self.identity
    }

    /// Its spec with effective values.
    #[must_use]
    pub fn definition(&self) -> &TenantDefinition {
        &self.definition
    }

    /// The stored status.
    #[must_use]
    pub fn saved(&self) -> &TenantStatus {
        &self.saved
    }

    /// Where its entry is, while there is no claim that says so.
    #[must_use]
    pub fn derived_path(&self) -> String {
        self.layout.path(&self.identity)
    }

    /// Which parts this phase needs to see. A wiped status (`Pending`) asks for everything, so what is there is found again.
    #[must_use]
    pub fn wants(&self) -> Wants {
        let nothing = Wants::default();
        let plan = Wants {
            provisioning: true,
            server: true,
            entry: true,
            projection: true,
            secret: true,
            ..nothing
        };
        // A visit inside costs a login, so a Tenant that asks for no extension has none.
        let asks_extensions = !self.definition.extensions.is_empty();
        match self.saved.phase {
            // Judged without looking; see `decide`.
            TenantPhase::Deleting => nothing,
            TenantPhase::Pending => plan,
            TenantPhase::Planned if self.names_differ() => plan,
            TenantPhase::Planned | TenantPhase::CredentialCreated => Wants {
                server: true,
                entry: true,
                ..nothing
            },
            TenantPhase::RoleCreated => Wants {
                server: true,
                inside: asks_extensions,
                ..nothing
            },
            TenantPhase::DatabaseCreated => Wants {
                server: true,
                entry: true,
                projection: true,
                secret: true,
                ..nothing
            },
            TenantPhase::ExternalSecretCreated => Wants {
                entry: true,
                projection: true,
                ..nothing
            },
            TenantPhase::CredentialProjected | TenantPhase::Ready => Wants {
                server: true,
                inside: asks_extensions,
                entry: true,
                projection: true,
                login: true,
                ..nothing
            },
        }
    }

    /// The next step. Total and deterministic (I12): the same Tenant and the same facts give the same step.
    #[must_use]
    pub fn decide(&self, facts: &Facts) -> Step {
        if self.saved.phase == TenantPhase::Deleting {
            // Forged or left over on an object that is not being deleted. It freezes the spec, so it goes before anything that
            // a person would have to cure by an edit; the rest is rebuilt from the facts (C7).
            return self.advance(
                TenantPhase::Pending,
                "not being deleted: reading everything again",
            );
        }
        if let Some(step) = self.keep_finalizer_in_step() {
            return step;
        }
        if let Some(step) = self.instance_gate(facts) {
            return step;
        }
        let step = match self.saved.phase {
            TenantPhase::Pending | TenantPhase::Deleting => self.pending(facts),
            TenantPhase::Planned => self.planned(facts),
            TenantPhase::CredentialCreated => self.credential_created(facts),
            TenantPhase::RoleCreated => self.role_created(facts),
            TenantPhase::DatabaseCreated => self.database_created(facts),
            TenantPhase::ExternalSecretCreated => self.external_secret_created(facts),
            TenantPhase::CredentialProjected | TenantPhase::Ready => self.verify(facts),
        };
        step.unwrap_or_else(|conclusion| conclusion)
    }

    /// What follows when an effect failed.
    #[must_use]
    pub fn after_failure(&self, failure: &Failure) -> Step {
        match failure.class {
            Class::Stale => rest(Retry::Backoff),
            // Nothing can be made in a terminating namespace, and its Tenants are going anyway: end the round quietly.
            Class::NamespaceTerminating => rest(Retry::Slow),
            Class::Unavailable if self.is_ready() => self.unseen(failure),
            _ => self.conclude_failure(failure),
        }
    }

    /// The finalizer is there exactly while the policy is `Delete`.
    fn keep_finalizer_in_step(&self) -> Option<Step> {
        match (self.definition.policy, self.finalizer) {
            (DeletionPolicy::Delete, false) if self.saved.phase >= TenantPhase::Planned => {
                Some(Step::Effect(TenantEffect::AddFinalizer))
            }
            (DeletionPolicy::Retain, true) => Some(Step::Effect(TenantEffect::RemoveFinalizer)),
            _ => None,
        }
    }

    fn instance_gate(&self, facts: &Facts) -> Option<Step> {
        let name = &self.definition.instance;
        let not_ready =
            |text: String| Some(self.conclude(Reason::InstanceNotReady, text, Retry::Slow));
        match &facts.instance {
            InstanceFact::Absent => not_ready(format!("PostgreSQLInstance {name} does not exist")),
            InstanceFact::Unreadable => not_ready(format!(
                "PostgreSQLInstance {name} cannot be read: an administrator must correct it; Tenantry's log says what is wrong"
            )),
            InstanceFact::Deleting(_) => {
                not_ready(format!("PostgreSQLInstance {name} is being deleted"))
            }
            InstanceFact::NotReady { reason, .. } => {
                not_ready(format!("PostgreSQLInstance {name} is not ready: {reason}"))
            }
            // Not judged yet is not unmet: nothing is written, and the Instance's next status wakes us.
            InstanceFact::Revalidating(_) => Some(rest(Retry::Slow)),
            InstanceFact::Ready {
                provisioning: Seen::Failed(failure),
                ..
            } => Some(self.conclude(
                Reason::InstanceNotReady,
                failure.text.clone(),
                Retry::Backoff,
            )),
            InstanceFact::Ready { .. } => None,
        }
    }

    /// True for a Tenant whose last conclusion was `Ready=True`.
    fn is_ready(&self) -> bool {
        self.saved.phase == TenantPhase::Ready
            && self
                .saved
                .ready
                .as_ref()
                .is_some_and(|ready| ready.reason == Reason::Ready)
    }

    /// True if status records names that are not the effective ones.
    fn names_differ(&self) -> bool {
        let named = self.named();
        named.database != self.saved.database
            || named.login_role != self.saved.login_role
            || named.secret_name != self.saved.secret_name
    }

    /// The saved status with the effective names.
    fn named(&self) -> TenantStatus {
        TenantStatus {
            database: Some(self.definition.database.to_string()),
            login_role: Some(self.definition.role.to_string()),
            secret_name: Some(self.definition.secret_name.to_string()),
            ..self.saved.clone()
        }
    }

    /// On to another phase; the conclusion of the last round no longer describes what is going on. The recorded names stay:
    /// they are what an edit is compared with (D3), so only a plan or a proved claim may set them.
    fn advance(&self, phase: TenantPhase, message: &str) -> Step {
        let status = TenantStatus {
            phase,
            ready: Some(Ready::new(Reason::Reconciling, message)),
            ..self.saved.clone()
        };
        self.save(status, Then::Continue)
    }

    /// A known result; the phase stays.
    fn conclude(&self, reason: Reason, message: impl Into<String>, retry: Retry) -> Step {
        let status = TenantStatus {
            observed_generation: Some(self.revision),
            ready: Some(Ready::new(reason, message)),
            ..self.saved.clone()
        };
        self.save(status, Then::Rest(retry))
    }

    fn conclude_failure(&self, failure: &Failure) -> Step {
        let reason = Reason::of_tenant_failure(failure.class);
        self.conclude(reason, failure.text.clone(), reason.retry())
    }

    /// A part could not be seen: a `Ready` Tenant stays `True`, one in creation says so.
    fn unseen(&self, failure: &Failure) -> Step {
        if self.is_ready() {
            return Step::Rest {
                retry: Retry::Backoff,
                notice: Some(failure.text.clone()),
            };
        }
        self.conclude_failure(failure)
    }

    fn save(&self, status: TenantStatus, then: Then) -> Step {
        save_unless_equal(&self.saved, status, then)
    }
}

/// What follows when the spec itself is illegal (the webhook was away when it came): said, and nothing else is done.
#[must_use]
pub fn invalid_spec(saved: &TenantStatus, revision: i64, violations: &Violations) -> Step {
    let reason = Reason::InvalidSpec;
    let status = TenantStatus {
        observed_generation: Some(revision),
        ready: Some(Ready::new(reason, violations.to_string())),
        ..saved.clone()
    };
    save_unless_equal(saved, status, Then::Rest(reason.retry()))
}

/// A step that saves, or the pause after it if nothing would change: equal status is never written.
pub(super) fn save_unless_equal(saved: &TenantStatus, status: TenantStatus, then: Then) -> Step {
    if status != *saved {
        return Step::Save { status, then };
    }
    match then {
        Then::Rest(retry) => rest(retry),
        Then::Continue => rest(Retry::Backoff),
    }
}

pub(super) fn rest(retry: Retry) -> Step {
    Step::Rest {
        retry,
        notice: None,
    }
}
