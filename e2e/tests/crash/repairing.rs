//! Crashes while drift of a `Ready` Tenant is repaired, or an edit of it carried out.

use e2e::world::tenancy::World;
use e2e::{Bed, Options};

use super::drift::{Drift, resume_external_secrets};
use super::plan::{Fact, Plan, Point, Step, Traces, both, effect, left, through};
use super::{census, creating, doomed, proof, traces};

/// A drift and the effect that answers it.
struct Repair {
    drift: Drift,
    /// The phase under which the effect happens.
    phase: &'static str,
    /// What is away until then.
    away: &'static [Fact],
    effect: Step,
}

const fn repair(
    drift: Drift,
    phase: &'static str,
    away: &'static [Fact],
    id: &'static str,
) -> Repair {
    let effect = effect(id).makes(away);
    Repair {
        drift,
        phase,
        away,
        effect,
    }
}

/// In an order in which no Tenant comes by a failpoint that waits for another one.
const REPAIRS: &[Repair] = &[
    repair(
        Drift::NoLogin,
        "CredentialCreated",
        &[Fact::Login],
        "tenant.role.attributes",
    ),
    repair(
        Drift::RotatedInOpenBao,
        "CredentialCreated",
        &[],
        "tenant.role.verifier",
    ),
    repair(
        Drift::PasswordChanged,
        "CredentialProjected",
        &[],
        "tenant.role.verifier",
    ),
    repair(
        Drift::RoleGone,
        "CredentialCreated",
        &[Fact::Role, Fact::Login],
        "tenant.role",
    ),
    repair(
        Drift::OpenToPublic,
        "RoleCreated",
        &[Fact::Closed],
        "tenant.database.privileges",
    ),
    repair(
        Drift::NoConnections,
        "RoleCreated",
        &[Fact::Extension],
        "tenant.database.attributes",
    ),
    repair(
        Drift::GivenAway,
        "RoleCreated",
        &[],
        "tenant.database.attributes",
    ),
    repair(
        Drift::ExtensionDropped,
        "RoleCreated",
        &[Fact::Extension],
        "tenant.extension",
    ),
    repair(
        Drift::ExtensionAppended,
        "RoleCreated",
        &[],
        "tenant.row.database",
    ),
    repair(
        Drift::ProjectionDeleted,
        "DatabaseCreated",
        &[Fact::ExternalSecret],
        "tenant.external-secret",
    ),
    Repair {
        drift: Drift::StatusWiped,
        phase: "",
        away: &[Fact::Condition],
        effect: effect("tenant.status.planned")
            .saves("Planned")
            .makes(&[Fact::Condition]),
    },
    repair(
        Drift::MarkLost,
        "Planned",
        &[Fact::Mark],
        "tenant.bao.metadata",
    ),
    repair(
        Drift::PolicyToDelete,
        "Ready",
        &[Fact::Finalizer],
        "tenant.finalizer",
    ),
    Repair {
        drift: Drift::PolicyToRetain,
        phase: "Ready",
        away: &[],
        effect: effect("tenant.finalizer.remove").removes(&[Fact::Finalizer]),
    },
    repair(
        Drift::SyncFailing,
        "Ready",
        &[],
        "tenant.external-secret.force-sync",
    ),
];

/// Every failpoint of this story.
pub fn plans() -> Vec<Plan> {
    both(REPAIRS.iter().map(|repair| repair.effect.id))
}

/// A Tenant that drifts and is caught at one point of the effect.
struct Case {
    repair: &'static Repair,
    plan: Plan,
    tenant: String,
}

/// Those of one effect are caught before it first, each in its turn, then after it.
fn cases() -> Vec<Case> {
    let case = |repair: &'static Repair, plan: Plan| {
        let point = if plan.point == Point::Before {
            "before"
        } else {
            "after"
        };
        Case {
            repair,
            plan,
            tenant: format!("{:?}-{point}", repair.drift).to_lowercase(),
        }
    };
    let mut cases = Vec::new();
    for repairs in REPAIRS.chunk_by(|one, other| one.effect.id == other.effect.id) {
        for plan in both([repairs[0].effect.id]) {
            cases.extend(repairs.iter().map(|repair| case(repair, plan)));
        }
    }
    cases
}

