//! A management database of its own per test, and a tenant in it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::tenancy::capability::TargetBinding;
use domain::tenancy::claim::Claim;
use domain::tenancy::endpoint::{AddressPolicy, Endpoint, EndpointDraft};
use domain::tenancy::facts::ServerFacts;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::{DataKey, ExtensionName, ObjectName, Uid};
use domain::tenancy::registration::CredentialReference;
use domain::violation::FieldPath;
use e2e::Bed;
use e2e::bed::postgres::{ADMIN, Postgres as BedServer};
use tenantry::adapters::postgres::{
    AdminCredential, NewClaim, Postgres, PostgresSettings, ServerQuery, ServerTarget,
};

/// The server of the shared bed, and the authority that signed its certificate.
pub fn bed() -> (BedServer, std::path::PathBuf) {
    let bed = Bed::shared().unwrap();
    (bed.postgres(), bed.description().ca_file.clone())
}

pub fn unique(prefix: &str) -> String {
    format!("{prefix}_{:08x}", rand::random::<u32>())
}

/// A server, a management database of its own, and an adapter.
pub struct World {
    pub server: BedServer,
    pub postgres: Arc<Postgres>,
    pub target: ServerTarget,
    pub management: String,
    authority: std::path::PathBuf,
}

pub struct Change<'a> {
    pub host: Option<&'a str>,
    pub hostaddr: Option<&'a str>,
    pub port: Option<u16>,
    pub database: Option<&'a str>,
    pub ssl_mode: &'a str,
}

impl Default for Change<'_> {
    fn default() -> Self {
        Self {
            host: None,
            hostaddr: None,
            port: None,
            database: None,
            ssl_mode: "verify-full",
        }
    }
}

impl World {
    /// With a registry.
    pub async fn new() -> Self {
        let world = Self::empty().await;
        world
            .postgres
            .migrate_registry(&world.target)
            .await
            .unwrap();
        world
    }

    /// Without one.
    pub async fn empty() -> Self {
        let (server, authority) = bed();
        let management = unique("m");
        server
            .create_management_database(&management)
            .await
            .unwrap();
        let password = server.admin_password().unwrap();
        let settings = Self::settings(&authority);
        let mut world = Self {
            target: ServerTarget {
                binding: TargetBinding {
                    uid: Uid::new(unique("instance")),
                    revision: 1,
                    endpoint: endpoint(&server, &management, &Change::default()),
                    credential: CredentialReference {
                        name: ObjectName::parse("admin").unwrap(),
                        username_key: DataKey::parse("username").unwrap(),
                        password_key: DataKey::parse("password").unwrap(),
                    },
                },
                credential: credential(ADMIN, &password),
            },
            postgres: Arc::new(Postgres::new(settings)),
            server,
            management,
            authority,
        };
        world.target.binding.revision = 1;
        world
    }

    fn settings(authority: &std::path::Path) -> PostgresSettings {
        PostgresSettings::new(Arc::new(certs::Trust::load(Some(authority)).unwrap()))
    }

    /// Another adapter with other limits.
    pub fn with(&self, change: impl FnOnce(&mut PostgresSettings)) -> Postgres {
        let mut settings = Self::settings(&self.authority);
        change(&mut settings);
        Postgres::new(settings)
    }

    /// The same Instance with another endpoint.
    pub fn changed(&self, change: &Change<'_>) -> ServerTarget {
        let mut target = self.target.clone();
        target.binding.endpoint = endpoint(&self.server, &self.management, change);
        target
    }

    /// The same Instance with another admin.
    pub fn as_admin(&self, username: &str, password: &str) -> ServerTarget {
        ServerTarget {
            credential: credential(username, password),
            ..self.target.clone()
        }
    }

