//! The peer: a client that makes the writes of a Tenant's way to `Ready` in the same order and asks nothing in between.
//!
//! Its objects are of a kind of their own with the schema of a Tenant, which no controller watches. Their status and their
//! ExternalSecret are those of a Tenant that Tenantry made before ([`Model`]), so the writes are the same ones.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use e2e::bed::openbao::MOUNT;
use e2e::bed::postgres::ADMIN;
use e2e::world::psql::Login;
use e2e::world::tenancy::World;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::product::per_second;
use crate::server::connect;

const GROUP: &str = "bench.tenantry";
/// As many connections as Tenantry's pool has.
const ADMINS: usize = 4;
const PHASES: [&str; 3] = ["Planned", "CredentialCreated", "RoleCreated"];

/// What Tenantry wrote for one Tenant, as text in which that Tenant's names are replaced.
struct Model {
    status: String,
    external_secret: String,
    names: [String; 3],
}

impl Model {
    async fn of(world: &World, tenant: &str) -> Result<Self> {
        let object = world.tenants().get(tenant).await?;
        let secret = world.secret_name(tenant);
        let external = world.external_secrets().get(&secret).await?;
        let names = [
            world.identifier(&tenant.replace('-', "_")),
            world.entry_path(tenant),
            secret,
        ];
        let part = |object: &DynamicObject, name: &str| {
            let found = object.data.get(name).map(Value::to_string);
            found.with_context(|| format!("{tenant} has no {name}"))
        };
        Ok(Self {
            status: part(&object, "status")?,
            external_secret: part(&external, "spec")?,
            names,
        })
    }

    /// The text with other names.
    fn with(&self, text: &str, names: [&str; 3]) -> Result<Value> {
        let mut text = text.to_owned();
        for (own, other) in self.names.iter().zip(names) {
            text = text.replace(own, other);
        }
        Ok(serde_json::from_str(&text)?)
    }
}

/// The names of one bare tenant.
struct Names<'n> {
    name: &'n str,
    identifier: String,
    path: String,
    secret: String,
}

impl<'n> Names<'n> {
    fn of(name: &'n str) -> Self {
        Self {
            name,
            identifier: format!("b_{}", name.replace('-', "_")),
            path: format!("tenantry/bare/{name}"),
            secret: format!("bare-{name}"),
        }
    }

    fn all(&self) -> [&str; 3] {
        [&self.identifier, &self.path, &self.secret]
    }
}

/// See the module text.
pub struct Bare {
    model: Model,
    instance: String,
    tenants: Api<DynamicObject>,
    secrets: Api<DynamicObject>,
    events: Api<DynamicObject>,
    openbao: vaultrs::client::VaultClient,
    admins: Vec<tokio::sync::Mutex<Client>>,
    login: Login,
    server: e2e::bed::PostgresDescription,
    namespace: String,
}

impl Bare {
    /// Makes its kind, its table and its connections; none of it is measured. `model` is a Tenant that is `Ready`.
    pub async fn prepare(world: &World, model: &str) -> Result<Self> {
        world.apply(&crd()?.to_string()).await?.success()?;
        let kubectl = world.bed.kubectl();
        let arguments = [
            "wait",
            "--for=condition=Established",
            "crd/baretenants.bench.tenantry",
            "--timeout=30s",
        ];
        kubectl.run(&arguments).await?.success()?;
        let server = world.bed.postgres().description().clone();
        let password = world.bed.postgres().admin_password()?;
        let login = Login::new(
            &world.bed,
            &server,
            &world.management_database(),
            ADMIN,
            &password,
        );
        let mut admins = Vec::new();
        for _ in 0..ADMINS {
            admins.push(tokio::sync::Mutex::new(
                connect(&server, &login.ca_file, &login.database, ADMIN, &password).await?,
            ));
        }
        let table = "CREATE TABLE IF NOT EXISTS public.bare (name text PRIMARY KEY, role_oid oid, database_oid oid)";
        world.superuser(&login.database, table).await?;
        world
            .superuser(
                &login.database,
                &format!("GRANT ALL ON public.bare TO {ADMIN}"),
            )
            .await?;
        Ok(Self {
            model: Model::of(world, model).await?,
            instance: world.instance.clone(),
            tenants: world
                .namespace
                .objects("bench.tenantry/v1alpha1", "BareTenant"),
            secrets: world.external_secrets(),
            events: world.namespace.objects("events.k8s.io/v1", "Event"),
            openbao: world.bed.openbao().root()?,
            admins,
            login,
            server,
            namespace: world.namespace.name.clone(),
        })
    }

