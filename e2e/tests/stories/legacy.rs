//! Story: objects that were stored under laxer rules stay manageable (D4).
//!
//! They break today's rules. They must still take a label, a status and the removal of their finalizer, with the rules in
//! force and the webhook dead; and only an edit of their spec is judged.

use std::time::Duration;

use anyhow::ensure;
use e2e::bed::ports::free_port;
use e2e::bed::wait::until;
use e2e::world::chart::install_chart;
use e2e::world::objects::{Namespace, all};
use e2e::{Bed, Options};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const GROUP_VERSION: &str = "database.ddupan.top/v1alpha1";
const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn alone_d4_a_legacy_object_takes_label_status_and_finalizer_removal_with_the_webhook_dead() {
    let bed = Bed::private(Options::default().without_eso_crds().openbao_in_memory())
        .await
        .unwrap();
    let namespace = Namespace::create(&bed, "legacy").await.unwrap();
    let client = namespace.client().clone();
    let tenants = namespace.objects(GROUP_VERSION, "PostgreSQLTenant");
    let instances = all(&client, GROUP_VERSION, "PostgreSQLInstance");

    replace_crds(&client, true).await;
    store_once_lax(&tenants, tenant("my-app", &json!({"instanceRef": "Main"}))).await;
    store_once_lax(
        &instances,
        instance("legacy", "PG.example", "169.254.169.254"),
    )
    .await;
    let too_long = "a".repeat(240);
    for (name, spec) in [
        ("postgres", json!({"instanceRef": "main"})),
        (
            "too-long",
            json!({"instanceRef": too_long, "database": "D", "loginRole": "pg_x", "extensions": ["A b"]}),
        ),
    ] {
        create(&tenants, &tenant(name, &spec), false).await.unwrap();
    }
    replace_crds(&client, false).await;
    until(SOON, "the rules are in force", async || {
        let broken = tenant("my-app-2", &json!({"instanceRef": "main"}));
        let said = refusal(&tenants, &broken).await.unwrap_or_default();
        ensure!(said.contains("set spec.database"), "{said:?}");
        Ok(())
    })
    .await
    .unwrap();
    // Nothing listens on this port: whatever reaches the webhook fails.
    let url = format!("https://127.0.0.1:{}", free_port().unwrap());
    install_chart(&bed, &url, &bed.authority().unwrap().file(), &[])
        .await
        .unwrap();
    until(SOON, "the webhook is asked", async || {
        let legal = instance("legal", "pg.example", "192.0.2.1");
        let said = refusal(&instances, &legal).await.unwrap_or_default();
        ensure!(said.contains("failed calling webhook"), "{said:?}");
        Ok(())
    })
    .await
    .unwrap();

    for name in ["my-app", "postgres", "too-long"] {
        stays_manageable(
            &tenants,
            name,
            &json!({"spec": {"deletionPolicy": "Delete"}}),
        )
        .await;
    }
    let edit = json!({"spec": {"endpoint": {"port": 6432}}});
    stays_manageable(&instances, "legacy", &edit).await;
}

/// A label, a status with a recorded name that the spec does not hold, a refused spec edit, deletion and the removal of the
/// finalizer.
async fn stays_manageable(objects: &Api<DynamicObject>, name: &str, edit: &Value) {
    let patch = PatchParams::default();
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    objects.patch(name, &patch, &label).await.unwrap();
    for phase in ["Ready", "Deleting"] {
        let status = Patch::Merge(json!({"status": {"phase": phase, "database": "recorded"}}));
        let stored = objects.patch_status(name, &patch, &status).await.unwrap();
        assert_eq!(stored.data["status"]["phase"], phase, "{name}");
    }
    let refused = objects.patch(name, &patch, &Patch::Merge(edit)).await;
    assert!(refused.is_err(), "{name}: {edit} was taken");
    objects
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
    let finalizers = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    objects.patch(name, &patch, &finalizers).await.unwrap();
    until(SOON, "the object is gone", async || {
        let left = objects.get_opt(name).await?;
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    })
    .await
    .unwrap();
}

/// Stores the object as soon as the laxer CRD is in force.
async fn store_once_lax(objects: &Api<DynamicObject>, object: Value) {
    until(SOON, "the laxer rules are in force", async || {
        Ok(create(objects, &object, false).await.map(drop)?)
    })
    .await
    .unwrap();
}

async fn create(objects: &Api<DynamicObject>, object: &Value, dry_run: bool) -> kube::Result<()> {
    let object = serde_json::from_value(object.clone()).unwrap();
    let parameters = PostParams {
        dry_run,
        ..PostParams::default()
    };
    objects.create(&parameters, &object).await.map(drop)
}

/// What is said against storing the object, if anything; stores nothing.
async fn refusal(objects: &Api<DynamicObject>, object: &Value) -> Option<String> {
    let tried = create(objects, object, true).await;
    tried.err().map(|error| error.to_string())
}

fn tenant(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": GROUP_VERSION, "kind": "PostgreSQLTenant",
        "metadata": {"name": name, "finalizers": ["story.example/held"]}, "spec": spec,
    })
}

fn instance(name: &str, host: &str, hostaddr: &str) -> Value {
    json!({
        "apiVersion": GROUP_VERSION, "kind": "PostgreSQLInstance",
        "metadata": {"name": name, "finalizers": ["story.example/held"]},
        "spec": {"endpoint": {"host": host, "hostaddr": hostaddr}, "adminCredentialRef": {"name": "admin"}},
    })
}

/// The CRDs as they are, or without any rule.
async fn replace_crds(client: &Client, lax: bool) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for mut wanted in crds::all() {
        if lax {
            for version in &mut wanted.spec.versions {
                let root = version.schema.as_mut().unwrap();
                without_rules(root.open_api_v3_schema.as_mut().unwrap());
            }
        }
        let name = wanted.metadata.name.clone().unwrap();
        let stored = definitions.get(&name).await.unwrap();
        wanted.metadata.resource_version = stored.metadata.resource_version;
        definitions
            .replace(&name, &PostParams::default(), &wanted)
            .await
            .unwrap();
    }
}

fn without_rules(schema: &mut JSONSchemaProps) {
    schema.x_kubernetes_validations = None;
    for child in schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
    {
        without_rules(child);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        without_rules(items);
    }
}
