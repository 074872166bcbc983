//! The delete path: the exact order, every starting point, and what is never removed.

use domain::tenancy::claim::ClaimState;
use domain::tenancy::decide::Step;
use domain::tenancy::deletion::Departing;
use domain::tenancy::effect::TenantEffect;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::reason::Retry;
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase, TenantStatus};

use crate::creating::full;
use crate::world::{ADMIN, InstanceState, World, layout, uid};

/// Every effect and status of a deletion with policy `Delete`, in order.
const DELETE: &[&str] = &[
    "tenant.status.deleting",
    "tenant.row.freeze",
    "tenant.external-secret.delete",
    "tenant.role.nologin",
    "tenant.sessions.end",
    "tenant.database.drop",
    "tenant.role.drop",
    "tenant.bao.destroy",
    "tenant.claim.release",
    "tenant.finalizer.remove",
];

fn departing() -> World {
    let mut world = full().and_converge();
    world.database_mut().sessions = 3;
    world.delete();
    world
}

fn assert_nothing_left(world: &mut World, what: &str) {
    world.tick();
    assert!(world.object.gone(), "{what}: {:?}", world.object.status);
    assert!(
        world.leftovers().is_empty(),
        "{what}: {:?}",
        world.leftovers()
    );
}

#[test]
fn delete_takes_exactly_the_effects_of_the_contract_in_order_and_leaves_nothing() {
    let mut world = departing();
    world.run();
    assert_eq!(world.trace, DELETE);
    assert_nothing_left(&mut world, "delete");
}

#[test]
fn t2_delete_from_every_point_of_creation_converges_to_nothing() {
    let mut creating = full();
    for point in 0..24 {
        let mut world = creating.clone();
        world.delete();
        if !world.object.gone() {
            world.run();
        }
        assert_nothing_left(&mut world, &format!("after {point} rounds"));
        if creating.round().is_some() {
            creating.tick();
        }
    }
    assert!(creating.is_ready());
}

#[test]
fn t2_delete_with_status_wiped_or_forged_at_every_point_converges_to_nothing() {
    let mut deleting = departing();
    while !deleting.object.gone() {
        for phase in TenantPhase::ALL {
            let mut world = deleting.clone();
            world.object.status = TenantStatus {
                phase: *phase,
                ..TenantStatus::default()
            };
            world.run();
            assert_nothing_left(
                &mut world,
                &format!("{phase:?} after {:?}", deleting.trace.last()),
            );
        }
        deleting.round();
    }
}

#[test]
fn t2_delete_with_a_response_lost_after_each_effect_converges_to_nothing() {
    let mut deleting = departing();
    while !deleting.object.gone() {
        if let Step::Effect(effect) = deleting.decide() {
            let mut world = deleting.clone();
            world.apply(&effect).unwrap();
            if !world.object.gone() {
                let step = world
                    .object
                    .departing()
                    .after_failure(&Failure::new(Class::Unavailable, "no answer in time"));
                world.conclude(step);
                world.run();
            }
            assert_nothing_left(&mut world, effect.id());
        }
        deleting.round();
    }
}

#[test]
fn retain_leaves_at_once_waits_for_nothing_and_everything_stays() {
    let mut world = World::converged();
    let before = world.leftovers();
    world.delete();
    assert!(world.object.gone(), "no finalizer holds it");
    // A finalizer that an edit just before left behind goes at once, with everything down.
    world.object.finalizer = true;
    world.instance = InstanceState::Absent;
    (world.server_down, world.bao_down, world.eso_down) = (true, true, true);
    world.run();
    assert_eq!(world.trace, ["tenant.finalizer.remove"]);
    assert!(world.object.gone());
    world.tick();
    assert_eq!(
        world.leftovers(),
        before,
        "D5: ExternalSecret and Secret stay"
    );
}

#[test]
fn d5_delete_removes_the_external_secret_without_waiting_for_eso() {
    let mut world = departing();
    world.eso_down = true;
    world.run();
    assert_nothing_left(&mut world, "ESO down");
}

#[test]
fn d5_an_external_secret_that_is_already_going_is_not_waited_for() {
    let mut world = departing();
    world.projection_mut().deleting = true;
    world.run();
    assert!(world.object.gone());
    assert!(!world.trace.contains(&"tenant.external-secret.delete"));
}

