//! Crashes, lost responses, wiped, forged and stale statuses: every one of them converges to the same end (C7, T1, T2, I3).

use domain::tenancy::decide::Step;
use domain::tenancy::tenant::{TenantPhase, TenantStatus};

use crate::creating::{CREATE, full};
use crate::world::World;

/// The states that the create path goes through, the first and the last among them.
fn stations() -> Vec<World> {
    let mut world = full();
    let mut stations = vec![world.clone()];
    for _ in 0..60 {
        let writes = world.trace.len();
        let rested = world.round().is_some();
        if world.trace.len() != writes {
            stations.push(world.clone());
        }
        if rested && !world.tick() {
            break;
        }
    }
    assert_eq!(world.trace, CREATE);
    assert_eq!(stations.len(), CREATE.len() + 1);
    stations
}

fn assert_same_end(mut world: World, what: &str) {
    world.converge();
    let mut reference = full();
    reference.converge();
    assert!(world.is_ready(), "{what}: {:?}", world.object.status);
    assert_eq!((world.passwords, world.created_databases), (1, 1), "{what}");
    assert_eq!(world.leftovers(), reference.leftovers(), "{what}");
    let names = |status: &TenantStatus| {
        (
            status.database.clone(),
            status.login_role.clone(),
            status.secret_name.clone(),
            status.openbao_url.clone(),
            status.ready.clone(),
        )
    };
    assert_eq!(
        names(&world.object.status),
        names(&reference.object.status),
        "{what}"
    );
    let destructive = |id: &str| {
        ["database.drop", "role.drop", "bao.destroy", "delete"]
            .iter()
            .any(|end| id.ends_with(end))
    };
    let destructive = world.trace.iter().any(|id| destructive(id));
    assert!(!destructive, "{what}: {:?}", world.trace);
}

#[test]
fn t1_t2_a_wiped_status_at_every_point_converges_with_one_password_and_one_database() {
    for (point, mut world) in stations().into_iter().enumerate() {
        world.object.status = TenantStatus::default();
        assert_same_end(world, &format!("wiped after {point} writes"));
    }
}

#[test]
fn c7_t1_a_forged_phase_at_every_point_converges_with_one_password_and_one_database() {
    for (point, station) in stations().into_iter().enumerate() {
        for phase in TenantPhase::ALL {
            let mut world = station.clone();
            world.object.status.phase = *phase;
            assert_same_end(world, &format!("forged to {phase:?} after {point} writes"));
        }
    }
}

#[test]
fn c7_a_forged_phase_with_nothing_recorded_converges_as_well() {
    for station in stations() {
        for phase in TenantPhase::ALL {
            let mut world = station.clone();
            world.object.status = TenantStatus {
                phase: *phase,
                ..TenantStatus::default()
            };
            assert_same_end(world, &format!("{phase:?} and nothing else"));
        }
    }
}

#[test]
fn c7_a_condition_forged_to_ready_does_not_hide_what_is_missing_on_the_server() {
    let mut forged = full().and_converge().object.status;
    forged.observed_generation = Some(1);
    for (point, mut world) in stations().into_iter().enumerate() {
        world.object.status = forged.clone();
        assert_same_end(world, &format!("forged Ready after {point} writes"));
    }
}

#[test]
fn t2_a_stale_status_of_any_age_at_every_point_converges_with_one_password_and_one_database() {
    let stations = stations();
    for (point, station) in stations.iter().enumerate() {
        for older in &stations[..point] {
            let mut world = station.clone();
            world.object.status = older.object.status.clone();
            assert_same_end(world, &format!("{:?} after {point} writes", older.phase()));
        }
    }
}

#[test]
fn t2_a_response_lost_after_each_effect_converges_with_one_password_and_one_database() {
    for station in stations() {
        let Step::Effect(effect) = station.decide() else {
            continue;
        };
        let mut world = station;
        world.apply(&effect).unwrap();
        let failure = domain::tenancy::failure::Failure::new(
            domain::tenancy::failure::Class::Unavailable,
            "no answer in time",
        );
        let step = world.object.tenant().after_failure(&failure);
        world.conclude(step);
        assert_eq!(world.reason(), "DependencyUnavailable");
        assert_same_end(world, effect.id());
    }
}

#[test]
fn i6_an_effect_that_times_out_is_a_safe_saved_failure_at_every_point() {
    for station in stations() {
        let mut world = station;
        (world.server_down, world.bao_down) = (true, true);
        world.run();
        (world.server_down, world.bao_down) = (false, false);
        assert_same_end(world, "an outage");
    }
}

#[test]
fn t1_a_lost_role_a_lost_secret_and_a_lost_external_secret_make_no_new_password() {
    let mut world = full().and_converge();
    let role = world.role_name();
    let database = world.database_name();
    world.roles.remove(&role);
    // PostgreSQL lets a role go only after its database has another owner.
    world.databases.get_mut(&database).unwrap().owner = crate::world::ADMIN;
    world.projections.clear();
    world.secrets.clear();
    assert_same_end(world, "role, Secret and ExternalSecret lost");
}
