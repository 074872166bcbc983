//! `discover`, `parse_config`, `parse_config_errors`, `load`: what programs are found, and what they say of themselves.

use domain::hooks::binding::{GROUP, Hook, KubernetesBinding, Schedule};
use domain::hooks::config::{Program, parse};
use domain::hooks::discovery::{announced, display_path, is_candidate_path, only_one};
use domain::hooks::lifecycle::Lifecycle;
use domain::hooks::limits::HookLimits;
use serde_json::{Value, json};

use super::{error, list, same, text};

const LIMITS: HookLimits = HookLimits::DEFAULT;

fn found(input: &Value) -> Vec<&Value> {
    let mut found: Vec<&Value> = list(input, "files")
        .iter()
        .filter(|file| {
            let mode = u32::from_str_radix(text(file, "mode"), 8).unwrap();
            is_candidate_path(text(file, "path"), mode)
                && file["list"]["exit"] == 0
                && announced(text(&file["list"], "stdout")).is_some()
        })
        .collect();
    found.sort_by_key(|file| text(file, "path"));
    found
}

pub fn discover(input: &Value) -> Value {
    let paths: Vec<&str> = found(input).iter().map(|file| text(file, "path")).collect();
    json!({"batch_hooks": paths})
}

/// As `discover`, but each found file also has the answer to `hook config`.
pub fn load(input: &Value) -> Value {
    let mut programs = Vec::new();
    for file in found(input) {
        let path = display_path(text(file, "path"));
        match parse(text(&file["config"], "stdout"), path, &LIMITS) {
            Ok(program) => programs.push((path, program)),
            Err(refused) => return error(&refused),
        }
    }
    let having = |has: fn(&Program) -> bool| {
        let having = programs.iter().filter(move |(_, program)| has(program));
        having.map(|(path, _)| *path)
    };
    let check = only_one(
        "settings check",
        having(|program| program.has_settings_check),
    );
    let ready = only_one("readiness hook", having(|program| program.has_readiness));
    match (check, ready) {
        (Err(twice), _) | (_, Err(twice)) => error(&twice),
        (Ok(check), Ok(_)) => json!({
            "settings_check": check,
            "hooks": programs.iter().flat_map(|(_, program)| &program.hooks).map(|hook| &hook.name).collect::<Vec<_>>(),
        }),
    }
}

pub fn parse_config(input: &Value) -> Value {
    let path = display_path(text(input, "path"));
    match parse(text(input, "stdout"), path, &LIMITS) {
        Err(refused) => error(&refused),
        Ok(program) => json!({
            "settings_check": program.has_settings_check,
            "readiness": program.has_readiness,
            "hooks": program.hooks.iter().map(|hook| shown(hook, text(input, "namespace"))).collect::<Vec<_>>(),
        }),
    }
}

pub fn parse_config_errors(input: &Value) -> Value {
    let outcomes = list(input, "cases")
        .iter()
        .map(|case| {
            let failed = case["exit"].as_i64().is_some_and(|status| status != 0);
            let parsed = parse(text(case, "stdout"), "hooks/batchhooks", &LIMITS);
            if failed || parsed.is_err() {
                "load error".into()
            } else {
                format!("{} is accepted", case["id"]).into()
            }
        })
        .collect();
    json!({"all": same(outcomes)})
}

fn shown(hook: &Hook, namespace: &str) -> Value {
    let order = |lifecycle| hook.lifecycle.get(&lifecycle);
    json!({
        "name": hook.name,
        "run_arg": hook.index.to_string(),
        "on_startup": order(Lifecycle::OnStartup),
        "before_helm": order(Lifecycle::BeforeHelm),
        "after_helm": order(Lifecycle::AfterHelm),
        "before_delete_helm": order(Lifecycle::BeforeDeleteHelm),
        "after_delete_helm": order(Lifecycle::AfterDeleteHelm),
        "schedule": hook.schedules.iter().map(schedule).collect::<Vec<_>>(),
        "kubernetes": hook.kubernetes.iter().map(|it| kubernetes(it, namespace)).collect::<Vec<_>>(),
    })
}

fn schedule(schedule: &Schedule) -> Value {
    json!({"name": schedule.name, "crontab": schedule.crontab.as_str(), "queue": schedule.queue, "group": GROUP})
}

fn kubernetes(binding: &KubernetesBinding, namespace: &str) -> Value {
    let events: &[&str] = if binding.on_event {
        &["Added", "Modified", "Deleted"]
    } else {
        &[]
    };
    json!({
        "name": binding.name,
        "api_version": binding.api_version,
        "kind": binding.kind,
        "namespaces": [binding.watch(namespace).namespace],
        "names": binding.names,
        "label_selector": binding.label_selector,
        "field_selector": binding.field_selector,
        "jq": binding.jq,
        "keep_object": binding.keeps_objects,
        "events": events,
        "on_synchronization": binding.on_synchronization,
        "wait_for_synchronization": binding.waits,
        "allow_failure": binding.may_fail,
        "queue": binding.queue,
        "group": GROUP,
    })
}
