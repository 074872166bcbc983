//! The table of section 7, phase by phase: what a phase looks at, what it does, and what it saves next.

use domain::tenancy::decide::{Step, Then};
use domain::tenancy::effect::{TenantEffect, tenant_status_id};
use domain::tenancy::facts::{Seen, Wants};
use domain::tenancy::names::ExtensionName;
use domain::tenancy::tenant::TenantPhase;

use crate::world::World;

/// A creation that has just saved this phase.
fn at(phase: TenantPhase) -> World {
    let mut world = World::new();
    for _ in 0..40 {
        if world.phase() == phase {
            return world;
        }
        if world.round().is_some() {
            world.tick();
        }
    }
    panic!("{phase:?} was never saved");
}

/// The effects of one phase, and the phase that is saved after them.
fn walk(mut world: World) -> (Vec<TenantEffect>, TenantPhase) {
    let phase = world.phase();
    let mut effects = Vec::new();
    while world.phase() == phase {
        if let Step::Effect(effect) = world.decide() {
            effects.push(effect);
        }
        if world.round().is_some() {
            world.tick();
        }
    }
    (effects, world.phase())
}

#[test]
fn phase_pending_reads_everything_and_writes_nothing_but_the_plan() {
    let world = at(TenantPhase::Pending);
    let everything = Wants {
        provisioning: true,
        server: true,
        entry: true,
        projection: true,
        secret: true,
        ..Wants::default()
    };
    assert_eq!(world.wants(), everything);
    assert_eq!(walk(world), (vec![], TenantPhase::Planned));
}

#[test]
fn phase_planned_claims_then_writes_the_password_and_its_owner() {
    use TenantEffect as E;
    assert_eq!(
        walk(at(TenantPhase::Planned)),
        (
            vec![E::Claim, E::WriteEntry, E::WriteEntryMetadata],
            TenantPhase::CredentialCreated
        )
    );
}

#[test]
fn phase_planned_adopts_an_entry_of_our_uid_with_its_password() {
    let mut world = at(TenantPhase::Planned);
    world.round();
    world.round();
    assert_eq!(world.passwords, 1);
    world.object.status = at(TenantPhase::Planned).object.status;
    assert_eq!(walk(world).0, [TenantEffect::WriteEntryMetadata]);
}

#[test]
fn phase_credential_created_makes_the_role_in_one_effect() {
    assert_eq!(
        walk(at(TenantPhase::CredentialCreated)),
        (vec![TenantEffect::CreateRole], TenantPhase::RoleCreated)
    );
}

#[test]
fn phase_role_created_makes_shuts_fills_and_records_the_database() {
    use TenantEffect as E;
    assert_eq!(
        walk(at(TenantPhase::RoleCreated)),
        (
            vec![
                E::CreateDatabase,
                E::CloseDatabase,
                E::CreateExtension(ExtensionName::parse("pg_trgm").unwrap()),
                E::RecordDatabase,
            ],
            TenantPhase::DatabaseCreated
        )
    );
}

#[test]
fn phase_role_created_never_enters_a_database_that_is_not_ours() {
    let mut world = at(TenantPhase::RoleCreated);
    world.plant_database(4242);
    let facts = world.observe(world.wants());
    assert_eq!(facts.inside, Seen::NotAsked);
    world.run();
    assert_eq!(world.reason(), "Conflict");
}

#[test]
fn phase_role_created_enters_no_database_of_a_tenant_that_asks_for_no_extension() {
    let mut world = World::new();
    world.object.edit(|object| object.extensions.clear());
    while !world.is_ready() {
        assert!(!world.wants().inside, "{:?}", world.phase());
        if world.round().is_some() {
            world.tick();
        }
    }
    world
        .object
        .edit(|object| object.extensions = vec!["pg_trgm".to_owned()]);
    assert!(world.wants().inside);
    world.converge();
    assert!(world.is_ready());
    assert_eq!(world.row().unwrap().extensions, ["pg_trgm"]);
}

#[test]
fn phase_database_created_applies_the_external_secret() {
    assert_eq!(
        walk(at(TenantPhase::DatabaseCreated)),
        (
            vec![TenantEffect::ApplyProjection],
            TenantPhase::ExternalSecretCreated
        )
    );
}

#[test]
fn phase_external_secret_created_only_waits() {
    assert_eq!(
        walk(at(TenantPhase::ExternalSecretCreated)),
        (vec![], TenantPhase::CredentialProjected)
    );
}

#[test]
fn phase_credential_projected_looks_at_all_that_ready_promises() {
    let world = at(TenantPhase::CredentialProjected);
    assert_eq!(world.wants(), World::converged().wants());
    assert_eq!(walk(world), (vec![], TenantPhase::Ready));
}

#[test]
fn the_next_round_runs_at_once_after_each_phase_but_the_last() {
    let mut world = World::new();
    while !world.is_ready() {
        if let Step::Save { status, then } = world.decide() {
            let last = status.phase == TenantPhase::Ready;
            assert_eq!(then == Then::Continue, !last, "{:?}", status.phase);
        }
        if world.round().is_some() {
            world.tick();
        }
    }
}

#[test]
fn c7_a_missing_or_unknown_phase_counts_as_pending_and_each_has_a_status_id_of_its_own() {
    for text in ["", "Failed", "Retained", "ready", "Ready "] {
        assert_eq!(TenantPhase::parse(text), TenantPhase::Pending);
    }
    let mut ids = std::collections::BTreeSet::new();
    for phase in TenantPhase::ALL {
        assert_eq!(TenantPhase::parse(phase.as_str()), *phase);
        assert!(ids.insert(tenant_status_id(*phase)), "{phase:?}");
    }
}

#[test]
fn a_part_that_was_not_observed_is_looked_at_again_and_nothing_is_concluded() {
    for phase in TenantPhase::ALL {
        let mut world = World::converged();
        world.object.status.phase = *phase;
        let facts = world.observe(Wants::default());
        let step = world.object.tenant().decide(&facts);
        let quiet = matches!(step, Step::Rest { .. });
        assert!(
            quiet || *phase == TenantPhase::Deleting,
            "{phase:?}: {step:?}"
        );
    }
}
