//! What programs are found, and what they say of themselves.

use domain::hooks::binding::Hook;
use domain::hooks::config::{ConfigError, Program, parse};
use domain::hooks::discovery::{announced, display_path, is_candidate_path, only_one};
use domain::hooks::lifecycle::{AfterChange, Lifecycle, Stage, in_order};
use domain::hooks::limits::HookLimits;
use serde_json::{Value, json};

const LIMITS: HookLimits = HookLimits::DEFAULT;

fn program(hooks: &Value) -> Result<Program, ConfigError> {
    let document = json!({"version": "v1", "hooks": hooks});
    parse(&document.to_string(), "hooks/b", &LIMITS)
}

fn refused(hook: &Value) -> String {
    let mut hook = hook.clone();
    hook["configVersion"] = json!("v1");
    program(&json!([hook])).unwrap_err().to_string()
}

#[test]
fn only_extensionless_executables_outside_of_hidden_folders_are_asked() {
    for path in ["hooks/a", "hooks/deep/er/a", "hooks/libs/a"] {
        assert!(is_candidate_path(path, 0o755), "{path}");
        assert!(is_candidate_path(path, 0o001), "{path}");
        assert!(!is_candidate_path(path, 0o644), "{path}");
    }
    for path in [
        "a",
        "hooks",
        "lib/a",
        "hooks/a.sh",
        "hooks/.a",
        "hooks/a.",
        "hooks/lib/a",
        "hooks/x/.y/a",
        "hooks/venv/a",
    ] {
        assert!(!is_candidate_path(path, 0o755), "{path}");
    }
    assert_eq!(display_path("/tmp/x/hooks/hooks/a"), "hooks/hooks/a");
}

#[test]
fn a_program_announces_from_one_to_9999_hooks() {
    assert_eq!(announced("Found 1 items:\n0 - a\n"), Some(1));
    assert_eq!(announced("{}\nFound 9999 items:"), Some(9999));
    for not in [
        "Found 0 items",
        "Found 10000 items",
        "Found x items",
        "Found 01 items",
        "",
    ] {
        assert_eq!(announced(not), None, "{not}");
    }
}

