//! The plans are complete: an effect of the domain without a crash test fails here (reliability, section 1).

use std::collections::BTreeSet;

use domain::tenancy::effect::{InstanceEffect, TenantEffect, instance_status_id, tenant_status_id};
use domain::tenancy::instance::Checkpoint;
use domain::tenancy::tenant::TenantPhase;

use super::plan::{Plan, both};
use super::{creating, deleting, instances, repairing};

#[test]
fn t2_every_effect_and_every_saved_status_has_its_crash_plans() {
    let effects = TenantEffect::IDS.iter().chain(InstanceEffect::IDS).copied();
    let phases = TenantPhase::ALL
        .iter()
        .map(|phase| tenant_status_id(*phase));
    let checkpoints = Checkpoint::ALL
        .iter()
        .map(|checkpoint| instance_status_id(*checkpoint));
    let needed: BTreeSet<Plan> = both(effects.chain(phases).chain(checkpoints))
        .into_iter()
        .collect();

    let stories = [
        creating::plans(),
        deleting::plans(),
        repairing::plans(),
        instances::plans(),
    ];
    let planned: BTreeSet<Plan> = stories.into_iter().flatten().collect();

    let named = |plans: Vec<&Plan>| {
        plans
            .into_iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let missing = named(needed.difference(&planned).collect());
    assert!(missing.is_empty(), "without a crash plan: {missing}");
    let unknown = named(planned.difference(&needed).collect());
    assert!(unknown.is_empty(), "a plan for no effect: {unknown}");
}
