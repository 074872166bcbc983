//! The protocol with real processes: found, asked, run, checked.

use std::time::Duration;

use domain::hooks::context::{Held, Snapshots, Trigger, contexts};
use domain::hooks::lifecycle::{Lifecycle, in_order};
use domain::hooks::limits::HookLimits;
use domain::hooks::operations::Action;
use domain::hooks::patches::{Accepted, PatchRefused};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use serde_json::{Value, json};
use tenantry::adapters::hooks::{CheckFailure, Hooks, Run, RunError};

use super::world::{ONE_HOOK, OWNER, Package, checked, launcher, run, run_on, sample, value};

const LONG: Duration = Duration::from_secs(30);

fn schemas(sample: &str) -> PackageSchemas {
    let read = |file: &str| {
        let folder = format!("{}/packages/{sample}/openapi", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(format!("{folder}/{file}")).unwrap()
    };
    let (settings, values) = (read("settings.yaml"), read("values.yaml"));
    PackageSchemas::load(Some(&settings), Some(&values), &Limits::DEFAULT).unwrap()
}

fn accept(
    sample: &str,
    hooks_patch: &domain::settings::patch::Patch,
    values: &Value,
) -> Result<Option<Value>, PatchRefused> {
    Accepted::default().accept(
        hooks_patch,
        values,
        &schemas(sample),
        &HookLimits::DEFAULT,
        &Limits::DEFAULT,
    )
}

#[tokio::test]
async fn the_sample_says_what_it_wants_and_its_hooks_give_patches_objects_and_metrics() {
    let hooks = sample("hooked", &launcher()).await;
    let names: Vec<&str> = hooks.all().map(|hook| hook.name.as_str()).collect();
    assert_eq!(
        names,
        ["hooks/batchhooks:prepare:0", "hooks/batchhooks:record:1"]
    );
    let before = in_order(hooks.all(), Lifecycle::BeforeHelm)[0];
    let held = |name: &str| Held {
        name: name.to_owned(),
        filtered: Some(name.into()),
        ..Held::default()
    };
    let snapshots = Snapshots::from([("maps".to_owned(), vec![held("b"), held("a")])]);
    let values = json!({"replicas": 2, "greeting": "hello", "internal": {}});
    let given = contexts(
        before,
        Trigger::Lifecycle(Lifecycle::BeforeHelm),
        &snapshots,
    );
    let given = Run {
        owner: OWNER,
        contexts: &given,
        values: &values,
        settings: &json!({"replicas": 2}),
    };
    let outputs = hooks.run(before, given).await.unwrap();
    let patched = accept("hooked", &outputs.values, &values).unwrap().unwrap();
    assert_eq!(patched["internal"], json!({"runs": 1, "seen": ["a", "b"]}));

    let after = in_order(hooks.all(), Lifecycle::AfterHelm)[0];
    let outputs = hooks.run(after, given).await.unwrap();
    assert_eq!(outputs.operations[0].target.name, "d8a-app-record");
    assert!(
        matches!(&outputs.operations[0].action, Action::Create { object, .. } if object["data"]["of"] == "app")
    );
    assert_eq!(outputs.metrics.samples.len(), 1);
}

#[tokio::test]
async fn the_samples_check_answers_as_the_protocol_says() {
    let hooks = sample("hooked", &launcher()).await;
    assert!(hooks.has_check());
    let asked = async |replicas: u32| {
        checked(&hooks, &json!({"replicas": replicas}), LONG)
            .await
            .unwrap()
    };
    assert_eq!(asked(2).await, "valid:  []");
    assert_eq!(asked(0).await, "refused: replicas cannot be 0 []");
    assert_eq!(asked(9).await, "valid:  [\"that is a lot\"]");
}

#[tokio::test]
async fn a_hook_whose_values_break_the_schema_is_refused_by_the_place() {
    let hooks = sample("breaks-schema", &launcher()).await;
    let values = json!({"replicas": 1, "internal": {}});
    let outputs = run_on(&hooks, &values).await.unwrap();
    let refused = accept("breaks-schema", &outputs.values, &values).unwrap_err();
    assert!(
        refused.to_string().contains("values.internal.runs"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_check_that_does_not_answer_is_an_error_and_never_a_yes() {
    for (body, part) in [
        ("exit 1", "said nothing"),
        ("echo boom >&2; exit 1", "boom"),
        ("kill -9 $$", "signal 9"),
        ("sleep 60", "did not end within 0.5 s"),
    ] {
        let hooks = Package::doing(body);
        let loaded = hooks.load().await.unwrap();
        let failed = checked(&loaded, &json!({}), Duration::from_millis(500))
            .await
            .unwrap_err();
        assert!(failed.to_string().contains(part), "{body}: {failed}");
    }
    let none = Package::new().load().await.unwrap();
    assert!(matches!(
        checked(&none, &json!({}), LONG).await,
        Err(CheckFailure::None)
    ));
}

#[tokio::test]
async fn only_programs_that_announce_hooks_are_hook_programs() {
    let package = Package::new();
    package.program("hooks/silent", "exit 0");
    package.program("hooks/failing", "echo 'Found 1 items:'; exit 1");
    package.program("hooks/empty", "echo 'Found 0 items:'");
    package.program("hooks/run.sh", "echo 'Found 1 items:'");
    package.program("hooks/lib/tool", "echo 'Found 1 items:'");
    package.program("elsewhere", "echo 'Found 1 items:'");
    let good =
        format!("case $2 in list) echo 'Found 1 items:' ;; config) echo '{ONE_HOOK}' ;; esac");
    package.program("hooks/z/good", &good);
    let hooks = package.load().await.unwrap();
    let names: Vec<&str> = hooks.all().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["hooks/z/good:h:0"]);
    assert_eq!(Package::new().load().await.unwrap().all().count(), 0);
}

#[tokio::test]
async fn a_program_with_a_bad_configuration_makes_the_package_unloadable() {
    for (config, part) in [
        ("echo garbage", "JSON"),
        ("echo '{\"version\":\"v2\"}'", "v2"),
        (
            "echo '{\"message\":\"panic: no\"}' >&2; exit 2",
            "panic: no",
        ),
        ("yes", "more than"),
        ("kill -9 $$", "signal 9"),
    ] {
        let package = Package::new();
        package.program(
            "hooks/a",
            &format!("case $2 in list) echo 'Found 1 items:' ;; config) {config} ;; esac"),
        );
        let failed = package.load().await.unwrap_err().to_string();
        assert!(
            failed.contains(part) && failed.contains("hooks/a"),
            "{config}: {failed}"
        );
    }
}

#[tokio::test]
async fn two_settings_checks_are_a_mistake_of_the_package() {
    let package = Package::doing("exit 0");
    let good =
        format!("case $2 in list) echo 'Found 1 items:' ;; config) echo '{ONE_HOOK}' ;; esac");
    package.program("hooks/other", &good);
    let failed = package.load().await.unwrap_err().to_string();
    assert!(
        failed.contains("hooks/batchhooks and hooks/other both have a settings check"),
        "{failed}"
    );
}

#[tokio::test]
async fn a_failed_run_says_why_and_gives_nothing() {
    for (body, part) in [
        (
            "echo '{\"message\":\"execute: no\"}' >&2; exit 1",
            ": execute: no",
        ),
        ("exit 7", "exit status 7"),
        (
            "echo '{' >\"$VALUES_JSON_PATCH_PATH\"",
            "values patch: the file is not readable json",
        ),
        (
            "echo '{' >\"$CONFIG_VALUES_JSON_PATCH_PATH\"",
            "patch of settings",
        ),
        (
            "echo '[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/b\"}]' >\"$VALUES_JSON_PATCH_PATH\"",
            "\"move\"",
        ),
        ("echo x >\"$METRICS_PATH\"", "metrics"),
        (
            "echo '{\"operation\":\"Drop\"}' >\"$KUBERNETES_PATCH_PATH\"",
            "\"Drop\"",
        ),
    ] {
        let package = Package::doing(body);
        let failed = run(&package.load().await.unwrap())
            .await
            .unwrap_err()
            .to_string();
        assert!(
            failed.starts_with("hooks/batchhooks:h:0: ") && failed.contains(part),
            "{body}: {failed}"
        );
    }
}

#[tokio::test]
async fn s16_a_program_that_ends_well_and_writes_nothing_has_succeeded() {
    let package = Package::doing("rm \"$METRICS_PATH\"; exit 0");
    assert!(
        run(&package.load().await.unwrap())
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_hook_reads_values_settings_and_contexts() {
    let package = Package::doing(
        "printf '[{\"op\":\"add\",\"path\":\"/got\",\"value\":[%s,%s,%s]}]' \"$(cat $VALUES_PATH)\" \"$(cat $CONFIG_VALUES_PATH)\" \
         \"$(cat $BINDING_CONTEXT_PATH)\" >$VALUES_JSON_PATCH_PATH",
    );
    let outputs = run_on(&package.load().await.unwrap(), &json!({"a": [1]}))
        .await
        .unwrap();
    assert_eq!(
        value(&outputs, "got"),
        json!([{"a": [1]}, {}, [{"binding": "beforeHelm", "snapshots": {}}]])
    );
}

#[tokio::test]
async fn a_hook_of_another_package_is_not_run() {
    let (one, other) = (Package::doing("exit 0"), Package::new());
    let (one, other): (Hooks, Hooks) = (one.load().await.unwrap(), other.load().await.unwrap());
    let hook = one.all().next().unwrap();
    let given = Run {
        owner: OWNER,
        contexts: &json!([]),
        values: &json!({}),
        settings: &json!({}),
    };
    assert!(matches!(
        other.run(hook, given).await,
        Err(RunError::Unknown(_))
    ));
}