    /// Runs SQL as the superuser.
    pub async fn sql(&self, database: &str, sql: &str) {
        let client = self.server.superuser(database).await.unwrap();
        client
            .batch_execute(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// One value, as the superuser.
    pub async fn value(&self, database: &str, sql: &str) -> Option<String> {
        let client = self.server.superuser(database).await.unwrap();
        let rows = client
            .simple_query(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        rows.into_iter().find_map(|row| match row {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
    }

    pub fn major(&self) -> u8 {
        self.server.description().major
    }

    pub fn tenant(&self) -> Tenant<'_> {
        Tenant::new(self, &unique("t"))
    }
}

pub fn endpoint(server: &BedServer, management: &str, change: &Change<'_>) -> Endpoint {
    let about = server.description();
    let draft = EndpointDraft {
        host: change.host.unwrap_or(&about.host),
        hostaddr: change.hostaddr.unwrap_or(&about.host_address),
        port: i64::from(change.port.unwrap_or(about.port)),
        database: change.database.unwrap_or(management),
        ssl_mode: change.ssl_mode,
    };
    draft
        .parse(
            &FieldPath::new("spec.endpoint"),
            &AddressPolicy::default(),
            &mut Vec::new(),
        )
        .unwrap()
}

pub fn credential(username: &str, password: &str) -> Arc<AdminCredential> {
    Arc::new(AdminCredential::new(
        username.to_owned().into(),
        password.to_owned().into(),
    ))
}

/// A tenant and the calls that its rounds make.
pub struct Tenant<'w> {
    pub world: &'w World,
    pub query: ServerQuery,
    pub password: secrecy::SecretString,
    pub plain: String,
}

pub const NOTHING: BTreeSet<String> = BTreeSet::new();

impl<'w> Tenant<'w> {
    pub fn new(world: &'w World, name: &str) -> Self {
        let query = ServerQuery {
            cluster_uid: Uid::new("cluster"),
            tenant_uid: Uid::new(unique("uid")),
            namespace: "team".to_owned(),
            name: name.to_owned(),
            database: name.to_owned(),
            role: name.to_owned(),
            sessions: true,
        };
        let plain = format!("pw-{:016x}", rand::random::<u64>());
        Self {
            world,
            query,
            password: plain.clone().into(),
            plain,
        }
    }

    pub fn name(&self) -> &str {
        &self.query.name
    }

    pub fn new_claim(&self) -> NewClaim {
        let query = self.query.clone();
        NewClaim {
            cluster_uid: query.cluster_uid,
            tenant_uid: query.tenant_uid,
            instance_uid: self.world.target.binding.uid.clone(),
            namespace: query.namespace,
            name: query.name.clone(),
            database: query.database,
            role: query.role,
            secret_name: format!("{}-postgresql", query.name),
            secret_path: format!("base/team/{}", query.name),
        }
    }

    pub async fn facts(&self) -> ServerFacts {
        self.world
            .postgres
            .observe(&self.world.target, &self.query)
            .await
            .unwrap()
    }

    pub async fn claim(&self) -> Claim {
        self.facts().await.claim.expect("a claim")
    }

    pub async fn claimed(&self) -> Claim {
        self.world
            .postgres
            .claim(&self.world.target, &self.new_claim())
            .await
            .unwrap();
        self.claim().await
    }

    pub async fn with_role(&self) -> Claim {
        let claim = self.claimed().await;
        let (postgres, target) = (&self.world.postgres, &self.world.target);
        postgres
            .create_role(target, &claim, &self.password, 1)
            .await
            .unwrap();
        self.claim().await
    }

    /// Everything up to a recorded database.
    pub async fn created(&self) -> Claim {
        let claim = self.with_role().await;
        let (postgres, target) = (&self.world.postgres, &self.world.target);
        postgres.create_database(target, &claim).await.unwrap();
        postgres.close_database(target, &claim).await.unwrap();
        let oid = self.facts().await.database.unwrap().oid;
        postgres
            .record_database(target, &claim, oid, &NOTHING)
            .await
            .unwrap();
        self.claim().await
    }

    pub async fn login(&self) -> domain::tenancy::facts::LoginFact {
        let (database, role) = (&self.query.database, &self.query.role);
        self.world
            .postgres
            .login(&self.world.target, database, role, &self.password)
            .await
            .unwrap()
    }

    /// A session of the tenant itself.
    pub async fn session(&self) -> tokio_postgres::Client {
        connect(
            self.world,
            &self.query.database,
            &self.query.role,
            &self.plain,
        )
        .await
        .unwrap()
    }

    /// The same, connected to another database, from where it may shut its own.
    pub async fn outside(&self) -> tokio_postgres::Client {
        connect(self.world, "postgres", &self.query.role, &self.plain)
            .await
            .unwrap()
    }

    pub async fn install(&self, claim: &Claim, name: &str) -> Result<(), Failure> {
        let name = ExtensionName::parse(name).unwrap();
        self.world
            .postgres
            .create_extension(&self.world.target, claim, &name)
            .await
    }
}

pub async fn connect(
    world: &World,
    database: &str,
    user: &str,
    password: &str,
) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let about = world.server.description();
    let mut config = tokio_postgres::Config::new();
    let address: IpAddr = about.host_address.parse().unwrap();
    config
        .host(&about.host)
        .hostaddr(address)
        .port(about.port)
        .user(user)
        .password(password)
        .dbname(database);
    config
        .ssl_mode(tokio_postgres::config::SslMode::Disable)
        .application_name("its own tool\n");
    let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(
    outcome: Result<T, Failure>,
    class: Class,
    words: &str,
) -> Failure {
    let failure = outcome.unwrap_err();
    assert_eq!(failure.class, class, "{failure}");
    assert!(
        failure.text.contains(words),
        "{words:?} is not in {:?}",
        failure.text
    );
    failure
}

pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, work).await.expect("in time")
}
