//! What the stories of this binary need beside [`World`]: deletions, traces of a tenant, an administrator of a story's own.
//!
//! Asserts nothing about Tenantry.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use e2e::bed::SYSTEM_NAMESPACE;
use e2e::bed::openbao::MOUNT;
use e2e::bed::postgres::quote_identifier;
use e2e::bed::wait::until;
use e2e::world::condition::await_gone;
use e2e::world::tenancy::{SOON, World};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

/// A finalizer that only a story takes away.
pub const FOREIGN_FINALIZER: &str = "story.example/held";

/// Asks for the Tenant's deletion; does not wait.
pub async fn delete(world: &World, tenant: &str) -> Result<()> {
    world
        .tenants()
        .delete(tenant, &DeleteParams::default())
        .await?;
    Ok(())
}

/// Waits until the Tenant is gone.
pub async fn gone(world: &World, tenant: &str) -> Result<()> {
    await_gone(&world.tenants(), tenant, SOON).await
}

/// What there still is of a Tenant, by store; database and role are [`World::identifier`] of its name.
pub async fn traces(world: &World, tenant: &str) -> Result<Vec<&'static str>> {
    let identifier = world.identifier(&tenant.replace('-', "_"));
    let mut found = Vec::new();
    let mut note = |there: bool, what| found.extend(there.then_some(what));
    note(world.has_database(&identifier).await?, "database");
    note(world.has_role(&identifier).await?, "role");
    note(entry_exists(world, tenant).await?, "entry");
    let name = world.secret_name(tenant);
    note(
        world.external_secrets().get_opt(&name).await?.is_some(),
        "ExternalSecret",
    );
    note(secrets(world).get_opt(&name).await?.is_some(), "Secret");
    note(row(world, tenant, "state").await?.is_some(), "row");
    Ok(found)
}

/// Waits until the Tenant is gone and nothing of it is left; the Secret goes by garbage collection.
pub async fn nothing_left(world: &World, tenant: &str) -> Result<()> {
    gone(world, tenant).await?;
    until(SOON, &format!("nothing is left of {tenant}"), async || {
        let found = traces(world, tenant).await?;
        ensure!(found.is_empty(), "there is still {found:?}");
        Ok(())
    })
    .await
}

/// True if OpenBao has anything at the Tenant's path, metadata alone included.
pub async fn entry_exists(world: &World, tenant: &str) -> Result<bool> {
    let path = world.entry_path(tenant);
    match vaultrs::kv2::read_metadata(&world.bed.openbao().root()?, MOUNT, &path).await {
        Ok(_) => Ok(true),
        Err(vaultrs::error::ClientError::APIError { code: 404, .. }) => Ok(false),
        Err(error) => Err(error).context("reading the entry's metadata"),
    }
}

/// A column of the Tenant's registry row as text.
pub async fn row(world: &World, tenant: &str, column: &str) -> Result<Option<String>> {
    let namespace = &world.namespace.name;
    let sql = format!(
        "SELECT {column}::text FROM tenantry.claim WHERE namespace = '{namespace}' AND name = '{tenant}'"
    );
    world.registry(&sql).await
}

/// Secrets of the story's namespace.
pub fn secrets(world: &World) -> Api<Secret> {
    Api::namespaced(world.namespace.client().clone(), &world.namespace.name)
}

/// Merges into an object.
pub async fn merge(
    objects: &Api<DynamicObject>,
    name: &str,
    patch: Value,
) -> Result<DynamicObject> {
    Ok(objects
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await?)
}

/// Puts the story's finalizer on an object, beside those that are there.
pub async fn hold(objects: &Api<DynamicObject>, name: &str) -> Result<()> {
    until(SOON, &format!("{name} takes a finalizer"), async || {
        let object = objects.get(name).await?;
        let mut finalizers = object.metadata.finalizers.unwrap_or_default();
        finalizers.push(FOREIGN_FINALIZER.to_owned());
        let version = object.metadata.resource_version;
        merge(
            objects,
            name,
            json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}}),
        )
        .await
        .map(drop)
    })
    .await
}

