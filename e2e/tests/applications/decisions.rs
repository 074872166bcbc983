//! Stories: the decisions S1 to S11 and S17 to S19, S20, as `kubectl apply` shows them.

use serde_json::json;

use super::stand::{FIRST, NAME, Stand};

const LATER: &str = "the package's settings check will run when the settings are applied";

fn frozen(path: &str) -> String {
    format!(
        "spec.settings.{path}: Forbidden: \"{path}\" can only be set when the application is created: restore the applied value"
    )
}

#[tokio::test]
async fn s1_schema_and_rules_see_the_settings_with_their_defaults() {
    let stand = Stand::shared(
        "s1",
        "
type: object
properties:
  replicas: {type: integer, default: 1}
  maxReplicas: {type: integer, default: 3}
  storage:
    type: object
    default: {}
    properties:
      mode: {type: string, enum: [Internal, External], default: Internal}
      url: {type: string}
    oneOf:
      - properties: {mode: {enum: [Internal]}}
      - properties: {mode: {enum: [External]}}
        required: [url]
x-deckhouse-validations:
  - {expression: 'self.replicas <= self.maxReplicas', message: replicas must not exceed maxReplicas}
",
    )
    .await;
    Stand::refused(
        &stand.apply("{replicas: 4}").await,
        &["spec.settings: Invalid value: replicas must not exceed maxReplicas"],
    );
    Stand::stored(&stand.apply("{replicas: 2}").await, &[]);
}

const GRANTED: &str = "
type: object
properties:
  class: {type: string, default: local, x-deckhouse-grantable-resource: storageclasses}
