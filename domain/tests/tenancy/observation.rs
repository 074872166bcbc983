//! What the adapters of a correct process would see of the model: the parts that a round asks for, and no more.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::tenancy::facts::{
    DatabaseFact, EntryFact, Facts, InstanceFact, InstanceView, LoginFact, Projection,
    ProjectionFact, ProjectionReady, SecretFact, Seen, ServerFacts, Wants,
};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::reason::Reason;

use crate::world::{ADMIN, InstanceState, World};

pub fn seen<T>(asked: bool, down: bool, value: impl FnOnce() -> T) -> Seen<T> {
    match (asked, down) {
        (false, _) => Seen::NotAsked,
        (true, true) => Seen::Failed(Failure::new(Class::Unavailable, "no answer in time")),
        (true, false) => Seen::Known(value()),
    }
}

impl World {
    /// What the adapters see of the parts that are asked for.
    pub fn observe(&self, wants: Wants) -> Facts {
        let server = seen(wants.server, self.server_down, || self.server_facts());
        let ours = match &server {
            Seen::Known(facts) => domain::tenancy::proof::own_database(facts).is_some(),
            _ => false,
        };
        Facts {
            instance: self.instance_fact(wants),
            inside: self.inside_fact(wants.inside && ours),
            server,
            entry: seen(wants.entry, self.bao_down, || self.entry_fact()),
            projection: seen(wants.projection, false, || self.projection_fact()),
            secret: seen(wants.secret, false, || self.secret_fact()),
            login: self.login_fact(wants.login),
        }
    }

    fn instance_fact(&self, wants: Wants) -> InstanceFact {
        let view = InstanceView {
            uid: self.instance_uid.clone(),
            name: self.instance_name.clone(),
            endpoint: self.endpoint(),
        };
        let not_ready = |view, reason: Reason| InstanceFact::NotReady {
            view,
            reason: reason.as_str().to_owned(),
        };
        match self.instance {
            InstanceState::Absent => InstanceFact::Absent,
            InstanceState::Unreadable => InstanceFact::Unreadable,
            InstanceState::Deleting => InstanceFact::Deleting(view),
            InstanceState::NotReady => not_ready(Some(view), Reason::AuthenticationFailed),
            InstanceState::Illegal => not_ready(None, Reason::InvalidSpec),
            InstanceState::Revalidating => InstanceFact::Revalidating(view),
            InstanceState::Ready => InstanceFact::Ready {
                view,
                provisioning: seen(wants.provisioning, self.server_down, || {
                    self.refused.clone()
                }),
            },
        }
    }

    fn server_facts(&self) -> ServerFacts {
        let database = self
            .databases
            .get(&self.database_name())
            .map(|database| DatabaseFact {
                oid: database.oid,
                owner_oid: database.owner,
                owned_by_admin: database.owner == ADMIN,
                public_access: database.public_access,
                connectable: database.connectable,
                sessions: database.sessions,
            });
        ServerFacts {
            claim: self.row().cloned(),
            holders: self.holders(),
            role: self
                .roles
                .get(&self.role_name())
                .map(|role| role.fact.clone()),
            database,
            role_is_admin: self.object.draft().effective_login_role() == self.admin_name,
        }
    }

    fn inside_fact(&self, asked: bool) -> Seen<BTreeSet<String>> {
        let Some(database) = self.databases.get(&self.database_name()).filter(|_| asked) else {
            return Seen::NotAsked;
        };
        seen(true, self.server_down || !database.connectable, || {
            database.extensions.clone()
        })
    }

    fn entry_fact(&self) -> EntryFact {
        let Some(entry) = self.entries.get(&self.path()) else {
            return EntryFact::Absent;
        };
        match entry.versions.last() {
            Some(version) if !version.deleted => EntryFact::Present {
                version: entry.versions.len() as u64,
                data: version.owner.clone(),
                metadata: entry.metadata.clone(),
            },
            _ => EntryFact::Deleted {
                metadata: entry.metadata.clone(),
            },
        }
    }

    fn projection_fact(&self) -> ProjectionFact {
        let Some(projected) = self.projections.get(&self.projection_name()) else {
            return ProjectionFact::Absent;
        };
        let applied = self.row().and_then(|row| row.applied_kv_version);
        ProjectionFact::Present(Projection {
            uid: projected.uid.clone(),
            owner: projected.owner.clone(),
            deleting: projected.deleting,
            as_wanted: !projected.tampered && projected.pinned == applied,
            synced: projected.synced,
            ready: match projected.ready {
                None => ProjectionReady::Unknown,
                Some(true) => ProjectionReady::True,
                Some(false) => ProjectionReady::False {
                    age: Duration::from_secs(projected.failing),
                    owned_by_another: projected.owned_by_another,
                    reason: "SecretSyncedError".to_owned(),
                },
            },
            written_age: Duration::from_secs(projected.written),
            force_sync_age: projected.force_sync.map(Duration::from_secs),
        })
    }

    fn secret_fact(&self) -> SecretFact {
        let name = self.object.definition().secret_name.to_string();
        match self.secrets.get(&name) {
            None => SecretFact::Absent,
            Some(Some(owner)) if owner.as_str().starts_with("es-") => {
                SecretFact::OfProjection(owner.clone())
            }
            Some(_) => SecretFact::Foreign,
        }
    }

    pub fn login_fact(&self, asked: bool) -> Seen<LoginFact> {
        let latest = self.entries.get(&self.path()).and_then(|entry| {
            let latest = entry.versions.last().filter(|version| !version.deleted);
            latest.filter(|_| asked && !self.bao_down)
        });
        let Some(latest) = latest else {
            return Seen::NotAsked;
        };
        seen(true, self.server_down, || {
            let role = self.roles.get(&self.role_name());
            let database = self.databases.get(&self.database_name());
            match (role, database) {
                (Some(role), Some(_)) if role.verifier != latest.password || role.fact.expired => {
                    LoginFact::WrongPassword
                }
                (Some(role), Some(database)) if role.fact.can_login && database.connectable => {
                    LoginFact::Accepted
                }
                _ => LoginFact::NotPermitted("not permitted (28000)".to_owned()),
            }
        })
    }
}
