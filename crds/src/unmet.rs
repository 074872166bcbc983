//! What a kind's schema refuses of an object, before any rule is asked: unknown fields, types, closed lists, bounds.
//!
//! Decides as the API server does with field validation `Strict`. CEL rules are not run: they are the domain's rules in another
//! form, and the domain judges the same object. `null` counts as absent, as the API server drops it.

use domain::tenancy::names::is_subdomain;
use domain::violation::{FieldPath, Kind, Violation};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// The fields of an object beside those of its schema.
const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Everything that the schema of `crd` refuses of an object, in the order of its fields.
#[must_use]
pub fn unmet(crd: &CustomResourceDefinition, object: &Value) -> Vec<Violation> {
    let mut found = metadata(object.get("metadata"));
    let schema = crd
        .spec
        .versions
        .iter()
        .find_map(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    if let (Some(schema), Some(fields)) = (schema, object.as_object()) {
        for (name, value) in fields {
            let known = schema
                .properties
                .as_ref()
                .and_then(|known| known.get(name.as_str()));
            match known {
                // A create drops it unread: the status is the controller's.
                Some(_) if name == "status" => {}
                Some(schema) => check(schema, value, &FieldPath::new(name.as_str()), &mut found),
                None if ENVELOPE.contains(&name.as_str()) => {}
                None => found.push(unknown(FieldPath::new(name.as_str()))),
            }
        }
        required(schema, object, None, &mut found);
    }
    found
}

/// Names, and the types and names of all fields of `metadata`.
fn metadata(metadata: Option<&Value>) -> Vec<Violation> {
    let path = FieldPath::new("metadata");
    let Some(written) = metadata.and_then(Value::as_object) else {
        return vec![Violation::new(
            path,
            Kind::Required,
            "must be an object with a name",
        )];
    };
    let mut found = Vec::new();
    match serde_json::from_value::<ObjectMeta>(Value::Object(written.clone())) {
        Err(error) => found.push(Violation::new(
            path.clone(),
            Kind::Invalid,
            format!("cannot be read: {error}"),
        )),
        Ok(read) => {
            let known = serde_json::to_value(&read).unwrap_or_default();
            let strange = written
                .iter()
                .filter(|(name, value)| !value.is_null() && known.get(name.as_str()).is_none());
            found.extend(strange.map(|(name, _)| unknown(path.child(name))));
        }
    }
    for (field, required) in [("name", true), ("namespace", false)] {
        let text = written
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default();
        if text.is_empty() && required {
            found.push(Violation::new(
                path.child(field),
                Kind::Required,
                "the object needs a name",
            ));
        } else if !text.is_empty() && !is_subdomain(text) {
            let text = "must be a lower-case DNS subdomain: letters, digits, '-' and '.'";
            found.push(Violation::new(path.child(field), Kind::Invalid, text));
        }
    }
    found
}

fn unknown(path: FieldPath) -> Violation {
    Violation::new(path, Kind::Invalid, "unknown field")
}

fn check(schema: &JSONSchemaProps, value: &Value, path: &FieldPath, found: &mut Vec<Violation>) {
    if value.is_null() {
        return;
    }
    let wanted = schema.type_.as_deref().unwrap_or("object");
    if type_of(value) != wanted {
        let text = format!("must be of type {wanted}, not {}", type_of(value));
        found.push(Violation::new(path.clone(), Kind::Invalid, text));
        return;
    }
    bounds(schema, value, path, found);
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let known = schema
                    .properties
                    .as_ref()
                    .and_then(|known| known.get(name.as_str()));
                match known {
                    Some(schema) => check(schema, value, &path.child(name), found),
                    None if schema.x_kubernetes_preserve_unknown_fields == Some(true) => {}
                    None => found.push(unknown(path.child(name))),
                }
            }
            required(schema, value, Some(path), found);
        }
        Value::Array(items) => {
            if let Some(JSONSchemaPropsOrArray::Schema(schema)) = &schema.items {
                for (position, item) in items.iter().enumerate() {
                    item_of(schema, item, &path.index(position), found);
                }
            }
        }
        _ => {}
    }
}

/// An item of a list may not be dropped, so `null` is a wrong type there.
fn item_of(schema: &JSONSchemaProps, item: &Value, path: &FieldPath, found: &mut Vec<Violation>) {
    if item.is_null() {
        let text = format!(
            "must be of type {}, not null",
            schema.type_.as_deref().unwrap_or("object")
        );
        found.push(Violation::new(path.clone(), Kind::Invalid, text));
    }
    check(schema, item, path, found);
}

fn required(
    schema: &JSONSchemaProps,
    value: &Value,
    path: Option<&FieldPath>,
    found: &mut Vec<Violation>,
) {
    for name in schema.required.iter().flatten() {
        if value.get(name.as_str()).is_none_or(Value::is_null) {
            let path = path.map_or_else(|| FieldPath::new(name.as_str()), |path| path.child(name));
            found.push(Violation::new(path, Kind::Required, "must be set"));
        }
    }
}

