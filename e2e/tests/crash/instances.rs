//! Crashes while an Instance becomes `Ready`, while it waits for its Tenants, and while it goes.

use e2e::bed::postgres::ADMIN;
use e2e::world::condition::{await_condition, await_gone};
use e2e::world::tenancy::{API_VERSION, SOON, World};
use e2e::{Bed, Options};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use super::plan::{Fact, Plan, Step, Traces, both, effect, left, through};
use super::{doomed, traces};

const CREATE: &[Step] = &[
    effect("instance.finalizer").makes(&[Fact::Finalizer]),
    effect("instance.status.validating")
        .saves("Validating")
        .makes(&[Fact::Condition]),
    effect("instance.probe"),
    effect("instance.status.initializing").saves("InitializingRegistry"),
    effect("instance.registry.migrate").makes(&[Fact::Registry]),
    effect("instance.status.ready").saves("Ready"),
];
/// A spec that became illegal, on an Instance whose status is gone.
const ILLEGAL: &[Step] = &[effect("instance.status.pending")
    .saves("Pending")
    .makes(&[Fact::Condition])];
/// A Tenant still names it.
const HELD: &[Step] = &[effect("instance.status.deleting").saves("Deleting")];
/// The registry stays: it outlives the Instance.
const DELETE: &[Step] = &[effect("instance.finalizer.remove")
    .saves("")
    .removes(&[Fact::Finalizer, Fact::Condition])];

/// As many as are worked on at once: each that is caught keeps a worker.
const AT_ONCE: usize = 4;

/// Every failpoint of this story.
pub fn plans() -> Vec<Plan> {
    both(
        [CREATE, ILLEGAL, HELD, DELETE]
            .into_iter()
            .flatten()
            .map(|step| step.id),
    )
}