    /// `count` tenants, `concurrency` at a time: tenants per second.
    pub async fn burst(&self, prefix: &str, count: usize, concurrency: usize) -> Result<f64> {
        let started = Instant::now();
        let made: Vec<Duration> = futures::stream::iter(0..count)
            .map(|position| async move { self.create(&format!("{prefix}-{position}")).await })
            .buffer_unordered(concurrency)
            .try_collect()
            .await?;
        Ok(per_second(made.len(), started.elapsed()))
    }

    /// The writes of one tenant, in order.
    pub async fn create(&self, name: &str) -> Result<Duration> {
        let started = Instant::now();
        let names = Names::of(name);
        let identifier = names.identifier.as_str();
        let password = format!("{:032x}", rand::random::<u128>());
        let spec =
            json!({"instanceRef": self.instance, "database": identifier, "loginRole": identifier});
        let object = json!({"apiVersion": "bench.tenantry/v1alpha1", "kind": "BareTenant", "metadata": {"name": name}, "spec": spec});
        self.tenants
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        self.status(&names, PHASES[0]).await?;
        let admin = self.admin(identifier).await?;
        admin
            .execute("INSERT INTO public.bare (name) VALUES ($1)", &[&identifier])
            .await?;
        drop(admin);
        self.write_entry(&names.path, &password).await?;
        self.status(&names, PHASES[1]).await?;
        self.make_role(identifier, &password).await?;
        self.status(&names, PHASES[2]).await?;
        self.make_database(identifier).await?;
        self.status(&names, "DatabaseCreated").await?;
        self.project(&names).await?;
        self.status(&names, "CredentialProjected").await?;
        let tenant = connect(
            &self.server,
            &self.login.ca_file,
            identifier,
            identifier,
            &password,
        )
        .await?;
        tenant.simple_query("SELECT 1").await?;
        self.status(&names, "Ready").await?;
        self.event(name).await?;
        Ok(started.elapsed())
    }

    async fn write_entry(&self, path: &str, password: &str) -> Result<()> {
        let data = HashMap::from([("password", password)]);
        let options = vaultrs::api::kv2::requests::SetSecretRequestOptions { cas: 0 };
        vaultrs::kv2::set_with_options(&self.openbao, MOUNT, path, &data, options).await?;
        let mut metadata = vaultrs::api::kv2::requests::SetSecretMetadataRequest::builder();
        metadata.custom_metadata(HashMap::from([(
            "tenant-uid".to_owned(),
            "bare".to_owned(),
        )]));
        vaultrs::kv2::set_metadata(&self.openbao, MOUNT, path, Some(&mut metadata)).await?;
        Ok(())
    }

    async fn make_role(&self, identifier: &str, password: &str) -> Result<()> {
        let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
        let grant = if self.server.major >= 16 {
            " WITH INHERIT TRUE, SET TRUE"
        } else {
            ""
        };
        let sql = format!(
            "BEGIN; CREATE ROLE {identifier} LOGIN PASSWORD '{verifier}'; COMMENT ON ROLE {identifier} IS 'bare'; \
             GRANT {identifier} TO CURRENT_USER{grant}; \
             UPDATE public.bare SET role_oid = (SELECT oid FROM pg_roles WHERE rolname = '{identifier}') WHERE name = '{identifier}'; COMMIT"
        );
        self.admin(identifier)
            .await?
            .batch_execute(&sql)
            .await
            .context("making the role")
    }

