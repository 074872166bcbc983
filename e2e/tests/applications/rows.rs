//! Stories: one for each row of the table of section 8, with the messages that kubectl shows; and what comes before it (steps 3 to 6, 9).

use serde_json::json;

use super::stand::{FIRST, NAME, Stand};

const CHECK_LATER: &str = "the package's settings check will run when the settings are applied";

/// A bound, a rule, a transition rule, a frozen field and a granted one.
const SCHEMA: &str = "
type: object
properties:
  replicas: {type: integer, minimum: 1, default: 1}
  maxReplicas: {type: integer, default: 3}
  size: {type: integer, default: 10}
  zone: {type: string, x-deckhouse-immutable: true}
  class: {type: string, x-deckhouse-grantable-resource: storageclasses}
  check: {type: object, additionalProperties: true}
x-deckhouse-validations:
  - {expression: 'self.replicas <= self.maxReplicas', message: replicas must not exceed maxReplicas}
  - {expression: 'self.size >= oldSelf.size', message: size must not shrink}
";

const TOO_MANY: &str = "spec.settings: Invalid value: replicas must not exceed maxReplicas";

#[tokio::test]
async fn row_1_a_create_is_judged_by_schema_and_rules_and_by_nothing_that_needs_a_past() {
    let stand = Stand::checked("row-1", SCHEMA).await;
    stand.grant("storageclasses", "fast", &["fast"]).await;
    let output = stand.apply("{replicas: 0, typo: 1}").await;
    Stand::refused(
        &output,
        &[
            "spec.settings.replicas: Invalid value: should be greater than or equal to 1",
            "spec.settings.typo: Forbidden: is a forbidden property",
        ],
    );
    Stand::refused(&stand.apply("{replicas: 9}").await, &[TOO_MANY]);
    // Neither the grant, nor the transition rule, nor the check.
    let settings = "{size: 1, zone: a, class: unknown, check: {valid: false}}";
    Stand::stored(&stand.apply(settings).await, &[]);
}

#[tokio::test]
async fn row_2_an_update_before_installation_is_judged_by_schema_rules_and_frozen_fields() {
    let stand = Stand::checked("row-2", SCHEMA).await;
    stand.grant("storageclasses", "fast", &["fast"]).await;
    Stand::stored(&stand.apply("{zone: a}").await, &[]);
    stand
        .record(&json!({"lastAppliedConfiguration": {"replicas": 1, "maxReplicas": 3, "size": 10, "zone": "a"}}))
        .await;
    Stand::refused(&stand.apply("{zone: a, replicas: 9}").await, &[TOO_MANY]);
    Stand::refused(
        &stand.apply("{zone: b}").await,
        &[
            "spec.settings.zone: Forbidden: \"zone\" can only be set when the application is created: restore the applied value",
        ],
    );
    let settings = "{size: 1, zone: a, class: unknown, check: {valid: false}}";
    Stand::stored(&stand.apply(settings).await, &[]);
}

#[tokio::test]
async fn row_3_an_update_of_what_is_installed_is_judged_by_everything() {
    let stand = Stand::checked("row-3", SCHEMA).await;
    Stand::stored(&stand.apply("{zone: a}").await, &[]);
    let applied = json!({"replicas": 1, "maxReplicas": 3, "size": 10, "zone": "a"});
    stand.installed(FIRST, &applied).await;
    stand
        .grant("storageclasses", "fast", &["fast", "slow"])
        .await;
    let refused = stand
        .eventually("{zone: a, class: other}", |output| output.code != 0)
        .await;
    Stand::refused(
        &refused,
        &[
            "spec.settings.class: Unsupported value: \"other\" is not among the storageclasses granted to this project: choose one of [fast slow]",
        ],
    );
    Stand::refused(&stand.apply("{zone: a, replicas: 9}").await, &[TOO_MANY]);
    Stand::refused(
        &stand.apply("{zone: a, size: 5}").await,
        &["spec.settings: Invalid value: size must not shrink"],
    );
    Stand::refused(
        &stand.apply("{zone: b, size: 20}").await,
        &[
            "spec.settings.zone: Forbidden: \"zone\" can only be set when the application is created: restore the applied value",
        ],
    );
    let check = "{valid: false, message: the quota is used up}";
    Stand::refused(
        &stand.apply(&format!("{{zone: a, check: {check}}}")).await,
        &["spec.settings: Invalid value: the quota is used up"],
    );
    let check = "{valid: true, warnings: [it takes a while]}";
    Stand::stored(
        &stand.apply(&format!("{{zone: a, check: {check}}}")).await,
        &["it takes a while"],
    );
}

