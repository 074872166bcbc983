//! The operations table of section 6, row by row: precondition, effect, failure.

use domain::tenancy::capability::{CapabilityObservation, Check, RegistryState};
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::instance::{Checkpoint, InstanceSnapshot, Outcome, Refusal, RegistryPlan};
use domain::tenancy::reason::{ReadyStatus, Reason};
use domain::tenancy::registration::{InstanceDefinition, InstanceDraft};

use crate::instance::{at, draft, good, reason, stored, verified};

/// A way to spoil a good observation, and the reason that follows.
type Spoil = (&'static str, fn(&mut CapabilityObservation), Reason);

fn failed(class: Class) -> Check {
    Check::Failed(Failure::new(class, "known to be unmet"))
}

const MANAGEMENT: &[Spoil] = &[
    (
        "access refused",
        |o| o.access = failed(Class::Authentication),
        Reason::AuthenticationFailed,
    ),
    (
        "no answer",
        |o| o.access = failed(Class::Unavailable),
        Reason::DependencyUnavailable,
    ),
    (
        "access unseen",
        |o| o.access = Check::NotObserved,
        Reason::DependencyUnavailable,
    ),
    (
        "metadata unseen",
        |o| o.metadata = Check::NotObserved,
        Reason::DependencyUnavailable,
    ),
    (
        "right missing",
        |o| o.privileges = failed(Class::Privileges),
        Reason::InsufficientPrivileges,
    ),
    (
        "rights unseen",
        |o| o.privileges = Check::NotObserved,
        Reason::DependencyUnavailable,
    ),
    (
        "registry incompatible",
        |o| o.registry = RegistryState::Incompatible("schema of a newer version".to_owned()),
        Reason::DependencyUnavailable,
    ),
    (
        "registry unseen",
        |o| o.registry = RegistryState::NotObserved,
        Reason::DependencyUnavailable,
    ),
];

const PROBE: &[Spoil] = &[
    (
        "probe failed",
        |o| o.rights_probe = failed(Class::Privileges),
        Reason::InsufficientPrivileges,
    ),
    (
        "probe not made",
        |o| o.rights_probe = Check::NotObserved,
        Reason::DependencyUnavailable,
    ),
];

#[test]
fn operation_reconstitute_refuses_an_invalid_definition_with_every_path() {
    let mut bad: InstanceDraft<'_> = draft();
    bad.endpoint.host = "192.0.2.1";
    bad.secret_name = "";
    bad.username_key = "";
    bad.password_key = "a/b";
    let violations = InstanceDefinition::parse(&bad, &AddressPolicy::default()).unwrap_err();
    let paths: Vec<&str> = violations
        .as_slice()
        .iter()
        .map(|v| v.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "spec.endpoint.host",
            "spec.adminCredentialRef.name",
            "spec.adminCredentialRef.usernameKey",
            "spec.adminCredentialRef.passwordKey"
        ]
    );
}

#[test]
fn operation_begin_validation_is_validating_and_unknown_and_leaves_the_observed_revision() {
    for checkpoint in Checkpoint::ALL {
        let mut instance = at(*checkpoint);
        assert_eq!(instance.begin_validation(), Outcome::Advanced);
        let snapshot = instance.snapshot();
        assert_eq!(snapshot.checkpoint, Checkpoint::Validating);
        assert_eq!(snapshot.ready.unwrap().status(), ReadyStatus::Unknown);
        assert_eq!(snapshot.observed_revision, Some(3));
    }
    let mut instance = verified();
    assert_eq!(instance.begin_validation(), Outcome::Advanced);
    assert!(
        instance.require_provisioning_ready().is_err(),
        "evidence is cleared"
    );
}

