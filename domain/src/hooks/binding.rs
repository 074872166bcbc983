//! What a hook is bound to, as it is used: defaults filled in, selectors as the API server reads them.
//!
//! Reading it from a program's answer is `config`'s work.

use std::collections::BTreeMap;

use super::crontab::Crontab;
use super::lifecycle::Lifecycle;

/// The group of every schedule and Kubernetes binding of a batch hook.
pub const GROUP: &str = "main";
/// The queue of a binding that names none.
pub const MAIN_QUEUE: &str = "main";

/// One hook of a program.
#[derive(Clone, Debug)]
pub struct Hook {
    /// `<display path>:<metadata.name>:<index>`, unique in a package.
    pub name: String,
    /// The program, as a display path.
    pub program: String,
    /// Its index: the argument of `hook run`.
    pub index: usize,
    /// Its lifecycle bindings with their order.
    pub lifecycle: BTreeMap<Lifecycle, u64>,
    /// Its schedules.
    pub schedules: Vec<Schedule>,
    /// Its Kubernetes bindings.
    pub kubernetes: Vec<KubernetesBinding>,
}

/// A schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its name; `schedule` if the hook gives none.
    pub name: String,
    /// When it is due.
    pub crontab: Crontab,
    /// Its queue.
    pub queue: String,
}

/// Objects that a hook wants to see, and whether it runs when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // the protocol's flags, each of its own
pub struct KubernetesBinding {
    /// The key of its snapshot; `kubernetes` if the hook gives none.
    pub name: String,
    /// Group and version; `None` is the preferred version of the kind.
    pub api_version: Option<String>,
    /// The kind.
    pub kind: String,
    /// Names of objects; empty is all.
    pub names: Vec<String>,
    /// A label selector; empty selects all.
    pub label_selector: String,
    /// A field selector; empty selects all.
    pub field_selector: String,
    /// The jq filter.
    pub jq: Option<String>,
    /// Whether snapshots hold the objects themselves.
    pub keeps_objects: bool,
    /// Whether a changed object runs the hook.
    pub on_event: bool,
    /// Whether a synchronization runs the hook.
    pub on_synchronization: bool,
    /// Whether the pipeline waits for the synchronization run.
    pub waits: bool,
    /// Whether a synchronization run may fail.
    pub may_fail: bool,
    /// Its queue.
    pub queue: String,
}

/// What is listed and watched for one binding in one application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch<'a> {
    /// Group and version; `None` is the preferred version of the kind.
    pub api_version: Option<&'a str>,
    /// The kind.
    pub kind: &'a str,
    /// The application's namespace, whatever the hook has asked for.
    pub namespace: &'a str,
    /// Names of objects; empty is all.
    pub names: &'a [String],
    /// A label selector; empty selects all.
    pub label_selector: &'a str,
    /// A field selector; empty selects all.
    pub field_selector: &'a str,
}

impl KubernetesBinding {
    /// What to watch for an application of this namespace (S14: never another one).
    #[must_use]
    pub fn watch<'a>(&'a self, namespace: &'a str) -> Watch<'a> {
        Watch {
            api_version: self.api_version.as_deref(),
            kind: &self.kind,
            namespace,
            names: &self.names,
            label_selector: &self.label_selector,
            field_selector: &self.field_selector,
        }
    }
}
