//! Everything that the stores hold of one story: nothing may be there twice, and nothing may be left over.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use e2e::bed::openbao::{MOUNT, TENANTRY};
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use kube::ResourceExt;
use kube::api::ListParams;
use vaultrs::error::ClientError;

use super::traces::identifier;

/// Names, by store.
#[derive(Debug, Default, PartialEq, Eq)]
struct Census {
    rows: BTreeSet<String>,
    roles: BTreeSet<String>,
    databases: BTreeSet<String>,
    entries: BTreeSet<String>,
    external_secrets: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

/// Waits until the stores hold the parts of these Tenants and of no other: garbage collection takes Secrets a little later.
pub async fn only(world: &World, tenants: &[String]) {
    let expected = of(world, tenants);
    until(
        SOON,
        "the stores hold what belongs to living tenants alone",
        async || {
            let found = take(world).await?;
            ensure!(
                found == expected,
                "found {found:#?}\nexpected {expected:#?}"
            );
            Ok(())
        },
    )
    .await
    .unwrap();
}

fn of(world: &World, tenants: &[String]) -> Census {
    let named = |name: &dyn Fn(&str) -> String| -> BTreeSet<String> {
        tenants.iter().map(|tenant| name(tenant)).collect()
    };
    Census {
        rows: named(&str::to_owned),
        roles: named(&|tenant| identifier(world, tenant)),
        databases: named(&|tenant| identifier(world, tenant)),
        entries: named(&str::to_owned),
        external_secrets: named(&|tenant| world.secret_name(tenant)),
        secrets: named(&|tenant| world.secret_name(tenant)),
    }
}

async fn take(world: &World) -> Result<Census> {
    let prefix = identifier(world, "");
    let secrets = world.namespace.objects("v1", "Secret");
    Ok(Census {
        rows: column(world, "SELECT string_agg(name, ',') FROM tenantry.claim").await?,
        roles: column(world, &format!("SELECT string_agg(rolname::text, ',') FROM pg_roles WHERE starts_with(rolname::text, '{prefix}')")).await?,
        databases: column(world, &format!("SELECT string_agg(datname::text, ',') FROM pg_database WHERE starts_with(datname::text, '{prefix}')")).await?,
        entries: entries(world).await?,
        external_secrets: names(&world.external_secrets()).await?,
        secrets: names(&secrets).await?,
    })
}

async fn column(world: &World, sql: &str) -> Result<BTreeSet<String>> {
    let joined = world.registry(sql).await?.unwrap_or_default();
    Ok(joined
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}

async fn entries(world: &World) -> Result<BTreeSet<String>> {
    let root = world.bed.openbao().root()?;
    match vaultrs::kv2::list(
        &root,
        MOUNT,
        &format!("{TENANTRY}/{}", world.namespace.name),
    )
    .await
    {
        Ok(entries) => Ok(entries.into_iter().collect()),
        Err(ClientError::APIError { code: 404, .. }) => Ok(BTreeSet::new()),
        Err(error) => Err(error.into()),
    }
}

async fn names(objects: &kube::Api<kube::api::DynamicObject>) -> Result<BTreeSet<String>> {
    let list = objects.list(&ListParams::default()).await?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}
