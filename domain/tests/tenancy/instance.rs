//! The invariants I1–I12 of the Instance, as far as they need no IO. I6, I8 and I9 are the use case's; their domain half is in
//! `restarts` and `away`.

use std::collections::BTreeSet;
use std::path::Path;

use domain::tenancy::capability::{
    CapabilityObservation, Check, Installability, RegistryState, TargetBinding,
};
use domain::tenancy::endpoint::{AddressPolicy, EndpointDraft};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::instance::{
    Checkpoint, Instance, InstanceSnapshot, Outcome, Refusal, RegistryPlan,
};
use domain::tenancy::names::ExtensionName;
use domain::tenancy::reason::{Ready, ReadyStatus, Reason};
use domain::tenancy::registration::{InstanceDefinition, InstanceDraft, InstanceIdentity};

use crate::world::uid;

pub fn draft() -> InstanceDraft<'static> {
    InstanceDraft {
        endpoint: EndpointDraft {
            host: "pg.home.arpa",
            hostaddr: "192.0.2.10",
            port: 5432,
            database: "postgres",
            ssl_mode: "verify-full",
        },
        secret_name: "shared-postgresql-admin",
        username_key: "username",
        password_key: "password",
    }
}

pub fn definition() -> InstanceDefinition {
    InstanceDefinition::parse(&draft(), &AddressPolicy::default()).unwrap()
}

/// An Instance of generation 3 with this stored state.
pub fn stored(snapshot: InstanceSnapshot, deleting: bool) -> Instance {
    let identity = InstanceIdentity {
        uid: uid("instance-uid"),
        name: "shared".to_owned(),
    };
    Instance::reconstitute(identity, 3, definition(), snapshot, deleting)
}

pub fn at(checkpoint: Checkpoint) -> Instance {
    let snapshot = InstanceSnapshot {
        checkpoint,
        observed_revision: Some(3),
        ready: Some(Ready::new(Reason::Ready, "forged or old")),
        reported_version: Some("15.0".to_owned()),
    };
    stored(snapshot, false)
}

/// Everything was looked at and is as needed.
pub fn good(target: TargetBinding) -> CapabilityObservation {
    let mut observation = CapabilityObservation::blank(target);
    observation.access = Check::Passed;
    observation.metadata = Check::Passed;
    observation.privileges = Check::Passed;
    observation.rights_probe = Check::Passed;
    observation.registry = RegistryState::Usable;
    observation.server_version = Some("18.1".to_owned());
    let name = ExtensionName::parse("pg_trgm").unwrap();
    observation.extensions.insert(name, Installability::Yes);
    observation
}

pub fn reason(instance: &Instance) -> Reason {
    instance.snapshot().ready.unwrap().reason
}

/// An Instance that this call chain has verified.
pub fn verified() -> Instance {
    let mut instance = at(Checkpoint::Ready);
    let outcome = instance.assess_readiness(&good(instance.target()));
    assert_eq!(outcome, Outcome::Advanced);
    instance
}

/// Targets that differ from the present one in one part.
fn other_targets(target: &TargetBinding) -> Vec<TargetBinding> {
    let elsewhere = InstanceDraft {
        endpoint: EndpointDraft {
            hostaddr: "192.0.2.11",
            ..draft().endpoint
        },
        ..draft()
    };
    let elsewhere = InstanceDefinition::parse(&elsewhere, &AddressPolicy::default()).unwrap();
    let mut another_key = definition().credential;
    another_key.name = domain::tenancy::names::ObjectName::parse("another").unwrap();
    vec![
        TargetBinding {
            uid: uid("another"),
            ..target.clone()
        },
        TargetBinding {
            revision: 2,
            ..target.clone()
        },
        TargetBinding {
            endpoint: elsewhere.endpoint,
            ..target.clone()
        },
        TargetBinding {
            credential: another_key,
            ..target.clone()
        },
    ]
}

#[test]
fn i1_i12_an_observation_of_another_uid_revision_endpoint_or_credential_changes_nothing() {
    for checkpoint in [
        Checkpoint::Validating,
        Checkpoint::InitializingRegistry,
        Checkpoint::Ready,
    ] {
        let before = at(checkpoint);
        for target in other_targets(&before.target()) {
            let observation = good(target);
            let mut instance = before.clone();
            let refused = Outcome::Refused(Refusal::TargetMismatch);
            let outcomes = match checkpoint {
                Checkpoint::Validating => instance.assess_management(&observation),
                Checkpoint::Ready => instance.assess_readiness(&observation),
                _ => {
                    let plan = instance.plan_registry_preparation(&observation);
                    assert_eq!(plan, RegistryPlan::Refused(Refusal::TargetMismatch));
                    instance.assess_registry_result(&observation)
                }
            };
            assert_eq!(outcomes, refused);
            assert_eq!(instance, before);
            assert!(instance.require_provisioning_ready().is_err());
        }
    }
}