#[tokio::test]
async fn alone_t2_a_crash_at_any_effect_of_a_repair_keeps_password_role_and_database() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let mut world = World::private(bed, doomed::options(), "repair")
        .await
        .unwrap();
    let cases = cases();
    let before = make(&world, &cases).await;

    let mut doomed = doomed::Doomed::start(&mut world, &plans()).await;
    for case in &cases {
        case.repair.drift.happen(&world, &case.tenant).await;
        doomed.caught(&world, case.plan).await;
    }
    doomed.kill(&world);

    let mut wrong = Vec::new();
    for case in &cases {
        let path = std::slice::from_ref(&case.repair.effect);
        let expected = left(&start(case), path, case.plan);
        wrong.extend(traces::unlike(&world, case.plan, &case.tenant, &expected).await);
    }
    resume_external_secrets(&world);
    doomed::restart(&mut world).await;
    for (case, before) in cases.iter().zip(&before) {
        wrong.extend(judge(&world, case, before).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<String> = cases.into_iter().map(|case| case.tenant).collect();
    census::only(&world, &names).await;
}

/// Makes the Tenants, and says what must be kept of each.
async fn make(world: &World, cases: &[Case]) -> Vec<Kept> {
    let manifests: Vec<String> = cases
        .iter()
        .map(|case| world.tenant_manifest(&case.tenant, &case.repair.drift.spec()))
        .collect();
    let applied = world.apply(&manifests.join("---\n")).await.unwrap();
    applied.success().unwrap();
    let mut before = Vec::new();
    for case in cases {
        world.tenant_ready(&case.tenant).await.unwrap();
        before.push(kept(world, case).await);
    }
    before
}

/// What is wrong with a Tenant at the end.
async fn judge(world: &World, case: &Case, before: &Kept) -> Vec<String> {
    let versions = if case.repair.drift == Drift::RotatedInOpenBao {
        2
    } else {
        1
    };
    let mut wrong = Vec::new();
    wrong.extend(proof::converged(world, case.plan, &case.tenant, versions).await);
    let mut found = traces::tenant(world, &case.tenant).await.unwrap();
    // The login of the proof may not have ended yet.
    found.facts.remove(&Fact::Session);
    let expected = end(case);
    if found != expected {
        wrong.push(format!(
            "{} ends with {found:?}\n  expected {expected:?}",
            case.tenant
        ));
    }
    if kept(world, case).await != *before {
        wrong.push(format!(
            "{}: database, role or password is not the one that it was",
            case.tenant
        ));
    }
    wrong
}

/// A `Ready` Tenant with the policy `Retain`.
fn ready() -> Traces {
    let mut ready = through(&Traces::default(), creating::PATH);
    ready.facts.remove(&Fact::Finalizer);
    ready
}

/// What is there when the effect is about to happen.
fn start(case: &Case) -> Traces {
    let Repair {
        drift, phase, away, ..
    } = case.repair;
    let mut start = ready();
    (*phase).clone_into(&mut start.phase);
    if *drift == Drift::PolicyToRetain {
        start.facts.insert(Fact::Finalizer);
    }
    start.facts.retain(|fact| !away.contains(fact));
    start
}

/// What is there once it has converged.
fn end(case: &Case) -> Traces {
    let mut end = ready();
    if case.repair.drift == Drift::PolicyToDelete {
        end.facts.insert(Fact::Finalizer);
    }
    end
}

/// OIDs of database and role, and the password.
type Kept = (Option<u64>, Option<u64>, Option<String>);

/// All that no repair may replace, save what the drift itself replaced.
async fn kept(world: &World, case: &Case) -> Kept {
    let server = traces::server(world, &case.tenant).await.unwrap();
    let (_, mut entry) = world.entry(&case.tenant).await.unwrap();
    let role = server["role"]
        .as_u64()
        .filter(|_| case.repair.drift != Drift::RoleGone);
    let password = entry
        .remove("password")
        .filter(|_| case.repair.drift != Drift::RotatedInOpenBao);
    (server["database"].as_u64(), role, password)
}