#[test]
fn operation_assess_management_goes_on_to_the_registry_and_stays_unknown() {
    for registry in [
        RegistryState::Absent,
        RegistryState::NeedsMigration,
        RegistryState::Usable,
    ] {
        let mut instance = at(Checkpoint::Validating);
        let mut observation = good(instance.target());
        observation.registry = registry;
        assert_eq!(instance.assess_management(&observation), Outcome::Advanced);
        assert_eq!(instance.checkpoint(), Checkpoint::InitializingRegistry);
        assert_eq!(reason(&instance), Reason::Reconciling);
    }
}

#[test]
fn operation_assess_management_that_fails_stays_validating_not_ready_with_the_revision_observed() {
    for (what, spoil, expected) in MANAGEMENT.iter().chain(PROBE) {
        let snapshot = InstanceSnapshot {
            checkpoint: Checkpoint::Validating,
            ..InstanceSnapshot::default()
        };
        let mut instance = stored(snapshot, false);
        let mut observation = good(instance.target());
        spoil(&mut observation);
        let outcome = instance.assess_management(&observation);
        assert!(matches!(outcome, Outcome::Failed(_)), "{what}");
        let snapshot = instance.snapshot();
        assert_eq!(snapshot.checkpoint, Checkpoint::Validating, "{what}");
        assert_eq!(snapshot.observed_revision, Some(3), "{what}");
        assert_eq!(snapshot.ready.unwrap().reason, *expected, "{what}");
    }
}

#[test]
fn operation_assess_management_names_an_incompatible_registry_though_the_rights_were_not_tried_out_beside_it()
 {
    let snapshot = InstanceSnapshot {
        checkpoint: Checkpoint::Validating,
        ..InstanceSnapshot::default()
    };
    let mut instance = stored(snapshot, false);
    let mut observation = good(instance.target());
    observation.registry = RegistryState::Incompatible("a schema of somebody else".to_owned());
    observation.rights_probe = Check::NotObserved;
    let _outcome = instance.assess_management(&observation);
    let ready = instance.snapshot().ready.unwrap();
    assert_eq!(ready.message, "a schema of somebody else");
}

#[test]
fn operation_plan_registry_preparation_allows_an_absent_or_old_registry_and_runs_nothing() {
    for registry in [RegistryState::Absent, RegistryState::NeedsMigration] {
        let mut instance = at(Checkpoint::InitializingRegistry);
        let before = instance.clone();
        let mut observation = good(instance.target());
        observation.registry = registry;
        // The rolled-back probe runs in `Validating` only.
        observation.rights_probe = Check::NotObserved;
        let plan = instance.plan_registry_preparation(&observation);
        assert_eq!(plan, RegistryPlan::PreparationAllowed);
        assert_eq!(instance, before);
    }
}

#[test]
fn operation_plan_registry_preparation_that_is_denied_keeps_the_phase_and_says_why() {
    for (what, spoil, expected) in MANAGEMENT {
        let mut instance = at(Checkpoint::InitializingRegistry);
        let mut observation = good(instance.target());
        spoil(&mut observation);
        let plan = instance.plan_registry_preparation(&observation);
        assert!(matches!(plan, RegistryPlan::PreparationDenied(_)), "{what}");
        assert_eq!(
            instance.checkpoint(),
            Checkpoint::InitializingRegistry,
            "{what}"
        );
        assert_eq!(reason(&instance), *expected, "{what}");
        assert_eq!(instance.snapshot().observed_revision, Some(3), "{what}");
    }
}

