//! A story about tenants: a namespace, an Instance with a registry of its own, and what a person would look at.
//!
//! Decides how a story isolates itself (names that no other story has). It asserts nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DynamicObject, ObjectMeta, PostParams};
use serde_json::Value;

use super::command::Output;
use super::condition::{Condition, await_condition, await_reason, condition};
use super::objects::{self, Namespace};
use super::psql::Login;
use super::tenantry::{Tenantry, TenantryOptions};
use crate::Bed;
use crate::bed::openbao::{MOUNT, TENANTRY};
use crate::bed::postgres::{ADMIN, Postgres};
use crate::bed::{PostgresDescription, SYSTEM_NAMESPACE};

/// API version of both kinds.
pub const API_VERSION: &str = "database.ddupan.top/v1alpha1";
/// Longer than any healthy step takes on a busy machine.
pub const SOON: Duration = Duration::from_secs(60);

/// See the module text.
pub struct World {
    /// The bed.
    pub bed: Bed,
    /// The process under test.
    pub tenantry: Tenantry,
    /// The story's namespace.
    pub namespace: Namespace,
    /// The story's Instance; also the name of its admin Secret and, with underscores, of its management database.
    pub instance: String,
}

impl World {
    /// On the shared bed with the shared process; the Instance is `Ready`.
    pub async fn shared(story: &str) -> Result<Self> {
        let bed = Bed::shared()?;
        let tenantry = Tenantry::shared(&bed).await?;
        Self::with(bed, tenantry, story).await
    }

    /// On a bed of its own with a process of its own; the Instance is `Ready`. For stories called `alone_…`.
    pub async fn private(bed: Bed, options: TenantryOptions, story: &str) -> Result<Self> {
        let tenantry = Tenantry::start(&bed, options).await?;
        Self::with(bed, tenantry, story).await
    }

    async fn with(bed: Bed, tenantry: Tenantry, story: &str) -> Result<Self> {
        let namespace = Namespace::create(&bed, story).await?;
        let instance = namespace.name.clone();
        let world = Self {
            bed,
            tenantry,
            namespace,
            instance,
        };
        world
            .bed
            .postgres()
            .create_management_database(&world.management_database())
            .await?;
        let password = world.bed.postgres().admin_password()?;
        world
            .create_admin_secret(&world.instance, ADMIN, &password)
            .await?;
        world.apply(&world.instance_manifest()).await?.success()?;
        world.instance_is("True").await?;
        Ok(world)
    }

    /// The management database of the story's Instance.
    #[must_use]
    pub fn management_database(&self) -> String {
        self.instance.replace('-', "_")
    }

    /// A database or role name that no other story has.
    #[must_use]
    pub fn identifier(&self, suffix: &str) -> String {
        format!("{}_{suffix}", self.management_database())
    }

    /// The story's Instance as it is made at first.
    #[must_use]
    pub fn instance_manifest(&self) -> String {
        self.instance_of(
            &self.instance,
            self.bed.postgres().description(),
            &self.management_database(),
        )
    }

    /// An Instance for a server and a management database; its admin Secret has the Instance's name.
    #[must_use]
    pub fn instance_of(&self, name: &str, server: &PostgresDescription, database: &str) -> String {
        let PostgresDescription {
            host,
            host_address,
            port,
            ..
        } = server;
        format!(
            "apiVersion: {API_VERSION}\nkind: PostgreSQLInstance\nmetadata: {{name: {name}}}\nspec:\n  \
             endpoint: {{host: {host}, hostaddr: {host_address}, port: {port}, database: {database}}}\n  \
             adminCredentialRef: {{name: {name}}}\n"
        )
    }

    /// A Tenant of the story's Instance. `spec` is flow-style YAML fields to add, such as `deletionPolicy: Delete`. Database and
    /// role are [`World::identifier`] of `name` unless `spec` sets them.
    #[must_use]
    pub fn tenant_manifest(&self, name: &str, spec: &str) -> String {
        let identifier = self.identifier(&name.replace('-', "_"));
        let mut fields = vec![format!("instanceRef: {}", self.instance)];
        for field in ["database", "loginRole"] {
            if !spec.contains(&format!("{field}:")) {
                fields.push(format!("{field}: {identifier}"));
            }
        }
        if !spec.is_empty() {
            fields.push(spec.to_owned());
        }
        format!(
            "apiVersion: {API_VERSION}\nkind: PostgreSQLTenant\nmetadata: {{name: {name}, namespace: {}}}\nspec: {{{}}}\n",
            self.namespace.name,
            fields.join(", ")
        )
    }

    /// `kubectl apply`; a refusal is in the output.
    pub async fn apply(&self, manifest: &str) -> Result<Output> {
        self.bed.kubectl().apply(manifest).await
    }

    /// Applies a Tenant, which must be accepted, and waits until it is `Ready`.
    pub async fn ready_tenant(&self, name: &str, spec: &str) -> Result<DynamicObject> {
        self.apply(&self.tenant_manifest(name, spec))
            .await?
            .success()?;
        self.tenant_ready(name).await
    }

    /// Waits until the Tenant is `Ready=True` for its present generation.
    pub async fn tenant_ready(&self, name: &str) -> Result<DynamicObject> {
        await_condition(&self.tenants(), name, "Ready", "True", SOON).await
    }

    /// Waits until the Tenant's `Ready` has this reason, and gives the condition.
    pub async fn tenant_reason(&self, name: &str, reason: &str) -> Result<Condition> {
        let object = await_reason(&self.tenants(), name, "Ready", reason, SOON).await?;
        condition(&object, "Ready").context("no Ready condition")
    }