#[test]
fn i2_a_stored_ready_condition_is_no_permission_to_provision() {
    let instance = at(Checkpoint::Ready);
    let refused = instance.require_provisioning_ready().unwrap_err();
    assert!(
        refused.text.contains("not verified in this round"),
        "{refused}"
    );
    assert!(verified().require_provisioning_ready().is_ok());
}

#[test]
fn i2_a_ready_of_an_older_generation_passes_no_provisioning_check_and_is_validated_anew() {
    let mut snapshot = at(Checkpoint::Ready).snapshot();
    snapshot.observed_revision = Some(2);
    let mut instance = stored(snapshot, false);
    assert!(instance.require_provisioning_ready().is_err());
    let observation = good(instance.target());
    assert_eq!(instance.assess_readiness(&observation), Outcome::Advanced);
    assert_eq!(instance.checkpoint(), Checkpoint::Validating);
    assert_eq!(
        instance.snapshot().observed_revision,
        Some(2),
        "no conclusion yet"
    );
    assert!(instance.require_provisioning_ready().is_err());
}

#[test]
fn i3_a_cleared_status_only_validates_again_and_finds_the_registry() {
    let mut instance = stored(InstanceSnapshot::default(), false);
    assert_eq!(instance.begin_validation(), Outcome::Advanced);
    let observation = good(instance.target());
    assert_eq!(instance.assess_management(&observation), Outcome::Advanced);
    let plan = instance.plan_registry_preparation(&observation);
    assert_eq!(plan, RegistryPlan::AlreadyUsable, "nothing is written");
    assert_eq!(
        instance.assess_registry_result(&observation),
        Outcome::Advanced
    );
    assert_eq!(instance.checkpoint(), Checkpoint::Ready);
}

#[test]
fn i3_a_missing_or_unknown_checkpoint_counts_as_pending() {
    for text in ["", "Failed", "ready"] {
        assert_eq!(Checkpoint::parse(text), Checkpoint::Pending);
    }
    for checkpoint in Checkpoint::ALL {
        assert_eq!(Checkpoint::parse(checkpoint.as_str()), *checkpoint);
    }
}

#[test]
fn i4_a_migration_whose_status_was_not_saved_is_found_done() {
    let mut instance = at(Checkpoint::InitializingRegistry);
    let observation = good(instance.target());
    assert_eq!(
        instance.plan_registry_preparation(&observation),
        RegistryPlan::AlreadyUsable
    );
    assert_eq!(
        instance.assess_registry_result(&observation),
        Outcome::Advanced
    );
    assert_eq!(reason(&instance), Reason::Ready);
}

#[test]
fn i5_a_registry_that_is_gone_takes_ready_away_and_the_repair_waits_for_the_saved_intent() {
    for state in [RegistryState::Absent, RegistryState::NeedsMigration] {
        let mut instance = at(Checkpoint::Ready);
        let mut observation = good(instance.target());
        observation.registry = state;
        assert_eq!(instance.assess_readiness(&observation), Outcome::Advanced);
        assert_eq!(instance.checkpoint(), Checkpoint::InitializingRegistry);
        assert_eq!(reason(&instance), Reason::Reconciling);
        assert!(instance.require_provisioning_ready().is_err());
        // The next round, from the saved checkpoint.
        let mut next = stored(instance.snapshot(), false);
        let plan = next.plan_registry_preparation(&observation);
        assert_eq!(plan, RegistryPlan::PreparationAllowed);
    }
}

#[test]
fn i6_a_timeout_is_a_safe_saved_failure() {
    let mut instance = at(Checkpoint::InitializingRegistry);
    let failure = Failure::new(Class::Unavailable, "the server did not answer in 5 s");
    let outcome = instance.registry_preparation_failed(failure.clone());
    assert_eq!(outcome, Outcome::Failed(failure));
    let snapshot = instance.snapshot();
    assert_eq!(snapshot.checkpoint, Checkpoint::InitializingRegistry);
    assert_eq!(snapshot.observed_revision, Some(3));
    assert_eq!(
        snapshot.ready.unwrap().reason,
        Reason::DependencyUnavailable
    );
}

