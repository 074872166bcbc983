//! Crashes on the way from `kubectl delete` to nothing, and of the mark on what is retained.

use std::time::Duration;

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::condition::await_gone;
use e2e::world::tenancy::{SOON, World};
use e2e::{Bed, Options};
use kube::api::DeleteParams;

use super::plan::{Fact, Plan, Point, Step, Traces, both, effect, left, through};
use super::traces::EXTENSION;
use super::{census, creating, doomed, traces};

/// The way of a Tenant with the policy `Delete`, whose application is logged in.
const PATH: &[Step] = &[
    effect("tenant.status.deleting").saves("Deleting"),
    effect("tenant.row.freeze").makes(&[Fact::Frozen]),
    effect("tenant.external-secret.delete").removes(&[Fact::ExternalSecret]),
    effect("tenant.role.nologin").removes(&[Fact::Login]),
    effect(SESSIONS).removes(&[Fact::Session]),
    effect("tenant.database.drop").removes(&[
        Fact::Database,
        Fact::Closed,
        Fact::Extension,
        Fact::Session,
    ]),
    effect("tenant.role.drop").removes(&[Fact::Role]),
    effect("tenant.bao.destroy").removes(&[Fact::Entry, Fact::Mark]),
    effect("tenant.claim.release").removes(&[Fact::Claim, Fact::Record, Fact::Frozen]),
    effect("tenant.finalizer.remove")
        .saves("")
        .removes(&[Fact::Finalizer, Fact::Condition]),
];
/// Happens only when there is a session to end.
const SESSIONS: &str = "tenant.sessions.end";

/// The way of one with the policy `Retain`: the object is gone before Tenantry hears of it.
const RETAIN: &[Step] = &[effect("tenant.row.unmanaged").makes(&[Fact::Unmanaged])];

/// Every failpoint of this story.
pub fn plans() -> Vec<Plan> {
    both(PATH.iter().chain(RETAIN).map(|step| step.id))
}

#[tokio::test]
async fn alone_t2_a_crash_at_any_effect_of_deletion_leaves_nothing_behind() {
    die(both(PATH.iter().map(|step| step.id))).await;
}

#[tokio::test]
async fn alone_t4_a_crash_before_the_mark_of_a_retained_record_is_made_up_for() {
    die(retained(Point::Before)).await;
}

#[tokio::test]
async fn alone_t4_a_crash_after_the_mark_of_a_retained_record_is_made_up_for() {
    die(retained(Point::After)).await;
}

/// One plan at a time: the round of the Instance may come to mark the same record as the departure.
fn retained(point: Point) -> Vec<Plan> {
    RETAIN
        .iter()
        .map(|step| Plan { id: step.id, point })
        .collect()
}

async fn die(plans: Vec<Plan>) {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let mut world = World::private(bed, doomed::options(), "delete")
        .await
        .unwrap();
    let manifests: Vec<String> = plans.iter().map(|plan| manifest(&world, *plan)).collect();
    let applied = world.apply(&manifests.join("---\n")).await.unwrap();
    applied.success().unwrap();
    for plan in &plans {
        world.tenant_ready(&plan.name()).await.unwrap();
        if plan.id == SESSIONS {
            log_in(&world, &plan.name()).await;
        }
    }

    let mut doomed = match plans.as_slice() {
        [plan] if is_retained(*plan) => {
            doomed::Doomed::start_for_all_comers(&mut world, *plan).await
        }
        plans => doomed::Doomed::start(&mut world, plans).await,
    };
    for plan in &plans {
        let (tenants, name) = (world.tenants(), plan.name());
        tenants
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
        doomed.caught(&world, *plan).await;
    }
    doomed.kill(&world);

    let mut wrong = Vec::new();
    for plan in &plans {
        let (start, path) = start(*plan);
        let expected = left(&start, path, *plan);
        wrong.extend(traces::unlike(&world, *plan, &plan.name(), &expected).await);
    }
    doomed::restart(&mut world).await;
    for plan in plans.iter().filter(|plan| !is_retained(**plan)) {
        let gone = await_gone(&world.tenants(), &plan.name(), SOON).await;
        wrong.extend(gone.err().map(|error| format!("{plan}: {error:#}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let retained: Vec<String> = plans
        .iter()
        .filter(|plan| is_retained(**plan))
        .map(|plan| plan.name())
        .collect();
    census::only(&world, &retained).await;
    for plan in plans.iter().filter(|plan| is_retained(**plan)) {
        finds_the_retained_record(&world, *plan).await;
    }
}

fn manifest(world: &World, plan: Plan) -> String {
    let policy = if is_retained(plan) {
        "Retain"
    } else {
        "Delete"
    };
    world.tenant_manifest(
        &plan.name(),
        &format!("deletionPolicy: {policy}, extensions: [{EXTENSION}]"),
    )
}

/// What was there when the Tenant was deleted, and the way from there.
fn start(plan: Plan) -> (Traces, &'static [Step]) {
    let mut ready = through(&Traces::default(), creating::PATH);
    if is_retained(plan) {
        ready.facts.remove(&Fact::Finalizer);
        ready.facts.remove(&Fact::Condition);
        return (Traces::new("", ready.facts), RETAIN);
    }
    if plan.id == SESSIONS {
        ready.facts.insert(Fact::Session);
    }
    (ready, PATH)
}

fn is_retained(plan: Plan) -> bool {
    RETAIN.iter().any(|step| step.id == plan.id)
}

/// The application opens a session that lasts until the server ends it.
async fn log_in(world: &World, tenant: &str) {
    let application = world.application(tenant).await.unwrap();
    tokio::spawn(async move { application.query("SELECT pg_sleep(600)").await });
    until(
        Duration::from_secs(10),
        "the application is logged in",
        async || {
            let found = traces::tenant(world, tenant).await?;
            ensure!(found.facts.contains(&Fact::Session), "{found:?}");
            Ok(())
        },
    )
    .await
    .unwrap();
}

/// T4: one of the same name is another Tenant. It alters nothing but the mark that the crash may have prevented.
async fn finds_the_retained_record(world: &World, plan: Plan) {
    let (version, before) = world.entry(&plan.name()).await.unwrap();
    world
        .apply(&manifest(world, plan))
        .await
        .unwrap()
        .success()
        .unwrap();
    let condition = world.tenant_reason(&plan.name(), "Conflict").await.unwrap();
    assert!(
        condition.message.contains("retained"),
        "{plan}: {}",
        condition.message
    );
    let mut expected = through(&start(plan).0, RETAIN);
    expected.facts.insert(Fact::Condition);
    "Pending".clone_into(&mut expected.phase);
    assert_eq!(
        traces::tenant(world, &plan.name()).await.unwrap(),
        expected,
        "{plan}"
    );
    assert_eq!(
        world.entry(&plan.name()).await.unwrap(),
        (version, before),
        "{plan}"
    );
    assert_eq!(version, 1, "{plan}");
}
