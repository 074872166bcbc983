//! `package verify` beyond the shared cases: findings of our own, places, levels, order (section 11).

use std::collections::BTreeMap;

use domain::settings::limits::Limits;
use domain::settings::verify::{Finding, passes, verify};
use proptest::prelude::*;

fn run(files: &[(&str, &str)]) -> Vec<Finding> {
    let files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    verify(&files, &Limits::DEFAULT)
}

const DOC: (&str, &str) = ("openapi/doc-ru-settings.yaml", "properties: {}");

/// Findings of a settings file, as lines.
fn settings(text: &str) -> Vec<String> {
    run(&[("openapi/settings.yaml", text), DOC])
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn a_clean_package_has_no_findings() {
    let found = settings(
        "type: object\nproperties:\n  replicas: {type: integer, default: 1, x-deckhouse-ui-order: 1}\n  maxReplicas: {type: integer, default: 3, x-deckhouse-ui-group: Scale}\n\
         x-deckhouse-validations:\n- {expression: 'self.replicas <= self.maxReplicas', message: too many}\n",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_duplicate_key_is_an_error_and_says_its_line_s13() {
    let found = settings(
        "type: object\nproperties:\n  a: {type: string}\n  b: {type: string}\n  a: {type: integer}\n",
    );
    assert_eq!(
        found,
        [
            "error: openapi/settings.yaml: line 5: the key \"a\" stands twice in one map, and only the last one counts (duplicate-key)"
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_of_each_rule_that_reads_it() {
    let rules = |text: &[u8]| -> Vec<&str> {
        let files = BTreeMap::from([
            ("openapi/settings.yaml".to_owned(), text.to_vec()),
            (DOC.0.to_owned(), DOC.1.as_bytes().to_vec()),
        ]);
        let findings = verify(&files, &Limits::DEFAULT);
        assert!(!passes(&findings));
        findings
            .iter()
            .map(|finding| finding.rule.as_str())
            .collect()
    };
    assert_eq!(rules(b"a: [1"), ["advanced", "extensions", "schema"]);
    assert_eq!(rules(b"\xff\xfe"), ["advanced", "extensions", "schema"]);
    assert_eq!(rules(b"a: &a [*a]"), ["advanced", "extensions", "schema"]);
    assert_eq!(
        rules("[".repeat(10_000).as_bytes()),
        ["advanced", "extensions", "schema"]
    );
}

#[test]
fn a_rule_that_can_never_work_is_an_error_at_its_place_h13() {
    let found = settings(
        "type: object\nproperties:\n  l: {type: array, items: {}, x-deckhouse-validations: [{expression: 'self.x == 1', message: m}]}\n  s:\n    type: string\n    x-deckhouse-validations:\n    - {expression: 'self != \"\"', message: m}\n    - {expression: 'self.trim() != \"\"', message: m}\n    - {expression: 'self.matches(\"(\")', message: m}\n    - {expression: 'self ==', message: m}\n",
    );
    assert_eq!(found, [
        "error: openapi/settings.yaml: properties.l.x-deckhouse-validations.0.expression: `.x` cannot be selected on a list(dyn) (rules)",
        "error: openapi/settings.yaml: properties.s.x-deckhouse-validations.1.expression: there is no function `trim` in the standard library of CEL (rules)",
        "error: openapi/settings.yaml: properties.s.x-deckhouse-validations.2.expression: the regular expression is not valid: unclosed group (rules)",
        "error: openapi/settings.yaml: properties.s.x-deckhouse-validations.3.expression: at 1:8: Syntax error: mismatched input '<EOF>' expecting expression (rules)",
    ].map(|line| line.replace("Syntax error: ", "")));
}

#[test]
fn a_rule_in_a_branch_is_never_evaluated_s9() {
    let found = settings(
        "type: object\nproperties: {x: {}}\noneOf:\n- x-deckhouse-validations: [{expression: 'self.x > 1', message: m}]\n",
    );
    assert_eq!(
        found,
        [
            "warn: openapi/settings.yaml: oneOf.0.x-deckhouse-validations: rules in branches and `not` are never evaluated: move them to the object itself (rules)"
        ]
    );
}

#[test]
fn what_publication_refuses_is_an_error() {
    let found = settings("type: object\nproperties:\n  a: {type: string, pattern: '('}\n");
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("error: openapi/settings.yaml: properties.a.pattern"),
        "{found:?}"
    );
    let found = settings("type: object\nproperties:\n  a: {$ref: 'http://example.org/schema'}\n");
    assert!(
        found
            .iter()
            .any(|line| line.starts_with("error:") && line.ends_with("(schema)")),
        "{found:?}"
    );
    let found = settings(
        "type: object\nproperties:\n  a: {$ref: '#/definitions/a'}\ndefinitions:\n  a: {$ref: '#/definitions/a'}\n",
    );
    assert!(
        found
            .iter()
            .any(|line| line.starts_with("error:") && line.ends_with("(schema)")),
        "{found:?}"
    );
}

#[test]
fn keys_beside_a_reference_are_warned_of() {
    let found = settings(
        "type: object\nproperties:\n  a: {$ref: '#/definitions/d', type: integer, description: d, x-deckhouse-immutable: true}\ndefinitions:\n  d: {type: string}\n",
    );
    assert_eq!(
        found,
        [
            "warn: openapi/settings.yaml: properties.a: has no effect beside $ref: description, type (reference)"
        ]
    );
}

#[test]
fn marks_below_elements_map_values_and_branches_are_warned_of_s26() {
    let found = settings(
        "type: object\nproperties:\n  l: {type: array, items: {type: string, x-deckhouse-ui-order: 1}}\n  m: {type: object, additionalProperties: {type: string, x-deckhouse-ui-group: g}}\n  o: {type: object, properties: {a: {type: string, x-deckhouse-ui-order: 1, x-deckhouse-ui-group: g}}}\n",
    );
    let places: Vec<_> = found
        .iter()
        .map(|line| line.split(": ").nth(2).unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "properties.l.items.x-deckhouse-ui-order",
            "properties.m.additionalProperties.x-deckhouse-ui-group"
        ]
    );
    assert!(
        found
            .iter()
            .all(|line| line.starts_with("warn:") && line.ends_with("(marks)"))
    );
}

#[test]
fn branches_are_no_level_of_settings() {
    let mark = "{type: string, x-deckhouse-ui-advanced: true}";
    let top = format!(
        "type: object\nproperties: {{a: {mark}}}\nallOf:\n- properties: {{a: {mark}}}\n- not: {{properties: {{a: {mark}}}}}\n"
    );
    assert_eq!(settings(&top), Vec::<String>::new());
    let below = format!(
        "type: object\nallOf:\n- properties: {{o: {{type: object, properties: {{a: {mark}}}}}}}\n"
    );
    assert_eq!(
        settings(&below),
        [
            "error: openapi/settings.yaml: allOf.0.properties.o.properties.a: x-deckhouse-ui-advanced has an effect on top-level settings only: remove it here (advanced)"
        ]
    );
}

#[test]
fn a_mark_of_the_legacy_file_that_freezes_nothing_is_warned_of_s11() {
    let legacy = "type: object\nproperties:\n  a: {type: string, x-deckhouse-immutable: 'true'}\n";
    let found = run(&[
        ("openapi/config-values.yaml", legacy),
        ("openapi/doc-ru-config-values.yaml", "{}"),
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].rule.as_str(), found[0].level.as_str()),
        ("marks", "warn")
    );
    assert_eq!(found[0].pointer, "properties.a.x-deckhouse-immutable");
}

#[test]
fn a_legacy_file_beside_settings_is_hidden_and_only_needs_a_translation() {
    let broken = "type: object\nx-deckhouse-validations: [{expression: 'nonsense(', message: m}]\n";
    let found = run(&[
        ("openapi/settings.yaml", ""),
        DOC,
        ("openapi/config-values.yaml", broken),
        ("openapi/doc-ru-config-values.yaml", "{}"),
    ]);
    assert_eq!(found, Vec::<Finding>::new());
}

#[test]
fn contradictory_requirements_are_errors_of_the_package_file() {
    let package = "name: p\nrequirements:\n  kubernetes: {constraint: abc}\n  modules:\n    conditional: [{name: m}]\n";
    let lines: Vec<_> = run(&[("package.yaml", package)])
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines,
        [
            "error: package.yaml: requirements.kubernetes.constraint: kubernetes: constraint \"abc\" is no version range, such as \">= 1.28, < 2\": a version has up to three numbers, each a number, `x` or `*` (requirements)",
            "error: package.yaml: requirements.modules.conditional: modules.conditional: module m needs a constraint (requirements)",
        ]
    );
}

#[test]
fn findings_are_sorted_and_each_stands_once() {
    let found = run(&[
        (
            "openapi/values.yaml",
            "properties: {b: {enum: [bad, bad]}, a: {enum: [Bad-one]}}",
        ),
        ("openapi/extra.yaml", "x-deckhouse-a: 1\nenum: [é]"),
    ]);
    let shown: Vec<_> = found
        .iter()
        .map(|finding| format!("{} {}", finding.path, finding.pointer))
        .collect();
    assert_eq!(
        shown,
        [
            "openapi/extra.yaml ",
            "openapi/extra.yaml enum",
            "openapi/values.yaml properties.a.enum",
            "openapi/values.yaml properties.b.enum"
        ]
    );
    assert!(!passes(&found));
}

#[test]
fn names_of_properties_are_never_keywords() {
    let found = settings(
        "type: object\nproperties:\n  properties: {type: object, properties: {items: {type: string}}}\n  enum: {type: string}\n  not: {type: string}\n  $ref: {type: string}\n  x-deckhouse-ui-order: {type: string}\n  x-deckhouse-validations: {type: string}\n",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_shape_of_extensions_is_checked_at_its_own_place() {
    let places = |extension: &str| -> Vec<String> {
        let text = format!("type: object\nproperties:\n  a: {{type: string, {extension}}}\n");
        let found = run(&[("openapi/settings.yaml", &text), DOC]);
        let ours = found.iter().filter(|finding| {
            finding.rule.as_str() == "extensions" && finding.level.as_str() == "error"
        });
        ours.map(|finding| {
            finding
                .pointer
                .trim_start_matches("properties.a.")
                .to_owned()
        })
        .collect()
    };
    for (extension, expected) in [
        (
            "x-deckhouse-grantable-resource: ''",
            vec!["x-deckhouse-grantable-resource"],
        ),
        (
            "x-deckhouse-grantable-resource: 5",
            vec!["x-deckhouse-grantable-resource"],
        ),
        ("x-deckhouse-grantable-resource: storageclasses", vec![]),
        (
            "x-deckhouse-validations: [{expression: 'true'}]",
            vec!["x-deckhouse-validations.0"],
        ),
        (
            "x-deckhouse-validations: [{expression: 5, message: m}]",
            vec!["x-deckhouse-validations.0.expression"],
        ),
        (
            "x-deckhouse-validations: [{expression: 'true', message: m, fieldPath: 1}]",
            vec!["x-deckhouse-validations.0.fieldPath"],
        ),
        ("x-deckhouse-validations: []", vec![]),
        (
            "x-deckhouse-ui-resource-name: {apiVersion: v1, kind: Secret, labelSelector: x}",
            vec!["x-deckhouse-ui-resource-name.labelSelector"],
        ),
        (
            "x-deckhouse-ui-resource-name: {}",
            vec!["x-deckhouse-ui-resource-name"; 2],
        ),
        (
            "x-deckhouse-ui-advanced: 'true'",
            vec!["x-deckhouse-ui-advanced"],
        ),
        ("x-deckhouse-immutable: null", vec!["x-deckhouse-immutable"]),
        ("x-deckhouse-ui-order: 10.0", vec![]),
        ("x-deckhouse-ui-order: null", vec!["x-deckhouse-ui-order"]),
        ("x-deckhouse-ui-group: ''", vec![]),
        (
            "x-deckhouse-enum-switch-settings: {}",
            vec!["x-deckhouse-enum-switch-settings"],
        ),
        (
            "x-deckhouse-enum-switch-settings: [{to: []}]",
            vec!["x-deckhouse-enum-switch-settings.0.to"],
        ),
        (
            "x-deckhouse-enum-switch-settings: [{impact: info}]",
            vec!["x-deckhouse-enum-switch-settings.0"],
        ),
        (
            "x-deckhouse-enum-switch-settings: [{to: [A], impact: fatal}]",
            vec!["x-deckhouse-enum-switch-settings.0.impact"],
        ),
        (
            "x-deckhouse-enum-switch-settings: [{to: [A], messages: {en: 1}}]",
            vec!["x-deckhouse-enum-switch-settings.0.messages"],
        ),
        (
            "x-deckhouse-enum-switch-settings: [{to: [1]}, x]",
            vec![
                "x-deckhouse-enum-switch-settings.0.to",
                "x-deckhouse-enum-switch-settings.1",
            ],
        ),
    ] {
        assert_eq!(places(extension), expected, "{extension}");
    }
    let typed = run(&[
        (
            "openapi/settings.yaml",
            "properties: {a: {type: [string, 'null'], x-deckhouse-grantable-resource: s}, b: {x-deckhouse-grantable-resource: s}}",
        ),
        DOC,
    ]);
    let places: Vec<_> = typed
        .iter()
        .map(|finding| finding.pointer.as_str())
        .collect();
    assert_eq!(places, ["properties.b.x-deckhouse-grantable-resource"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_files_never_panic(text in "[a-zA-Z0-9:{}\\[\\]&*<>|'\"$#/\n -]{0,120}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let files = BTreeMap::from([
            ("openapi/settings.yaml".to_owned(), text.clone().into_bytes()), ("openapi/values.yaml".to_owned(), bytes.clone()),
            ("openapi/.yaml".to_owned(), bytes.clone()), ("openapi/doc-ru-.yaml".to_owned(), bytes), ("package.yaml".to_owned(), text.into_bytes()),
        ]);
        let found = verify(&files, &Limits::DEFAULT);
        let mut sorted = found.clone();
        sorted.sort();
        prop_assert_eq!(found, sorted);
    }
}