#[test]
fn d5_where_no_api_for_external_secrets_is_served_there_is_none_to_delete() {
    let mut world = departing();
    world.round();
    world.round();
    let mut facts = world.observe(world.wants());
    facts.projection = domain::tenancy::facts::Seen::Failed(Failure::new(
        Class::ProjectionUnsupported,
        "not served",
    ));
    let step = world.object.departing().decide(&facts);
    assert_eq!(step, Step::Effect(TenantEffect::ForbidLogin));
}

#[test]
fn delete_works_on_an_instance_that_is_deleting_or_not_ready_or_revalidating() {
    for state in [
        InstanceState::Deleting,
        InstanceState::NotReady,
        InstanceState::Revalidating,
    ] {
        let mut world = departing();
        world.instance = state;
        world.run();
        assert_nothing_left(&mut world, &format!("{state:?}"));
    }
}

#[test]
fn delete_without_a_readable_instance_keeps_the_finalizer_and_says_why() {
    for (state, said) in [
        (InstanceState::Absent, "does not exist or has an illegal"),
        (InstanceState::Illegal, "does not exist or has an illegal"),
        (InstanceState::Unreadable, "cannot be read"),
    ] {
        let mut world = departing();
        world.instance = state;
        let before = world.leftovers();
        assert_eq!(world.run().retry, Retry::Backoff);
        assert_eq!(world.reason(), "InstanceNotReady");
        assert!(world.message().contains(said), "{}", world.message());
        assert!(world.object.finalizer);
        assert_eq!(world.leftovers(), before);
        world.instance = InstanceState::Ready;
        world.run();
        assert_nothing_left(&mut world, "back again");
    }
}

#[test]
fn delete_with_any_store_away_keeps_the_finalizer_says_why_and_goes_on_later() {
    let outages: &[fn(&mut World, bool)] = &[
        |world, down| world.server_down = down,
        |world, down| world.bao_down = down,
    ];
    for outage in outages {
        let mut world = departing();
        outage(&mut world, true);
        world.run();
        assert_eq!(world.reason(), "DependencyUnavailable");
        assert!(world.object.finalizer);
        outage(&mut world, false);
        world.run();
        assert_nothing_left(&mut world, "after the outage");
    }
}

#[test]
fn m3_the_policy_first_seen_by_the_finalizer_holds_and_the_row_wins() {
    let mut world = departing();
    while world.row().is_some_and(|row| row.frozen_policy.is_none()) {
        world.round();
    }
    world
        .object
        .edit(|object| object.policy = DeletionPolicy::Retain);
    world.run();
    assert_nothing_left(&mut world, "frozen as Delete");
    let mut world = departing();
    world.row_mut().unwrap().frozen_policy = Some(DeletionPolicy::Retain);
    world.run();
    assert!(world.object.gone());
    assert_eq!(world.rows[0].state, ClaimState::Unmanaged);
    assert!(world.databases.contains_key("netbox"));
}

#[test]
fn m3_without_a_frozen_row_a_policy_edited_to_retain_destroys_nothing() {
    let mut world = departing();
    world.round();
    assert_eq!(world.phase(), TenantPhase::Deleting);
    let before = world.leftovers();
    world
        .object
        .edit(|object| object.policy = DeletionPolicy::Retain);
    world.run();
    assert!(world.object.gone());
    assert_eq!(
        world.trace,
        [
            "tenant.status.deleting",
            "tenant.row.unmanaged",
            "tenant.finalizer.remove"
        ]
    );
    assert_eq!(world.leftovers(), before);
}

#[test]
fn d5_retain_without_a_claim_leaves_the_external_secret_alone() {
    let mut world = departing();
    world.round();
    world.rows.clear();
    world.entries.clear();
    world
        .object
        .edit(|object| object.policy = DeletionPolicy::Retain);
    world.run();
    assert!(world.object.gone());
    assert!(world.projections.contains_key("shared-netbox-postgresql"));
}

