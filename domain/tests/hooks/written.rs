//! What a run has written: object operations (S14), metrics, and which file fails a run.

use domain::hooks::config::parse;
use domain::hooks::environment::Owner;
use domain::hooks::limits::HookLimits;
use domain::hooks::metrics::{self, Action as Metric};
use domain::hooks::operations::{self, Action, Operation};
use domain::hooks::outcome::{Ending, failure};
use domain::hooks::outputs::{self, Files, OutputError};
use serde_json::{Value, json};

const LIMITS: HookLimits = HookLimits::DEFAULT;
const OWNER: Owner<'static> = Owner {
    namespace: "team",
    instance: "app",
};

fn operations(file: &str) -> Result<Vec<Operation>, String> {
    operations::read(file.as_bytes(), OWNER, &LIMITS).map_err(|error| error.to_string())
}

fn one(document: &Value) -> Operation {
    operations(&document.to_string()).unwrap().remove(0)
}

#[test]
fn s14_names_are_prefixed_once_and_the_namespace_is_the_applications() {
    for (written, name) in [
        ("x", "d8a-app-x"),
        ("d8a-app-x", "d8a-app-x"),
        ("d8a-ap-x", "d8a-app-d8a-ap-x"),
    ] {
        let deleted = one(
            &json!({"operation": "Delete", "kind": "Secret", "name": written, "namespace": "kube-system"}),
        );
        assert_eq!(deleted.target.name, name);
        assert_eq!(deleted.target.namespace, "team");
        let object = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": written, "namespace": "kube-system"}});
        let created = one(&json!({"operation": "Create", "object": object}));
        let Action::Create { object, .. } = created.action else {
            panic!("a creation creates");
        };
        assert_eq!(
            object["metadata"],
            json!({"name": name, "namespace": "team"})
        );
        assert_eq!(
            (
                created.target.name.as_str(),
                created.target.namespace.as_str()
            ),
            (name, "team")
        );
    }
}

#[test]
fn a_json_patch_may_begin_with_any_operation() {
    let patched = one(
        &json!({"operation": "JSONPatch", "kind": "A", "name": "a", "jsonPatch": [{"op": "remove", "path": "/x"}]}),
    );
    assert!(matches!(patched.action, Action::Patch { .. }));
}

#[test]
fn mistakes_in_operations_are_told_with_their_place() {
    for (file, part) in [
        (
            "{\"operation\":\"Delete\",\"kind\":\"A\",\"name\":\"a\"}{\"operation\":\"Delete\",\"kind\":\"A\"}",
            "operation 1: `name`",
        ),
        ("{\"operation\":\"Drop\"}", "\"Drop\""),
        ("[]", "operation 0"),
        ("{\"operation\":", "ends too early"),
        ("\u{0}", "unexpected"),
        (
            "{\"operation\":\"MergePatch\",\"kind\":\"A\",\"name\":\"a\",\"mergePatch\":[1]}",
            "must be an object",
        ),
        (
            "{\"operation\":\"JSONPatch\",\"kind\":\"A\",\"name\":\"a\",\"jsonPatch\":\"a: 1\"}",
            "must be a list",
        ),
        (
            "{\"operation\":\"Create\",\"object\":\"[\"}",
            "neither YAML",
        ),
        (
            "{\"operation\":\"Create\",\"object\":{\"kind\":\"A\"}}",
            "metadata.name",
        ),
        ("{\"operation\":7}", "operation 0"),
    ] {
        let said = operations(file).unwrap_err();
        assert!(said.contains(part), "{file}: {said}");
    }
    assert_eq!(operations(" \n").unwrap(), []);
}

#[test]
fn an_error_does_not_repeat_what_the_file_holds() {
    let said =
        operations("{\"operation\":\"Create\",\"object\":{\"data\":\"hunter2\"").unwrap_err();
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn an_alias_bomb_in_operations_is_refused() {
    let mut bomb = "operation: Create\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(",");
        bomb = format!("{bomb}a{level}: &a{level} [{below}]\n");
    }
    assert!(operations(&bomb).is_err());
}