x-deckhouse-validations:
  - {expression: \"self.class != 'local'\", message: local storage is gone}
";

#[tokio::test]
async fn s2_a_catalogue_without_a_default_neither_fills_in_nor_checks() {
    let stand = Stand::shared("s2", GRANTED).await;
    Stand::stored(&stand.apply("{class: any}").await, &[]);
    stand.installed(FIRST, &json!({"class": "any"})).await;
    stand.grant("storageclasses", "fast", &["fast"]).await;
    stand
        .eventually("{class: other}", |output| output.code != 0)
        .await;
    stand.grant("storageclasses", "", &["fast"]).await;
    stand
        .eventually("{class: other}", |output| output.code == 0)
        .await;
    // Not filled in: the schema's default is what the rule sees.
    Stand::refused(
        &stand.apply("{}").await,
        &["spec.settings: Invalid value: local storage is gone"],
    );
}

const FROZEN: &str = "
type: object
properties:
  zone: {type: string, x-deckhouse-immutable: true}
  size: {type: integer}
";

#[tokio::test]
async fn s3_a_frozen_field_may_change_until_it_was_applied() {
    let stand = Stand::shared("s3", FROZEN).await;
    Stand::stored(&stand.apply("{zone: a}").await, &[]);
    Stand::stored(&stand.apply("{zone: b}").await, &[]);
    stand.installed(FIRST, &json!({"zone": "b"})).await;
    Stand::refused(&stand.apply("{zone: c}").await, &[&frozen("zone")]);
    Stand::refused(&stand.apply("{}").await, &[&frozen("zone")]);
}

#[tokio::test]
async fn s4_every_object_is_closed_and_a_field_of_a_branch_alone_is_not_declared() {
    let stand = Stand::shared(
        "s4",
        "
type: object
properties:
  pools:
    type: array
    items: {type: object, properties: {disk: {type: string}}}
  byName:
    type: object
    additionalProperties: {type: object, properties: {disk: {type: string}}}
  labels: {type: object, additionalProperties: {type: string}}
oneOf:
  - properties: {extra: {type: string}}
",
    )
    .await;
    Stand::refused(
        &stand
            .apply("{pools: [{disk: a, dsk: b}], byName: {x: {dsk: b}}, extra: text}")
            .await,
        &[
            "spec.settings.byName.x.dsk: Forbidden: is a forbidden property",
            "spec.settings.extra: Forbidden: is a forbidden property",
            "spec.settings.pools[0].dsk: Forbidden: is a forbidden property",
        ],
    );
    let settings = "{pools: [{disk: a}], byName: {x: {disk: b}}, labels: {any: thing}}";
    Stand::stored(&stand.apply(settings).await, &[]);
}

#[tokio::test]
async fn s5_a_change_of_the_version_is_judged_by_the_version_asked_for_and_asks_no_check() {
    let rule = |expression: &str, message: &str| {
        format!(
            "
type: object
properties: {{size: {{type: integer}}, check: {{type: object, additionalProperties: true}}}}
x-deckhouse-validations: [{{expression: '{expression}', message: {message}}}]
"
        )
    };
    let stand = Stand::checked("s5", &rule("self.size >= oldSelf.size", "never smaller")).await;
    let newer = rule("self.size <= oldSelf.size", "never larger");
    stand.publish("v2.0.0", &newer).await;
    Stand::stored(&stand.apply("{size: 10}").await, &[]);
    stand.installed(FIRST, &json!({"size": 10})).await;
    Stand::refused(
        &stand.apply("{size: 5}").await,
        &["spec.settings: Invalid value: never smaller"],
    );
    Stand::refused(
        &stand.apply_at("v2.0.0", "{size: 11}").await,
        &["spec.settings: Invalid value: never larger"],
    );
    let no = "{size: 10, check: {valid: false, message: asked}}";
    Stand::refused(
        &stand.apply(no).await,
        &["spec.settings: Invalid value: asked"],
    );
    Stand::stored(&stand.apply_at("v2.0.0", no).await, &[]);
}

#[tokio::test]
async fn s6_the_old_value_of_a_rule_is_what_was_applied_and_never_the_last_manifest() {
    let stand = Stand::shared(
        "s6",
        "
type: object
properties: {size: {type: integer}}
x-deckhouse-validations: [{expression: 'self.size >= oldSelf.size', message: size must not shrink}]
",
    )
    .await;
    Stand::stored(&stand.apply("{size: 10}").await, &[]);
    stand.installed(FIRST, &json!({"size": 10})).await;
    Stand::stored(&stand.apply("{size: 50}").await, &[LATER]);
    // 50 was never applied, so 20 is no step back.
    Stand::stored(&stand.apply("{size: 20}").await, &[LATER]);
    Stand::refused(
        &stand.apply("{size: 9}").await,
        &["spec.settings: Invalid value: size must not shrink"],
    );
}

#[tokio::test]
async fn s7_the_projects_default_wins_over_the_schemas() {
    let stand = Stand::shared("s7", GRANTED).await;
    Stand::refused(
        &stand.apply("{}").await,
        &["spec.settings: Invalid value: local storage is gone"],
    );
    stand.grant("storageclasses", "fast", &["fast"]).await;
    stand.eventually("{}", |output| output.code == 0).await;
    Stand::stored(&stand.apply("{class: \"\"}").await, &[]);
    Stand::refused(
        &stand.apply("{class: local}").await,
        &["spec.settings: Invalid value: local storage is gone"],
    );
}

#[tokio::test]
async fn s9_rules_of_elements_and_entries_count_and_those_of_branches_do_not() {
    let stand = Stand::shared(
        "s9",
        "
type: object
properties:
  pools:
    type: array
    items:
      type: object
      properties: {size: {type: integer}}
      x-deckhouse-validations:
        - {expression: 'self.size > 0', message: a pool needs a size}
        - {expression: 'self.size >= oldSelf.size', message: a pool must not shrink}
  byName:
    type: object
    additionalProperties:
      type: object
      properties: {size: {type: integer}}
      x-deckhouse-validations: [{expression: 'self.size >= oldSelf.size', message: an entry must not shrink}]
anyOf:
  - x-deckhouse-validations: [{expression: 'false', message: never said}]
",
    )
    .await;
    Stand::refused(
        &stand.apply("{pools: [{size: 1}, {size: 0}]}").await,
        &["spec.settings.pools[1]: Invalid value: a pool needs a size"],
    );
    let settings = "{pools: [{size: 5}], byName: {a: {size: 5}}}";
    Stand::stored(&stand.apply(settings).await, &[]);
    let applied = json!({"pools": [{"size": 5}], "byName": {"a": {"size": 5}}});
    stand.installed(FIRST, &applied).await;
    Stand::stored(
        &stand
            .apply("{pools: [{size: 1}], byName: {a: {size: 5}, b: {size: 1}}}")
            .await,
        &[LATER],
    );
    Stand::refused(
        &stand.apply("{byName: {a: {size: 4}}}").await,
        &["spec.settings.byName.a: Invalid value: an entry must not shrink"],
    );
}

#[tokio::test]
async fn s10_a_rule_about_a_key_that_is_missing_does_not_apply() {
    let stand = Stand::shared(
        "s10",
        "
type: object
properties: {low: {type: integer}, high: {type: integer}}
x-deckhouse-validations: [{expression: 'self.low < self.high', message: low must be below high}]
",
    )
    .await;
    Stand::stored(&stand.apply("{low: 9}").await, &[]);
    Stand::refused(
        &stand.apply("{low: 9, high: 3}").await,
        &["spec.settings: Invalid value: low must be below high"],
    );
}

#[tokio::test]
async fn s11_only_true_freezes_a_field() {
    let stand = Stand::shared(
        "s11",
        "
type: object
properties:
  text: {type: string, x-deckhouse-immutable: 'true'}
  number: {type: string, x-deckhouse-immutable: 1}
  really: {type: string, x-deckhouse-immutable: true}
",
    )
    .await;
    Stand::stored(&stand.apply("{text: a, number: a, really: a}").await, &[]);
    let applied = json!({"text": "a", "number": "a", "really": "a"});
    stand.installed(FIRST, &applied).await;
    Stand::stored(
        &stand.apply("{text: b, number: b, really: a}").await,
        &[LATER],
    );
    Stand::refused(
        &stand.apply("{text: b, number: b, really: b}").await,
        &[&frozen("really")],
    );
}

#[tokio::test]
async fn s17_a_granted_and_frozen_field_that_is_left_out_keeps_what_was_applied() {
    let stand = Stand::shared(
        "s17",
        "
type: object
properties:
  class: {type: string, x-deckhouse-grantable-resource: storageclasses, x-deckhouse-immutable: true}
  size: {type: integer}
",
    )
    .await;
    stand.grant("storageclasses", "slow", &["slow"]).await;
    Stand::stored(&stand.apply("{}").await, &[]);
    stand.installed(FIRST, &json!({"class": "slow"})).await;
    stand
        .grant("storageclasses", "fast", &["fast", "slow"])
        .await;
    stand
        .eventually("{class: fast}", |output| {
            output.stderr.contains("can only be set when")
        })
        .await;
    Stand::stored(&stand.apply("{size: 2}").await, &[LATER]);
    Stand::stored(&stand.apply("{class: \"\", size: 3}").await, &[LATER]);
    Stand::refused(&stand.apply("{class: fast}").await, &[&frozen("class")]);
}

#[tokio::test]
async fn s18_a_default_of_a_newer_version_was_never_applied() {
    let stand = Stand::shared("s18", FROZEN).await;
    stand
        .publish(
            "v2.0.0",
            "
type: object
properties:
  zone: {type: string, x-deckhouse-immutable: true}
  size: {type: integer}
  tier: {type: string, default: basic, x-deckhouse-immutable: true}
",
        )
        .await;
    Stand::stored(&stand.apply("{zone: a}").await, &[]);
    stand.installed(FIRST, &json!({"zone": "a"})).await;
    Stand::stored(
        &stand.apply_at("v2.0.0", "{zone: a, tier: best}").await,
        &[],
    );
    Stand::refused(
        &stand.apply_at("v2.0.0", "{zone: b, tier: best}").await,
        &[&frozen("zone")],
    );
}

const SWITCH: &str = "
type: object
properties: {mode: {type: string, enum: [Internal, External, Other], default: Internal}}
oneOf:
  - properties: {mode: {enum: [Internal]}}
    x-deckhouse-enum-switch-settings:
      - {to: [External], impact: destructive, messages: {en: Deletes the data., ru: Удалит данные.}}
      - {to: [Other], impact: destructive, messages: {ru: Удалит данные.}}
  - properties: {mode: {enum: [External, Other]}}
    x-deckhouse-enum-switch-settings:
      - {to: [Internal], impact: warning, messages: {en: Takes a while.}}
";

#[tokio::test]
async fn s8_a_destructive_switch_that_is_not_acknowledged_is_warned_of() {
    let stand = Stand::shared("s8", SWITCH).await;
    Stand::stored(&stand.apply("{}").await, &[]);
    stand.installed(FIRST, &json!({"mode": "Internal"})).await;
    let warning = "spec.settings.mode=Internal->External: Deletes the data.";
    Stand::stored(&stand.apply("{mode: External}").await, &[warning, LATER]);
    let acknowledged = stand.manifest(NAME, FIRST, "{mode: External}", "mode=Internal->External");
    Stand::stored(&stand.apply_manifest(&acknowledged).await, &[LATER]);
    stand.installed(FIRST, &json!({"mode": "External"})).await;
    Stand::stored(&stand.apply("{mode: Internal}").await, &[LATER]);
}

#[tokio::test]
async fn s19_an_acknowledgement_counts_once_and_the_old_side_is_what_was_applied() {
    let stand = Stand::shared("s19", SWITCH).await;
    Stand::stored(&stand.apply("{mode: External}").await, &[]);
    // The manifest said External; what was applied is Internal.
    stand.installed(FIRST, &json!({"mode": "Internal"})).await;
    let warning = "spec.settings.mode=Internal->External: Deletes the data.";
    let entry = "mode=Internal->External";
    let acknowledged = stand.manifest(NAME, FIRST, "{mode: External}", entry);
    let label = async |label: &str| {
        let namespace = stand.namespace.name.as_str();
        let arguments = ["label", "application", NAME, "-n", namespace, label];
        stand.kubectl(&arguments).await
    };
    Stand::stored(&label("a=b").await, &[warning, LATER]);
    Stand::stored(&stand.apply_manifest(&acknowledged).await, &[LATER]);
    // The entry was used up by the request that added it.
    Stand::stored(&label("c=d").await, &[warning, LATER]);
    // Without an English text, any.
    Stand::stored(
        &stand.apply("{mode: Other}").await,
        &["spec.settings.mode=Internal->Other: Удалит данные.", LATER],
    );
}

#[tokio::test]
async fn s20_settings_over_their_limit_are_refused_by_their_length() {
    let stand = Stand::shared("s20", "{type: object, additionalProperties: true}").await;
    for (bytes, said) in [
        (
            400_000,
            "spec.settings: Too long: settings with defaults have more than 393216 bytes: make them smaller",
        ),
        (1_000_000, "bytes; at most 524288 are allowed"),
    ] {
        let settings = format!("{{text: {}}}", "x".repeat(bytes));
        let manifest = stand.manifest(NAME, FIRST, &settings, "");
        // Not applied: kubectl would keep a copy in an annotation, which has a limit of its own.
        let create = ["create", "-f", "-"];
        let kubectl = stand.bed.kubectl();
        let output = kubectl.run_with_input(&create, &manifest).await.unwrap();
        assert!(output.stderr.contains(said), "{}", output.stderr);
    }
}
