//! What several Tenants that are wanted at once say of one another: one of two with the same names could only be a `Conflict`.
//!
//! For manifests before they are applied. In a cluster the registry decides this, by its unique columns (section 8): which of two
//! came first is not known here, so the later one in the order given is named.

use std::collections::HashMap;

use super::names::derived_secret_name;
use super::tenant::TenantDraft;
use crate::violation::{Kind, Violation};

/// For each Tenant, in the order given as `(namespace, draft)`: what an earlier one takes away from it.
#[must_use]
pub fn clashes(tenants: &[(&str, TenantDraft<'_>)]) -> Vec<Vec<Violation>> {
    let mut seen: HashMap<(&'static str, String, String), String> = HashMap::new();
    tenants
        .iter()
        .map(|(namespace, draft)| {
            let me = format!("{namespace}/{}", draft.name);
            claims(namespace, draft)
                .into_iter()
                .filter_map(|(path, within, value)| {
                    let other = seen
                        .entry((path, within, value.clone()))
                        .or_insert_with(|| me.clone());
                    (*other != me).then(|| violation(path, &value, other))
                })
                .collect()
        })
        .collect()
}

/// What a Tenant takes for itself: the field that says it, within what it must be unique, and the value.
fn claims(namespace: &str, draft: &TenantDraft<'_>) -> [(&'static str, String, String); 4] {
    let server = draft.instance_ref.to_owned();
    let here = namespace.to_owned();
    [
        (
            "spec.database",
            server.clone(),
            draft.effective_database().to_owned(),
        ),
        (
            "spec.loginRole",
            server,
            draft.effective_login_role().to_owned(),
        ),
        (
            "spec.credential.secretName",
            here.clone(),
            draft.effective_secret_name(),
        ),
        // The ExternalSecret's name, which no field sets (D1).
        (
            "metadata.name",
            here,
            derived_secret_name(draft.instance_ref, draft.name),
        ),
    ]
}

fn violation(path: &'static str, value: &str, other: &str) -> Violation {
    let text = if path == "metadata.name" {
        format!(
            "its ExternalSecret would be {value}, which is that of tenant {other}: choose another name"
        )
    } else {
        format!("{value} is that of tenant {other}: choose another")
    };
    Violation::new(path, Kind::Duplicate, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant<'a>(name: &'a str, instance: &'a str, database: &'a str) -> TenantDraft<'a> {
        TenantDraft {
            name,
            instance_ref: instance,
            database: Some(database),
            login_role: Some(database),
            extensions: Vec::new(),
            secret_name: None,
            deletion_policy: "Retain",
        }
    }

    fn paths(tenants: &[(&str, TenantDraft<'_>)]) -> Vec<Vec<String>> {
        clashes(tenants)
            .into_iter()
            .map(|found| {
                found
                    .iter()
                    .map(|violation| violation.path.to_string())
                    .collect()
            })
            .collect()
    }

    #[test]
    fn two_tenants_of_one_server_with_the_same_names_clash_and_of_two_servers_do_not() {
        let same = [
            ("a", tenant("x", "main", "shop")),
            ("b", tenant("y", "main", "shop")),
        ];
        assert_eq!(
            paths(&same),
            [
                vec![],
                vec!["spec.database".to_owned(), "spec.loginRole".to_owned()]
            ]
        );
        let apart = [
            ("a", tenant("x", "main", "shop")),
            ("b", tenant("y", "other", "shop")),
        ];
        assert_eq!(paths(&apart), [Vec::<String>::new(), Vec::new()]);
    }

    #[test]
    fn d1_two_tenants_whose_derived_name_is_one_clash_in_one_namespace_only() {
        let one = ("n", tenant("b-c", "a", "one"));
        let two = ("n", tenant("c", "a-b", "two"));
        assert_eq!(
            paths(&[one.clone(), two.clone()]),
            [
                vec![],
                vec![
                    "spec.credential.secretName".to_owned(),
                    "metadata.name".to_owned()
                ]
            ]
        );
        assert_eq!(
            paths(&[one, ("m", two.1)]),
            [Vec::<String>::new(), Vec::new()]
        );
    }
}