fn bounds(schema: &JSONSchemaProps, value: &Value, path: &FieldPath, found: &mut Vec<Violation>) {
    let mut refuse = |kind, text: String| found.push(Violation::new(path.clone(), kind, text));
    if let Some(allowed) = &schema.enum_
        && !allowed.iter().any(|allowed| allowed.0 == *value)
    {
        let names: Vec<String> = allowed
            .iter()
            .map(|allowed| allowed.0.to_string())
            .collect();
        refuse(
            Kind::Unsupported,
            format!("{value}: supported values: {}", names.join(", ")),
        );
    }
    let size = match value {
        Value::String(text) => Some((
            text.chars().count(),
            schema.min_length,
            schema.max_length,
            "characters",
        )),
        Value::Array(items) => Some((items.len(), schema.min_items, schema.max_items, "items")),
        _ => None,
    };
    if let Some((size, least, most, unit)) = size {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if let Some(most) = most.filter(|most| size > *most) {
            refuse(
                Kind::TooLong,
                format!("has {size} {unit}; at most {most} are allowed"),
            );
        }
        if let Some(least) = least.filter(|least| size < *least) {
            refuse(
                Kind::Invalid,
                format!("has {size} {unit}; at least {least} are needed"),
            );
        }
    }
    if let Some(number) = value.as_f64() {
        if let Some(most) = schema.maximum.filter(|most| number > *most) {
            refuse(
                Kind::Invalid,
                format!("{value}: should be less than or equal to {most}"),
            );
        }
        if let Some(least) = schema.minimum.filter(|least| number < *least) {
            refuse(
                Kind::Invalid,
                format!("{value}: should be greater than or equal to {least}"),
            );
        }
        if schema.format.as_deref() == Some("int32")
            && value
                .as_i64()
                .is_none_or(|number| i32::try_from(number).is_err())
        {
            refuse(
                Kind::Invalid,
                format!("{value}: must be a number of 32 bits"),
            );
        }
    }
}

/// The name of a value's type in a schema.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number)
            if number.is_f64() && number.as_f64().is_some_and(|number| number.fract() != 0.0) =>
        {
            "number"
        }
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn said(object: &Value) -> Vec<String> {
        let kind = object["kind"].as_str().unwrap();
        let crds = crate::all();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        unmet(crd, object).iter().map(ToString::to_string).collect()
    }

    fn tenant(spec: &Value) -> Value {
        json!({"apiVersion": "database.ddupan.top/v1alpha1", "kind": "PostgreSQLTenant", "metadata": {"name": "app"}, "spec": spec})
    }

    #[test]
    fn a_legal_object_passes_with_its_labels_its_status_and_nulls() {
        let mut object =
            tenant(&json!({"instanceRef": "main", "database": null, "extensions": ["pg_trgm"]}));
        object["metadata"]["labels"] = json!({"a": "b"});
        object["metadata"]["creationTimestamp"] = Value::Null;
        object["status"] = json!({"anything": 1});
        assert_eq!(said(&object), Vec::<String>::new());
    }

    #[test]
    fn fields_of_a_free_form_object_are_nobodys_to_know() {
        let application = json!({
            "apiVersion": "deckhouse.io/v1alpha1", "kind": "Application", "metadata": {"name": "books"},
            "spec": {"packageName": "shop", "packageVersion": "v1", "settings": {"any": {"thing": [1, null]}}, "setings": {}},
        });
        let crds = crate::all();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == "Application");
        let told: Vec<String> = unmet(crd.unwrap(), &application)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told, ["spec.setings: unknown field"]);
    }

    #[test]
    fn unknown_fields_are_named_wherever_they_stand() {
        let mut object =
            tenant(&json!({"instanceRef": "main", "databse": "x", "credential": {"name": "x"}}));
        object["sepc"] = json!({});
        object["metadata"]["lables"] = json!({});
        let said = said(&object);
        for field in [
            "sepc",
            "metadata.lables",
            "spec.databse",
            "spec.credential.name",
        ] {
            assert!(
                said.contains(&format!("{field}: unknown field")),
                "{field}: {said:?}"
            );
        }
    }

    #[test]
    fn types_bounds_and_closed_lists_are_those_of_the_schema() {
        let said = said(&tenant(&json!({
            "instanceRef": 5, "database": "d".repeat(64), "extensions": ["a", null, 3], "deletionPolicy": "Drop",
        })));
        for text in [
            "spec.instanceRef: must be of type string, not integer",
            "spec.database: has 64 characters; at most 63 are allowed",
            "spec.extensions[1]: must be of type string, not null",
            "spec.extensions[2]: must be of type string, not integer",
            "spec.deletionPolicy: \"Drop\": supported values: \"Retain\", \"Delete\"",
        ] {
            assert!(said.contains(&text.to_owned()), "{text}: {said:?}");
        }
        let endpoint = json!({"host": "pg.example", "port": 1.5});
        let object = json!({"kind": "PostgreSQLInstance", "metadata": {"name": "Main"}, "spec": {"endpoint": endpoint}});
        let said = super::tests::said(&object);
        for text in [
            "metadata.name: must be a lower-case DNS subdomain: letters, digits, '-' and '.'",
            "spec.endpoint.port: must be of type integer, not number",
            "spec.endpoint.hostaddr: must be set",
            "spec.adminCredentialRef: must be set",
        ] {
            assert!(said.contains(&text.to_owned()), "{text}: {said:?}");
        }
    }

    #[test]
    fn an_object_without_spec_or_name_is_told_so() {
        let object = json!({"kind": "PostgreSQLTenant", "metadata": {}});
        assert_eq!(
            said(&object),
            [
                "metadata.name: the object needs a name",
                "spec: must be set"
            ]
        );
        assert_eq!(
            said(&json!({"kind": "PostgreSQLTenant", "spec": []})),
            [
                "metadata: must be an object with a name",
                "spec: must be of type object, not array"
            ]
        );
    }
}
