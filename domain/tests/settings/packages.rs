//! Sections 3.1 to 3.3 for both files of a package, and section 4.2 from files to values.

use domain::settings::effective::{EffectiveError, effective, effective_without_schema};
use domain::settings::grants::Catalogs;
use domain::settings::package::{PackageError, PackageSchemas, Side};
use domain::settings::patch::Patch;
use domain::settings::schema::SchemaError;
use domain::settings::values::{ValuesError, values};
use serde_json::{Value, json};

use crate::LIMITS;

const SETTINGS: &str = "
type: object
properties:
  replicas: {type: integer, default: 1}
  maxReplicas: {type: integer, default: 3}
x-deckhouse-validations:
  - {expression: self.replicas <= self.maxReplicas, message: replicas must not exceed maxReplicas}
";

const VALUES: &str = "
x-extend: {schema: settings.yaml}
type: object
properties:
  internal:
    type: object
    default: {}
    properties: {adminPassword: {type: string}}
    x-required-for-helm: adminPassword
";

fn package() -> PackageSchemas {
    PackageSchemas::load(Some(SETTINGS), Some(VALUES), &LIMITS).unwrap()
}

#[test]
fn the_seeds_values_example_takes_all_settings_and_what_hooks_add() {
    let package = package();
    let settings = package.settings.as_ref().unwrap();
    let user = json!({"replicas": 2});
    let effective = effective(
        &user,
        &settings.schema,
        &package.grants,
        &Catalogs::default(),
        None,
        &LIMITS,
    )
    .unwrap();
    assert_eq!(effective, json!({"replicas": 2, "maxReplicas": 3}));

    let merged = package.values.as_ref().unwrap();
    let patch =
        Patch::decode(&json!([{"op": "add", "path": "/internal/adminPassword", "value": "x"}]))
            .unwrap();
    let before = values(&effective, Some(&merged.schema), &[], &LIMITS).unwrap();
    let after = values(&effective, Some(&merged.schema), &[patch], &LIMITS).unwrap();
    assert_eq!(
        before,
        json!({"replicas": 2, "maxReplicas": 3, "internal": {}})
    );
    assert_eq!(merged.conform(&after, Some(&before), &LIMITS), []);
    assert_eq!(merged.strict().conform(&after, None, &LIMITS), []);
    let strict = merged.strict().conform(&before, None, &LIMITS);
    assert_eq!(strict[0].path.as_str(), "internal.adminPassword");
    assert_eq!(merged.conform(&before, None, &LIMITS), []);
}

#[test]
fn without_x_extend_settings_at_the_root_are_undeclared_in_values() {
    let alone = "type: object\nproperties: {internal: {type: object}}\n";
    let package = PackageSchemas::load(Some(SETTINGS), Some(alone), &LIMITS).unwrap();
    let found = package
        .values
        .unwrap()
        .conform(&json!({"replicas": 1}), None, &LIMITS);
    assert_eq!(found[0].to_string(), "replicas: is a forbidden property");
}

#[test]
fn rules_of_the_settings_hold_in_values_unless_values_have_rules_of_their_own() {
    let bad = json!({"replicas": 5, "maxReplicas": 3});
    let inherited = package().values.unwrap();
    assert_eq!(
        inherited.conform(&bad, None, &LIMITS)[0].text,
        "replicas must not exceed maxReplicas"
    );
    let own = "x-extend: {schema: x}\ntype: object\nx-deckhouse-validations: [{expression: 'true', message: m}]\n";
    let package = PackageSchemas::load(Some(SETTINGS), Some(own), &LIMITS).unwrap();
    assert_eq!(package.values.unwrap().conform(&bad, None, &LIMITS), []);
}

#[test]
fn an_error_of_a_rule_is_left_out_where_the_schema_is_violated() {
    let compiled = package().settings.unwrap();
    let found = compiled.conform(&json!({"replicas": "x", "maxReplicas": 3}), None, &LIMITS);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].path.as_str(), "replicas");
}

#[test]
fn absent_and_empty_files_are_no_schema() {
    for (settings, values) in [(None, None), (Some(""), Some("# nothing\n"))] {
        let package = PackageSchemas::load(settings, values, &LIMITS).unwrap();
        assert!(package.settings.is_none() && package.values.is_none());
    }
    assert_eq!(effective_without_schema(&Value::Null), Ok(json!({})));
    assert_eq!(effective_without_schema(&json!({})), Ok(json!({})));
    assert_eq!(
        effective_without_schema(&json!({"a": 1})),
        Err(EffectiveError::NoSchema)
    );
}

#[test]
fn an_error_says_which_file_and_where() {
    let broken =
        PackageSchemas::load(Some("properties: {a: {minLength: x}}"), None, &LIMITS).unwrap_err();
    assert_eq!(
        broken.to_string(),
        "settings schema: properties.a.minLength must be a whole number that is not negative"
    );
    let broken = PackageSchemas::load(Some("{}"), Some("a: [1"), &LIMITS).unwrap_err();
    assert!(
        matches!(
            broken,
            PackageError {
                side: Side::Values,
                error: SchemaError::Load(_)
            }
        ),
        "{broken}"
    );
}

#[test]
fn more_rules_than_a_schema_may_have_are_refused() {
    let rule = json!({"expression": "true", "message": "m"});
    let schema = json!({"x-deckhouse-validations": vec![rule; LIMITS.rules.rules + 1]});
    let error = PackageSchemas::from_documents(&schema, &Value::Null, &LIMITS).unwrap_err();
    assert!(matches!(error.error, SchemaError::Rules(_)), "{error}");
}

#[test]
fn a_patch_that_no_longer_fits_names_its_place() {
    let patches = [
        json!([]),
        json!([{"op": "replace", "path": "/gone/below", "value": 1}]),
    ];
    let patches: Vec<Patch> = patches
        .iter()
        .map(|patch| Patch::decode(patch).unwrap())
        .collect();
    let error = values(&json!({}), None, &patches, &LIMITS).unwrap_err();
    assert!(
        matches!(error, ValuesError::Replay { position: 1, .. }),
        "{error}"
    );
}
