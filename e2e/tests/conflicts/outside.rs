//! What stands outside a Tenant's own object, in a form that two looks can be compared by: "nothing was changed" is shown by
//! versions, transaction ids and contents, not by the absence of an error.

use std::collections::BTreeMap;

use e2e::bed::openbao::MOUNT;
use e2e::world::tenancy::World;
use kube::api::{Api, DynamicObject};
use vaultrs::error::ClientError;

/// The names under which a Tenant's parts are looked for.
pub struct Names {
    /// The Tenant.
    pub tenant: &'static str,
    /// Its database.
    pub database: String,
    /// Its role.
    pub role: String,
    /// Its Secret.
    pub secret: String,
    /// Its ExternalSecret.
    pub projection: String,
}

impl Names {
    /// The names that [`World::tenant_manifest`] gives.
    pub fn of(world: &World, tenant: &'static str) -> Self {
        let identifier = world.identifier(&tenant.replace('-', "_"));
        Self {
            tenant,
            database: identifier.clone(),
            role: identifier,
            secret: world.secret_name(tenant),
            projection: world.secret_name(tenant),
        }
    }
}

/// Part → what it is; `absent` for none.
pub type Outside = BTreeMap<&'static str, String>;

const ABSENT: &str = "absent";

/// Everything that Tenantry could have written for a Tenant, and all rows of the registry.
pub async fn outside(world: &World, names: &Names) -> Outside {
    let secrets = world.namespace.objects("v1", "Secret");
    let projections = world.external_secrets();
    let (database, role, rows, entry, projection, secret) = tokio::join!(
        database(world, &names.database),
        role(world, &names.role),
        rows(world),
        entry(world, names.tenant),
        object(&projections, names.projection.clone()),
        object(&secrets, names.secret.clone()),
    );
    BTreeMap::from([
        ("database", database),
        ("role", role),
        ("registry", rows),
        ("entry", entry),
        ("external secret", projection),
        ("secret", secret),
    ])
}

/// A row of the catalog changes its `xmin` with every update; freezing by vacuum changes other columns, which are left out.
async fn database(world: &World, name: &str) -> String {
    let sql = format!(
        "SELECT concat_ws(' ', d.oid, d.xmin, d.datdba, d.datacl, d.datallowconn, d.datconnlimit, shobj_description(d.oid, 'pg_database'),
                (SELECT string_agg(s::text, ',' ORDER BY s::text) FROM pg_db_role_setting s WHERE s.setdatabase = d.oid))
         FROM pg_database d WHERE d.datname = '{name}'"
    );
    world
        .superuser("postgres", &sql)
        .await
        .unwrap()
        .unwrap_or_else(|| ABSENT.to_owned())
}

async fn role(world: &World, name: &str) -> String {
    let sql = format!(
        "SELECT concat_ws(' ', a.xmin, a::text, shobj_description(a.oid, 'pg_authid'),
                (SELECT string_agg(m::text, ',' ORDER BY m::text) FROM pg_auth_members m WHERE a.oid IN (m.roleid, m.member)))
         FROM pg_authid a WHERE a.rolname = '{name}'"
    );
    world
        .superuser("postgres", &sql)
        .await
        .unwrap()
        .unwrap_or_else(|| ABSENT.to_owned())
}

async fn rows(world: &World) -> String {
    let sql = "SELECT string_agg(concat_ws(' ', c.xmin, c::text), E'\\n' ORDER BY c.tenant_uid) FROM tenantry.claim c";
    world.registry(sql).await.unwrap().unwrap_or_default()
}

/// Versions, custom metadata and the latest data.
async fn entry(world: &World, tenant: &str) -> String {
    let root = world.bed.openbao().root().unwrap();
    let path = world.entry_path(tenant);
    let metadata = match vaultrs::kv2::read_metadata(&root, MOUNT, &path).await {
        Ok(metadata) => metadata,
        Err(ClientError::APIError { code: 404, .. }) => return ABSENT.to_owned(),
        Err(error) => panic!("reading the metadata of {path}: {error}"),
    };
    let versions: BTreeMap<_, _> = metadata.versions.iter().collect();
    let custom: BTreeMap<_, _> = metadata.custom_metadata.iter().flatten().collect();
    let data: Option<BTreeMap<String, String>> = vaultrs::kv2::read(&root, MOUNT, &path).await.ok();
    format!(
        "{} {} {versions:?} {custom:?} {data:?}",
        metadata.current_version, metadata.updated_time
    )
}

/// The whole object, resourceVersion and managers included.
async fn object(objects: &Api<DynamicObject>, name: String) -> String {
    let found = objects.get_opt(&name).await.unwrap();
    found.map_or_else(
        || ABSENT.to_owned(),
        |found| serde_json::to_string(&found).unwrap(),
    )
}