#[test]
fn a_package_has_at_most_one_settings_check() {
    assert_eq!(only_one("check", [].into_iter()), Ok(None));
    assert_eq!(only_one("check", ["a"].into_iter()), Ok(Some("a")));
    let twice = only_one("settings check", ["a", "b"].into_iter()).unwrap_err();
    assert_eq!(
        twice.to_string(),
        "a and b both have a settings check: a package may have one"
    );
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (hook, parts) in [
        (
            json!({"schedule": [{"crontab": "* * * *"}]}),
            ["hooks[0].schedule[0]", "fields"],
        ),
        (
            json!({"schedule": [{}]}),
            ["hooks[0].schedule[0]", "crontab"],
        ),
        (
            json!({"kubernetes": [{}]}),
            ["hooks[0].kubernetes[0]", "kind"],
        ),
        (
            json!({"kubernetes": [{"kind": "Pod", "apiVersion": "a/b/c"}]}),
            ["kubernetes[0]", "apiVersion"],
        ),
        (
            json!({"kubernetes": [{"kind": "Pod", "apiVersion": "../v1"}]}),
            ["kubernetes[0]", "apiVersion"],
        ),
        (
            json!({"kubernetes": [{"kind": "Pod", "jqFilter": "env"}]}),
            ["kubernetes[0]", "`env`"],
        ),
        (
            json!({"kubernetes": [{"kind": "Pod", "labelSelector": {"matchLabels": {"a": "b c"}}}]}),
            ["kubernetes[0]", "labelSelector"],
        ),
        (
            json!({"kubernetes": [{"kind": "Pod", "includeSnapshotsFrom": ["x"]}]}),
            ["kubernetes[0]", "\"x\""],
        ),
        (
            json!({"kubernetes": [{"kind": 1}]}),
            ["hooks[0].kubernetes[0].kind", "string"],
        ),
        (json!({"beforeHelm": -1}), ["hooks[0].beforeHelm", "u64"]),
        (json!({"beforeHelm": "1"}), ["hooks[0].beforeHelm", "u64"]),
    ] {
        let said = refused(&hook);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
    let old = program(&json!([{"configVersion": "v0"}]))
        .unwrap_err()
        .to_string();
    assert!(old.contains("configVersion"), "{old}");
    assert!(
        parse("", "p", &LIMITS)
            .unwrap_err()
            .to_string()
            .contains("empty")
    );
    assert!(parse("panic: boom", "p", &LIMITS).is_err());
}

#[test]
fn text_after_the_document_and_unknown_keys_are_passed_over() {
    let text = "{\"version\":\"v1\",\"new\":1,\"hooks\":null,\"readiness\":{}}\nbye";
    let program = parse(text, "p", &LIMITS).unwrap();
    assert!(program.hooks.is_empty() && program.has_readiness && !program.has_settings_check);
}

#[test]
fn answers_over_a_bound_are_refused() {
    assert!(matches!(
        parse(&" ".repeat(2 << 20), "p", &LIMITS),
        Err(ConfigError::TooLong { .. })
    ));
    let schedule = vec![json!({"crontab": "* * * * *"}); 257];
    let said = refused(&json!({"schedule": schedule}));
    assert!(said.contains("257"), "{said}");
    let deep = "[".repeat(500_000);
    assert!(matches!(
        parse(&deep, "p", &LIMITS),
        Err(ConfigError::NotJson(_))
    ));
}

#[test]
fn hooks_of_a_lifecycle_binding_run_by_number_then_program_then_index() {
    let hook = |program: &str, index: usize, order: u64| {
        let document = json!([{"configVersion": "v1", "beforeHelm": order}]);
        let parsed = parse(&document.to_string(), program, &LIMITS).unwrap();
        Hook {
            index,
            name: format!("{program}{index}"),
            ..parsed.hooks[0].clone()
        }
    };
    let hooks = [
        hook("b", 0, 1),
        hook("a", 10, 1),
        hook("a", 2, 1),
        hook("z", 0, 0),
        hook("a", 0, 2),
    ];
    let order: Vec<&str> = in_order(&hooks, Lifecycle::BeforeHelm)
        .into_iter()
        .map(|hook| hook.name.as_str())
        .collect();
    assert_eq!(order, ["z0", "a2", "a10", "b0", "a0"]);
    assert!(in_order(&hooks, Lifecycle::AfterHelm).is_empty());
}

#[test]
fn a_failed_run_has_the_reason_of_its_stage_and_only_a_synchronization_may_fail() {
    let reason = |lifecycle| Stage::Lifecycle(lifecycle).reason();
    assert_eq!(reason(Lifecycle::OnStartup), "StartupHookFailed");
    assert_eq!(reason(Lifecycle::AfterHelm), "AfterHelmHookFailed");
    assert_eq!(Stage::Event.reason(), "EventHookFailed");
    let stages = [
        Stage::Event,
        Stage::Schedule,
        Stage::Lifecycle(Lifecycle::BeforeHelm),
        Stage::Synchronization { may_fail: false },
    ];
    assert!(stages.iter().all(|stage| !stage.may_fail()));
    assert!(Stage::Synchronization { may_fail: true }.may_fail());
}

#[test]
fn changed_values_go_where_the_protocol_sends_them() {
    let after = |lifecycle| Stage::Lifecycle(lifecycle).after_change();
    assert_eq!(after(Lifecycle::BeforeHelm), AfterChange::GoOn);
    assert_eq!(after(Lifecycle::AfterHelm), AfterChange::ApplyAgain);
    assert_eq!(Stage::Schedule.after_change(), AfterChange::Reconcile);
    assert_eq!(
        Stage::Synchronization { may_fail: false }.after_change(),
        AfterChange::GoOn
    );
}
