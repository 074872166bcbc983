//! Settings as they would be applied: completed, judged against what was applied, and seen as values (section 9, *configure*).
//!
//! Everything but the settings hook and requirements. Also what an author tries without a cluster.

use serde_json::Value;

use crate::settings::effective::{EffectiveError, effective, effective_without_schema};
use crate::settings::grants::Catalogs;
use crate::settings::immutable;
use crate::settings::limits::Limits;
use crate::settings::package::PackageSchemas;
use crate::settings::switch::{Confirmation, confirmations};
use crate::settings::values::{ValuesError, values};
use crate::violation::{FieldPath, Kind, Violation};

/// Where settings stand in an Application; violations are told from its root.
const SETTINGS: &str = "spec.settings";

/// What to judge.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'w> {
    /// `spec.settings`; `null` if absent.
    pub settings: &'w Value,
    /// `status.lastAppliedConfiguration`, once there is one.
    pub applied: Option<&'w Value>,
    /// What the project was granted.
    pub catalogs: &'w Catalogs,
}

/// What comes of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configured {
    /// The effective settings.
    pub settings: Value,
    /// Why they are refused; empty if they are not.
    pub violations: Vec<Violation>,
    /// Mode switches to confirm.
    pub confirmations: Vec<Confirmation>,
}

/// Completes and judges settings.
///
/// # Errors
/// Settings that cannot be completed: no map, over a limit, or given without a schema.
pub fn configure(
    schemas: &PackageSchemas,
    wanted: Wanted<'_>,
    limits: &Limits,
) -> Result<Configured, EffectiveError> {
    let Some(compiled) = &schemas.settings else {
        return Ok(Configured {
            settings: effective_without_schema(wanted.settings)?,
            ..Configured::default()
        });
    };
    let (schema, grants) = (&compiled.schema, &schemas.grants);
    let settings = effective(
        wanted.settings,
        schema,
        grants,
        wanted.catalogs,
        wanted.applied,
        limits,
    )?;
    let mut violations = compiled.conform(&settings, wanted.applied, limits);
    let mut switches = Vec::new();
    if let Some(applied) = wanted.applied {
        violations.extend(immutable::check(schema, applied, &settings, limits));
        switches = confirmations(schema, applied, &settings);
    }
    let marks = grants
        .errors
        .iter()
        .map(|error| Violation::new("", Kind::Invalid, format!("the package is wrong: {error}")));
    violations.extend(marks);
    violations.extend(grants.validate(wanted.settings, wanted.catalogs));
    Ok(Configured {
        settings,
        violations: violations
            .into_iter()
            .map(|violation| placed(SETTINGS, violation))
            .collect(),
        confirmations: switches,
    })
}

/// The values that templates would see before any hook, and what the values schema says against them: a hook that changes
/// values would fail for it.
///
/// # Errors
/// Defaults over a bound.
pub fn values_of(
    schemas: &PackageSchemas,
    settings: &Value,
    limits: &Limits,
) -> Result<(Value, Vec<Violation>), ValuesError> {
    let compiled = schemas.values.as_ref();
    let schema = compiled.map(|compiled| &compiled.schema);
    let values = values(settings, schema, &[], limits)?;
    let violations = compiled.map_or_else(Vec::new, |compiled| {
        let found = compiled.conform(&values, None, limits);
        found
            .into_iter()
            .map(|violation| placed("values", violation))
            .collect()
    });
    Ok((values, violations))
}

