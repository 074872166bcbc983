//! The table "What `Ready` says while things are away" (section 7), row by row, and the reasons that adapters' failures lead to.

use domain::tenancy::decide::{Step, Then};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::reason::{Reason, Retry};
use domain::tenancy::tenant::TenantPhase;

use crate::world::{InstanceState, World};

/// Bends a converged Tenant; the reason that follows.
type Bend = (fn(&mut World), &'static str);

#[test]
fn away_an_instance_that_revalidates_leaves_tenants_unchanged_and_nothing_is_written() {
    let mut creating = World::new();
    creating.round();
    for mut world in [World::converged(), creating, World::new()] {
        world.trace.clear();
        world.instance = InstanceState::Revalidating;
        let status = world.object.status.clone();
        assert_eq!(world.run().retry, Retry::Slow);
        assert!(world.trace.is_empty());
        assert_eq!(world.object.status, status);
    }
}

#[test]
fn away_an_instance_that_is_false_deleting_or_absent_is_instance_not_ready_with_one_write() {
    let states = [
        InstanceState::NotReady,
        InstanceState::Illegal,
        InstanceState::Deleting,
        InstanceState::Absent,
        InstanceState::Unreadable,
    ];
    for state in states {
        for mut world in [World::converged(), World::new()] {
            let phase = world.phase();
            world.instance = state;
            for _ in 0..3 {
                assert_eq!(
                    world.run().retry,
                    Retry::Slow,
                    "woken by the Instance's watch"
                );
            }
            assert_eq!(world.reason(), "InstanceNotReady", "{state:?}");
            assert_eq!(world.trace.len(), 1, "{state:?}");
            assert_eq!(world.phase(), phase, "{state:?}");
            world.instance = InstanceState::Ready;
            world.converge();
            assert!(world.is_ready(), "{state:?}");
        }
    }
}

#[test]
fn away_an_instance_that_cannot_be_read_is_never_called_absent() {
    for mut world in [World::converged(), World::new()] {
        world.instance = InstanceState::Unreadable;
        world.run();
        assert_eq!(world.reason(), "InstanceNotReady");
        let message = world.message();
        assert!(message.contains("cannot be read"), "{message}");
        assert!(!message.contains("does not exist"), "{message}");
    }
}

#[test]
fn i7_i9_a_tenant_of_a_deleting_or_absent_instance_starts_nothing() {
    for state in [
        InstanceState::Deleting,
        InstanceState::Absent,
        InstanceState::Unreadable,
    ] {
        let mut world = World::destructible();
        world.instance = state;
        world.converge();
        assert!(world.leftovers().is_empty());
        assert!(!world.object.finalizer);
    }
}

#[test]
fn i2_a_tenant_is_planned_only_with_proof_of_this_round_that_the_instance_can_provision() {
    let mut wiped = World::converged();
    wiped.object.status = domain::tenancy::tenant::TenantStatus::default();
    for world in [World::new(), wiped] {
        let mut wants = world.wants();
        assert!(wants.provisioning);
        wants.provisioning = false;
        let step = world.object.tenant().decide(&world.observe(wants));
        assert!(matches!(step, Step::Rest { .. }), "{step:?}");
    }
}

#[test]
fn away_openbao_unreachable_keeps_a_ready_tenant_true_with_a_notice() {
    let mut world = World::converged();
    world.bao_down = true;
    let rested = world.run();
    assert!(rested.notice.is_some());
    assert_eq!(rested.retry, Retry::Backoff);
    assert!(world.trace.is_empty() && world.is_ready());
}

#[test]
fn away_openbao_unreachable_is_dependency_unavailable_in_every_phase_of_creation() {
    let mut world = World::new();
    for _ in 0..20 {
        let mut without = world.clone();
        without.bao_down = true;
        without.run();
        if without.trace.len() > world.trace.len() && !without.is_ready() {
            let reason = without.reason();
            // ESO itself fails as well, once it is asked; everything else says so at once.
            assert!(
                ["DependencyUnavailable", "Reconciling"].contains(&reason),
                "{reason}"
            );
        }
        if world.round().is_some() {
            world.tick();
        }
    }
    let mut world = World::new();
    world.bao_down = true;
    assert_eq!(world.run().retry, Retry::Backoff);
    assert_eq!(
        (world.reason(), world.phase()),
        ("DependencyUnavailable", TenantPhase::Pending)
    );
    assert!(world.leftovers().is_empty(), "nothing is written outside");
    world.bao_down = false;
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn away_eso_and_openbao_back_a_failing_external_secret_is_forced_and_the_tenant_stays_true() {
    let mut world = World::converged();
    world.bao_down = true;
    let projection = world.projection_mut();
    (projection.ready, projection.failing) = (Some(false), 300);
    world.converge();
    assert!(world.is_ready() && world.trace.is_empty());
    world.bao_down = false;
    world.converge();
    assert!(world.is_ready());
    assert_eq!(
        world.trace,
        ["tenant.external-secret.force-sync"],
        "no write of status"
    );
}

#[test]
fn d8_a_failing_external_secret_counts_after_ten_seconds_and_is_forced_at_most_once_a_minute() {
    let mut world = World::new();
    while world.phase() != TenantPhase::ExternalSecretCreated {
        world.round();
    }
    world.eso_down = true;
    let projection = world.projection_mut();
    (projection.ready, projection.failing) = (Some(false), 9);
    world.trace.clear();
    assert_eq!(
        world.run().retry,
        Retry::After(std::time::Duration::from_secs(1))
    );
    assert!(world.trace.is_empty(), "not yet");
    world.wait(1);
    world.run();
    assert_eq!(world.reason(), "CredentialProjectionFailed");
    for _ in 0..5 {
        world.run();
        world.wait(11);
    }
    let forced = |world: &World| {
        world
            .trace
            .iter()
            .filter(|id| id.ends_with("force-sync"))
            .count()
    };
    assert_eq!(forced(&world), 1);
    world.wait(5);
    world.run();
    assert_eq!(forced(&world), 2);
    // A person sees one status for all of it.
    assert_eq!(world.trace.len(), 3, "{:?}", world.trace);
}

#[test]
fn d8_a_ready_tenant_whose_external_secret_begins_to_fail_is_looked_at_when_that_counts() {
    let mut world = World::converged();
    world.eso_down = true;
    let projection = world.projection_mut();
    (projection.ready, projection.failing) = (Some(false), 4);
    let rested = world.run();
    assert!(world.is_ready() && world.trace.is_empty());
    assert_eq!(
        rested.retry,
        Retry::After(std::time::Duration::from_secs(6))
    );
    world.wait(6);
    world.run();
    world.wait(10);
    world.run();
    assert_eq!(world.reason(), "CredentialProjectionFailed");
}

#[test]
fn d8_a_ready_true_of_an_older_generation_does_not_count() {
    let mut world = World::converged();
    world.projection_mut().tampered = true;
    world.eso_down = true;
    world.converge();
    assert_eq!(world.phase(), TenantPhase::ExternalSecretCreated);
    assert_eq!(world.reason(), "Reconciling");
    world.eso_down = false;
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn away_a_silent_eso_is_an_unavailable_dependency_after_ten_seconds_and_its_answer_cures_it() {
    let mut world = World::new();
    world.eso_down = true;
    world.converge();
    assert_eq!(world.phase(), TenantPhase::ExternalSecretCreated);
    assert_eq!(world.reason(), "Reconciling");
    world.wait(10);
    world.run();
    assert_eq!(world.reason(), "DependencyUnavailable");
    world.trace.clear();
    world.wait(30);
    world.run();
    assert!(world.trace.is_empty(), "said once");
    world.eso_down = false;
    world.converge();
    assert!(world.is_ready());
}

#[test]
fn away_entry_gone_foreign_or_deleted_and_login_refused_are_false_with_the_reason() {
    let cases: &[Bend] = &[
        (|world| world.entries.clear(), "ProvisioningFailed"),
        (
            |world| world.entry_mut().metadata = Some(crate::world::uid("x")),
            "Conflict",
        ),
        (
            |world| world.entry_mut().versions[0].deleted = true,
            "ProvisioningFailed",
        ),
        (
            |world| world.role_mut().expired = true,
            "ProvisioningFailed",
        ),
    ];
    for (bend, reason) in cases {
        let mut world = World::converged();
        bend(&mut world);
        let passwords = world.passwords;
        world.run();
        assert_eq!(world.reason(), *reason);
        assert_eq!(world.trace.len(), 1, "one write: {:?}", world.trace);
        assert_eq!(world.passwords, passwords);
    }
}

#[test]
fn t1_a_destroyed_entry_in_use_is_provisioning_failed_and_writing_it_back_cures_it() {
    let mut world = World::converged();
    let entry = world.entries.remove("tenants/team/netbox").unwrap();
    world.run();
    assert!(
        world.message().contains("write the password back"),
        "{}",
        world.message()
    );
    world
        .entries
        .insert("tenants/team/netbox".to_owned(), entry);
    world.converge();
    assert!(world.is_ready());
    assert_eq!(world.passwords, 1);
}

#[test]
fn t1_a_soft_deleted_entry_says_how_to_undelete_it() {
    let mut world = World::converged();
    world.entry_mut().versions[0].deleted = true;
    world.run();
    assert!(world.message().contains("undelete"));
}

#[test]
fn t1_the_path_is_the_one_in_the_row_not_derived_anew() {
    let mut world = World::converged();
    let entry = world.entries.remove("tenants/team/netbox").unwrap();
    world.entries.insert("old-base/netbox".to_owned(), entry);
    world.row_mut().unwrap().secret_path = "old-base/netbox".to_owned();
    world.converge();
    assert!(world.is_ready());
    let url = world.object.status.openbao_url.unwrap();
    assert!(url.ends_with("/data/old-base/netbox"), "{url}");
}

#[test]
fn away_a_spec_edit_whose_round_is_not_concluded_keeps_condition_and_old_generation() {
    let mut world = World::converged();
    world.server_down = true;
    world
        .object
        .edit(|object| object.extensions.push("hstore".to_owned()));
    world.run();
    assert!(world.trace.is_empty() && world.is_ready());
    assert_eq!(world.object.status.observed_generation, Some(1));
}

#[test]
fn away_a_namespace_being_terminated_ends_the_round_quietly() {
    let mut world = World::new();
    world.terminating = true;
    assert_eq!(world.run().retry, Retry::Slow);
    assert_eq!(world.trace.last(), Some(&"tenant.external-secret"));
    assert_eq!(world.reason(), "Reconciling");
}

#[test]
fn every_class_of_failure_leads_to_the_reason_of_the_contract() {
    let mut world = World::new();
    world.round();
    let cases = [
        (Class::Unavailable, Reason::DependencyUnavailable),
        (Class::Privileges, Reason::ProvisioningFailed),
        (Class::Misconfigured, Reason::ProvisioningFailed),
        (Class::Blocked, Reason::ProvisioningFailed),
        (Class::Rejected, Reason::ProvisioningFailed),
        (Class::Conflict, Reason::Conflict),
        (Class::NotInstallable, Reason::InvalidSpec),
        (
            Class::ProjectionUnsupported,
            Reason::CredentialProjectionFailed,
        ),
    ];
    for (class, reason) in cases {
        let step = world
            .object
            .tenant()
            .after_failure(&Failure::new(class, "why"));
        let Step::Save { status, then } = step else {
            panic!("{class:?}: {step:?}");
        };
        assert_eq!(status.ready.unwrap().reason, reason, "{class:?}");
        assert_eq!(then, Then::Rest(reason.retry()), "{class:?}");
        assert_eq!(status.phase, TenantPhase::Planned);
    }
}

#[test]
fn a_write_that_met_a_newer_object_is_read_again_and_nothing_is_said() {
    let world = World::new();
    let step = world
        .object
        .tenant()
        .after_failure(&Failure::new(Class::Stale, "conflict"));
    assert!(matches!(step, Step::Rest { notice: None, .. }));
}
