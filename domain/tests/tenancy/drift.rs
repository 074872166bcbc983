//! A converged Tenant whose surroundings changed: what is additive and ours is repaired, the rest is reported.

use domain::tenancy::tenant::TenantPhase;

use crate::world::{ADMIN, World};

/// A way to bend a converged Tenant, and the phase that repairs it.
type Bend = (fn(&mut World), TenantPhase);

/// Bends a converged Tenant, lets it converge again, and gives what was done.
fn repaired(bend: impl FnOnce(&mut World)) -> (World, Vec<&'static str>) {
    let mut world = World::converged();
    bend(&mut world);
    world.converge();
    let effects = world
        .trace
        .iter()
        .copied()
        .filter(|id| !id.starts_with("tenant.status"))
        .collect();
    assert!(world.is_ready(), "{:?}", world.object.status);
    assert_eq!(world.untrue(), None);
    assert_eq!((world.passwords, world.created_databases), (1, 1));
    (world, effects)
}

#[test]
fn drift_a_missing_extension_is_installed_again() {
    let (_, effects) = repaired(|world| world.database_mut().extensions.clear());
    assert_eq!(effects, ["tenant.extension"]);
}

#[test]
fn drift_an_appended_extension_is_installed_and_recorded() {
    let (world, effects) = repaired(|world| {
        world
            .object
            .edit(|object| object.extensions.push("hstore".to_owned()));
    });
    assert_eq!(effects, ["tenant.extension", "tenant.row.database"]);
    assert_eq!(world.row().unwrap().extensions, ["hstore", "pg_trgm"]);
}

#[test]
fn drift_a_lost_or_changed_external_secret_is_applied_again() {
    let (_, effects) = repaired(|world| world.projections.clear());
    assert_eq!(effects, ["tenant.external-secret"]);
    let (_, effects) = repaired(|world| world.projection_mut().tampered = true);
    assert_eq!(effects, ["tenant.external-secret"]);
    let (_, effects) = repaired(|world| world.projection_mut().deleting = true);
    assert_eq!(effects, ["tenant.external-secret"]);
}

#[test]
fn drift_the_login_flag_and_our_membership_are_given_back() {
    let (_, effects) = repaired(|world| world.role_mut().can_login = false);
    assert_eq!(effects, ["tenant.role.attributes"]);
    let (_, effects) = repaired(|world| world.role_mut().admin_is_member = false);
    assert_eq!(effects, ["tenant.role.attributes"]);
}

#[test]
fn drift_a_database_given_to_the_admin_is_given_back_to_its_role() {
    let (_, effects) = repaired(World::give_database_to_admin);
    assert_eq!(effects, ["tenant.database.attributes"]);
}

#[test]
fn drift_a_database_that_takes_no_connections_is_opened_though_it_cannot_be_looked_into() {
    let (_, effects) = repaired(|world| world.database_mut().connectable = false);
    assert_eq!(effects, ["tenant.database.attributes"]);
}

#[test]
fn drift_public_grants_are_taken_back() {
    let (_, effects) = repaired(|world| world.database_mut().public_access = true);
    assert_eq!(effects, ["tenant.database.privileges"]);
}

#[test]
fn drift_a_dropped_role_is_made_again_with_the_same_password_and_gets_its_database_back() {
    let (_, effects) = repaired(|world| {
        let name = world.role_name();
        world.roles.remove(&name);
        world.database_mut().owner = ADMIN;
    });
    assert_eq!(effects, ["tenant.role", "tenant.database.attributes"]);
}

#[test]
fn drift_after_a_restore_the_role_is_ours_by_its_comment_and_its_oid_is_recorded_again() {
    let (world, effects) = repaired(|world| {
        world.role_mut().oid = 7777;
        world.database_mut().owner = 7777;
    });
    assert_eq!(effects, ["tenant.role.attributes"]);
    assert_eq!(world.row().unwrap().role_oid, Some(7777));
}

#[test]
fn drift_custom_metadata_that_were_lost_are_written_again_while_the_data_carry_our_uid() {
    let (world, effects) = repaired(|world| world.entry_mut().metadata = None);
    assert_eq!(effects, ["tenant.bao.metadata"]);
    assert!(world.entries["tenants/team/netbox"].metadata.is_some());
}

