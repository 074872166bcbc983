//! What a round knows of a Tenant's world, and how much of it still holds in the next round.
//!
//! Decides what need not be read again: a save changes nothing that is seen here, an effect changes the store that it writes to
//! and what was judged by it, and nothing is believed for long.

use std::time::{Duration, Instant};

use domain::tenancy::effect::TenantEffect;
use domain::tenancy::facts::{Facts, InstanceFact, Seen, Wants};
use secrecy::SecretString;

use crate::adapters::postgres::ServerTarget;

/// How old a fact may be when it is decided upon; each write proves again what it builds on (T3).
const MOST_AGE: Duration = Duration::from_secs(5);

/// The facts of a round, and what carrying out its effect needs beside them.
pub(super) struct Sight {
    /// For the domain.
    pub(super) facts: Facts,
    /// The server of the Tenant's Instance.
    pub(super) target: Option<ServerTarget>,
    /// The stored password.
    pub(super) password: Option<SecretString>,
    /// The resourceVersion at which the ExternalSecret was seen.
    pub(super) projection_version: Option<String>,
    /// When the oldest of it was read.
    since: Instant,
}

impl Sight {
    /// Nothing is known but the Instance.
    pub(super) fn blank(instance: InstanceFact) -> Self {
        Self {
            facts: Facts {
                instance,
                server: Seen::NotAsked,
                inside: Seen::NotAsked,
                entry: Seen::NotAsked,
                projection: Seen::NotAsked,
                secret: Seen::NotAsked,
                login: Seen::NotAsked,
            },
            target: None,
            password: None,
            projection_version: None,
            since: Instant::now(),
        }
    }

    /// What still holds in the round after this one; blank if the Instance is another by now, since the rest was judged by it.
    pub(super) fn continued(earlier: Option<Self>, instance: InstanceFact) -> Self {
        match earlier {
            Some(earlier)
                if earlier.facts.instance.view() == instance.view()
                    && earlier.since.elapsed() < MOST_AGE =>
            {
                Self {
                    facts: Facts {
                        instance,
                        ..earlier.facts
                    },
                    ..earlier
                }
            }
            _ => Self::blank(instance),
        }
    }

    /// What an effect left as it was: the stores that it did not write to. After one that removes something, nothing.
    pub(super) fn after(self, effect: &TenantEffect) -> Option<Self> {
        use TenantEffect as Effect;
        let (server, entry) = match effect {
            Effect::AddFinalizer => return Some(self),
            Effect::WriteEntry | Effect::WriteEntryMetadata => (true, false),
            Effect::Claim
            | Effect::CreateRole
            | Effect::SetVerifier
            | Effect::RepairRole
            | Effect::CreateDatabase
            | Effect::CloseDatabase
            | Effect::RepairDatabase
            | Effect::CreateExtension(_)
            | Effect::RecordDatabase => (false, true),
            Effect::ApplyProjection | Effect::ForceSync => (true, true),
            _ => return None,
        };
        let mut kept = Self::blank(self.facts.instance);
        kept.since = self.since;
        kept.target = self.target;
        if server {
            kept.facts.server = self.facts.server;
        }
        if entry {
            kept.facts.entry = self.facts.entry;
            kept.password = self.password;
        }
        Some(kept)
    }

    /// What of `wants` is not known yet.
    pub(super) fn still_wanted(&self, wants: Wants) -> Wants {
        let facts = &self.facts;
        Wants {
            provisioning: wants.provisioning,
            server: wants.server && !is_known(&facts.server),
            inside: wants.inside && !is_known(&facts.inside),
            entry: wants.entry && !is_known(&facts.entry),
            projection: wants.projection && !is_known(&facts.projection),
            secret: wants.secret && !is_known(&facts.secret),
            login: wants.login && !is_known(&facts.login),
        }
    }
}

