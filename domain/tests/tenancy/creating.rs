//! The create path on the model: the exact order of effects and statuses, and what each of them relies on.

use domain::tenancy::effect::{TenantEffect, tenant_status_id};
use domain::tenancy::reason::Retry;
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase};

use crate::world::{World, uid};

/// Every effect and status of a Tenant with policy `Delete` and two extensions, in order.
pub const CREATE: &[&str] = &[
    "tenant.status.planned",
    "tenant.finalizer",
    "tenant.claim",
    "tenant.bao.data",
    "tenant.bao.metadata",
    "tenant.status.credential-created",
    "tenant.role",
    "tenant.status.role-created",
    "tenant.database",
    "tenant.database.privileges",
    "tenant.extension",
    "tenant.extension",
    "tenant.row.database",
    "tenant.status.database-created",
    "tenant.external-secret",
    "tenant.status.external-secret-created",
    "tenant.status.projected",
    "tenant.status.ready",
];

/// A Tenant with everything that can be asked for.
pub fn full() -> World {
    let mut world = World::destructible();
    world.object.extensions = vec!["pg_trgm".to_owned(), "hstore".to_owned()];
    world
}

#[test]
fn t2_create_to_ready_takes_exactly_the_effects_and_statuses_of_the_table_in_order() {
    let mut world = full();
    let rested = world.converge();
    assert_eq!(world.trace, CREATE);
    assert_eq!(rested.retry, Retry::Slow);
    assert_eq!(world.untrue(), None);
    assert_eq!((world.passwords, world.created_databases), (1, 1));
}

#[test]
fn create_to_ready_takes_at_most_ten_api_writes_seven_of_them_statuses() {
    let mut world = full();
    world.converge();
    let statuses = world
        .trace
        .iter()
        .filter(|id| id.starts_with("tenant.status"));
    assert_eq!(statuses.count(), 7);
    let event = 1;
    assert!(world.api_writes + event <= 10, "{}", world.api_writes);
}

#[test]
fn pending_is_never_written_on_the_happy_path() {
    let mut world = World::new();
    world.converge();
    assert!(
        !world
            .trace
            .contains(&tenant_status_id(TenantPhase::Pending))
    );
}

#[test]
fn every_effect_that_the_model_performs_is_in_the_list_of_ids() {
    for id in CREATE.iter().filter(|id| !id.starts_with("tenant.status")) {
        assert!(TenantEffect::IDS.contains(id), "{id}");
    }
}

#[test]
fn c4_status_shows_the_effective_names_and_the_url_without_credentials() {
    let world = World::converged();
    let status = &world.object.status;
    assert_eq!(status.database.as_deref(), Some("netbox"));
    assert_eq!(status.login_role.as_deref(), Some("netbox"));
    assert_eq!(
        status.secret_name.as_deref(),
        Some("shared-netbox-postgresql")
    );
    assert_eq!(
        status.openbao_url.as_deref(),
        Some("https://bao.home.arpa:8200/v1/secret/data/tenants/team/netbox")
    );
    assert!(status.database_oid.is_some());
}

#[test]
fn c6_a_ready_tenant_says_ready_and_one_in_progress_says_reconciling() {
    let mut world = World::new();
    world.round();
    assert_eq!(
        (world.reason(), world.phase()),
        ("Reconciling", TenantPhase::Planned)
    );
    let world = world.and_converge();
    assert_eq!(
        (world.reason(), world.phase()),
        ("Ready", TenantPhase::Ready)
    );
}

#[test]
fn a_ready_tenant_without_drift_writes_nothing() {
    let mut world = World::converged();
    for _ in 0..3 {
        assert_eq!(world.converge().retry, Retry::Slow);
        world.wait(600);
    }
    assert!(world.trace.is_empty(), "{:?}", world.trace);
}

#[test]
fn t1_the_password_is_written_only_with_a_claim_and_an_absent_entry() {
    let mut world = World::new();
    let mut seen = 0;
    while !world.is_ready() {
        let before = (world.row().is_some(), world.entries.is_empty());
        if world.round().is_some() {
            world.tick();
        }
        if world.trace.last() == Some(&"tenant.bao.data") && seen == 0 {
            assert_eq!(before, (true, true));
            seen += 1;
        }
    }
    assert_eq!((seen, world.passwords), (1, 1));
}

