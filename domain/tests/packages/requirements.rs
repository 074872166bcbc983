//! `requirements` of `package.yaml`: what is contradictory, and what a cluster lacks (section 2, S23).

use std::collections::BTreeMap;

use domain::settings::requirements::Requirements;
use domain::settings::requirements::check::Platform;
use serde_json::{Value, json};

fn mistakes(requirements: &Value) -> Vec<String> {
    match Requirements::parse(requirements) {
        Ok(_) => Vec::new(),
        Err(errors) => errors
            .iter()
            .map(|error| format!("{}: {error}", error.place))
            .collect(),
    }
}

#[test]
fn well_formed_requirements_of_every_kind_are_read() {
    let all = json!({"kubernetes": {"constraint": ">=1.28"}, "deckhouse": {"constraint": ">= 1.60, < 2"}, "modules": {
        "mandatory": [{"name": "m1", "constraint": ">=1.0.0"}, {"name": "m0"}, {"name": "m9", "constraint": ""}], "conditional": [{"name": "m2", "constraint": ">=2.0.0"}],
        "anyOf": [{"name": "g1", "description": "d", "modules": [{"name": "m3"}, {"name": "m4", "constraint": "~1"}]}, {"name": "g2", "modules": [{"name": "m3"}]}],
        "noneOf": [{"name": "g1", "modules": [{"name": "m5"}]}, {"name": "g3", "modules": [{"name": "m5"}]}]}});
    assert_eq!(mistakes(&all), Vec::<String>::new());
    for nothing in [
        json!(null),
        json!({}),
        json!({"kubernetes": null, "modules": {}}),
        json!({"kubernetes": {}}),
        json!({"modules": {"mandatory": null}}),
    ] {
        assert_eq!(
            Requirements::parse(&nothing).unwrap(),
            Requirements::default(),
            "{nothing}"
        );
    }
}

#[test]
fn every_mistake_names_its_module_or_group() {
    for (requirements, expected) in [
        (
            json!({"kubernetes": {"constraint": "abc"}}),
            "kubernetes.constraint: kubernetes: constraint \"abc\" is no version range",
        ),
        (
            json!({"deckhouse": {"constraint": 5}}),
            "deckhouse.constraint: deckhouse: the constraint must be a text",
        ),
        (
            json!({"modules": {"mandatory": [{"name": "m1", "constraint": "abc"}]}}),
            "modules.mandatory.0.constraint: module m1: constraint \"abc\"",
        ),
        (
            json!({"modules": {"conditional": [{"name": "m1"}]}}),
            "modules.conditional: modules.conditional: module m1 needs a constraint",
        ),
        (
            json!({"modules": {"conditional": [{"name": "m1", "constraint": " "}]}}),
            "modules.conditional: modules.conditional: module m1 needs a constraint",
        ),
        (
            json!({"modules": {"mandatory": [{"constraint": "1"}]}}),
            "modules.mandatory.0: modules.mandatory: entry 0 needs a name",
        ),
        (
            json!({"modules": {"mandatory": ["m1"]}}),
            "modules.mandatory.0: modules.mandatory: entry 0 needs a name",
        ),
        (
            json!({"modules": {"anyOf": [{"modules": [{"name": "m1"}]}]}}),
            "modules.anyOf.0: modules.anyOf: group 0 needs a name",
        ),
        (
            json!({"modules": {"noneOf": [{"name": "", "modules": [{"name": "m1"}]}]}}),
            "modules.noneOf.0: modules.noneOf: group 0 needs a name",
        ),
        (
            json!({"modules": {"anyOf": [{"name": "g", "modules": [{"name": "a"}]}, {"name": "g", "modules": [{"name": "b"}]}]}}),
            "modules.anyOf.1: modules.anyOf: group g stands twice",
        ),
        (
            json!({"modules": {"anyOf": [{"name": "g"}]}}),
            "modules.anyOf.0: modules.anyOf: group g needs at least one module",
        ),
        (
            json!({"modules": {"anyOf": [{"name": "g", "modules": [{"name": "a"}, {"name": "a"}]}]}}),
            "modules.anyOf: module a stands twice in group g of modules.anyOf",
        ),
        (
            json!({"modules": {"anyOf": [{"name": "g", "modules": [{"name": "a", "constraint": "?"}]}]}}),
            "modules.anyOf.0.modules.0.constraint: module a: constraint \"?\"",
        ),
        (
            json!({"modules": {"anyOf": [{"name": "g1", "modules": [{"name": "m1"}]}], "noneOf": [{"name": "g2", "modules": [{"name": "m1"}]}]}}),
            "modules.noneOf: module m1 stands in group g2 of modules.noneOf and in group g1 of modules.anyOf",
        ),
        (
            json!({"modules": {"mandatory": [{"name": "m1"}], "conditional": [{"name": "m1", "constraint": "1"}]}}),
            "modules.conditional: module m1 stands in modules.conditional and in modules.mandatory",
        ),
        (
            json!({"modules": {"mandatory": [{"name": "m1"}, {"name": "m1"}]}}),
            "modules.mandatory: module m1 stands in modules.mandatory and in modules.mandatory",
        ),
        (
            json!({"modules": {"conditional": [{"name": "m1", "constraint": "1"}], "anyOf": [{"name": "g", "modules": [{"name": "m1"}]}]}}),
            "modules.anyOf: module m1 stands in group g of modules.anyOf and in modules.conditional",
        ),
        (json!([]), ": requirements must be a map"),
        (json!({"modules": []}), "modules: modules must be a map"),
        (
            json!({"modules": {"mandatory": {}}}),
            "modules.mandatory: modules.mandatory must be a list",
        ),
    ] {
        let found = mistakes(&requirements);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with(expected),
            "{found:?}, expected {expected}"
        );
    }
}

