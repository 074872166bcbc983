//! Looking for what is left of an object, in every store.
//!
//! It reports facts by name; whether they may be there is judged by the stories.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use e2e::bed::openbao::MOUNT;
use e2e::world::condition::condition;
use e2e::world::tenancy::World;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::Value;
use vaultrs::api::kv2::responses::ReadSecretMetadataResponse;
use vaultrs::error::ClientError;

use super::plan::{Fact, Plan, Traces};

/// The extension of every Tenant that has one; any admin may install it (trusted).
pub const EXTENSION: &str = "citext";

/// What is left of a Tenant.
pub async fn tenant(world: &World, name: &str) -> Result<Traces> {
    let object = world.tenants().get_opt(name).await?;
    let mut facts = BTreeSet::new();
    let mut note = |fact: Fact, there: bool| {
        if there {
            facts.insert(fact);
        }
    };
    note(Fact::Finalizer, object.as_ref().is_some_and(is_held));
    note(Fact::Condition, object.as_ref().is_some_and(is_judged));
    let server = server(world, name).await?;
    let there = |key: &str| server[key].as_bool() == Some(true);
    note(Fact::Claim, !server["state"].is_null());
    note(Fact::Unmanaged, server["state"] == "unmanaged");
    note(Fact::Frozen, !server["frozen_policy"].is_null());
    note(Fact::Record, !server["claimed_database"].is_null());
    note(Fact::Role, !server["role"].is_null());
    note(Fact::Login, there("can_login"));
    note(Fact::Session, there("has_session"));
    note(Fact::Database, !server["database"].is_null());
    note(Fact::Closed, there("closed"));
    // Nobody can look into a database that takes no connections.
    if there("connectable") {
        note(Fact::Extension, has_extension(world, name).await?);
    }
    if let Some(metadata) = entry_metadata(world, name).await? {
        note(Fact::Entry, metadata.current_version > 0);
        note(
            Fact::Mark,
            metadata
                .custom_metadata
                .is_some_and(|owner| owner.contains_key("tenant-uid")),
        );
    }
    let projection = world
        .external_secrets()
        .get_opt(&world.secret_name(name))
        .await?;
    note(
        Fact::ExternalSecret,
        projection.is_some_and(|object| object.metadata.deletion_timestamp.is_none()),
    );
    Ok(Traces {
        phase: phase(object.as_ref()),
        facts,
    })
}

/// Says it if something else is left of a Tenant than expected.
pub async fn unlike(world: &World, plan: Plan, name: &str, expected: &Traces) -> Option<String> {
    let found = tenant(world, name).await.unwrap();
    (found != *expected)
        .then(|| format!("{plan} left of {name} {found:?}\n  expected {expected:?}"))
}

/// What is left of an Instance whose management database is this one.
pub async fn instance(world: &World, name: &str, database: &str) -> Result<Traces> {
    let object = world.instances().get_opt(name).await?;
    let registry = world
        .superuser(database, "SELECT to_regclass('tenantry.marker')::text")
        .await?;
    let facts = [
        object
            .as_ref()
            .is_some_and(is_held)
            .then_some(Fact::Finalizer),
        object
            .as_ref()
            .is_some_and(is_judged)
            .then_some(Fact::Condition),
        registry.map(|_| Fact::Registry),
    ];
    Ok(Traces::new(
        &phase(object.as_ref()),
        facts.into_iter().flatten(),
    ))
}

/// The row of a Tenant, and the role and database of its names. `role` and `database` are OIDs, as are `claimed_role`,
/// `claimed_database` and `owner`.
pub async fn server(world: &World, name: &str) -> Result<Value> {
    let sql = format!(
        "SELECT json_build_object(
            'state', c.state, 'frozen_policy', c.frozen_policy, 'applied', c.applied_kv_version, 'extensions', c.extensions,
            'claimed_role', c.role_oid::int8, 'claimed_database', c.database_oid::int8,
            'role', r.oid::int8, 'can_login', r.rolcanlogin,
            'database', d.oid::int8, 'owner', d.datdba::int8, 'connectable', d.datallowconn, 'closed', NOT has_database_privilege('public', d.oid, 'CONNECT'),
            'has_session', EXISTS (SELECT FROM pg_stat_activity s WHERE s.datid = d.oid AND s.usesysid = r.oid))::text
         FROM (SELECT 1) one
         LEFT JOIN tenantry.claim c ON c.namespace = '{}' AND c.name = '{name}'
         LEFT JOIN pg_roles r ON r.rolname = '{identifier}'
         LEFT JOIN pg_database d ON d.datname = '{identifier}'",
        world.namespace.name,
        identifier = identifier(world, name),
    );
    let text = world.registry(&sql).await?.context("no row")?;
    Ok(serde_json::from_str(&text)?)
}

/// A Tenant's database and role.
pub fn identifier(world: &World, name: &str) -> String {
    world.identifier(&name.replace('-', "_"))
}

/// Versions and custom metadata of a Tenant's entry, if there is one.
pub async fn entry_metadata(
    world: &World,
    name: &str,
) -> Result<Option<ReadSecretMetadataResponse>> {
    let root = world.bed.openbao().root()?;
    match vaultrs::kv2::read_metadata(&root, MOUNT, &world.entry_path(name)).await {
        Ok(metadata) => Ok(Some(metadata)),
        Err(ClientError::APIError { code: 404, .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The extensions of a Tenant's database.
pub async fn has_extension(world: &World, name: &str) -> Result<bool> {
    let sql = format!("SELECT extname::text FROM pg_extension WHERE extname = '{EXTENSION}'");
    Ok(world
        .superuser(&identifier(world, name), &sql)
        .await?
        .is_some())
}

fn is_held(object: &DynamicObject) -> bool {
    !object.finalizers().is_empty()
}

fn is_judged(object: &DynamicObject) -> bool {
    condition(object, "Ready").is_some()
}

fn phase(object: Option<&DynamicObject>) -> String {
    let phase = object.and_then(|object| object.data.pointer("/status/phase"));
    phase.and_then(Value::as_str).unwrap_or_default().to_owned()
}