/// Takes all finalizers off an object, as a person in despair does.
pub async fn release(objects: &Api<DynamicObject>, name: &str) -> Result<()> {
    merge(objects, name, json!({"metadata": {"finalizers": null}}))
        .await
        .map(drop)
}

/// Sets values of the admin Secret of an Instance; `None` removes a key.
pub async fn set_admin_secret(
    world: &World,
    name: &str,
    values: &[(&str, Option<&str>)],
) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(world.namespace.client().clone(), SYSTEM_NAMESPACE);
    let encoded = |text: &str| json!(k8s_openapi::ByteString(text.as_bytes().to_vec()));
    let data: BTreeMap<&str, Value> = values
        .iter()
        .map(|(key, value)| (*key, value.map_or(Value::Null, encoded)))
        .collect();
    let patch = Patch::Merge(json!({"data": data}));
    secrets.patch(name, &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Touches the admin Secret's metadata, which makes Tenantry look at the Instance now.
pub async fn look_now(world: &World) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(world.namespace.client().clone(), SYSTEM_NAMESPACE);
    let stamp = format!("{:016x}", rand::random::<u64>());
    let patch =
        Patch::Merge(json!({"metadata": {"annotations": {"story.example/touched": stamp}}}));
    secrets
        .patch(&world.instance, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Statements as superuser on the bed's first server, one by one.
pub async fn superuser(world: &World, database: &str, statements: &[&str]) -> Result<()> {
    let client = world.bed.postgres().superuser(database).await?;
    for statement in statements {
        client
            .batch_execute(statement)
            .await
            .with_context(|| format!("as superuser: {statement}"))?;
    }
    Ok(())
}

/// An administrator that no other story has, and a world whose Instance uses it.
pub struct OwnAdmin {
    /// The world; its Instance has a name and a management database of its own.
    pub world: World,
    /// The administrator's role.
    pub role: String,
    /// Its password.
    pub password: String,
}

impl OwnAdmin {
    /// Role and management database are made; Secret and Instance are not. `attributes` such as `CREATEDB CREATEROLE`.
    pub async fn prepare(story: &str, attributes: &str) -> Result<Self> {
        let shared = World::shared(story).await?;
        let instance = format!("{}-own", shared.instance);
        let world = World { instance, ..shared };
        let database = world.management_database();
        let role = format!("{database}_admin");
        let password = format!("{:016x}", rand::random::<u64>());
        let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
        let (quoted, quoted_role) = (quote_identifier(&database), quote_identifier(&role));
        superuser(
            &world,
            "postgres",
            &[
                &format!("CREATE ROLE {quoted_role} LOGIN {attributes} PASSWORD '{verifier}'"),
                &format!("CREATE DATABASE {quoted} TEMPLATE template0"),
            ],
        )
        .await?;
        Ok(Self {
            world,
            role,
            password,
        })
    }

    /// The same with `GRANT CREATE` on the management database, a Secret and an Instance that is applied.
    pub async fn create(story: &str, attributes: &str) -> Result<Self> {
        let own = Self::prepare(story, attributes).await?;
        own.grant_create().await?;
        own.register().await?;
        Ok(own)
    }

    /// The right to make the registry.
    pub async fn grant_create(&self) -> Result<()> {
        let grant = format!(
            "GRANT CREATE ON DATABASE \"{}\" TO \"{}\"",
            self.world.management_database(),
            self.role
        );
        superuser(&self.world, "postgres", &[&grant]).await
    }

    /// Makes the Secret and applies the Instance.
    pub async fn register(&self) -> Result<()> {
        self.world
            .create_admin_secret(&self.world.instance, &self.role, &self.password)
            .await?;
        self.world
            .apply(&self.world.instance_manifest())
            .await?
            .success()?;
        Ok(())
    }

    /// Gives the role another password; sessions that are open go on.
    pub async fn alter_password(&self, password: &str) -> Result<()> {
        let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
        superuser(
            &self.world,
            "postgres",
            &[&format!(
                "ALTER ROLE \"{}\" PASSWORD '{verifier}'",
                self.role
            )],
        )
        .await
    }
}
