//! Tenants as people write them, and the commands of `kubectl` that these stories share.

use e2e::world::command::Output;
use e2e::world::tenancy::{API_VERSION, World};
use kube::api::DynamicObject;
use serde_json::{Value, json};

/// A name that no other story has, and that is a PostgreSQL identifier as well.
pub fn unique(prefix: &str) -> String {
    format!("{prefix}{:08x}", rand::random::<u32>())
}

/// A Tenant of the story with this spec and nothing else.
pub fn tenant(world: &World, name: &str, spec: &Value) -> String {
    tenant_in(&world.namespace.name, name, spec)
}

/// A Tenant in any namespace.
pub fn tenant_in(namespace: &str, name: &str, spec: &Value) -> String {
    let object = json!({
        "apiVersion": API_VERSION, "kind": "PostgreSQLTenant",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    });
    object.to_string()
}

/// `kubectl patch` of a Tenant's spec that must be taken.
pub async fn edit(world: &World, name: &str, spec: Value) {
    world
        .patch_tenant(name, &json!({"spec": spec}))
        .await
        .unwrap()
        .success()
        .unwrap();
}

/// `kubectl patch` of a Tenant's spec that must be refused without a change of the object; gives what kubectl said.
pub async fn refused_edit(world: &World, name: &str, spec: Value) -> String {
    let before = world.tenants().get(name).await.unwrap();
    let said = refused(
        &world
            .patch_tenant(name, &json!({"spec": spec}))
            .await
            .unwrap(),
    );
    let after = world.tenants().get(name).await.unwrap();
    assert_eq!(
        after.metadata.generation, before.metadata.generation,
        "{said}"
    );
    assert_eq!(after.data["spec"], before.data["spec"], "{said}");
    said
}

/// What kubectl said when it must have failed.
pub fn refused(output: &Output) -> String {
    assert_ne!(
        output.code, 0,
        "it was taken: {}{}",
        output.stdout, output.stderr
    );
    output.stderr.clone()
}

/// Status and message of `Ready`.
pub fn ready(object: &DynamicObject) -> (String, String) {
    let condition = e2e::world::condition::condition(object, "Ready").unwrap();
    (condition.status, condition.message)
}
