//! Things of the same name that are not ours: `Conflict`, and not one byte of them changes (T3, D1, D6).

use domain::tenancy::claim::{Claim, ClaimState};
use domain::tenancy::reason::Retry;
use domain::tenancy::tenant::TenantPhase;
use std::time::Duration;

use crate::world::{World, uid};

/// A way to put something foreign into a Tenant's way.
type Plant = (&'static str, fn(&mut World));

const FOREIGN: &[Plant] = &[
    ("role", World::plant_role),
    ("database", |world| world.plant_database(1)),
    ("entry of another UID", |world| {
        world.plant_entry(Some("someone"));
    }),
    ("entry without any owner", |world| world.plant_entry(None)),
    ("ExternalSecret of another UID", |world| {
        world.plant_projection(Some("someone"));
    }),
    ("ExternalSecret without owner", |world| {
        world.plant_projection(None);
    }),
    ("Secret without owner", |world| {
        world
            .secrets
            .insert("shared-netbox-postgresql".to_owned(), None);
    }),
    ("row", |world| plant_row(world, Some(true))),
];

/// A row of another Tenant that holds our names.
fn plant_row(world: &mut World, alive: Option<bool>) {
    let mut other = World::converged();
    let row = other.row_mut().unwrap();
    row.tenant_uid = uid("someone");
    let row: Claim = row.clone();
    if let Some(alive) = alive {
        world.alive.insert(uid("someone"), alive);
    }
    world.rows.push(row);
}

fn everything(world: &World) -> String {
    format!(
        "{:?}{:?}{:?}{:?}{:?}{:?}",
        world.rows, world.roles, world.databases, world.entries, world.projections, world.secrets
    )
}

#[test]
fn t3_each_foreign_thing_found_before_the_claim_is_a_conflict_with_zero_effects_and_editable_fields()
 {
    for (what, plant) in FOREIGN {
        let mut world = World::destructible();
        plant(&mut world);
        let before = everything(&world);
        let rested = world.run();
        assert_eq!(world.reason(), "Conflict", "{what}");
        assert_eq!(world.trace, ["tenant.status.pending"], "{what}");
        assert_eq!(everything(&world), before, "{what}");
        assert!(
            !world.phase().says_created(),
            "{what}: the fields stay editable"
        );
        assert_eq!(
            rested.retry,
            Retry::After(Duration::from_secs(60)),
            "{what}: D15"
        );
        // Looking again changes nothing.
        world.run();
        assert_eq!(world.trace.len(), 1, "{what}");
    }
}

#[test]
fn t3_a_conflict_goes_by_itself_once_the_foreign_thing_is_gone() {
    for (what, plant) in FOREIGN {
        let mut world = World::new();
        plant(&mut world);
        world.run();
        world.rows.clear();
        world.roles.clear();
        world.databases.clear();
        world.entries.clear();
        world.projections.clear();
        world.secrets.clear();
        world.converge();
        assert!(world.is_ready(), "{what}");
    }
}

#[test]
fn t3_things_that_lose_our_mark_after_creation_are_a_conflict_and_left_alone() {
    let bends: &[Plant] = &[
        ("role of another OID", |world| {
            world.role_mut().oid = 9999;
            world.role_mut().comment_uid = None;
        }),
        ("database of another owner", |world| {
            world.database_mut().owner = 9999;
        }),
        ("database of another OID", |world| {
            world.database_mut().oid = 9999;
        }),
        ("entry of another UID", |world| {
            world.entry_mut().metadata = Some(uid("someone"));
        }),
        ("ExternalSecret of another UID", |world| {
            world.projection_mut().owner = Some(uid("someone"));
        }),
    ];
    for (what, bend) in bends {
        let mut world = World::converged();
        bend(&mut world);
        let before = everything(&world);
        world.run();
        assert_eq!(world.reason(), "Conflict", "{what}");
        assert_eq!(everything(&world), before, "{what}");
        assert_eq!(world.trace.len(), 1, "{what}: {:?}", world.trace);
    }
}

#[test]
fn t3_a_row_of_another_uid_is_no_claim_of_ours_even_if_an_adapter_hands_it_over() {
    let mut world = World::converged();
    let wants = world.wants();
    let mut facts = world.observe(wants);
    if let domain::tenancy::facts::Seen::Known(server) = &mut facts.server {
        server.claim.as_mut().unwrap().tenant_uid = uid("someone");
    }
    let step = world.object.tenant().decide(&facts);
    world.conclude(step);
    assert_eq!(world.phase(), TenantPhase::Pending);
}

#[test]
fn d6_a_secret_of_another_owner_that_comes_after_the_claim_is_a_conflict_before_the_external_secret_is_made()
 {
    let mut world = World::new();
    while world.phase() != TenantPhase::DatabaseCreated {
        world.round();
    }
    let secret = "shared-netbox-postgresql".to_owned();
    world.secrets.insert(secret.clone(), None);
    world.run();
    assert_eq!(world.reason(), "Conflict");
    assert!(world.projections.is_empty());
    assert_eq!(world.secrets[&secret], None);
    // The name may not be edited any more (M1), so the message does not ask for that.
    assert!(
        !world.message().contains("set spec.credential.secretName"),
        "{}",
        world.message()
    );
}

#[test]
fn d6_a_secret_that_names_our_external_secret_with_a_dead_uid_means_wait_not_conflict() {
    let mut world = World::new();
    let secret = "shared-netbox-postgresql".to_owned();
    world.secrets.insert(secret, Some(uid("es-dead")));
    let rested = world.run();
    assert_eq!(rested.retry, Retry::Backoff);
    assert!(world.trace.is_empty());
    // The garbage collector takes it.
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn d8_owned_by_another_external_secret_is_a_conflict_in_creation_and_in_ready() {
    let mut creating = World::new();
    while creating.phase() != TenantPhase::ExternalSecretCreated {
        creating.round();
    }
    for mut world in [creating, World::converged()] {
        let projection = world.projection_mut();
        projection.ready = Some(false);
        projection.owned_by_another = true;
        world.run();
        assert_eq!(world.reason(), "Conflict");
        assert!(!world.trace.contains(&"tenant.external-secret.force-sync"));
    }
}

#[test]
fn t4_a_new_tenant_of_the_same_name_gets_a_conflict_that_names_the_retained_record() {
    let mut world = World::converged();
    world.object.identity.uid = uid("second-uid");
    world.object.status = domain::tenancy::tenant::TenantStatus::default();
    world.alive.insert(uid("tenant-uid"), false);
    let before = world.leftovers();
    world.run();
    assert_eq!(world.reason(), "Conflict");
    assert!(
        world
            .message()
            .contains("was retained from tenant team/netbox"),
        "{}",
        world.message()
    );
    // The row of the dead UID may be marked so, and nothing else (section 7).
    assert_eq!(
        world.trace,
        ["tenant.row.unmanaged", "tenant.status.pending"]
    );
    let row = &world.rows[0];
    assert_eq!(
        (row.state, &row.tenant_uid),
        (ClaimState::Unmanaged, &uid("tenant-uid"))
    );
    assert_eq!(world.leftovers(), before);
}

#[test]
fn t4_a_row_of_a_living_tenant_or_of_another_cluster_is_never_marked() {
    for alive in [Some(true), None] {
        let mut world = World::new();
        plant_row(&mut world, alive);
        world.run();
        assert_eq!(world.trace, ["tenant.status.pending"]);
        assert_eq!(world.rows[0].state, ClaimState::Managed);
        assert!(!world.message().contains("retained"), "{}", world.message());
    }
}

#[test]
fn t4_once_the_record_is_released_the_new_tenant_still_touches_nothing_of_the_old_one() {
    let mut world = World::converged();
    world.object.identity.uid = uid("second-uid");
    world.object.status = domain::tenancy::tenant::TenantStatus::default();
    // `registry release` forgets row and entry; role and database are left to a person.
    world.rows.clear();
    world.entries.clear();
    let before = everything(&world);
    world.run();
    assert_eq!(world.reason(), "Conflict");
    assert_eq!(everything(&world), before);
}

#[test]
fn t5_an_entry_of_ours_without_a_claim_is_provisioning_failed_and_names_the_endpoint() {
    let mut world = World::converged();
    world.rows.clear();
    world.roles.clear();
    world.databases.clear();
    world.address = "192.0.2.99".to_owned();
    let before = everything(&world);
    world.run();
    assert_eq!(world.reason(), "ProvisioningFailed");
    assert!(
        world.message().contains("192.0.2.99:5432/postgres"),
        "{}",
        world.message()
    );
    assert!(world.message().contains("shared"));
    assert_eq!(everything(&world), before);
}

#[test]
fn t5_pointing_the_endpoint_back_cures_it_without_a_new_password() {
    let mut world = World::converged();
    let (rows, roles, databases) = (
        std::mem::take(&mut world.rows),
        std::mem::take(&mut world.roles),
        std::mem::take(&mut world.databases),
    );
    world.run();
    assert_eq!(world.reason(), "ProvisioningFailed");
    (world.rows, world.roles, world.databases) = (rows, roles, databases);
    world.converge();
    assert!(world.is_ready());
    assert_eq!((world.passwords, world.created_databases), (1, 1));
}

#[test]
fn t5_a_claimed_database_that_vanished_is_never_made_again_silently() {
    for wiped in [false, true] {
        let mut world = World::converged();
        world.databases.clear();
        if wiped {
            world.object.status = domain::tenancy::tenant::TenantStatus::default();
        }
        world.run();
        assert_eq!(world.reason(), "ProvisioningFailed");
        assert_eq!(world.created_databases, 1);
        assert!(world.databases.is_empty());
    }
}

#[test]
fn i1_a_recreated_instance_owns_nothing_of_the_old_uid_until_a_person_adopts_the_record() {
    for wiped in [false, true] {
        let mut world = World::converged();
        world.instance_uid = uid("instance-uid-2");
        if wiped {
            world.object.status = domain::tenancy::tenant::TenantStatus::default();
        }
        let before = everything(&world);
        world.run();
        assert_eq!(world.reason(), "Conflict", "{}", world.message());
        assert!(world.message().contains("adopt"));
        assert_eq!(everything(&world), before);
        // `registry adopt` rewrites row and entry.
        world.row_mut().unwrap().instance_uid = uid("instance-uid-2");
        let owner = world.owner();
        let mut version = world.entry_mut().versions[0].clone();
        version.owner = Some(owner);
        world.entry_mut().versions.push(version);
        world.converge();
        assert!(world.is_ready());
        assert_eq!((world.passwords, world.created_databases), (1, 1));
    }
}
