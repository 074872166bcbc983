//! Arbitrary worlds, facts and edits: combinations that no correct adapter would ever show, too.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::tenancy::capability::{CapabilityObservation, Check, RegistryState};
use domain::tenancy::claim::{Claim, ClaimState};
use domain::tenancy::facts::{
    DatabaseFact, EntryFact, EntryOwner, Facts, Holder, InstanceFact, InstanceView, LoginFact,
    Projection, ProjectionFact, ProjectionReady, RoleFact, SecretFact, Seen, ServerFacts,
};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use domain::tenancy::reason::{Ready, Reason};
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase, TenantStatus};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{Object, World, uid};

fn one<T: Clone + std::fmt::Debug + 'static>(values: &[T]) -> BoxedStrategy<T> {
    select(values.to_vec()).boxed()
}

fn a_uid() -> BoxedStrategy<Uid> {
    one(&[uid("tenant-uid"), uid("tenant-uid"), uid("someone")])
}

fn an_instance_uid() -> BoxedStrategy<Uid> {
    one(&[uid("instance-uid"), uid("instance-uid"), uid("another")])
}

fn a_name() -> BoxedStrategy<String> {
    one(&["netbox".to_owned(), "netbox".to_owned(), "other".to_owned()])
}

fn an_oid() -> BoxedStrategy<u32> {
    one(&[1, 2])
}

pub fn failure() -> BoxedStrategy<Failure> {
    one(&[
        Class::Unavailable,
        Class::Authentication,
        Class::Privileges,
        Class::Misconfigured,
        Class::Conflict,
        Class::NotInstallable,
        Class::Blocked,
        Class::ProjectionUnsupported,
        Class::NamespaceTerminating,
        Class::Stale,
        Class::Rejected,
    ])
    .prop_map(|class| Failure::new(class, "why"))
    .boxed()
}

fn seen<T: Clone + std::fmt::Debug + 'static>(value: BoxedStrategy<T>) -> BoxedStrategy<Seen<T>> {
    prop_oneof![
        1 => Just(Seen::NotAsked),
        1 => failure().prop_map(Seen::Failed),
        8 => value.prop_map(Seen::Known),
    ]
    .boxed()
}

fn claim() -> BoxedStrategy<Claim> {
    let ours = (a_uid(), an_instance_uid(), a_name(), a_name(), a_name());
    let made = (of(an_oid()), of(an_oid()), of(1_u64..3), of(0_u64..1200));
    let rest = (
        one(&[
            ClaimState::Managed,
            ClaimState::Unmanaged,
            ClaimState::Deleting,
        ]),
        one(&[
            None,
            Some(DeletionPolicy::Retain),
            Some(DeletionPolicy::Delete),
        ]),
        any::<bool>(),
    );
    (ours, made, rest)
        .prop_map(|(ours, made, (state, frozen_policy, extension))| Claim {
            cluster_uid: uid("cluster"),
            tenant_uid: ours.0,
            instance_uid: ours.1,
            namespace: "team".to_owned(),
            name: "netbox".to_owned(),
            database: ours.2,
            role: ours.3,
            secret_name: if ours.4 == "netbox" {
                "shared-netbox-postgresql".to_owned()
            } else {
                ours.4
            },
            secret_path: "tenants/team/netbox".to_owned(),
            role_oid: made.0,
            database_oid: made.1,
            extensions: extension
                .then(|| "pg_trgm".to_owned())
                .into_iter()
                .collect(),
            applied_kv_version: made.2,
            resent_age: made.3.map(Duration::from_secs),
            state,
            frozen_policy,
        })
        .boxed()
}

fn role() -> BoxedStrategy<RoleFact> {
    (an_oid(), any::<[bool; 4]>(), of(a_uid()))
        .prop_map(|(oid, flags, comment_uid)| RoleFact {
            oid,
            can_login: flags[0],
            expired: flags[1],
            superuser: flags[2],
            comment_uid,
            admin_is_member: flags[3],
        })
        .boxed()
}

fn database() -> BoxedStrategy<DatabaseFact> {
    (an_oid(), an_oid(), any::<[bool; 3]>(), 0_u32..2)
        .prop_map(|(oid, owner_oid, flags, sessions)| DatabaseFact {
            oid,
            owner_oid,
            owned_by_admin: flags[0],
            public_access: flags[1],
            connectable: flags[2],
            sessions,
        })
        .boxed()
}

fn server() -> BoxedStrategy<ServerFacts> {
    let holder = (claim(), of(any::<bool>())).prop_map(|(claim, alive)| Holder { claim, alive });
    let holders = prop_oneof![4 => Just(Vec::new()), 1 => proptest::collection::vec(holder, 1..3)];
    let claim = prop_oneof![1 => Just(None), 4 => claim().prop_map(Some)];
    (
        claim,
        holders,
        of(role()),
        of(database()),
        proptest::bool::weighted(0.1),
    )
        .prop_map(
            |(claim, holders, role, database, role_is_admin)| ServerFacts {
                claim,
                holders,
                role,
                database,
                role_is_admin,
            },
        )
        .boxed()
}

