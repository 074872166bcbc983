//! The binding context file: why a hook runs, and the snapshots of its Kubernetes bindings.
//!
//! All schedule and Kubernetes bindings of a batch hook are of one group, so a context tells the group and every snapshot,
//! never a single event.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::binding::{GROUP, Hook};
use super::lifecycle::Lifecycle;

/// What woke a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger<'a> {
    /// A lifecycle binding.
    Lifecycle(Lifecycle),
    /// A schedule of this name.
    Schedule(&'a str),
    /// An event, or a synchronization, of the Kubernetes binding of this name: both look the same to the hook.
    Kubernetes(&'a str),
}

/// One object in a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Itself, if the binding keeps objects.
    pub object: Option<Value>,
    /// What the binding's filter made of it, if it has one.
    pub filtered: Option<Value>,
}

/// The objects of each Kubernetes binding, by its name; in any order.
pub type Snapshots = BTreeMap<String, Vec<Held>>;

/// The content of the binding context file.
#[must_use]
pub fn contexts(hook: &Hook, trigger: Trigger<'_>, snapshots: &Snapshots) -> Value {
    let mut context = Map::new();
    let mut put = |key: &str, value: Value| context.insert(key.to_owned(), value);
    let listed = || Value::Object(listed(hook, snapshots));
    match trigger {
        Trigger::Lifecycle(lifecycle) => {
            put("binding", lifecycle.key().into());
            if lifecycle != Lifecycle::OnStartup {
                put("snapshots", listed());
            }
        }
        Trigger::Schedule(name) | Trigger::Kubernetes(name) => {
            put("binding", name.into());
            put("type", "Group".into());
            put("groupName", GROUP.into());
            if !hook.kubernetes.is_empty() {
                put("snapshots", listed());
            }
        }
    }
    json!([context])
}

/// Every Kubernetes binding of the hook; two bindings of one name share a list, so no object is lost.
fn listed(hook: &Hook, snapshots: &Snapshots) -> Map<String, Value> {
    hook.kubernetes
        .iter()
        .map(|binding| {
            let mut held: Vec<&Held> = snapshots.get(&binding.name).into_iter().flatten().collect();
            held.sort_by_key(|held| order(held));
            let items = held.into_iter().map(item).collect();
            (binding.name.clone(), Value::Array(items))
        })
        .collect()
}

/// By namespace, then name; without objects by the text `namespace/Kind/name`.
fn order(held: &Held) -> (String, &str) {
    if held.object.is_some() {
        (held.namespace.clone(), &held.name)
    } else {
        (
            format!("{}/{}/{}", held.namespace, held.kind, held.name),
            "",
        )
    }
}

fn item(held: &Held) -> Value {
    let mut item = Map::new();
    if let Some(object) = &held.object {
        item.insert("object".to_owned(), object.clone());
    }
    if let Some(filtered) = &held.filtered {
        item.insert("filterResult".to_owned(), filtered.clone());
    }
    Value::Object(item)
}
