//! `binding_context`, `jq`, `check`, `run`: what a process is told, and how its ending is read.

use domain::hooks::check::answer;
use domain::hooks::config::parse;
use domain::hooks::context::{Held, Snapshots, Trigger, contexts};
use domain::hooks::jq::Jq;
use domain::hooks::lifecycle::Lifecycle;
use domain::hooks::limits::HookLimits;
use domain::hooks::outcome::{Ending, failure};
use serde_json::{Map, Value, json};

use super::{error, list, text};

const LIMITS: HookLimits = HookLimits::DEFAULT;

pub fn binding_context(input: &Value) -> Value {
    let document = json!({"version": "v1", "hooks": [{
        "configVersion": "v1",
        "kubernetes": input["kubernetes"],
        "schedule": input["schedule"],
    }]});
    let program = parse(&document.to_string(), "hooks/batchhooks", &LIMITS).unwrap();
    let hook = &program.hooks[0];
    let snapshots: Snapshots = hook
        .kubernetes
        .iter()
        .map(|binding| {
            let objects = list(&input["objects"], &binding.name);
            let held = objects.iter().map(|object| Held {
                namespace: text(&object["metadata"], "namespace").to_owned(),
                kind: text(object, "kind").to_owned(),
                name: text(&object["metadata"], "name").to_owned(),
                object: binding.keeps_objects.then(|| object.clone()),
                filtered: binding.jq.as_ref().map(|filter| {
                    Jq::compile(filter, &LIMITS)
                        .unwrap()
                        .apply(object, &LIMITS)
                        .unwrap()
                }),
            });
            (binding.name.clone(), held.collect())
        })
        .collect();
    contexts(hook, trigger(&input["trigger"]), &snapshots)
}

fn trigger(written: &Value) -> Trigger<'_> {
    if let Some(key) = written["lifecycle"].as_str() {
        let lifecycle = Lifecycle::ALL.into_iter().find(|known| known.key() == key);
        return Trigger::Lifecycle(lifecycle.unwrap());
    }
    if let Some(schedule) = written["schedule"].as_str() {
        return Trigger::Schedule(schedule);
    }
    let event = if written["event"].is_null() {
        &written["synchronization"]
    } else {
        &written["event"]
    };
    Trigger::Kubernetes(event["binding"].as_str().or(event.as_str()).unwrap())
}

pub fn jq(input: &Value) -> Value {
    let results: Vec<Value> = list(input, "filters")
        .iter()
        .map(|filter| {
            Jq::compile(filter.as_str().unwrap(), &LIMITS)
                .and_then(|jq| jq.apply(&input["object"], &LIMITS))
                .unwrap_or_else(|refused| error(&refused))
        })
        .collect();
    json!({"filterResults": results})
}

fn ending(case: &Value) -> Ending {
    let number = |key: &str| {
        case[key]
            .as_i64()
            .map(|found| i32::try_from(found).unwrap())
    };
    number("signal").map_or_else(|| Ending::Exit(number("exit").unwrap_or(0)), Ending::Signal)
}

pub fn check(input: &Value) -> Value {
    let outcomes: Map<String, Value> = list(input, "cases")
        .iter()
        .map(|case| {
            let outcome = match answer(ending(case), text(case, "stderr"), &LIMITS) {
                Ok(answer) => json!({"valid": answer.valid, "message": answer.message, "warnings": answer.warnings}),
                Err(refused) => error(&refused),
            };
            (text(case, "id").to_owned(), outcome)
        })
        .collect();
    json!({"outcomes": outcomes})
}

pub fn run(input: &Value) -> Value {
    failure(ending(input), text(input, "stderr"), &LIMITS)
        .map_or_else(|| json!({"ok": true}), |said| error(&said))
}
