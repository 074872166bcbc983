//! Story: every field of both kinds, wrong in every way, is refused at `kubectl apply` with its path and a remedy, and nothing is
//! written (C1–C3, C8, D2, D11, D17, M4).
//!
//! The same table holds with the webhook and, on a bed without it, by the CRDs' own rules.

use std::collections::{BTreeMap, BTreeSet};

use e2e::world::kubectl::Kubectl;
use e2e::world::objects::Namespace;
use e2e::world::tenancy::{API_VERSION, World};
use e2e::{Bed, Options};
use serde_json::{Value, json};

use crate::manifests::{refused, tenant, unique};
use crate::mistakes::{Mistake, mistakes};
use crate::writes::writes;

/// Applies the table with one `kubectl`; each object must be refused under its own name, and none be there afterwards.
async fn every_mistake_is_refused(kubectl: &Kubectl, namespace: &str) {
    let prefix = unique("m");
    let named: BTreeMap<String, Mistake> = mistakes()
        .into_iter()
        .enumerate()
        .map(|(at, mistake)| (format!("{prefix}x{at:03}"), mistake))
        .collect();
    assert!(named.len() > 150);
    let object = |(name, mistake): (&String, &Mistake)| {
        json!({
            "apiVersion": API_VERSION, "kind": mistake.kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": mistake.spec,
        })
    };
    // Documents of YAML: of a `List`, kubectl would judge the items itself.
    let documents = named
        .iter()
        .map(object)
        .map(|object| format!("---\n{object}\n"));
    let output = kubectl.apply(&documents.collect::<String>()).await.unwrap();
    assert_eq!(output.stdout, "");
    let said = refused(&output);
    let mut wrong = Vec::new();
    for (name, mistake) in &named {
        let refusal = refusal_of(&said, mistake.kind, name);
        let told = refusal.as_ref().is_some_and(|refusal| {
            refusal.contains(&mistake.path) && refusal.contains(mistake.says)
        });
        if !told {
            wrong.push(format!(
                "{} {}: expected {:?}, got {refusal:?}",
                mistake.path, mistake.spec, mistake.says
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for kind in ["pgtenant", "pginstance"] {
        let stored = kubectl
            .run(&["get", kind, "--all-namespaces", "--output=name"])
            .await
            .unwrap()
            .success()
            .unwrap();
        assert!(!stored.stdout.contains(&prefix), "{}", stored.stdout);
    }
}

/// What kubectl said of one object of several, up to the next one.
fn refusal_of(said: &str, kind: &str, name: &str) -> Option<String> {
    let start = said.find(&format!(
        "{kind}.database.ddupan.top \"{name}\" is invalid:"
    ))?;
    let rest = &said[start..];
    let end = rest.find("\nError from server").unwrap_or(rest.len());
    Some(rest[..end].to_owned())
}

/// Unknown fields under the strict validation that kubectl asks for; there is no object's name in the answer.
async fn every_unknown_field_is_refused(kubectl: &Kubectl, namespace: &str) {
    let endpoint = json!({"host": "pg.example", "hostaddr": "192.0.2.1"});
    let instance = json!({"endpoint": endpoint, "adminCredentialRef": {"name": "admin"}});
    let cases = [
        (
            "PostgreSQLTenant",
            json!({"instanceRef": "main", "databse": "x"}),
            "spec.databse",
        ),
        (
            "PostgreSQLTenant",
            json!({"instanceRef": {"name": "main"}}),
            "spec.instanceRef.name",
        ),
        (
            "PostgreSQLTenant",
            json!({"instanceRef": "main", "extensions": {"citext": "1.6"}}),
            "spec.extensions.citext",
        ),
        (
            "PostgreSQLTenant",
            json!({"instanceRef": "main", "credential": {"path": "secret/x"}}),
            "spec.credential.path",
        ),
        (
            "PostgreSQLInstance",
            with(&instance, "/allowedExtensions", json!(["citext"])),
            "spec.allowedExtensions",
        ),
        (
            "PostgreSQLInstance",
            with(&instance, "/endpoint/password", json!("x")),
            "spec.endpoint.password",
        ),
        (
            "PostgreSQLInstance",
            with(&instance, "/adminCredentialRef/namespace", json!("x")),
            "spec.adminCredentialRef.namespace",
        ),
    ];
    for (kind, spec, path) in cases {
        let name = unique("unknown");
        let object = json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec});
        let said = refused(&kubectl.apply(&object.to_string()).await.unwrap());
        let expected = format!("strict decoding error: unknown field \"{path}\"");
        assert!(said.contains(&expected), "{said}");
    }
}

fn with(spec: &Value, pointer: &str, value: Value) -> Value {
    let mut spec = spec.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    spec.pointer_mut(parent).unwrap()[field] = value;
    spec
}

/// C8 concerns the object's name, which the table cannot vary.
async fn a_name_that_is_no_identifier_needs_explicit_names(kubectl: &Kubectl, namespace: &str) {
    let object = json!({
        "apiVersion": API_VERSION, "kind": "PostgreSQLTenant",
        "metadata": {"name": "my-app", "namespace": namespace}, "spec": {"instanceRef": "main"},
    });
    let said = refused(&kubectl.apply(&object.to_string()).await.unwrap());
    for field in ["database", "loginRole"] {
        let remedy = format!(
            "metadata.name is no PostgreSQL identifier, so it cannot be the default: set spec.{field}"
        );
        assert!(
            said.contains(&format!("spec.{field}")) && said.contains(&remedy),
            "{said}"
        );
    }
}

#[tokio::test]
async fn m4_c1_c2_c3_d2_d17_every_wrong_field_is_refused_at_kubectl_apply_and_nothing_is_written() {
    let world = World::shared("mistakes").await.unwrap();
    let (kubectl, namespace) = (world.bed.kubectl(), &world.namespace.name);
    every_mistake_is_refused(&kubectl, namespace).await;
    every_unknown_field_is_refused(&kubectl, namespace).await;
    a_name_that_is_no_identifier_needs_explicit_names(&kubectl, namespace).await;
    assert_eq!(writes(&world.bed, namespace), [] as [String; 0]);
}

/// A bed on which nobody installed the chart: neither the process nor the webhook, only the CRDs.
#[tokio::test]
async fn alone_m4_without_the_webhook_the_crds_refuse_every_wrong_field() {
    let bed = Bed::private(Options::default().without_eso_crds().openbao_in_memory())
        .await
        .unwrap();
    let namespace = Namespace::create(&bed, "mistakes").await.unwrap();
    let kubectl = bed.kubectl();
    every_mistake_is_refused(&kubectl, &namespace.name).await;
    every_unknown_field_is_refused(&kubectl, &namespace.name).await;
    a_name_that_is_no_identifier_needs_explicit_names(&kubectl, &namespace.name).await;
    m1_m2_recorded_names_and_extensions_are_frozen(&kubectl, &namespace).await;
}

/// What the controller would have recorded is written by hand here: the rules look at the stored status alone.
async fn m1_m2_recorded_names_and_extensions_are_frozen(kubectl: &Kubectl, namespace: &Namespace) {
    let name = &namespace.name;
    let object = json!({
        "apiVersion": API_VERSION, "kind": "PostgreSQLTenant", "metadata": {"name": "app", "namespace": name},
        "spec": {"instanceRef": "main", "extensions": ["citext"]},
    });
    kubectl
        .apply(&object.to_string())
        .await
        .unwrap()
        .success()
        .unwrap();
    let patch = async |patch: Value| {
        let patch = patch.to_string();
        let arguments = [
            "patch", "pgtenant", "app", "-n", name, "--type", "merge", "-p", &patch,
        ];
        kubectl.run(&arguments).await.unwrap()
    };
    let recorded = json!({
        "phase": "CredentialCreated", "database": "app", "loginRole": "app",
        "credential": {"secretRef": {"name": "main-app-postgresql"}},
    });
    kubectl
        .merge_status(("pgtenant", name, "app"), &recorded)
        .await
        .unwrap()
        .success()
        .unwrap();
    let frozen = [
        (
            "spec.instanceRef",
            json!({"instanceRef": "other"}),
            "may not change once created: it is main; set it back",
        ),
        (
            "spec.database",
            json!({"database": "other"}),
            "may not change once created: it is app; set it back",
        ),
        (
            "spec.loginRole",
            json!({"loginRole": "other"}),
            "may not change once created: it is app; set it back",
        ),
        (
            "spec.credential.secretName",
            json!({"credential": {"secretName": "other"}}),
            "it is main-app-postgresql; set it back",
        ),
        (
            "spec.extensions",
            json!({"extensions": ["hstore"]}),
            "citext may not be removed: extensions are never dropped",
        ),
    ];
    for (path, spec, says) in frozen {
        let said = refused(&patch(json!({"spec": spec})).await);
        assert!(said.contains(path) && said.contains(says), "{said}");
    }
    let spelled = json!({"database": "app", "loginRole": "app", "credential": {"secretName": "main-app-postgresql"}});
    patch(json!({"spec": spelled})).await.success().unwrap();
}

#[tokio::test]
async fn null_on_an_optional_field_counts_as_absent() {
    let world = World::shared("nulls").await.unwrap();
    let name = unique("app");
    let spec = json!({
        "instanceRef": world.instance, "database": null, "loginRole": null, "extensions": null,
        "credential": null, "deletionPolicy": null,
    });
    world
        .apply(&tenant(&world, &name, &spec))
        .await
        .unwrap()
        .success()
        .unwrap();
    let object = world.tenant_ready(&name).await.unwrap();
    assert_eq!(
        object.data["spec"],
        json!({"instanceRef": world.instance, "deletionPolicy": "Retain"})
    );
    assert_eq!(object.data["status"]["database"], name);

    let admin = json!({"name": "no-such-secret", "usernameKey": null, "passwordKey": null});
    let endpoint = json!({"host": "pg.example", "hostaddr": "192.0.2.1", "port": null, "database": null, "sslMode": null});
    let instance = json!({
        "apiVersion": API_VERSION, "kind": "PostgreSQLInstance", "metadata": {"name": unique("nulls")},
        "spec": {"endpoint": endpoint, "adminCredentialRef": admin},
    });
    let shown = world
        .bed
        .kubectl()
        .run_with_input(
            &["apply", "--dry-run=server", "--output=json", "-f", "-"],
            &instance.to_string(),
        )
        .await;
    let shown: Value = serde_json::from_str(&shown.unwrap().success().unwrap().stdout).unwrap();
    let defaults = json!({"host": "pg.example", "hostaddr": "192.0.2.1", "port": 5432, "database": "postgres", "sslMode": "verify-full"});
    assert_eq!(shown["spec"]["endpoint"], defaults);
    assert_eq!(
        shown["spec"]["adminCredentialRef"],
        json!({"name": "no-such-secret", "usernameKey": "username", "passwordKey": "password"})
    );
}

/// What is legal but risky is taken and said, which also shows that the webhook was asked.
#[tokio::test]
async fn a_weak_tls_mode_and_a_destroying_policy_are_warned_of() {
    let world = World::shared("warned").await.unwrap();
    let kubectl = world.bed.kubectl();
    let try_out = async |manifest: &str| {
        let output = kubectl
            .run_with_input(&["apply", "--dry-run=server", "-f", "-"], manifest)
            .await;
        output.unwrap().success().unwrap().stderr
    };
    let said = try_out(&world.tenant_manifest("my-app", "deletionPolicy: Delete")).await;
    assert!(
        said.contains("Warning: spec.deletionPolicy is Delete"),
        "{said}"
    );
    let mut warned = BTreeSet::new();
    for mode in ["disable", "require", "verify-ca", "verify-full"] {
        let manifest = world
            .instance_manifest()
            .replace("{host:", &format!("{{sslMode: {mode}, host:"));
        let manifest = manifest.replace(
            &format!("metadata: {{name: {}}}", world.instance),
            &format!("metadata: {{name: {}}}", unique("tls")),
        );
        if try_out(&manifest)
            .await
            .contains("Warning: spec.endpoint.sslMode")
        {
            warned.insert(mode);
        }
    }
    assert_eq!(warned, BTreeSet::from(["disable", "require", "verify-ca"]));
}
