//! Label and field selectors of Kubernetes bindings, checked and written as the API server reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::settings::orphans::is_label_value;
use crate::tenancy::names::is_subdomain;

/// Why a selector is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A key that no label can have.
    #[error("labelSelector: {key:?} is no label key")]
    Key {
        /// As written.
        key: String,
    },
    /// A value that no label can have.
    #[error("labelSelector: {value:?} is no label value (key {key})")]
    Value {
        /// Its key.
        key: String,
        /// As written.
        value: String,
    },
    /// An operator outside the list, or with the wrong number of values.
    #[error("labelSelector: operator {operator:?} of key {key} {reason}")]
    Operator {
        /// Its key.
        key: String,
        /// As written.
        operator: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A field expression whose operator is outside the list.
    #[error(
        "fieldSelector: operator {operator:?} of field {field} must be one of =, ==, Equals, !=, NotEquals"
    )]
    FieldOperator {
        /// Its field.
        field: String,
        /// As written.
        operator: String,
    },
    /// A field expression without a field.
    #[error("fieldSelector: an expression has no field")]
    NoField,
}

/// A label selector as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Labels {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<LabelExpression>>,
}

#[derive(Clone, Debug, Deserialize)]
struct LabelExpression {
    #[serde(default)]
    key: String,
    #[serde(default)]
    operator: String,
    values: Option<Vec<String>>,
}

/// A field selector as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Fields {
    match_expressions: Option<Vec<FieldExpression>>,
}

#[derive(Clone, Debug, Deserialize)]
struct FieldExpression {
    #[serde(default)]
    field: String,
    #[serde(default)]
    operator: String,
    #[serde(default)]
    value: Option<String>,
}

impl Labels {
    /// As the API server reads it; empty selects everything.
    ///
    /// # Errors
    /// A key, value or operator that the API server would refuse.
    pub fn text(&self) -> Result<String, SelectorError> {
        let mut terms = Vec::new();
        for (key, value) in self.match_labels.iter().flatten() {
            checked_value(checked_key(key)?, value)?;
            terms.push(format!("{key}={value}"));
        }
        for expression in self.match_expressions.iter().flatten() {
            terms.push(expression.text()?);
        }
        Ok(terms.join(","))
    }
}

impl LabelExpression {
    fn text(&self) -> Result<String, SelectorError> {
        let key = checked_key(&self.key)?;
        let values = self.values.as_deref().unwrap_or_default();
        for value in values {
            checked_value(key, value)?;
        }
        let refused = |reason| SelectorError::Operator {
            key: key.to_owned(),
            operator: self.operator.clone(),
            reason,
        };
        match (self.operator.as_str(), values.is_empty()) {
            ("In", false) => Ok(format!("{key} in ({})", values.join(","))),
            ("NotIn", false) => Ok(format!("{key} notin ({})", values.join(","))),
            ("Exists", true) => Ok(key.to_owned()),
            ("DoesNotExist", true) => Ok(format!("!{key}")),
            ("In" | "NotIn", true) => Err(refused("needs values")),
            ("Exists" | "DoesNotExist", false) => Err(refused("takes no values")),
            _ => Err(refused("must be one of In, NotIn, Exists, DoesNotExist")),
        }
    }
}

impl Fields {
    /// As the API server reads it; empty selects everything.
    ///
    /// # Errors
    /// An operator that does not exist, or no field.
    pub fn text(&self) -> Result<String, SelectorError> {
        let mut terms = Vec::new();
        for expression in self.match_expressions.iter().flatten() {
            if expression.field.is_empty() {
                return Err(SelectorError::NoField);
            }
            let operator = match expression.operator.as_str() {
                "=" | "==" | "Equals" => "=",
                "!=" | "NotEquals" => "!=",
                _ => {
                    return Err(SelectorError::FieldOperator {
                        field: expression.field.clone(),
                        operator: expression.operator.clone(),
                    });
                }
            };
            let value = escaped(expression.value.as_deref().unwrap_or_default());
            terms.push(format!("{}{operator}{value}", expression.field));
        }
        Ok(terms.join(","))
    }

    /// Whether an expression speaks of the object's name.
    #[must_use]
    pub fn names_objects(&self) -> bool {
        self.match_expressions
            .iter()
            .flatten()
            .any(|expression| expression.field == "metadata.name")
    }
}

fn escaped(value: &str) -> String {
    value.chars().fold(String::new(), |mut text, c| {
        if matches!(c, '\\' | ',' | '=') {
            text.push('\\');
        }
        let _ = text.write_char(c);
        text
    })
}

fn checked_key(key: &str) -> Result<&str, SelectorError> {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_is_legal = prefix.is_none_or(is_subdomain);
    if prefix_is_legal && is_label_value(name) {
        Ok(key)
    } else {
        Err(SelectorError::Key {
            key: key.to_owned(),
        })
    }
}

fn checked_value(key: &str, value: &str) -> Result<(), SelectorError> {
    if value.is_empty() || is_label_value(value) {
        Ok(())
    } else {
        Err(SelectorError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn labels(written: Value) -> Result<String, SelectorError> {
        serde_json::from_value::<Labels>(written).unwrap().text()
    }

    #[test]
    fn label_selectors_are_written_as_the_server_reads_them() {
        let written = json!({"matchLabels": {"app.io/name": "x", "e": ""}, "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["1", "2"]},
            {"key": "b", "operator": "NotIn", "values": ["3"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist", "values": []},
        ]});
        assert_eq!(
            labels(written).unwrap(),
            "app.io/name=x,e=,a in (1,2),b notin (3),c,!d"
        );
        assert_eq!(labels(json!({"matchLabels": null})).unwrap(), "");
    }

    #[test]
    fn a_label_selector_cannot_smuggle_a_second_one() {
        for written in [
            json!({"matchLabels": {"a": "b,c=d"}}),
            json!({"matchLabels": {"a=b": "c"}}),
            json!({"matchLabels": {"": "c"}}),
            json!({"matchLabels": {"Up.io/a": "c"}}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x)"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
        ] {
            assert!(labels(written.clone()).is_err(), "{written}");
        }
    }

    #[test]
    fn field_selectors_are_escaped() {
        let written = json!({"matchExpressions": [
            {"field": "status.phase", "operator": "Equals", "value": "a,b=c\\d"},
            {"field": "spec.x", "operator": "!="},
        ]});
        let fields: Fields = serde_json::from_value(written).unwrap();
        assert_eq!(
            fields.text().unwrap(),
            "status.phase=a\\,b\\=c\\\\d,spec.x!="
        );
        let wrong = json!({"matchExpressions": [{"field": "a", "operator": "In", "value": "b"}]});
        assert!(
            serde_json::from_value::<Fields>(wrong)
                .unwrap()
                .text()
                .is_err()
        );
    }
}