fn is_known<T>(part: &Seen<T>) -> bool {
    matches!(part, Seen::Known(_))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use domain::tenancy::endpoint::{AddressPolicy, EndpointDraft};
    use domain::tenancy::facts::{
        EntryFact, InstanceView, LoginFact, ProjectionFact, SecretFact, ServerFacts,
    };
    use domain::tenancy::failure::{Class, Failure};
    use domain::tenancy::names::Uid;
    use domain::violation::FieldPath;

    use super::*;

    const ALL: Wants = Wants {
        provisioning: true,
        server: true,
        inside: true,
        entry: true,
        projection: true,
        secret: true,
        login: true,
    };

    fn instance(port: i64) -> InstanceFact {
        let draft = EndpointDraft {
            host: "pg.example.org",
            hostaddr: "10.0.0.1",
            port,
            database: "postgres",
            ssl_mode: "verify-full",
        };
        let (path, policy) = (FieldPath::new("spec"), AddressPolicy::denying(Vec::new()));
        let endpoint = draft.parse(&path, &policy, &mut Vec::new());
        InstanceFact::Ready {
            view: InstanceView {
                uid: Uid::new("i"),
                name: "shared".to_owned(),
                endpoint: endpoint.unwrap(),
            },
            provisioning: Seen::Known(Vec::new()),
        }
    }

    fn seen() -> Sight {
        let mut sight = Sight::blank(instance(5432));
        sight.facts.server = Seen::Known(ServerFacts::default());
        sight.facts.entry = Seen::Known(EntryFact::Absent);
        sight.facts.projection = Seen::Known(ProjectionFact::Absent);
        sight.facts.secret = Seen::Known(SecretFact::Absent);
        sight.facts.login = Seen::Known(LoginFact::Accepted);
        sight.password = Some("pw".into());
        sight
    }

    #[test]
    fn a_save_leaves_what_was_seen_and_only_the_rest_is_read() {
        let next = Sight::continued(Some(seen()), instance(5432));
        let left = Wants {
            provisioning: true,
            inside: true,
            ..Wants::default()
        };
        assert_eq!(next.still_wanted(ALL), left);
        assert_eq!(next.still_wanted(Wants::default()), Wants::default());
        assert!(next.password.is_some());
    }

    #[test]
    fn what_failed_is_read_again() {
        let mut sight = seen();
        sight.facts.entry = Seen::Failed(Failure::new(Class::Unavailable, "sealed"));
        assert!(sight.still_wanted(ALL).entry);
    }

    #[test]
    fn another_instance_or_time_makes_everything_unknown() {
        let moved = Sight::continued(Some(seen()), instance(5433));
        assert_eq!(moved.still_wanted(ALL), ALL);
        assert!(moved.password.is_none());
        let mut old = seen();
        old.since = old.since.checked_sub(MOST_AGE).unwrap();
        let late = Sight::continued(Some(old), instance(5432));
        assert_eq!(late.still_wanted(ALL), ALL);
    }

    #[test]
    fn t3_an_effect_makes_unknown_what_it_writes_to_and_what_was_judged_by_it() {
        let left = |effect: TenantEffect| seen().after(&effect).unwrap().still_wanted(ALL);
        let after_server = left(TenantEffect::CreateRole);
        assert!(after_server.server && !after_server.entry);
        let after_entry = left(TenantEffect::WriteEntry);
        assert!(!after_entry.server && after_entry.entry);
        let after_projection = left(TenantEffect::ApplyProjection);
        assert!(!after_projection.server && !after_projection.entry);
        for wants in [after_server, after_entry, after_projection] {
            assert!(wants.projection && wants.secret && wants.inside && wants.login);
        }
        let written = seen().after(&TenantEffect::WriteEntry).unwrap();
        assert!(written.password.is_none());
        for destructive in [
            TenantEffect::DropDatabase,
            TenantEffect::DestroyEntry,
            TenantEffect::FreezePolicy,
        ] {
            assert!(seen().after(&destructive).is_none(), "{destructive:?}");
        }
    }
}