#[test]
fn operation_assess_registry_result_is_ready_only_on_a_full_read_back() {
    let mut instance = at(Checkpoint::InitializingRegistry);
    let observation = good(instance.target());
    assert_eq!(
        instance.assess_registry_result(&observation),
        Outcome::Advanced
    );
    let snapshot = instance.snapshot();
    assert_eq!(snapshot.checkpoint, Checkpoint::Ready);
    assert_eq!(snapshot.reported_version.as_deref(), Some("18.1"));
    assert!(instance.require_provisioning_ready().is_ok());
    let unfinished: &[Spoil] = &[
        (
            "absent",
            |o| o.registry = RegistryState::Absent,
            Reason::DependencyUnavailable,
        ),
        (
            "old",
            |o| o.registry = RegistryState::NeedsMigration,
            Reason::DependencyUnavailable,
        ),
    ];
    for (what, spoil, expected) in MANAGEMENT.iter().chain(unfinished) {
        let mut instance = at(Checkpoint::InitializingRegistry);
        let mut observation = good(instance.target());
        spoil(&mut observation);
        let outcome = instance.assess_registry_result(&observation);
        assert!(matches!(outcome, Outcome::Failed(_)), "{what}");
        assert_eq!(
            instance.checkpoint(),
            Checkpoint::InitializingRegistry,
            "{what}"
        );
        assert_eq!(reason(&instance), *expected, "{what}");
    }
}

#[test]
fn operation_assess_readiness_that_fails_goes_back_to_validating_not_ready() {
    for (what, spoil, expected) in MANAGEMENT {
        let mut instance = verified();
        let mut observation = good(instance.target());
        spoil(&mut observation);
        let outcome = instance.assess_readiness(&observation);
        assert!(matches!(outcome, Outcome::Failed(_)), "{what}");
        assert_eq!(instance.checkpoint(), Checkpoint::Validating, "{what}");
        assert_eq!(reason(&instance), *expected, "{what}");
        assert!(instance.require_provisioning_ready().is_err(), "{what}");
    }
}

#[test]
fn operation_require_provisioning_ready_needs_ready_revision_and_fresh_evidence() {
    assert!(verified().require_provisioning_ready().is_ok());
    for checkpoint in Checkpoint::ALL {
        assert!(at(*checkpoint).require_provisioning_ready().is_err());
    }
}

#[test]
fn operation_begin_deletion_drops_the_permission_and_deletes_nothing() {
    let mut instance = stored(verified().snapshot(), true);
    assert_eq!(instance.begin_deletion(), Outcome::Advanced);
    assert_eq!(instance.checkpoint(), Checkpoint::Deleting);
    assert_eq!(reason(&instance), Reason::Reconciling);
    assert!(instance.require_provisioning_ready().is_err());
    let mut living = verified();
    let before = living.clone();
    assert_eq!(
        living.begin_deletion(),
        Outcome::Refused(Refusal::NotDeleting)
    );
    assert_eq!(living, before);
}

#[test]
fn operations_that_need_another_checkpoint_change_nothing() {
    let wrong = Outcome::Refused(Refusal::WrongCheckpoint);
    for checkpoint in Checkpoint::ALL {
        let before = at(*checkpoint);
        let observation = good(before.target());
        let mut instance = before.clone();
        if *checkpoint != Checkpoint::Validating {
            assert_eq!(instance.assess_management(&observation), wrong);
        }
        if *checkpoint != Checkpoint::InitializingRegistry {
            assert_eq!(instance.assess_registry_result(&observation), wrong);
            let failure = Failure::new(Class::Unavailable, "x");
            assert_eq!(instance.registry_preparation_failed(failure), wrong);
        }
        if *checkpoint != Checkpoint::Ready {
            assert_eq!(instance.assess_readiness(&observation), wrong);
        }
        assert_eq!(instance, before);
    }
}

#[test]
fn operation_snapshot_keeps_no_evidence_so_a_rebuilt_instance_has_none() {
    let rebuilt = stored(verified().snapshot(), false);
    assert_eq!(rebuilt.snapshot(), verified().snapshot());
    assert!(rebuilt.require_provisioning_ready().is_err());
}

#[test]
fn a_ready_instance_that_is_confirmed_has_an_equal_snapshot_so_nothing_is_written() {
    let mut instance = stored(verified().snapshot(), false);
    let before = instance.snapshot();
    assert_eq!(
        instance.assess_readiness(&good(instance.target())),
        Outcome::Advanced
    );
    assert_eq!(instance.snapshot(), before);
}
