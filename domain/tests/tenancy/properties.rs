//! Properties over arbitrary input: totality, determinism, no effect without a saved intent, nothing destroyed without proof.

use domain::tenancy::admission::{Change, Recorded, review_tenant};
use domain::tenancy::decide::{Step, Then};
use domain::tenancy::facts::{Facts, InstanceFact, LoginFact, ProjectionFact, Seen};
use domain::tenancy::instance::{Checkpoint, Instance, Outcome};
use domain::tenancy::reason::Reason;
use domain::tenancy::tenant::{TenantDefinition, TenantDraft, TenantPhase};
use proptest::prelude::*;

use crate::instance::{at, good};
use crate::proof::Proof;
use crate::simulator::intends;
use crate::strategies::{bend, facts, failure, object};
use crate::world::Object;

fn decide(object: &Object, facts: &Facts) -> Step {
    if object.deleting {
        object.departing().decide(facts)
    } else {
        object.tenant().decide(facts)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn i12_decide_is_total_and_deterministic_and_saves_only_what_differs((object, facts) in (object(), facts())) {
        let step = decide(&object, &facts);
        prop_assert_eq!(&step, &decide(&object, &facts));
        if let Step::Save { status, .. } = step {
            prop_assert_ne!(status, object.status);
        }
    }

    #[test]
    fn an_effect_is_asked_for_only_if_its_intent_is_saved_and_what_it_touches_is_proved_ours(
        (object, facts) in (object(), facts())
    ) {
        if let Step::Effect(effect) = decide(&object, &facts) {
            prop_assert!(intends(object.status.phase, &effect), "{effect:?} in {:?}", object.status.phase);
            prop_assert!(Proof::of(&object, &facts).covers(&effect), "{effect:?}");
            prop_assert!(object.deleting || !effect.is_destructive(), "{effect:?}");
        }
    }

    #[test]
    fn ready_is_concluded_only_on_facts_that_were_all_seen_and_met((object, facts) in (object(), facts())) {
        if let Step::Save { status, .. } = decide(&object, &facts)
            && status.ready.as_ref().is_some_and(|ready| ready.reason == Reason::Ready)
            && object.status.ready != status.ready
        {
            prop_assert!(!object.deleting);
            prop_assert_eq!(status.phase, TenantPhase::Ready);
            prop_assert_eq!(status.observed_generation, Some(object.generation));
            let instance_is_ready = matches!(facts.instance, InstanceFact::Ready { .. });
            prop_assert!(instance_is_ready);
            prop_assert_eq!(facts.login, Seen::Known(LoginFact::Accepted));
            let synced = matches!(&facts.projection, Seen::Known(ProjectionFact::Present(p)) if p.synced && p.as_wanted);
            let was_ready = object.status.phase == TenantPhase::Ready
                && object.status.ready.as_ref().is_some_and(|ready| ready.reason == Reason::Ready);
            prop_assert!(synced || was_ready);
        }
    }

    #[test]
    fn a_failed_effect_leads_to_a_saved_conclusion_or_a_pause_and_never_to_another_effect(
        (object, failure) in (object(), failure())
    ) {
        let step = if object.deleting {
            object.departing().after_failure(&failure)
        } else {
            object.tenant().after_failure(&failure)
        };
        match step {
            Step::Effect(effect) => prop_assert!(false, "{effect:?}"),
            Step::Save { status, then } => {
                prop_assert_eq!(status.phase, object.status.phase);
                prop_assert!(matches!(then, Then::Rest(_)));
                prop_assert_ne!(status.ready.map(|ready| ready.reason), Some(Reason::Ready));
            }
            Step::Rest { .. } => {}
        }
    }

    #[test]
    fn i2_i12_no_sequence_of_operations_gives_ready_without_evidence_of_this_target(
        (start, calls) in (0..Checkpoint::ALL.len(), proptest::collection::vec((0..5_u8, bend()), 1..12))
    ) {
        let mut instance = at(Checkpoint::ALL[start]);
        for (call, bend) in calls {
            let mut observation = good(instance.target());
            bend(&mut observation);
            let before = instance.clone();
            let outcome = operate(&mut instance, call, &observation);
            if matches!(outcome, Outcome::Refused(_)) {
                prop_assert_eq!(&instance, &before, "a refused operation changed something");
            }
            if instance.require_provisioning_ready().is_ok() && before.require_provisioning_ready().is_err() {
                let access = domain::tenancy::capability::Check::Passed;
                prop_assert_eq!(&observation.target, &instance.target());
                prop_assert_eq!(&observation.access, &access);
                prop_assert_eq!(&observation.metadata, &access);
                prop_assert_eq!(&observation.privileges, &access);
                prop_assert_eq!(&observation.registry, &domain::tenancy::capability::RegistryState::Usable);
            }
        }
    }

    #[test]
    fn admission_never_panics_allows_the_unchanged_spec_and_agrees_with_parsing(
        (name, parts, extensions, policy) in (
            ".{0,70}",
            proptest::collection::vec(proptest::option::of("[a-zA-Z0-9_.\"'; -]{0,70}|[a-z][a-z0-9_]{0,62}"), 4),
            proptest::collection::vec("[a-z0-9_A-Z-]{0,66}", 0..4),
            "Retain|Delete|.{0,8}",
        )
    ) {
        let draft = TenantDraft {
            name: &name,
            instance_ref: parts[0].as_deref().unwrap_or("shared"),
            database: parts[1].as_deref(),
            login_role: parts[2].as_deref(),
            extensions: extensions.iter().map(String::as_str).collect(),
            secret_name: parts[3].as_deref(),
            deletion_policy: &policy,
        };
        let verdict = review_tenant(&Change::Create(draft.clone()), None);
        prop_assert_eq!(verdict.is_allowed(), TenantDefinition::parse(&draft).is_ok());
        for violation in &verdict.violations {
            prop_assert!(violation.path.as_str().starts_with("spec"));
            prop_assert!(!violation.text.is_empty());
        }
        let same = Change::Update { old: draft.clone(), new: draft, recorded: Recorded::default(), deleting: true };
        prop_assert!(review_tenant(&same, None).is_allowed());
    }
}

fn operate(
    instance: &mut Instance,
    call: u8,
    observation: &domain::tenancy::capability::CapabilityObservation,
) -> Outcome {
    use domain::tenancy::instance::RegistryPlan;
    match call {
        0 => instance.begin_validation(),
        1 => instance.assess_management(observation),
        2 => match instance.plan_registry_preparation(observation) {
            RegistryPlan::Refused(refusal) => Outcome::Refused(refusal),
            RegistryPlan::PreparationDenied(failure) => Outcome::Failed(failure),
            _ => Outcome::Advanced,
        },
        3 => instance.assess_registry_result(observation),
        _ => instance.assess_readiness(observation),
    }
}