#[test]
fn i7_a_deleting_instance_starts_nothing_whatever_its_checkpoint_says() {
    for checkpoint in Checkpoint::ALL {
        let mut instance = stored(at(*checkpoint).snapshot(), true);
        let before = instance.clone();
        let observation = good(instance.target());
        let refused = Outcome::Refused(Refusal::Deleting);
        assert_eq!(instance.begin_validation(), refused);
        assert_eq!(instance.assess_management(&observation), refused);
        assert_eq!(instance.assess_registry_result(&observation), refused);
        assert_eq!(instance.assess_readiness(&observation), refused);
        let failure = Failure::new(Class::Unavailable, "x");
        assert_eq!(instance.registry_preparation_failed(failure), refused);
        let plan = instance.plan_registry_preparation(&observation);
        assert_eq!(plan, RegistryPlan::Refused(Refusal::Deleting));
        assert_eq!(instance, before);
        assert!(instance.require_provisioning_ready().is_err());
    }
}

#[test]
fn i8_tenants_that_hold_a_deleting_instance_are_counted_in_its_condition() {
    let mut instance = stored(InstanceSnapshot::default(), true);
    assert_eq!(instance.begin_deletion(), Outcome::Advanced);
    assert_eq!(instance.held_by(2, "team/netbox"), Outcome::Advanced);
    let ready = instance.snapshot().ready.unwrap();
    assert_eq!(ready.status(), ReadyStatus::Unknown);
    assert!(ready.message.contains("2 tenants, e.g. team/netbox"));
    assert_eq!(
        verified().held_by(1, "x"),
        Outcome::Refused(Refusal::NotDeleting)
    );
}

#[test]
fn i10_check_extensions_names_what_is_refused_and_changes_nothing() {
    let instance = verified();
    let before = instance.clone();
    let names = |texts: &[&str]| -> BTreeSet<ExtensionName> {
        texts
            .iter()
            .filter_map(|text| ExtensionName::parse(text))
            .collect()
    };
    assert!(instance.check_extensions(&names(&["pg_trgm"])).is_empty());
    let refused = instance.check_extensions(&names(&["pg_trgm", "nosuch"]));
    assert_eq!(refused.len(), 1);
    assert_eq!(
        refused[0].describe(),
        "nosuch is not available on this server"
    );
    assert_eq!(instance, before);
    let unproved = at(Checkpoint::Ready).check_extensions(&names(&["pg_trgm"]));
    assert_eq!(unproved.len(), 1, "without evidence nothing is accepted");
}

#[test]
fn t6_an_untrusted_extension_and_one_whose_requirement_is_missing_are_told_apart() {
    let mut instance = at(Checkpoint::Ready);
    let mut observation = good(instance.target());
    let untrusted = Installability::NeedsSuperuser("plperlu".to_owned());
    let cases = [
        (
            "plperlu",
            untrusted.clone(),
            "plperlu needs a superuser (it is not trusted)",
        ),
        (
            "hstore_plperlu",
            untrusted,
            "hstore_plperlu requires plperlu, which needs a superuser",
        ),
        (
            "earthdistance",
            Installability::Requires("cube".to_owned()),
            "earthdistance requires cube, which the server does not have",
        ),
    ];
    for (name, state, _) in &cases {
        let name = ExtensionName::parse(name).unwrap();
        observation.extensions.insert(name, state.clone());
    }
    assert_eq!(instance.assess_readiness(&observation), Outcome::Advanced);
    for (name, _, text) in &cases {
        let requested = BTreeSet::from([ExtensionName::parse(name).unwrap()]);
        assert_eq!(instance.check_extensions(&requested)[0].describe(), *text);
    }
}

#[test]
fn i11_a_snapshot_has_four_fields_none_of_them_secret_and_no_evidence_can_be_serialised() {
    let InstanceSnapshot {
        checkpoint: _,
        observed_revision: _,
        ready: _,
        reported_version: _,
    } = verified().snapshot();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tenancy")];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("serde"), "{} serialises", path.display());
            read += 1;
        }
    }
    assert!(read > 10, "the sources of tenancy were not found");
}

#[test]
fn i11_nothing_that_the_domain_formats_knows_a_user_name_or_password() {
    // The admin's login is referred to by Secret and key, and no fact has a field for either value.
    let text = format!("{:?}", verified());
    assert!(text.contains("shared-postgresql-admin") && text.contains("password_key"));
}

#[test]
fn i12_the_same_state_and_input_give_the_same_decision() {
    let run = || {
        let mut instance = at(Checkpoint::Validating);
        let outcome = instance.assess_management(&good(instance.target()));
        (outcome, instance)
    };
    assert_eq!(run(), run());
}