fn entry() -> BoxedStrategy<EntryFact> {
    let owner =
        (a_uid(), an_instance_uid(), one(&["shared", "second"])).prop_map(|parts| EntryOwner {
            tenant_uid: parts.0,
            instance_uid: parts.1,
            instance_name: parts.2.to_owned(),
            database: "netbox".to_owned(),
            role: "netbox".to_owned(),
        });
    let present = (1_u64..3, of(owner), of(a_uid())).prop_map(|(version, data, metadata)| {
        EntryFact::Present {
            version,
            data,
            metadata,
        }
    });
    prop_oneof![
        1 => Just(EntryFact::Absent),
        1 => of(a_uid()).prop_map(|metadata| EntryFact::Deleted { metadata }),
        4 => present,
    ]
    .boxed()
}

fn projection() -> BoxedStrategy<ProjectionFact> {
    let ready = prop_oneof![
        Just(ProjectionReady::Unknown),
        Just(ProjectionReady::True),
        (0_u64..30, any::<bool>()).prop_map(|(age, owned_by_another)| ProjectionReady::False {
            age: Duration::from_secs(age),
            owned_by_another,
            reason: "SecretSyncedError".to_owned(),
        }),
    ];
    let present = (
        of(a_uid()),
        any::<[bool; 3]>(),
        ready,
        of(0_u64..120),
        0_u64..30,
    )
        .prop_map(|parts| {
            ProjectionFact::Present(Projection {
                uid: uid("es-1"),
                owner: parts.0,
                deleting: parts.1[0],
                as_wanted: parts.1[1],
                synced: parts.1[2],
                ready: parts.2,
                written_age: Duration::from_secs(parts.4),
                force_sync_age: parts.3.map(Duration::from_secs),
            })
        });
    prop_oneof![1 => Just(ProjectionFact::Absent), 4 => present].boxed()
}

fn instance() -> BoxedStrategy<InstanceFact> {
    let view = an_instance_uid().prop_map(|uid| InstanceView {
        uid,
        name: "shared".to_owned(),
        endpoint: World::new().endpoint(),
    });
    let ready = (view.clone(), seen(Just(Vec::new()).boxed()));
    prop_oneof![
        1 => Just(InstanceFact::Absent),
        1 => Just(InstanceFact::Unreadable),
        1 => view.clone().prop_map(InstanceFact::Deleting),
        1 => of(view.clone()).prop_map(|view| InstanceFact::NotReady { view, reason: "InvalidSpec".to_owned() }),
        1 => view.prop_map(InstanceFact::Revalidating),
        12 => ready.prop_map(|(view, provisioning)| InstanceFact::Ready { view, provisioning }),
    ]
    .boxed()
}

pub fn facts() -> BoxedStrategy<Facts> {
    let inside = one(&[BTreeSet::new(), BTreeSet::from(["pg_trgm".to_owned()])]);
    let secret = one(&[
        SecretFact::Absent,
        SecretFact::OfProjection(uid("es-1")),
        SecretFact::OfProjection(uid("es-2")),
        SecretFact::Foreign,
    ]);
    let login = one(&[
        LoginFact::Accepted,
        LoginFact::WrongPassword,
        LoginFact::NotPermitted("28000".to_owned()),
    ]);
    (
        instance(),
        seen(server()),
        seen(inside),
        seen(entry()),
        seen(projection()),
        seen(secret),
        seen(login),
    )
        .prop_map(|parts| Facts {
            instance: parts.0,
            server: parts.1,
            inside: parts.2,
            entry: parts.3,
            projection: parts.4,
            secret: parts.5,
            login: parts.6,
        })
        .boxed()
}

fn status() -> BoxedStrategy<TenantStatus> {
    let ready = of(one(Reason::ALL).prop_map(|reason| Ready::new(reason, "stored")));
    (
        one(TenantPhase::ALL),
        of(a_name()),
        of(a_name()),
        of(1_i64..3),
        ready,
    )
        .prop_map(
            |(phase, database, login_role, observed_generation, ready)| TenantStatus {
                observed_generation,
                phase,
                database,
                login_role,
                ready,
                ..TenantStatus::default()
            },
        )
        .boxed()
}

pub fn object() -> BoxedStrategy<Object> {
    let spec = (of(a_name()), of(a_name()), any::<[bool; 4]>());
    (spec, status())
        .prop_map(|((database, role, flags), status)| {
            let mut object = World::new().object;
            object.database = database;
            object.role = role;
            object.status = status;
            object.generation = 2;
            object.finalizer = flags[0];
            object.deleting = flags[1];
            if flags[2] {
                object.policy = DeletionPolicy::Delete;
            }
            if flags[3] {
                object.extensions.clear();
            }
            object
        })
        .boxed()
}

/// Bends an observation that was good.
pub fn bend() -> BoxedStrategy<fn(&mut CapabilityObservation)> {
    let bends: &[fn(&mut CapabilityObservation)] = &[
        |_| {},
        |_| {},
        |o| o.access = Check::NotObserved,
        |o| o.access = Check::Failed(Failure::new(Class::Authentication, "refused")),
        |o| o.metadata = Check::NotObserved,
        |o| o.privileges = Check::Failed(Failure::new(Class::Privileges, "missing")),
        |o| o.rights_probe = Check::NotObserved,
        |o| o.registry = RegistryState::Absent,
        |o| o.registry = RegistryState::NeedsMigration,
        |o| o.registry = RegistryState::NotObserved,
        |o| o.registry = RegistryState::Incompatible("foreign".to_owned()),
        |o| o.target.uid = uid("another"),
        |o| o.target.revision += 1,
    ];
    one(bends)
}