#[test]
fn a_policy_that_cannot_be_read_counts_as_retain() {
    let world = departing();
    let object = &world.object;
    let departing = Departing::reconstitute(
        object.identity.clone(),
        object.generation,
        object.instance_ref.clone(),
        None,
        object.status.clone(),
        true,
        layout(),
    );
    let facts = world.observe(departing.wants());
    assert_eq!(
        departing.decide(&facts),
        Step::Effect(TenantEffect::RemoveFinalizer)
    );
}

#[test]
fn no_claim_and_no_entry_of_ours_lets_the_finalizer_go_though_foreign_things_have_our_names() {
    let mut world = World::destructible();
    world.plant_role();
    world.plant_database(1);
    world.plant_entry(Some("someone"));
    world.plant_projection(Some("someone"));
    world.object.finalizer = true;
    world.delete();
    let before = world.leftovers();
    world.run();
    assert!(world.object.gone(), "a conflict of our own never holds it");
    assert_eq!(world.leftovers(), before);
}

#[test]
fn t5_delete_with_an_entry_of_ours_but_no_claim_is_a_conflict_and_drops_nothing() {
    let mut world = departing();
    world.rows.clear();
    let before = world.leftovers();
    world.run();
    assert_eq!(world.reason(), "Conflict");
    assert!(world.object.finalizer);
    assert_eq!(world.leftovers(), before);
}

#[test]
fn delete_under_a_recreated_instance_is_a_conflict_and_drops_nothing() {
    let mut world = departing();
    world.instance_uid = uid("instance-uid-2");
    let before = world.leftovers();
    world.run();
    assert_eq!(world.reason(), "Conflict");
    assert_eq!(world.leftovers(), before);
}

#[test]
fn delete_drops_no_database_whose_oid_or_owner_does_not_match_the_claim() {
    let bends: &[fn(&mut World)] = &[
        World::give_database_to_admin,
        |world| world.database_mut().owner = 4242,
        |world| world.database_mut().oid = 4242,
    ];
    for bend in bends {
        let mut world = departing();
        bend(&mut world);
        world.run();
        assert_eq!(world.reason(), "Conflict", "{:?}", world.trace);
        assert!(world.object.finalizer && world.databases.contains_key("netbox"));
        assert!(world.roles.contains_key("netbox") && world.entries.len() == 1);
    }
}

#[test]
fn delete_leaves_a_foreign_role_database_entry_and_external_secret_of_our_names() {
    let mut world = departing();
    // Ours are gone, and others took the names.
    world.roles.clear();
    world.databases.clear();
    world.entries.clear();
    world.projections.clear();
    world.secrets.clear();
    world.plant_role();
    world.plant_database(ADMIN);
    world.plant_entry(Some("someone"));
    world.plant_projection(None);
    let mut foreign = world.leftovers();
    foreign.remove("row netbox");
    world.run();
    assert!(world.object.gone());
    assert_eq!(world.leftovers(), foreign);
}

#[test]
fn delete_keeps_the_role_that_still_owns_something_else_and_says_why() {
    let mut world = departing();
    let owner = world.role_mut().oid;
    let mut other = world.databases["netbox"].clone();
    (other.oid, other.owner) = (5555, owner);
    world.databases.insert("elsewhere".to_owned(), other);
    world.run();
    assert_eq!(world.reason(), "ProvisioningFailed");
    assert!(world.message().contains("owns a database"));
    assert!(world.object.finalizer && world.roles.contains_key("netbox"));
    assert!(world.entries.len() == 1 && world.rows.len() == 1);
}

#[test]
fn t3_delete_ignores_a_row_of_another_uid_even_if_an_adapter_hands_it_over() {
    let mut world = departing();
    world.round();
    let mut facts = world.observe(world.wants());
    if let domain::tenancy::facts::Seen::Known(server) = &mut facts.server {
        server.claim.as_mut().unwrap().tenant_uid = uid("someone");
    }
    let step = world.object.departing().decide(&facts);
    assert!(matches!(step, Step::Save { .. }), "a conflict: {step:?}");
}

#[test]
fn an_object_without_our_finalizer_is_left_to_the_api_server() {
    let mut world = departing();
    world.object.finalizer = false;
    let facts = world.observe(world.wants());
    assert!(matches!(
        world.object.departing().decide(&facts),
        Step::Rest { .. }
    ));
}