#[test]
fn all_mistakes_are_collected() {
    let many = json!({"kubernetes": {"constraint": "x.y"}, "modules": {"mandatory": [{"name": "m", "constraint": "!"}], "conditional": [{"name": "c"}], "anyOf": [{"name": "g"}]}});
    assert_eq!(mistakes(&many).len(), 4, "{:?}", mistakes(&many));
}

fn platform(kubernetes: Option<&str>, modules: Option<&[(&str, Option<&str>)]>) -> Platform {
    let version = |text: &str| text.parse().unwrap();
    Platform {
        kubernetes: kubernetes.and_then(Platform::kubernetes_version),
        deckhouse: None,
        modules: modules.map(|modules| {
            let enabled = modules
                .iter()
                .map(|(name, text)| ((*name).to_owned(), text.map(version)));
            enabled.collect::<BTreeMap<_, _>>()
        }),
    }
}

fn check(requirements: &Value, platform: &Platform) -> (Vec<String>, Vec<String>) {
    let findings = Requirements::parse(requirements).unwrap().check(platform);
    (findings.unmet, findings.unknown)
}

#[test]
fn the_suffix_of_a_server_version_does_not_count_s23() {
    for reported in [
        "v1.29.3",
        "v1.29.3-gke.100",
        "v1.29.3+k3s1",
        "1.29.3-eks-a1b2c3",
        "v1.29.3-rc.1+build",
    ] {
        assert_eq!(
            Platform::kubernetes_version(reported),
            Some("1.29.3".parse().unwrap()),
            "{reported}"
        );
    }
    assert_eq!(Platform::kubernetes_version("unknown"), None);
    let requirements = json!({"kubernetes": {"constraint": ">= 1.29.3"}});
    assert_eq!(
        check(&requirements, &platform(Some("v1.29.3-gke.100"), None)),
        (vec![], vec![])
    );
    let (unmet, unknown) = check(&requirements, &platform(Some("v1.28.9"), None));
    assert_eq!(
        unmet,
        ["kubernetes 1.28.9 is not in the required range >= 1.29.3"]
    );
    assert!(unknown.is_empty());
}

#[test]
fn what_is_unknown_is_a_warning_and_never_unmet_s23() {
    let requirements = json!({"kubernetes": {"constraint": ">= 1.29"}, "deckhouse": {"constraint": ">= 1.60"}, "modules": {"mandatory": [{"name": "m"}]}});
    let (unmet, unknown) = check(&requirements, &Platform::default());
    assert!(unmet.is_empty());
    assert_eq!(unknown.len(), 3, "{unknown:?}");
    assert_eq!(check(&json!({}), &Platform::default()), (vec![], vec![]));
    // A module whose version the file does not state.
    let versioned = json!({"modules": {"mandatory": [{"name": "m", "constraint": "1"}]}});
    let (unmet, unknown) = check(&versioned, &platform(None, Some(&[("m", None)])));
    assert!(unmet.is_empty());
    assert_eq!(
        unknown,
        ["module m must be enabled in the range 1, but its version is not known here"]
    );
}

#[test]
fn modules_are_compared_with_the_administrators_file_s23() {
    let enabled = platform(None, Some(&[("a", Some("1.5.0")), ("b", Some("2.0.0"))]));
    for (modules, unmet) in [
        (
            json!({"mandatory": [{"name": "a", "constraint": "^1"}]}),
            None,
        ),
        (
            json!({"mandatory": [{"name": "a", "constraint": "^2"}]}),
            Some("module a must be enabled in the range ^2"),
        ),
        (
            json!({"mandatory": [{"name": "c"}]}),
            Some("module c must be enabled"),
        ),
        (
            json!({"conditional": [{"name": "c", "constraint": "9"}]}),
            None,
        ),
        (
            json!({"conditional": [{"name": "b", "constraint": "9"}]}),
            Some("module b is enabled and must be in the range 9"),
        ),
        (
            json!({"anyOf": [{"name": "g", "modules": [{"name": "c"}, {"name": "b"}]}]}),
            None,
        ),
        (
            json!({"anyOf": [{"name": "g", "modules": [{"name": "c"}, {"name": "b", "constraint": "9"}]}]}),
            Some("one of the modules of group g must be enabled: c, b 9"),
        ),
        (
            json!({"noneOf": [{"name": "g", "modules": [{"name": "c"}]}]}),
            None,
        ),
        (
            json!({"noneOf": [{"name": "g", "modules": [{"name": "c"}, {"name": "a"}]}]}),
            Some("none of the modules of group g may be enabled: c, a"),
        ),
        (
            json!({"noneOf": [{"name": "g", "modules": [{"name": "a", "constraint": "9"}]}]}),
            None,
        ),
    ] {
        let (found, unknown) = check(&json!({"modules": modules}), &enabled);
        assert_eq!(found.first().map(String::as_str), unmet, "{modules}");
        assert!(unknown.is_empty());
    }
}