#[test]
fn d3_before_the_claim_the_fields_may_be_corrected_and_the_plan_is_saved_anew() {
    let mut world = World::new();
    world.round();
    assert_eq!(world.phase(), TenantPhase::Planned);
    world
        .object
        .edit(|object| object.database = Some("other".to_owned()));
    world.trace.clear();
    world.round();
    assert_eq!(world.trace, ["tenant.status.planned"]);
    assert_eq!(world.object.status.database.as_deref(), Some("other"));
    let world = world.and_converge();
    assert_eq!(world.row().unwrap().database, "other");
}

#[test]
fn d3_a_plan_that_is_corrected_to_a_taken_name_is_a_conflict_with_nothing_claimed() {
    let mut world = World::new();
    world.round();
    world
        .object
        .edit(|object| object.role = Some("taken".to_owned()));
    world.plant_role();
    world.converge();
    assert_eq!(world.reason(), "Conflict");
    assert!(world.rows.is_empty());
    assert!(!world.phase().says_created(), "the fields stay editable");
}

#[test]
fn a_name_that_is_taken_between_plan_and_claim_is_a_conflict_with_nothing_claimed() {
    for plant in [World::plant_role as fn(&mut World), |world| {
        world.plant_database(1);
    }] {
        let mut world = World::new();
        world.round();
        plant(&mut world);
        world.converge();
        assert_eq!(
            (world.reason(), world.phase()),
            ("Conflict", TenantPhase::Pending)
        );
        assert!(world.rows.is_empty());
    }
}

#[test]
fn the_finalizer_is_there_exactly_while_the_policy_is_delete() {
    let mut world = World::converged();
    assert!(!world.object.finalizer);
    world
        .object
        .edit(|object| object.policy = DeletionPolicy::Delete);
    world.converge();
    assert!(world.object.finalizer && world.is_ready());
    world
        .object
        .edit(|object| object.policy = DeletionPolicy::Retain);
    world.converge();
    assert!(!world.object.finalizer && world.is_ready());
    assert_eq!(world.object.status.observed_generation, Some(3));
}

#[test]
fn two_tenants_race_for_the_same_names_and_the_second_gets_a_conflict_and_touches_nothing() {
    let mut first = World::new();
    first.round();
    let mut second = first.clone();
    second.object.identity.uid = uid("second-uid");
    second.object.identity.namespace = "rivals".to_owned();
    // Both have planned; the first claims.
    let first = first.and_converge();
    second.rows.clone_from(&first.rows);
    second.roles.clone_from(&first.roles);
    second.databases.clone_from(&first.databases);
    second.alive.insert(uid("tenant-uid"), true);
    let before = second.leftovers();
    second.converge();
    assert_eq!(
        (second.reason(), second.phase()),
        ("Conflict", TenantPhase::Pending)
    );
    assert!(second.message().contains("belongs to tenant team/netbox"));
    assert_eq!(second.leftovers(), before);
}

#[test]
fn d1_two_tenants_of_one_derived_name_are_told_apart_by_uid() {
    // `a` + `b-c` and `a-b` + `c` give one name for the ExternalSecret.
    let mut world = World::new();
    world.plant_projection(Some("the-other-uid"));
    world.converge();
    assert_eq!(world.reason(), "Conflict");
    assert!(world.rows.is_empty() && world.entries.is_empty());
}

#[test]
fn d7_the_external_secret_is_applied_only_after_claim_role_and_database_were_verified() {
    let mut world = World::new();
    while world.phase() != TenantPhase::DatabaseCreated {
        world.round();
    }
    let role = world.role_name();
    world.roles.remove(&role);
    world.round();
    assert_eq!(world.phase(), TenantPhase::CredentialCreated);
    assert!(world.projections.is_empty());
}

#[test]
fn an_extension_appended_in_the_middle_is_installed_before_ready() {
    for rounds in 0..18 {
        let mut world = World::new();
        for _ in 0..rounds {
            if world.round().is_some() {
                world.tick();
            }
        }
        world
            .object
            .edit(|object| object.extensions.push("hstore".to_owned()));
        // Ready is checked against the truth at each save.
        let world = world.and_converge();
        assert!(
            world
                .row()
                .unwrap()
                .extensions
                .contains(&"hstore".to_owned())
        );
    }
}