#[tokio::test]
async fn alone_i4_a_crash_at_any_effect_on_an_instance_leaves_one_registry_and_no_finalizer() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let mut world = World::private(bed, doomed::options(), "instance")
        .await
        .unwrap();
    let roles = roles(&world).await;
    let mut wrong = Vec::new();

    let create = both(CREATE.iter().map(|step| step.id));
    for plans in create.chunks(AT_ONCE) {
        wrong.extend(crash_in_creation(&mut world, plans).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The Instances of creation are ready by now; some of them serve once more.
    let names: Vec<String> = create.iter().map(|plan| name(&world, *plan)).collect();
    wrong.extend(crash_when_illegal(&mut world, &names[..2]).await);
    wrong.extend(crash_in_deletion(&mut world, &names[2..]).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        self::roles(&world).await,
        roles,
        "a role is left over from the probe of the admin's rights"
    );
}

async fn crash_in_creation(world: &mut World, plans: &[Plan]) -> Vec<String> {
    let mut doomed = doomed::Doomed::start(world, plans).await;
    for plan in plans {
        let name = name(world, *plan);
        world
            .bed
            .postgres()
            .create_management_database(&database(&name))
            .await
            .unwrap();
        let password = world.bed.postgres().admin_password().unwrap();
        world
            .create_admin_secret(&name, ADMIN, &password)
            .await
            .unwrap();
        let manifest =
            world.instance_of(&name, world.bed.postgres().description(), &database(&name));
        world.apply(&manifest).await.unwrap().success().unwrap();
        doomed.caught(world, *plan).await;
    }
    doomed.kill(world);
    let mut wrong = Vec::new();
    for plan in plans {
        wrong.extend(
            judge(
                world,
                *plan,
                &name(world, *plan),
                &left(&Traces::default(), CREATE, *plan),
            )
            .await,
        );
    }
    doomed::restart(world).await;
    for plan in plans {
        wrong.extend(converges(world, *plan, &name(world, *plan)).await);
    }
    wrong
}

async fn crash_when_illegal(world: &mut World, names: &[String]) -> Vec<String> {
    let plans = both(ILLEGAL.iter().map(|step| step.id));
    let lawful = world.tenantry.options.clone();
    world.tenantry.options = lawful.clone().flag("--deny-hostaddr", "127.0.0.0/8");
    let mut doomed = doomed::Doomed::start(world, &plans).await;
    for (plan, name) in plans.iter().zip(names) {
        let nothing = Patch::Merge(json!({"status": null}));
        world
            .instances()
            .patch_status(name, &PatchParams::default(), &nothing)
            .await
            .unwrap();
        doomed.caught(world, *plan).await;
    }
    doomed.kill(world);
    let ready = through(&Traces::default(), CREATE);
    let start = Traces::new(
        "",
        ready
            .facts
            .into_iter()
            .filter(|fact| *fact != Fact::Condition),
    );
    let mut wrong = Vec::new();
    for (plan, name) in plans.iter().zip(names) {
        wrong.extend(judge(world, *plan, name, &left(&start, ILLEGAL, *plan)).await);
    }
    world.tenantry.options = lawful;
    doomed::restart(world).await;
    for (plan, name) in plans.iter().zip(names) {
        wrong.extend(converges(world, *plan, name).await);
    }
    wrong
}

async fn crash_in_deletion(world: &mut World, names: &[String]) -> Vec<String> {
    let plans = both(HELD.iter().chain(DELETE).map(|step| step.id));
    let cases: Vec<(Plan, &String)> = plans.into_iter().zip(names).collect();
    let held: Vec<&String> = cases
        .iter()
        .filter(|(plan, _)| plan.id == HELD[0].id)
        .map(|(_, name)| *name)
        .collect();
    for (index, name) in held.iter().enumerate() {
        let holder = holder(index);
        let manifest = format!(
            "apiVersion: {API_VERSION}\nkind: PostgreSQLTenant\nmetadata: {{name: {holder}, namespace: {}}}\n\
             spec: {{instanceRef: {name}, database: {role}, loginRole: {role}, deletionPolicy: Delete}}\n",
            world.namespace.name,
            role = format!("{}_tenant", database(name)),
        );
        world.apply(&manifest).await.unwrap().success().unwrap();
        world.tenant_ready(&holder).await.unwrap();
    }
    let plans: Vec<Plan> = cases.iter().map(|(plan, _)| *plan).collect();
    let mut doomed = doomed::Doomed::start(world, &plans).await;
    for (plan, name) in &cases {
        world
            .instances()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
        doomed.caught(world, *plan).await;
    }
    doomed.kill(world);
    let ready = through(&Traces::default(), CREATE);
    let mut wrong = Vec::new();
    for (plan, name) in &cases {
        let path = if held.contains(name) { HELD } else { DELETE };
        wrong.extend(judge(world, *plan, name, &left(&ready, path, *plan)).await);
    }
    doomed::restart(world).await;
    for index in 0..held.len() {
        world
            .tenants()
            .delete(&holder(index), &DeleteParams::default())
            .await
            .unwrap();
    }
    for (plan, name) in &cases {
        let gone = await_gone(&world.instances(), name, SOON).await;
        wrong.extend(gone.err().map(|error| format!("{plan}: {error:#}")));
        wrong.extend(judge(world, *plan, name, &through(&ready, DELETE)).await);
    }
    wrong
}

/// The Tenant that holds the Instance of this index.
fn holder(index: usize) -> String {
    format!("holder-{index}")
}

/// The Instance becomes ready, with a registry.
async fn converges(world: &World, plan: Plan, name: &str) -> Option<String> {
    if let Err(error) = await_condition(&world.instances(), name, "Ready", "True", SOON).await {
        return Some(format!("{plan}: {error:#}"));
    }
    judge(world, plan, name, &through(&Traces::default(), CREATE)).await
}

async fn judge(world: &World, plan: Plan, name: &str, expected: &Traces) -> Option<String> {
    let found = traces::instance(world, name, &database(name))
        .await
        .unwrap();
    (found != *expected).then(|| format!("{plan} left {found:?}\n  expected {expected:?}"))
}

fn name(world: &World, plan: Plan) -> String {
    format!("{}-{}", world.instance, plan.name())
}

fn database(instance: &str) -> String {
    instance.replace('-', "_")
}

async fn roles(world: &World) -> Option<String> {
    let sql = "SELECT string_agg(rolname::text, ',' ORDER BY rolname) FROM pg_roles";
    world.superuser("postgres", sql).await.unwrap()
}