    async fn make_database(&self, identifier: &str) -> Result<()> {
        let admin = self.admin(identifier).await?;
        admin
            .batch_execute(&format!(
                "CREATE DATABASE {identifier} OWNER {identifier} TEMPLATE template0"
            ))
            .await?;
        admin
            .batch_execute(&format!(
                "REVOKE CONNECT, TEMPORARY ON DATABASE {identifier} FROM PUBLIC"
            ))
            .await?;
        let record = "UPDATE public.bare SET database_oid = (SELECT oid FROM pg_database WHERE datname = $1) WHERE name = $1";
        admin.execute(record, &[&identifier]).await?;
        Ok(())
    }

    /// The ExternalSecret, its status in between, and the wait for ESO.
    async fn project(&self, names: &Names<'_>) -> Result<()> {
        let secret = names.secret.as_str();
        let filter = WatchParams::default()
            .fields(&format!("metadata.name={secret}"))
            .timeout(60);
        let mut events = self.secrets.watch(&filter, "0").await?.boxed();
        let object = json!({
            "apiVersion": "external-secrets.io/v1",
            "kind": "ExternalSecret",
            "metadata": {"name": secret, "labels": {"app.kubernetes.io/managed-by": "bench"}},
            "spec": self.model.with(&self.model.external_secret, names.all())?,
        });
        self.secrets
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        self.status(names, "ExternalSecretCreated").await?;
        while let Some(event) = events.try_next().await? {
            if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event
                && e2e::world::condition::condition(&object, "Ready")
                    .is_some_and(|condition| condition.status == "True")
            {
                return Ok(());
            }
        }
        bail!("ExternalSecret {secret} did not become Ready")
    }

    async fn status(&self, names: &Names<'_>, phase: &str) -> Result<()> {
        let mut status = self.model.with(&self.model.status, names.all())?;
        set(&mut status, "/phase", json!(phase))?;
        let patch = json!({ "status": status });
        self.tenants
            .patch_status(names.name, &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
        Ok(())
    }

    async fn event(&self, name: &str) -> Result<()> {
        let event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"generateName": format!("{name}-")},
            "eventTime": format!("{:.6}", k8s_openapi::jiff::Timestamp::now()), "type": "Normal", "reason": "Ready", "action": "Bench",
            "reportingController": "bench", "reportingInstance": "bench",
            "regarding": {"apiVersion": "bench.tenantry/v1alpha1", "kind": "BareTenant", "name": name, "namespace": self.namespace},
        });
        self.events
            .create(&PostParams::default(), &serde_json::from_value(event)?)
            .await?;
        Ok(())
    }

    /// The connection of this tenant: one session makes its role and its database, because another one may not know of the
    /// membership yet.
    async fn admin(&self, identifier: &str) -> Result<tokio::sync::MutexGuard<'_, Client>> {
        let turn: usize = identifier.bytes().map(usize::from).sum();
        let mine = self.admins.iter().cycle().nth(turn % ADMINS);
        Ok(mine.context("no connection")?.lock().await)
    }
}

/// The Tenant's own kind under another name: the same schema, the same rules.
fn crd() -> Result<Value> {
    let own = crds::tenancy_kinds().pop().context("no kind")?;
    let mut crd = serde_json::to_value(own)?;
    set(
        &mut crd,
        "/metadata",
        json!({"name": format!("baretenants.{GROUP}")}),
    )?;
    set(&mut crd, "/spec/group", json!(GROUP))?;
    let names = json!({"kind": "BareTenant", "plural": "baretenants"});
    set(&mut crd, "/spec/names", names)?;
    Ok(crd)
}

/// Replaces what is there.
fn set(value: &mut Value, pointer: &str, new: Value) -> Result<()> {
    let place = value.pointer_mut(pointer);
    *place.with_context(|| format!("no {pointer}"))? = new;
    Ok(())
}
