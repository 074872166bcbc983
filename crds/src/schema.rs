//! The CRDs as the API server gets them: the derived schema, bounded and with its rules.
//!
//! Decides what the derive cannot say: optional values are not nullable (so `null` is dropped or defaulted), conditions are
//! bounded, and where rules stand. It knows no rule itself.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;

use crate::applications::application::Application;
use crate::applications::grants::{
    self, ClusterResourceGrantPolicy, GrantableClusterResourceDefinition,
};
use crate::applications::operation::PackageRepositoryOperation;
use crate::applications::package;
use crate::applications::repository::PackageRepository;
use crate::applications::version::ApplicationPackageVersion;
use crate::rules::{Placed, instance_rules, tenant_rules, version_rules};
use crate::{PostgreSQLInstance, PostgreSQLTenant};

/// Every CRD of this project, in the order in which they are shown.
#[must_use]
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut all = tenancy_kinds();
    all.extend(application_kinds());
    all
}

/// The CRDs of applications and their packages.
#[must_use]
pub fn application_kinds() -> Vec<CustomResourceDefinition> {
    vec![
        finished(Application::crd(), &[]),
        without_spec(finished(
            package::definition::ApplicationPackage::crd(),
            &[],
        )),
        finished(ApplicationPackageVersion::crd(), &version_rules()),
        finished(PackageRepository::crd(), &[]),
        finished(PackageRepositoryOperation::crd(), &[]),
    ]
}

/// The CRDs of PostgreSQL tenancy.
#[must_use]
pub fn tenancy_kinds() -> Vec<CustomResourceDefinition> {
    vec![
        finished(PostgreSQLInstance::crd(), &instance_rules()),
        finished(PostgreSQLTenant::crd(), &tenant_rules()),
    ]
}

/// The CRDs of the multitenancy system, which is not this project's: for clusters that lack them.
#[must_use]
pub fn multitenancy_kinds() -> Vec<CustomResourceDefinition> {
    vec![
        without_spec(finished(
            grants::definition::AvailableClusterResource::crd(),
            &[],
        )),
        finished(GrantableClusterResourceDefinition::crd(), &[]),
        finished(ClusterResourceGrantPolicy::crd(), &[]),
    ]
}

/// A kind that has no spec, although the derive gives it one.
fn without_spec(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let schemas = crd
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut());
    for root in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        if let Some(properties) = &mut root.properties {
            properties.remove("spec");
        }
        root.required = None;
    }
    crd
}

fn finished(mut crd: CustomResourceDefinition, rules: &[Placed]) -> CustomResourceDefinition {
    let schemas = crd
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut());
    for root in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        walk(root);
        bound_conditions(root);
        for Placed { at, rule } in rules {
            if let Some(place) = find(root, at) {
                place
                    .x_kubernetes_validations
                    .get_or_insert_default()
                    .push(rule.clone());
            }
        }
    }
    crd
}

/// Everywhere: no `nullable`, and descriptions as one paragraph.
fn walk(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    if let Some(description) = &mut schema.description {
        *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    for child in schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
    {
        walk(child);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        walk(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        walk(values);
    }
}

/// The bounds of `metav1.Condition`, which its Rust type does not carry; CEL refuses to walk unbounded lists.
fn bound_conditions(root: &mut JSONSchemaProps) {
    for (field, least, most) in [
        ("type", 1, 316),
        ("reason", 1, 1024),
        ("message", 0, 32_768),
    ] {
        if let Some(field) = find(root, &format!("status.conditions[].{field}")) {
            field.min_length = Some(least).filter(|least| *least > 0);
            field.max_length = Some(most);
        }
    }
    if let Some(status) = find(root, "status.conditions[].status") {
        status.enum_ = Some(
            ["True", "False", "Unknown"]
                .map(|status| JSON(status.into()))
                .to_vec(),
        );
    }
}

/// The schema at a dotted path; `[]` goes into a list's items.
fn find<'a>(root: &'a mut JSONSchemaProps, path: &str) -> Option<&'a mut JSONSchemaProps> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .try_fold(root, |schema, part| {
            let field = schema
                .properties
                .as_mut()?
                .get_mut(part.trim_end_matches("[]"))?;
            if !part.ends_with("[]") {
                return Some(field);
            }
            match field.items.as_mut()? {
                JSONSchemaPropsOrArray::Schema(items) => Some(items.as_mut()),
                JSONSchemaPropsOrArray::Schemas(_) => None,
            }
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn root(crd: &mut CustomResourceDefinition) -> &mut JSONSchemaProps {
        crd.spec.versions[0]
            .schema
            .as_mut()
            .unwrap()
            .open_api_v3_schema
            .as_mut()
            .unwrap()
    }

    #[test]
    fn every_rule_has_a_place_a_message_and_stands_once() {
        let crds = [PostgreSQLInstance::crd(), PostgreSQLTenant::crd()];
        for (mut crd, rules) in crds.into_iter().zip([instance_rules(), tenant_rules()]) {
            for Placed { at, rule } in &rules {
                assert!(find(root(&mut crd), at).is_some(), "no field {at}");
                assert!(
                    rule.message.as_ref().is_some_and(|text| text.len() > 10),
                    "no text for {}",
                    rule.rule
                );
                let twin = rules
                    .iter()
                    .filter(|other| other.at == *at && other.rule.rule == rule.rule)
                    .count();
                assert_eq!(twin, 1, "{}", rule.rule);
                if let Some(field) = &rule.field_path {
                    assert!(
                        find(root(&mut crd), field.trim_start_matches('.')).is_some(),
                        "no field {field}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_text_and_list_is_bounded_and_nothing_is_nullable() {
        fn check(schema: &JSONSchemaProps, path: &str) {
            assert_ne!(schema.nullable, Some(true), "{path}");
            let timed = schema.format.as_deref() == Some("date-time");
            let bounded = match schema.type_.as_deref() {
                Some("string") => schema.max_length.is_some() || schema.enum_.is_some() || timed,
                Some("array") => schema.max_items.is_some(),
                _ => true,
            };
            assert!(bounded, "{path} is unbounded");
            for (name, child) in schema.properties.iter().flatten() {
                check(child, &format!("{path}.{name}"));
            }
            if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
                check(items, &format!("{path}[]"));
            }
        }
        for mut crd in tenancy_kinds() {
            let kind = crd.spec.names.kind.clone();
            check(root(&mut crd), &kind);
        }
    }
}