    /// Waits until the story's Instance has this `Ready` status for its present generation.
    pub async fn instance_is(&self, status: &str) -> Result<DynamicObject> {
        await_condition(&self.instances(), &self.instance, "Ready", status, SOON).await
    }

    /// Waits until an Instance's `Ready` has this reason, and gives the condition.
    pub async fn instance_reason(&self, name: &str, reason: &str) -> Result<Condition> {
        let object = await_reason(&self.instances(), name, "Ready", reason, SOON).await?;
        condition(&object, "Ready").context("no Ready condition")
    }

    /// `kubectl patch --type merge` of a Tenant; a refusal is in the output.
    pub async fn patch_tenant(&self, name: &str, patch: &Value) -> Result<Output> {
        let patch = patch.to_string();
        let arguments = [
            "patch",
            "pgtenant",
            name,
            "-n",
            &self.namespace.name,
            "--type",
            "merge",
            "-p",
            &patch,
        ];
        self.bed.kubectl().run(&arguments).await
    }

    /// Merges into a Tenant's status, as no controller should be treated.
    pub async fn merge_tenant_status(&self, name: &str, status: &Value) -> Result<Output> {
        let object = ("pgtenant", self.namespace.name.as_str(), name);
        self.bed.kubectl().merge_status(object, status).await
    }

    /// Tenants of the story's namespace.
    #[must_use]
    pub fn tenants(&self) -> Api<DynamicObject> {
        self.namespace.objects(API_VERSION, "PostgreSQLTenant")
    }

    /// Instances.
    #[must_use]
    pub fn instances(&self) -> Api<DynamicObject> {
        objects::all(self.namespace.client(), API_VERSION, "PostgreSQLInstance")
    }

    /// Objects of kind `ExternalSecret` in the story's namespace.
    #[must_use]
    pub fn external_secrets(&self) -> Api<DynamicObject> {
        self.namespace
            .objects("external-secrets.io/v1", "ExternalSecret")
    }

    /// The derived name of a Tenant's ExternalSecret and Secret.
    #[must_use]
    pub fn secret_name(&self, tenant: &str) -> String {
        format!("{}-{tenant}-postgresql", self.instance)
    }

    /// The path of a Tenant's OpenBao entry under the mount.
    #[must_use]
    pub fn entry_path(&self, tenant: &str) -> String {
        format!("{TENANTRY}/{}/{tenant}", self.namespace.name)
    }

    /// Latest version and data of a Tenant's OpenBao entry.
    pub async fn entry(&self, tenant: &str) -> Result<(u64, BTreeMap<String, String>)> {
        let root = self.bed.openbao().root()?;
        let path = self.entry_path(tenant);
        let metadata = vaultrs::kv2::read_metadata(&root, MOUNT, &path).await?;
        Ok((
            metadata.current_version,
            vaultrs::kv2::read(&root, MOUNT, &path).await?,
        ))
    }

    /// A login with the values of the Tenant's projected Secret, as an application would make it.
    pub async fn application(&self, tenant: &str) -> Result<Login> {
        let secret = self.namespace.secret(&self.secret_name(tenant)).await?;
        let get = |key: &str| {
            secret
                .get(key)
                .cloned()
                .with_context(|| format!("the Secret has no {key}"))
        };
        Ok(Login {
            host: get("host")?,
            host_address: get("hostaddr")?,
            port: get("port")?.parse()?,
            database: get("database")?,
            user: get("username")?,
            password: get("password")?,
            ssl_mode: get("sslmode")?,
            ca_file: self.bed.description().ca_file.clone(),
        })
    }

    /// One text from a query as superuser on the bed's first server; `NULL` and no row are `None`.
    pub async fn superuser(&self, database: &str, sql: &str) -> Result<Option<String>> {
        superuser(&self.bed.postgres(), database, sql).await
    }

    /// True if the bed's first server has this database.
    pub async fn has_database(&self, name: &str) -> Result<bool> {
        let sql = format!("SELECT oid::text FROM pg_database WHERE datname = '{name}'");
        Ok(self.superuser("postgres", &sql).await?.is_some())
    }

    /// True if the bed's first server has this role.
    pub async fn has_role(&self, name: &str) -> Result<bool> {
        let sql = format!("SELECT oid::text FROM pg_roles WHERE rolname = '{name}'");
        Ok(self.superuser("postgres", &sql).await?.is_some())
    }

    /// One text from the story's registry.
    pub async fn registry(&self, sql: &str) -> Result<Option<String>> {
        self.superuser(&self.management_database(), sql).await
    }

    /// An admin Secret in Tenantry's namespace.
    pub async fn create_admin_secret(
        &self,
        name: &str,
        username: &str,
        password: &str,
    ) -> Result<()> {
        let secrets: Api<Secret> =
            Api::namespaced(self.namespace.client().clone(), SYSTEM_NAMESPACE);
        let values = [("username", username), ("password", password)];
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            string_data: Some(
                values
                    .iter()
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
            ),
            ..Secret::default()
        };
        let created = secrets.create(&PostParams::default(), &secret).await;
        created
            .map(drop)
            .with_context(|| format!("creating Secret {SYSTEM_NAMESPACE}/{name}"))
    }
}

/// One text from a query as superuser of a server.
pub async fn superuser(server: &Postgres, database: &str, sql: &str) -> Result<Option<String>> {
    let client = server.superuser(database).await?;
    for message in client
        .simple_query(sql)
        .await
        .with_context(|| format!("as superuser: {sql}"))?
    {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            return Ok(row.get(0).map(str::to_owned));
        }
    }
    Ok(None)
}