pub(crate) fn placed(root: &str, violation: Violation) -> Violation {
    let path = match violation.path.as_str() {
        "" => root.to_owned(),
        index if index.starts_with('[') => format!("{root}{index}"),
        field => format!("{root}.{field}"),
    };
    Violation {
        path: FieldPath::new(path),
        ..violation
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::documents::{Documents, usable as schemas_of};
    use super::super::files::Files;
    use super::*;
    use crate::settings::grants::Catalog;

    const SCHEMA: &str = r#"
type: object
properties:
  replicas: {type: integer, default: 1}
  maxReplicas: {type: integer, default: 3}
  class: {type: string, x-deckhouse-grantable-resource: storageclasses}
  name: {type: string, x-deckhouse-immutable: true}
x-deckhouse-validations:
  - {expression: "self.replicas <= self.maxReplicas", message: "replicas must not exceed maxReplicas"}
  - {expression: "self.replicas >= oldSelf.replicas", message: "never fewer"}
"#;

    fn usable(values: Option<&str>) -> PackageSchemas {
        let mut files = Files::default();
        files.insert("openapi/settings.yaml", SCHEMA.as_bytes().to_vec());
        if let Some(values) = values {
            files.insert("openapi/values.yaml", values.as_bytes().to_vec());
        }
        let documents = Documents::read(&files, &Limits::DEFAULT).unwrap();
        schemas_of(&documents, &Limits::DEFAULT).unwrap()
    }

    fn catalogs() -> Catalogs {
        let catalog = Catalog {
            default: "fast".to_owned(),
            available: vec!["fast".to_owned()],
        };
        Catalogs(BTreeMap::from([("storageclasses".to_owned(), catalog)]))
    }

    fn said(settings: &Value, applied: Option<&Value>) -> Vec<String> {
        let catalogs = catalogs();
        let wanted = Wanted {
            settings,
            applied,
            catalogs: &catalogs,
        };
        let configured = configure(&usable(None), wanted, &Limits::DEFAULT).unwrap();
        let texts = configured.violations.iter().map(ToString::to_string);
        texts.collect()
    }

    #[test]
    fn settings_are_completed_before_they_are_judged() {
        let catalogs = catalogs();
        let wanted = Wanted {
            settings: &Value::Null,
            applied: None,
            catalogs: &catalogs,
        };
        let configured = configure(&usable(None), wanted, &Limits::DEFAULT).unwrap();
        assert_eq!(
            configured.settings,
            json!({"replicas": 1, "maxReplicas": 3, "class": "fast"})
        );
        assert_eq!(configured.violations, []);
        assert_eq!(
            said(&json!({"replicas": 4}), None),
            ["spec.settings: replicas must not exceed maxReplicas"]
        );
    }

    #[test]
    fn every_check_of_an_applied_configuration_is_made_and_all_are_told() {
        let applied = json!({"replicas": 2, "maxReplicas": 3, "name": "a"});
        let told = said(
            &json!({"name": "b", "class": "slow", "extra": 1}),
            Some(&applied),
        );
        let places: Vec<&str> = told
            .iter()
            .filter_map(|text| text.split(": ").next())
            .collect();
        assert_eq!(
            places,
            [
                "spec.settings.extra",
                "spec.settings",
                "spec.settings.name",
                "spec.settings.class"
            ],
            "{told:?}"
        );
    }

    #[test]
    fn values_that_lack_the_settings_are_told_to_the_author() {
        let settings = json!({"replicas": 1});
        let plain = "{type: object, properties: {internal: {type: object, default: {}}}}";
        let (values, told) = values_of(&usable(Some(plain)), &settings, &Limits::DEFAULT).unwrap();
        assert_eq!(values, json!({"replicas": 1, "internal": {}}));
        assert_eq!(told.len(), 1);
        let extending = usable(Some("{type: object, x-extend: {schema: settings.yaml}}"));
        let full = json!({"replicas": 1, "maxReplicas": 3});
        let (_, told) = values_of(&extending, &full, &Limits::DEFAULT).unwrap();
        assert_eq!(told, []);
    }

    #[test]
    fn a_rule_that_can_never_work_makes_a_package_unusable() {
        let mut files = Files::default();
        let text = "x-deckhouse-validations: [{expression: 'self.x = 1', message: wrong}]";
        files.insert("openapi/settings.yaml", text.as_bytes().to_vec());
        let documents = Documents::read(&files, &Limits::DEFAULT).unwrap();
        let said = schemas_of(&documents, &Limits::DEFAULT)
            .unwrap_err()
            .to_string();
        assert!(
            said.starts_with("openapi/settings.yaml: rule `self.x = 1`"),
            "{said}"
        );
    }
}
