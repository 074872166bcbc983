//! What several stories do: meet a refusal before the claim, correct a spec, make the controller look, hold the registry still.

use e2e::Bed;
use e2e::bed::wait::until;
use e2e::world::condition::{Condition, await_object, condition};
use e2e::world::objects::Namespace;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::Tenantry;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::outside::{Names, Outside, outside};

/// Applies a Tenant that meets something that is not its own, and proves that the `Conflict` was found before the claim with
/// nothing changed anywhere (T3). Gives what stood outside, and what the condition says, which must contain `says`.
pub async fn refused(
    world: &World,
    names: &Names,
    manifest: &str,
    says: &str,
) -> (Outside, Condition) {
    let before = outside(world, names).await;
    world.apply(manifest).await.unwrap().success().unwrap();
    let said = world.tenant_reason(names.tenant, "Conflict").await.unwrap();
    assert!(
        said.message.contains(says),
        "{said:?} does not say {says:?}"
    );
    assert_eq!(
        outside(world, names).await,
        before,
        "{} touched something",
        names.tenant
    );
    let tenant = world.tenants().get(names.tenant).await.unwrap();
    assert!(is_unclaimed(&tenant), "{}", tenant.data);
    (before, said)
}

/// True if status says that nothing was created: the fields are editable (D3). A missing phase is `Pending`.
pub fn is_unclaimed(tenant: &DynamicObject) -> bool {
    let status = &tenant.data["status"];
    (status["phase"].is_null() || status["phase"] == "Pending") && status["database"].is_null()
}

/// Edits the spec, which must be accepted, and waits for `Ready`.
pub async fn corrected(world: &World, tenant: &str, spec: Value) -> DynamicObject {
    world
        .patch_tenant(tenant, &json!({"spec": spec}))
        .await
        .unwrap()
        .success()
        .unwrap();
    world.tenant_ready(tenant).await.unwrap()
}

/// A harmless change of the object: the controller looks at everything, as it does at the slow timer.
pub async fn wake(world: &World, tenant: &str) {
    let looked_at = json!({"metadata": {"annotations": {"story.example/looked-at": format!("{:x}", rand::random::<u64>())}}});
    world
        .tenants()
        .patch(tenant, &PatchParams::default(), &Patch::Merge(looked_at))
        .await
        .unwrap();
}

/// Wakes the controller and waits for `Ready`, from a condition that was something else.
pub async fn ready_again(world: &World, tenant: &str) -> DynamicObject {
    wake(world, tenant).await;
    world.tenant_ready(tenant).await.unwrap()
}

/// Wakes the controller and waits for the reason, from a condition that was another.
pub async fn says(world: &World, tenant: &str, reason: &str, words: &[&str]) {
    wake(world, tenant).await;
    let said = world.tenant_reason(tenant, reason).await.unwrap();
    for word in words {
        assert!(
            said.message.contains(word),
            "{said:?} does not say {word:?}"
        );
    }
}

/// Runs SQL as the superuser; no result.
pub async fn sql(world: &World, database: &str, sql: &str) {
    world.superuser(database, sql).await.unwrap();
}

/// Waits until a query as superuser gives this text.
pub async fn until_sql(world: &World, database: &str, what: &str, query: &str, wanted: &str) {
    until(SOON, what, async || {
        let seen = world.superuser(database, query).await?.unwrap_or_default();
        anyhow::ensure!(
            seen == wanted,
            "{query} gives {seen:?} instead of {wanted:?}"
        );
        Ok(())
    })
    .await
    .unwrap();
}

/// A whole look at a `Ready` Tenant, proved by the repair of a drift made for that purpose; it ends `Ready`.
pub async fn whole_look(world: &World, names: &Names) {
    sql(
        world,
        "postgres",
        &format!("ALTER ROLE {} NOLOGIN", names.role),
    )
    .await;
    wake(world, names.tenant).await;
    let query = format!(
        "SELECT rolcanlogin::text FROM pg_roles WHERE rolname = '{}'",
        names.role
    );
    until_sql(
        world,
        "postgres",
        "the role may log in again",
        &query,
        "true",
    )
    .await;
    world.tenant_ready(names.tenant).await.unwrap();
}

/// Takes the whole status away, as no controller does.
pub async fn wipe_status(world: &World, tenant: &str) {
    world
        .merge_tenant_status(tenant, &Value::Null)
        .await
        .unwrap()
        .success()
        .unwrap();
}

/// Waits until the checkpoint is this one.
pub async fn phase(world: &World, tenant: &str, phase: &str) -> DynamicObject {
    let what = format!("in phase {phase}");
    await_object(&world.tenants(), tenant, &what, SOON, |object| {
        object.data["status"]["phase"] == phase
    })
    .await
    .unwrap()
}

/// Waits until `Ready` is `True` for this generation, in phase `Ready`, with the recorded names of `names`.
pub async fn wholly_ready(world: &World, names: &Names) -> DynamicObject {
    await_object(
        &world.tenants(),
        names.tenant,
        "wholly Ready",
        SOON,
        |object| {
            let status = &object.data["status"];
            condition(object, "Ready")
                .is_some_and(|ready| ready.status == "True" && ready.reason == "Ready")
                && status["phase"] == "Ready"
                && status["observedGeneration"] == json!(object.metadata.generation)
                && status["database"] == names.database.as_str()
                && status["loginRole"] == names.role.as_str()
                && status["credential"]["secretRef"]["name"] == names.secret.as_str()
        },
    )
    .await
    .unwrap()
}

/// A transaction that holds a lock on the registry's claims until it is dropped: `SHARE` lets Tenantry read and not write,
/// `ACCESS EXCLUSIVE` neither.
pub async fn hold_claims(world: &World, mode: &str) -> tokio_postgres::Client {
    let client = world
        .bed
        .postgres()
        .superuser(&world.management_database())
        .await
        .unwrap();
    client
        .batch_execute(&format!("BEGIN; LOCK TABLE tenantry.claim IN {mode} MODE"))
        .await
        .unwrap();
    client
}

/// The same Instance seen from another namespace.
pub async fn neighbour(world: &World, story: &str) -> World {
    let bed = Bed::shared().unwrap();
    let tenantry = Tenantry::shared(&bed).await.unwrap();
    let namespace = Namespace::create(&bed, story).await.unwrap();
    World {
        bed,
        tenantry,
        namespace,
        instance: world.instance.clone(),
    }
}

/// A second Instance, `Ready`, at the first server, with this management database.
pub async fn second_instance(world: &World, name: &str, database: &str) {
    let server = world.bed.postgres();
    let password = server.admin_password().unwrap();
    world
        .create_admin_secret(name, e2e::bed::postgres::ADMIN, &password)
        .await
        .unwrap();
    world
        .apply(&world.instance_of(name, server.description(), database))
        .await
        .unwrap()
        .success()
        .unwrap();
    world.instance_reason(name, "Ready").await.unwrap();
}

/// One application's query with the projected Secret; gives its output.
pub async fn application_says(world: &World, tenant: &str, query: &str) -> String {
    let login = world.application(tenant).await.unwrap();
    login
        .query(query)
        .await
        .unwrap()
        .success()
        .unwrap()
        .stdout
        .trim()
        .to_owned()
}