#[tokio::test]
async fn row_4_what_is_being_deleted_is_let_go_and_a_deletion_is_never_asked_about() {
    let stand = Stand::shared("row-4", SCHEMA).await;
    Stand::stored(&stand.apply("{zone: a}").await, &[]);
    let namespace = stand.namespace.name.as_str();
    let finalize = |finalizers: &str| format!("{{\"metadata\":{{\"finalizers\":{finalizers}}}}}");
    let held = finalize("[\"example.org/held\"]");
    let patch = [
        "patch",
        "application",
        NAME,
        "-n",
        namespace,
        "--type",
        "merge",
        "-p",
    ];
    stand.kubectl(&[&patch[..], &[&held]].concat()).await;
    stand
        .kubectl(&[
            "delete",
            "application",
            NAME,
            "-n",
            namespace,
            "--wait=false",
        ])
        .await;
    let wrong = "{\"spec\":{\"packageName\":\"gone\",\"settings\":{\"typo\":1}}}";
    let output = stand.kubectl(&[&patch[..], &[wrong]].concat()).await;
    assert_eq!(output.stderr, "");
    stand
        .kubectl(&[&patch[..], &[&finalize("[]")]].concat())
        .await;
    let gone = ["wait", "--for=delete", "application", NAME, "-n", namespace];
    let output = stand.bed.kubectl().run(&gone).await.unwrap();
    assert!(
        output.code == 0 || output.stderr.contains("not found"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_long_name_an_unknown_package_and_an_unknown_version_are_refused_in_this_order() {
    let stand = Stand::shared("steps", SCHEMA).await;
    let of_none = |name: &str| {
        let own = format!("packageName: {}", stand.package);
        let manifest = stand.manifest(name, "v9.9.9", "{typo: 1}", "");
        manifest.replace(&own, "packageName: gone")
    };
    let long = "a".repeat(25);
    let output = stand.apply_manifest(&of_none(&long)).await;
    assert_eq!(
        output.stderr,
        format!(
            "The Application \"{long}\" is invalid: metadata.name: Too long: has 25 bytes, an Application's name has at most 24: choose a shorter one\n"
        )
    );
    Stand::refused(
        &stand.apply_manifest(&of_none(NAME)).await,
        &[
            "spec.packageName: Invalid value: there is no ApplicationPackage \"gone\": choose one of `kubectl get applicationpackages`",
        ],
    );
    Stand::refused(
        &stand.apply_at("v9.9.9", "{typo: 1}").await,
        &[&format!(
            "spec.packageVersion: Invalid value: ApplicationPackageVersion local-{}-v9.9.9 does not exist: choose a version that is published",
            stand.package
        )],
    );
}

#[tokio::test]
async fn a_draft_cannot_be_installed_and_hurts_no_other_version() {
    let stand = Stand::shared("draft", SCHEMA).await;
    stand.write(
        "v2.0.0",
        "openapi/settings.yaml",
        "{properties: {a: {pattern: '('}}}",
    );
    let name = format!("local-{}-v2.0.0", stand.package);
    super::directory::await_loaded(&stand.bed, &name, "InvalidSchema")
        .await
        .unwrap();
    let output = stand.apply_at("v2.0.0", "{}").await;
    Stand::refused(
        &output,
        &[&format!(
            "spec.packageVersion: Invalid value: ApplicationPackageVersion {name} is a draft, its metadata is not loaded yet: try again, or choose another version"
        )],
    );
    Stand::stored(&stand.apply("{}").await, &[]);
}

#[tokio::test]
async fn s23_requirements_are_checked_against_the_cluster_and_unknown_ones_are_warned_of() {
    let stand = Stand::shared("s23", SCHEMA).await;
    let package = |requirements: &str| {
        format!(
            "apiVersion: v1\ntype: Application\nname: {}\nrequirements: {requirements}\n",
            stand.package
        )
    };
    stand.write("v2.0.0", "openapi/settings.yaml", SCHEMA);
    stand.write(
        "v2.0.0",
        "package.yaml",
        &package("{kubernetes: {constraint: '>= 1.99'}}"),
    );
    stand.published("v2.0.0").await;
    let output = stand.apply_at("v2.0.0", "{}").await;
    assert!(
        output.stderr.starts_with(
            "The Application \"shop\" is invalid: spec.packageVersion: Forbidden: kubernetes 1."
        ) && output
            .stderr
            .ends_with(" is not in the required range >= 1.99\n"),
        "{}",
        output.stderr
    );
    stand.write("v3.0.0", "openapi/settings.yaml", SCHEMA);
    stand.write(
        "v3.0.0",
        "package.yaml",
        &package("{kubernetes: {constraint: '>= 1.20'}, modules: {mandatory: [{name: ingress}]}}"),
    );
    stand.published("v3.0.0").await;
    Stand::stored(
        &stand.apply_at("v3.0.0", "{}").await,
        &["modules are required, but which modules are enabled is not known here"],
    );
}

#[tokio::test]
async fn without_a_loaded_bundle_an_installed_application_may_change_with_a_warning() {
    let stand = Stand::shared("unloaded", SCHEMA).await;
    Stand::stored(&stand.apply("{zone: a}").await, &[]);
    let applied = json!({"replicas": 1, "maxReplicas": 3, "size": 10, "zone": "a"});
    stand.installed(FIRST, &applied).await;
    Stand::stored(&stand.apply("{zone: a, size: 10}").await, &[]);
    Stand::stored(&stand.apply("{zone: a, size: 11}").await, &[CHECK_LATER]);
}
