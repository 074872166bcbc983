//! The environment of a hook's process (S15): an allow-list of the server's own variables, plus the protocol's.
//!
//! Nothing else of the server's environment reaches a hook, whatever it is called.

use std::collections::BTreeMap;

/// Variables of the server that hooks get as they are: search path, proxies, the level of their logs.
pub const INHERITED: [&str; 8] = [
    "PATH",
    "LOG_LEVEL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The files of a run, as absolute paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Input: the list of contexts.
    pub binding_context: String,
    /// Input: values.
    pub values: String,
    /// Input: effective settings.
    pub config_values: String,
    /// Output: values patch.
    pub values_patch: String,
    /// Output: a patch of settings, which applications may not have.
    pub config_values_patch: String,
    /// Output: metrics.
    pub metrics: String,
    /// Output: object operations.
    pub kubernetes_patch: String,
}

/// The names of the seven files in the scratch folder.
pub mod names {
    /// See [`super::Files::binding_context`].
    pub const BINDING_CONTEXT: &str = "binding-context.json";
    /// See [`super::Files::values`].
    pub const VALUES: &str = "values.json";
    /// See [`super::Files::config_values`].
    pub const CONFIG_VALUES: &str = "config-values.json";
    /// See [`super::Files::values_patch`].
    pub const VALUES_PATCH: &str = "values-patch.json";
    /// See [`super::Files::config_values_patch`].
    pub const CONFIG_VALUES_PATCH: &str = "config-values-patch.json";
    /// See [`super::Files::metrics`].
    pub const METRICS: &str = "metrics.json";
    /// See [`super::Files::kubernetes_patch`].
    pub const KUBERNETES_PATCH: &str = "kubernetes-patch.json";
}

impl Files {
    /// The files in a scratch folder.
    #[must_use]
    pub fn within(folder: &str) -> Self {
        let at = |name: &str| format!("{folder}/{name}");
        Self {
            binding_context: at(names::BINDING_CONTEXT),
            values: at(names::VALUES),
            config_values: at(names::CONFIG_VALUES),
            values_patch: at(names::VALUES_PATCH),
            config_values_patch: at(names::CONFIG_VALUES_PATCH),
            metrics: at(names::METRICS),
            kubernetes_patch: at(names::KUBERNETES_PATCH),
        }
    }
}

/// The application that a hook runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub instance: &'a str,
}

impl Owner<'_> {
    /// `<namespace>.<instance>`: how logs and metrics of hooks name it.
    #[must_use]
    pub fn module(self) -> String {
        format!("{}.{}", self.namespace, self.instance)
    }
}

/// What a process of a hook program is started for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// `hook list` and `hook config`.
    Ask,
    /// `hook run`.
    Run(&'a Files, Owner<'a>),
    /// `hook check`, with the file of the effective settings.
    Check(&'a str),
}

/// The whole environment; `own` looks up a variable of the server, `scratch` is the folder the process may write to.
#[must_use]
pub fn environment(
    purpose: Purpose<'_>,
    scratch: &str,
    own: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> = INHERITED
        .iter()
        .filter_map(|name| own(name).map(|value| ((*name).to_owned(), value)))
        .collect();
    let mut put = |name: &str, value: &str| variables.insert(name.to_owned(), value.to_owned());
    put("HOME", scratch);
    put("TMPDIR", scratch);
    match purpose {
        Purpose::Ask => {}
        Purpose::Check(settings) => {
            put("SETTINGS_PATH", settings);
        }
        Purpose::Run(files, owner) => {
            put("BINDING_CONTEXT_PATH", &files.binding_context);
            put("VALUES_PATH", &files.values);
            put("CONFIG_VALUES_PATH", &files.config_values);
            put("VALUES_JSON_PATCH_PATH", &files.values_patch);
            put("CONFIG_VALUES_JSON_PATCH_PATH", &files.config_values_patch);
            put("METRICS_PATH", &files.metrics);
            put("KUBERNETES_PATCH_PATH", &files.kubernetes_patch);
            put("MODULE_NAME", &owner.module());
            put("APPLICATION_NAME", owner.instance);
            put("APPLICATION_NAMESPACE", owner.namespace);
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [(&str, &str); 5] = [
        ("PATH", "/usr/bin"),
        ("HOME", "/home/server"),
        ("KUBECONFIG", "/etc/admin"),
        ("TENANTRY_OPENBAO_TOKEN", "secret"),
        ("VALUES_PATH", "/else"),
    ];

    fn own(name: &str) -> Option<String> {
        let found = OWN.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    }

    fn names(purpose: Purpose<'_>) -> Vec<String> {
        environment(purpose, "/s", own).into_keys().collect()
    }

    #[test]
    fn s15_a_run_gets_the_protocols_variables_and_nothing_of_the_servers_own() {
        let files = Files::within("/s");
        let owner = Owner {
            namespace: "team",
            instance: "app",
        };
        let run = environment(Purpose::Run(&files, owner), "/s", own);
        assert_eq!(run.len(), 13);
        let is = |name: &str, value: &str| run.get(name).is_some_and(|found| found == value);
        assert!(is("MODULE_NAME", "team.app") && is("HOME", "/s") && is("PATH", "/usr/bin"));
        assert!(is("VALUES_PATH", "/s/values.json"));
        assert!(!run.contains_key("KUBECONFIG") && !run.contains_key("TENANTRY_OPENBAO_TOKEN"));
    }

    #[test]
    fn s15_asking_and_checking_get_less() {
        assert_eq!(names(Purpose::Ask), ["HOME", "PATH", "TMPDIR"]);
        assert_eq!(
            names(Purpose::Check("/s/x")),
            ["HOME", "PATH", "SETTINGS_PATH", "TMPDIR"]
        );
    }
}
