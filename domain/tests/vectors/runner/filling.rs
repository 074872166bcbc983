//! `defaults` and `grants`.

use domain::settings::effective::effective;
use domain::settings::grants::{Catalog, Catalogs, GrantError, Grants};
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::patch::Patch;
use domain::settings::values::values;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::{Context, Failure, Given, Got};

const LIMITS: Limits = Limits::DEFAULT;

/// A catalogue as a case writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    found: bool,
    #[serde(default)]
    default: String,
    #[serde(default)]
    available: Vec<String>,
}

/// Catalogues as cases write them; what is not found is absent.
pub fn catalogs(written: Option<Value>) -> Result<Catalogs, Failure> {
    let Some(written) = written else {
        return Ok(Catalogs::default());
    };
    let written: BTreeMap<String, Written> = serde_json::from_value(written)?;
    Ok(Catalogs(
        written
            .into_iter()
            .filter(|(_, catalog)| catalog.found)
            .map(|(resource, catalog)| {
                (
                    resource,
                    Catalog {
                        default: catalog.default,
                        available: catalog.available,
                    },
                )
            })
            .collect(),
    ))
}

pub fn defaults(given: &mut Given) -> Result<Got, Failure> {
    let catalogs = catalogs(given.context.take("catalogs"))?;
    let applied = given.context.take("last_applied");
    let patches = given.context.take("hook_patches");
    let package = PackageSchemas::from_documents(&given.schema, &given.values_schema, &LIMITS)?;
    let settings = effective(
        &given.new,
        &given.closed()?,
        &package.grants,
        &catalogs,
        applied.as_ref(),
        &LIMITS,
    )?;
    let patches: Vec<Patch> = patches
        .as_ref()
        .map(Patch::decode)
        .transpose()?
        .into_iter()
        .collect();
    let schema = package.values.as_ref().map(|values| &values.schema);
    let values = values(&settings, schema, &patches, &LIMITS)?;
    Ok(Got::from([("settings", settings), ("values", values)]))
}

pub fn grants(given: &mut Given) -> Result<Got, Failure> {
    let op = given.context.take_text("op").unwrap_or_default();
    let schema = given.closed()?;
    let grants = Grants::collect(&schema, &LIMITS);
    match op.as_str() {
        "refs" => Ok(references(&grants)),
        "default" => {
            let catalogs = catalogs(given.context.take("catalogs"))?;
            let settings = effective(&given.new, &schema, &grants, &catalogs, None, &LIMITS)?;
            Ok(Got::from([("settings", settings)]))
        }
        "validate" => {
            let catalogs = catalogs(given.context.take("catalogs"))?;
            let violations = grants.validate(&given.new, &catalogs);
            let field = violations.first().map(|violation| violation.path.as_str());
            Ok(Got::from([
                ("valid", json!(violations.is_empty())),
                ("field", json!(field)),
            ]))
        }
        "catalog" => {
            let namespace = given.context.take_text("namespace").unwrap_or_default();
            let resource = given.context.take_text("resource").unwrap_or_default();
            let found = lookup(&given_objects(&mut given.context), &namespace, &resource);
            Ok(Got::from([
                ("found", json!(found.is_some())),
                (
                    "default",
                    json!(found.as_ref().map(|catalog| catalog.default.clone())),
                ),
                ("available", json!(found.map(|catalog| catalog.available))),
            ]))
        }
        "default_per_namespace" => per_namespace(given, &schema, &grants),
        other => Err(Failure(format!("  grants does not know the op {other:?}"))),
    }
}

fn references(grants: &Grants) -> Got {
    let mut got = Got::new();
    if let Some(error) = grants.errors.first() {
        let (kind, field) = match error {
            GrantError::EmptyResource { field } => ("empty_resource", field),
            GrantError::NonStringField { field } => ("non_string_field", field),
        };
        got.insert("error", json!(kind));
        got.insert("field", json!(field));
        return got;
    }
    let references: Vec<Value> = grants
        .references
        .iter()
        .map(|reference| json!({"path": reference.path, "resource": reference.resource}))
        .collect();
    got.insert("refs", references.into());
    got.insert("lookups", json!(grants.lookups()));
    got
}

/// The objects of a case; a cluster without the kind has none.
fn given_objects(context: &mut Context) -> Vec<Value> {
    let installed = context.take("crd_installed") != Some(Value::Bool(false));
    match context.take("objects") {
        Some(Value::Array(objects)) if installed => objects,
        _ => Vec::new(),
    }
}

fn lookup(objects: &[Value], namespace: &str, resource: &str) -> Option<Catalog> {
    objects
        .iter()
        .find(|object| {
            object["kind"] == "AvailableClusterResource"
                && object["metadata"]["namespace"] == namespace
                && object["metadata"]["name"] == resource
        })
        .map(|object| Catalog::from_status(&object["status"]))
}

fn per_namespace(
    given: &mut Given,
    schema: &domain::settings::schema::Schema,
    grants: &Grants,
) -> Result<Got, Failure> {
    let objects = given_objects(&mut given.context);
    let expected = given.expect.get("per_namespace").and_then(Value::as_object);
    let mut answers = serde_json::Map::new();
    for namespace in expected.into_iter().flat_map(serde_json::Map::keys) {
        let catalogs = Catalogs(
            grants
                .lookups()
                .into_iter()
                .filter_map(|resource| {
                    Some((resource.to_owned(), lookup(&objects, namespace, resource)?))
                })
                .collect(),
        );
        let settings = effective(&given.new, schema, grants, &catalogs, None, &LIMITS)?;
        answers.insert(namespace.clone(), settings);
    }
    Ok(Got::from([("per_namespace", answers.into())]))
}
