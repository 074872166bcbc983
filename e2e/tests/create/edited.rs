//! Story: the spec is edited, before anything was made and afterwards (D2, D3, D4, M1, M3, M4).

use e2e::bed::SYSTEM_NAMESPACE;
use e2e::bed::postgres::ADMIN;
use e2e::world::condition::{await_gone, await_object, await_reason};
use e2e::world::tenancy::{SOON, World};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use crate::manifests::{edit, ready, refused, refused_edit, tenant, tenant_in, unique};

const FINALIZER: &str = "database.ddupan.top/finalizer";

/// What a person does who mistyped: nothing was made yet, so every field may still be corrected.
#[tokio::test]
async fn d3_m1_every_field_may_be_corrected_while_the_instance_does_not_exist() {
    let world = World::shared("early").await.unwrap();
    let (database, role) = (unique("right"), unique("login"));
    let spec = json!({"instanceRef": "no-such-instance", "database": unique("wrong"), "loginRole": unique("wrong")});
    world
        .apply(&tenant(&world, "my-app", &spec))
        .await
        .unwrap()
        .success()
        .unwrap();
    let condition = world
        .tenant_reason("my-app", "InstanceNotReady")
        .await
        .unwrap();
    assert_eq!(
        condition.message,
        "PostgreSQLInstance no-such-instance does not exist"
    );
    let right = json!({
        "instanceRef": world.instance, "database": database, "loginRole": role,
        "credential": {"secretName": "corrected"}, "extensions": ["citext"],
    });
    edit(&world, "my-app", right).await;
    let object = world.tenant_ready("my-app").await.unwrap();
    let status = &object.data["status"];
    assert_eq!(status["database"], database);
    assert_eq!(status["loginRole"], role);
    assert_eq!(status["credential"]["secretRef"]["name"], "corrected");
    assert!(world.has_database(&database).await.unwrap() && world.has_role(&role).await.unwrap());
    let wrong = spec["database"].as_str().unwrap();
    assert!(!world.has_database(wrong).await.unwrap() && !world.has_role(wrong).await.unwrap());
}

#[tokio::test]
async fn d3_names_may_be_corrected_while_they_are_in_conflict() {
    let world = World::shared("clash").await.unwrap();
    let taken = world.identifier("taken");
    world
        .superuser("postgres", &format!("CREATE ROLE {taken}"))
        .await
        .unwrap();
    world
        .apply(&world.tenant_manifest("my-app", &format!("loginRole: {taken}")))
        .await
        .unwrap()
        .success()
        .unwrap();
    let condition = world.tenant_reason("my-app", "Conflict").await.unwrap();
    assert!(
        condition.message.contains("choose another spec.loginRole"),
        "{}",
        condition.message
    );
    edit(
        &world,
        "my-app",
        json!({"loginRole": world.identifier("free")}),
    )
    .await;
    let object = world.tenant_ready("my-app").await.unwrap();
    assert_eq!(object.data["status"]["loginRole"], world.identifier("free"));
}

#[tokio::test]
async fn m1_m4_once_created_the_names_are_refused_at_kubectl_and_nothing_changes() {
    let world = World::shared("frozen").await.unwrap();
    let database = world.identifier("my_app");
    world.ready_tenant("my-app", "").await.unwrap();
    let edits = [
        (
            "spec.instanceRef",
            json!({"instanceRef": "another"}),
            world.instance.clone(),
        ),
        (
            "spec.database",
            json!({"database": "another"}),
            database.clone(),
        ),
        ("spec.loginRole", json!({"loginRole": "another"}), database),
        (
            "spec.credential.secretName",
            json!({"credential": {"secretName": "another"}}),
            world.secret_name("my-app"),
        ),
    ];
    for (path, spec, recorded) in edits {
        let said = refused_edit(&world, "my-app", spec).await;
        let remedy = format!(
            "may not change once created: it is {recorded}; set it back, or make a new tenant and migrate"
        );
        assert!(said.contains(path) && said.contains(&remedy), "{said}");
    }
}

#[tokio::test]
async fn d3_spelling_the_defaults_out_and_leaving_them_out_again_is_no_change() {
    let world = World::shared("spelled").await.unwrap();
    let name = unique("app");
    world
        .apply(&tenant(
            &world,
            &name,
            &json!({"instanceRef": world.instance}),
        ))
        .await
        .unwrap()
        .success()
        .unwrap();
    world.tenant_ready(&name).await.unwrap();
    let spelled = json!({"database": name, "loginRole": name, "credential": {"secretName": world.secret_name(&name)}});
    edit(&world, &name, spelled).await;
    let object = world.tenant_ready(&name).await.unwrap();
    assert_eq!(object.metadata.generation, Some(2));
    let said = refused_edit(&world, &name, json!({"database": "another"})).await;
    assert!(said.contains("may not change once created"), "{said}");
    edit(
        &world,
        &name,
        json!({"database": null, "loginRole": null, "credential": null}),
    )
    .await;
    let object = world.tenant_ready(&name).await.unwrap();
    assert_eq!(object.metadata.generation, Some(3));
    assert_eq!(object.data["status"]["database"], name);
}