#[test]
fn metrics_are_read_in_all_their_forms() {
    let file = "{\"name\":\"a\",\"set\":1}{\"name\":\"b\",\"action\":\"add\",\"value\":2,\"labels\":null,\"group\":\"g\"}
        {\"action\":\"expire\",\"group\":\"g\"}{\"name\":\"c\",\"action\":\"observe\",\"value\":1,\"buckets\":[1,2]}{\"action\":\"odd\"}";
    let read = metrics::read(file.as_bytes(), "hook", &LIMITS).unwrap();
    let groups: Vec<&str> = read
        .samples
        .iter()
        .map(|sample| sample.group.as_str())
        .collect();
    assert_eq!(groups, ["hook", "g", "g", "hook"]);
    assert!(matches!(read.samples[0].action, Metric::Set(_, value) if value > 0.9 && value < 1.1));
    assert_eq!(read.warnings.len(), 1);
}

#[test]
fn a_metric_cannot_break_the_page_it_is_printed_on() {
    for sample in [
        json!({"name": "a b", "set": 1}),
        json!({"name": "a\n# HELP", "set": 1}),
        json!({"name": "", "set": 1}),
        json!({"name": "1a", "set": 1}),
        json!({"name": "a", "set": 1, "labels": {"b\"": "x"}}),
        json!({"name": "a", "set": 1, "labels": {"__name__": "x"}}),
        json!({"name": "a", "set": 1, "labels": {"b": 1}}),
        json!({"name": "a", "action": "set"}),
        json!({"name": "a", "action": "observe", "value": 1}),
        json!({"name": "a", "action": "observe", "value": 1, "buckets": [2, 1]}),
        json!({"name": "a", "set": 1, "add": 1}),
        json!([1]),
    ] {
        assert!(
            metrics::read(sample.to_string().as_bytes(), "h", &LIMITS).is_err(),
            "{sample}"
        );
    }
}

#[test]
fn the_first_file_that_does_not_parse_fails_the_run() {
    let config = json!([{"configVersion": "v1", "onStartup": 1}]).to_string();
    let hook = parse(&config, "hooks/b", &LIMITS).unwrap().hooks.remove(0);
    let bad = b"{".to_vec();
    let mut files = Files {
        config_values_patch: bad.clone(),
        values_patch: bad.clone(),
        metrics: bad.clone(),
        kubernetes_patch: bad,
    };
    let read = |files: &Files| outputs::read(files, &hook, OWNER, &LIMITS);
    assert!(matches!(read(&files), Err(OutputError::ConfigValues(_))));
    files.config_values_patch = b"[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]".to_vec();
    assert!(matches!(read(&files), Err(OutputError::Values(_))));
    files.values_patch.clear();
    assert!(matches!(read(&files), Err(OutputError::Metrics(_))));
    files.metrics.clear();
    assert!(matches!(read(&files), Err(OutputError::Operations(_))));
    files.kubernetes_patch.clear();
    let outputs = read(&files).unwrap();
    assert!(outputs.patches_settings && outputs.values.is_empty());
    assert!(read(&Files::default()).unwrap().is_empty());
}

#[test]
fn a_failed_run_says_its_message_its_stderr_or_its_status() {
    let said = |ending, stderr: &str| failure(ending, stderr, &LIMITS);
    assert_eq!(said(Ending::Exit(0), "noise"), None);
    let wrapped = "{\"message\":\"execute: hook reconcile func: no\"}\n\n";
    assert_eq!(
        said(Ending::Exit(1), wrapped).as_deref(),
        Some("execute: hook reconcile func: no")
    );
    assert_eq!(
        said(Ending::Exit(1), "a\u{1b}[1m").as_deref(),
        Some("a [1m")
    );
    assert_eq!(
        said(Ending::Exit(3), " \n").as_deref(),
        Some("exit status 3")
    );
    assert_eq!(said(Ending::Signal(9), "").as_deref(), Some("signal 9"));
    let long = said(Ending::Exit(1), &"ä".repeat(5000)).unwrap();
    assert!(long.ends_with('…') && long.len() < 1100);
}