#[test]
fn a_repair_saves_the_earliest_phase_whose_work_is_undone_as_reconciling() {
    let cases: &[Bend] = &[
        (
            |world| world.role_mut().can_login = false,
            TenantPhase::CredentialCreated,
        ),
        (
            |world| world.database_mut().public_access = true,
            TenantPhase::RoleCreated,
        ),
        (
            |world| world.projections.clear(),
            TenantPhase::DatabaseCreated,
        ),
    ];
    for (bend, phase) in cases {
        let mut world = World::converged();
        bend(&mut world);
        assert_eq!(world.round(), None);
        assert_eq!((world.phase(), world.reason()), (*phase, "Reconciling"));
    }
}

#[test]
fn drift_in_the_middle_of_creation_is_found_before_ready() {
    let bends: &[fn(&mut World)] = &[
        |world| world.role_mut().can_login = false,
        |world| world.database_mut().connectable = false,
        |world| world.database_mut().public_access = true,
        |world| world.database_mut().extensions.clear(),
        |world| world.projections.clear(),
        World::give_database_to_admin,
    ];
    for bend in bends {
        let mut world = World::new();
        while world.phase() != TenantPhase::CredentialProjected {
            if world.round().is_some() {
                world.tick();
            }
        }
        bend(&mut world);
        world.converge();
        assert!(world.is_ready());
        assert_eq!(world.untrue(), None);
    }
}

#[test]
fn d13_a_password_changed_on_the_server_is_answered_with_the_stored_ones_verifier() {
    let (_, effects) = repaired(|world| {
        let name = world.role_name();
        world.roles.get_mut(&name).unwrap().verifier = 999;
    });
    assert_eq!(effects, ["tenant.role.verifier"]);
}

#[test]
fn d13_a_verifier_is_sent_again_at_most_once_in_ten_minutes_then_provisioning_failed() {
    let tamper = |world: &mut World| {
        let name = world.role_name();
        world.roles.get_mut(&name).unwrap().verifier = 999;
    };
    let mut world = World::converged();
    tamper(&mut world);
    world.converge();
    world.trace.clear();
    tamper(&mut world);
    world.wait(599);
    world.converge();
    assert_eq!(world.reason(), "ProvisioningFailed");
    assert!(!world.trace.contains(&"tenant.role.verifier"));
    world.wait(1);
    world.converge();
    assert!(world.is_ready());
    assert_eq!(
        world
            .trace
            .iter()
            .filter(|id| **id == "tenant.role.verifier")
            .count(),
        1
    );
}

#[test]
fn d13_an_expired_role_gets_no_verifier_and_is_said_so() {
    let mut world = World::converged();
    world.role_mut().expired = true;
    world.converge();
    assert_eq!(world.reason(), "ProvisioningFailed");
    assert!(world.message().contains("VALID UNTIL"));
    assert!(!world.trace.contains(&"tenant.role.verifier"));
}

#[test]
fn d13_a_version_rotated_by_hand_is_applied_role_first_then_the_pin() {
    let (world, effects) = repaired(World::rotate_by_hand);
    assert_eq!(effects, ["tenant.role.verifier", "tenant.external-secret"]);
    assert_eq!(world.row().unwrap().applied_kv_version, Some(2));
    assert_eq!(
        world.projections["shared-netbox-postgresql"].pinned,
        Some(2)
    );
}

#[test]
fn d13_a_version_rotated_while_the_external_secret_is_being_made_goes_to_the_role_first() {
    let mut world = World::new();
    while world.phase() != TenantPhase::DatabaseCreated {
        world.round();
    }
    world.rotate_by_hand();
    world.converge();
    let verifier = world
        .trace
        .iter()
        .position(|id| *id == "tenant.role.verifier");
    let pin = world
        .trace
        .iter()
        .position(|id| *id == "tenant.external-secret");
    assert!(verifier.unwrap() < pin.unwrap());
    assert!(world.is_ready());
}

#[test]
fn d13_a_version_without_our_mark_is_not_applied() {
    let mut world = World::converged();
    world.rotate_by_hand();
    world.entry_mut().metadata = None;
    world.converge();
    assert_eq!(world.reason(), "Conflict");
    assert!(!world.trace.contains(&"tenant.role.verifier"));
}

#[test]
fn a_role_made_superuser_is_reported_with_its_cure_and_nothing_is_tried_on_it() {
    let mut world = World::converged();
    world.role_mut().superuser = true;
    world.role_mut().can_login = false;
    world.converge();
    assert_eq!(world.reason(), "ProvisioningFailed");
    assert!(
        world.message().contains("NOSUPERUSER"),
        "{}",
        world.message()
    );
    assert!(
        world.trace.iter().all(|id| id.starts_with("tenant.status")),
        "{:?}",
        world.trace
    );
    world.role_mut().superuser = false;
    world.converge();
    assert!(world.is_ready());
}