/// Bug log 6; admission may not reveal the name, so the controller says it, without saying whose name it is (C5).
#[tokio::test]
async fn d2_c5_the_admins_own_name_is_no_login_role_and_is_not_given_away() {
    let world = World::shared("admin").await.unwrap();
    world
        .apply(&world.tenant_manifest("my-app", &format!("loginRole: {ADMIN}")))
        .await
        .unwrap()
        .success()
        .unwrap();
    let condition = world.tenant_reason("my-app", "InvalidSpec").await.unwrap();
    assert_eq!(
        condition.message,
        "spec.loginRole is reserved on this Instance: choose another"
    );
    assert!(
        !world
            .has_database(&world.identifier("my_app"))
            .await
            .unwrap()
    );
    edit(
        &world,
        "my-app",
        json!({"loginRole": world.identifier("my_app")}),
    )
    .await;
    world.tenant_ready("my-app").await.unwrap();
}

#[tokio::test]
async fn d2_the_management_database_is_refused_to_a_tenant_and_a_tenants_database_to_the_registry()
{
    let world = World::shared("registry").await.unwrap();
    let management = world.management_database();
    let manifest = world.tenant_manifest("my-app", &format!("database: {management}"));
    let said = refused(&world.apply(&manifest).await.unwrap());
    let expected = format!(
        "The PostgreSQLTenant \"my-app\" is invalid: spec.database: Forbidden: {management} is the management database of \
         Instance {}: choose another",
        world.instance
    );
    assert!(said.contains(&expected), "{said}");
    assert!(world.tenants().get_opt("my-app").await.unwrap().is_none());

    world.ready_tenant("my-app", "").await.unwrap();
    let database = world.identifier("my_app");
    let patch = json!({"spec": {"endpoint": {"database": database}}}).to_string();
    let said = world
        .bed
        .kubectl()
        .run(&[
            "patch",
            "pginstance",
            &world.instance,
            "--type",
            "merge",
            "-p",
            &patch,
        ])
        .await;
    let said = refused(&said.unwrap());
    let expected = format!(
        "spec.endpoint.database: Forbidden: {database} is the database of tenant {}/my-app: the registry must not live there, choose another",
        world.namespace.name
    );
    assert!(said.contains(&expected), "{said}");
    let instance = world.instances().get(&world.instance).await.unwrap();
    assert_eq!(instance.data["spec"]["endpoint"]["database"], management);
}

/// The webhook leaves the controller's own namespace alone, so a Tenant there is judged by the CRD and the controller only.
#[tokio::test]
async fn d2_c5_where_the_webhook_is_not_asked_the_controller_refuses_the_management_database() {
    let world = World::shared("unasked").await.unwrap();
    let name = unique("unasked");
    let spec = json!({"instanceRef": world.instance, "database": world.management_database()});
    world
        .apply(&tenant_in(SYSTEM_NAMESPACE, &name, &spec))
        .await
        .unwrap()
        .success()
        .unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "database.ddupan.top",
        "v1alpha1",
        "PostgreSQLTenant",
    ));
    let tenants: Api<DynamicObject> = Api::namespaced_with(
        world.namespace.client().clone(),
        SYSTEM_NAMESPACE,
        &resource,
    );
    let object = await_reason(&tenants, &name, "Ready", "InvalidSpec", SOON)
        .await
        .unwrap();
    let (_, message) = ready(&object);
    let expected = format!(
        "spec.database {} is the management database of Instance {}: choose another",
        world.management_database(),
        world.instance
    );
    assert_eq!(message, expected);
    assert!(!world.has_role(&name).await.unwrap());
    tenants
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    await_gone(&tenants, &name, SOON).await.unwrap();
}

#[tokio::test]
async fn m3_the_finalizer_is_there_exactly_while_the_policy_is_delete() {
    let world = World::shared("policy").await.unwrap();
    world.ready_tenant("my-app", "").await.unwrap();
    for (policy, held) in [("Delete", true), ("Retain", false), ("Delete", true)] {
        edit(&world, "my-app", json!({"deletionPolicy": policy})).await;
        let in_step = |object: &DynamicObject| {
            let concluded = object
                .data
                .pointer("/status/observedGeneration")
                .and_then(Value::as_i64);
            let holds = object
                .metadata
                .finalizers
                .iter()
                .flatten()
                .any(|name| name == FINALIZER);
            holds == held && concluded == object.metadata.generation
        };
        let what = format!("held: {held}");
        let object = await_object(&world.tenants(), "my-app", &what, SOON, in_step)
            .await
            .unwrap();
        assert_eq!(ready(&object).0, "True", "{policy}");
    }
}

#[tokio::test]
async fn d4_a_tenant_that_is_being_deleted_takes_a_label_but_no_other_spec() {
    let world = World::shared("leaving").await.unwrap();
    world.ready_tenant("my-app", "").await.unwrap();
    let hold = json!({"metadata": {"finalizers": ["story.example/held"]}});
    world
        .patch_tenant("my-app", &hold)
        .await
        .unwrap()
        .success()
        .unwrap();
    world
        .tenants()
        .delete("my-app", &DeleteParams::default())
        .await
        .unwrap();
    let said = refused_edit(&world, "my-app", json!({"deletionPolicy": "Delete"})).await;
    assert!(
        said.contains("the object is being deleted: its spec may not change any more"),
        "{said}"
    );
    let label = json!({"metadata": {"labels": {"seen": "yes"}}});
    world
        .patch_tenant("my-app", &label)
        .await
        .unwrap()
        .success()
        .unwrap();
    let free = json!({"metadata": {"finalizers": null}});
    world
        .patch_tenant("my-app", &free)
        .await
        .unwrap()
        .success()
        .unwrap();
    await_gone(&world.tenants(), "my-app", SOON).await.unwrap();
}
