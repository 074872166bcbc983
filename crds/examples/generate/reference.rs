//! The reference of all kinds as Markdown, from the CRDs themselves.
//!
//! Decides the layout alone: names, types, defaults, bounds and texts are those of the schema.

use std::fmt::Write as _;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};

/// The whole page.
pub fn reference(crds: &[CustomResourceDefinition], header: &str) -> String {
    let mut page = format!("<!-- {header} -->\n# Reference of the kinds\n");
    for crd in crds {
        kind(crd, &mut page);
    }
    page
}

fn kind(crd: &CustomResourceDefinition, page: &mut String) {
    let names = &crd.spec.names;
    let _ = write!(page, "\n## {}\n\n", names.kind);
    for version in &crd.spec.versions {
        let _ = write!(
            page,
            "`apiVersion: {}/{}`, {}, short name `{}`.\n\n",
            crd.spec.group,
            version.name,
            crd.spec.scope.to_lowercase(),
            names
                .short_names
                .iter()
                .flatten()
                .cloned()
                .collect::<Vec<_>>()
                .join("`, `"),
        );
        let schema = version
            .schema
            .as_ref()
            .and_then(|schema| schema.open_api_v3_schema.as_ref());
        let Some(schema) = schema else { continue };
        if let Some(text) = &schema.description {
            let _ = write!(page, "{text}\n\n");
        }
        page.push_str("| field | type | default | what |\n| --- | --- | --- | --- |\n");
        for part in ["spec", "status"] {
            if let Some(part_schema) = schema.properties.as_ref().and_then(|known| known.get(part))
            {
                fields(part, part_schema, page);
            }
        }
        rules(schema, page);
    }
}

fn fields(path: &str, schema: &JSONSchemaProps, page: &mut String) {
    for (name, field) in schema.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        let required = schema
            .required
            .iter()
            .flatten()
            .any(|required| required == name);
        let default = match (&field.default, required) {
            (Some(value), _) => format!("`{}`", value.0),
            (None, true) => "required".to_owned(),
            (None, false) => String::new(),
        };
        let text = field.description.clone().unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{path}` | {} | {default} | {} |",
            type_of(field),
            cell(&text)
        );
        fields(&path, field, page);
        if let Some(JSONSchemaPropsOrArray::Schema(items)) = &field.items {
            fields(&format!("{path}[]"), items, page);
        }
    }
}

fn type_of(schema: &JSONSchemaProps) -> String {
    let mut text = schema.type_.clone().unwrap_or_default();
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        let _ = write!(text, " of {}", items.type_.as_deref().unwrap_or("object"));
    }
    if let Some(values) = &schema.enum_ {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("`{}`", value.0))
            .collect();
        let _ = write!(text, ": {}", values.join(", "));
    }
    for (bound, says) in [
        (schema.max_length, "at most {} characters"),
        (schema.max_items, "at most {} items"),
    ] {
        if let Some(bound) = bound {
            let _ = write!(text, ", {}", says.replace("{}", &bound.to_string()));
        }
    }
    if let (Some(least), Some(most)) = (schema.minimum, schema.maximum) {
        let _ = write!(text, ", {least} to {most}");
    }
    text
}

/// What the schema's rules say when they refuse, each once, with the field where they stand.
fn rules(schema: &JSONSchemaProps, page: &mut String) {
    let mut said = Vec::new();
    collect("", schema, &mut said);
    if said.is_empty() {
        return;
    }
    page.push_str("\nRefused by the schema also while the webhook is away:\n\n");
    for (path, text) in said {
        let _ = writeln!(page, "- `{path}`: {text}");
    }
}

fn collect(path: &str, schema: &JSONSchemaProps, said: &mut Vec<(String, String)>) {
    for rule in schema.x_kubernetes_validations.iter().flatten() {
        let field = rule.field_path.as_deref().unwrap_or_default();
        let place = format!("{path}{field}");
        let line = (
            place.trim_start_matches('.').to_owned(),
            rule.message.clone().unwrap_or_default(),
        );
        if !said.contains(&line) {
            said.push(line);
        }
    }
    for (name, field) in schema.properties.iter().flatten() {
        collect(&format!("{path}.{name}"), field, said);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &schema.items {
        collect(&format!("{path}[]"), items, said);
    }
}

/// Text that does not end a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
