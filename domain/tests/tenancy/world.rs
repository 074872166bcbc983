//! A pure model of the outside: what the adapters of a correct process would see and change. It decides no rule.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::tenancy::capability::RefusedExtension;
use domain::tenancy::claim::Claim;
use domain::tenancy::endpoint::{AddressPolicy, Endpoint, EndpointDraft};
use domain::tenancy::facts::{EntryOwner, Holder, RoleFact};
use domain::tenancy::names::{ExtensionName, Uid};
use domain::tenancy::tenant::{DeletionPolicy, TenantIdentity, TenantPhase, TenantStatus};
use domain::violation::FieldPath;

pub use crate::object::{Object, layout};

/// The OID of the admin role.
pub const ADMIN: u32 = 10;

pub fn uid(text: &str) -> Uid {
    Uid::new(text)
}

/// What the Instance says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    Absent,
    Unreadable,
    Deleting,
    NotReady,
    Illegal,
    Revalidating,
    Ready,
}

/// A role on the server.
#[derive(Clone, Debug)]
pub struct Role {
    pub fact: RoleFact,
    /// Which password its verifier was made of.
    pub verifier: u32,
}

/// A database on the server.
#[derive(Clone, Debug)]
pub struct Database {
    pub oid: u32,
    pub owner: u32,
    pub public_access: bool,
    pub connectable: bool,
    pub sessions: u32,
    pub extensions: BTreeSet<String>,
}

/// One version of an OpenBao entry.
#[derive(Clone, Debug)]
pub struct Version {
    pub password: u32,
    pub owner: Option<EntryOwner>,
    pub deleted: bool,
}

/// An OpenBao entry.
#[derive(Clone, Debug)]
pub struct Entry {
    pub versions: Vec<Version>,
    pub metadata: Option<Uid>,
}

/// An ExternalSecret.
#[derive(Clone, Debug)]
pub struct Projected {
    pub uid: Uid,
    pub owner: Option<Uid>,
    pub deleting: bool,
    pub pinned: Option<u64>,
    /// A field that we set was changed by someone.
    pub tampered: bool,
    pub synced: bool,
    /// `None`: no condition; `Some(true)`: `Ready=True`.
    pub ready: Option<bool>,
    /// Seconds since it is `False`.
    pub failing: u64,
    pub owned_by_another: bool,
    /// Seconds since we last wrote it.
    pub written: u64,
    pub force_sync: Option<u64>,
}

/// Everything outside, and one Tenant.
#[derive(Clone, Debug)]
pub struct World {
    pub object: Object,
    pub instance: InstanceState,
    pub instance_uid: Uid,
    pub instance_name: String,
    pub address: String,
    pub refused: Vec<RefusedExtension>,
    pub rows: Vec<Claim>,
    pub alive: BTreeMap<Uid, bool>,
    pub roles: BTreeMap<String, Role>,
    pub databases: BTreeMap<String, Database>,
    pub admin_name: String,
    pub entries: BTreeMap<String, Entry>,
    pub projections: BTreeMap<String, Projected>,
    /// Secret name to the UID of the ExternalSecret that owns it; `None` is owned by nobody.
    pub secrets: BTreeMap<String, Option<Uid>>,
    pub server_down: bool,
    pub bao_down: bool,
    pub eso_down: bool,
    pub terminating: bool,
    pub next: u32,
    /// Passwords ever generated.
    pub passwords: u32,
    /// Databases ever created.
    pub created_databases: u32,
    /// Writes to the API server: statuses, finalizers, `ExternalSecrets`.
    pub api_writes: u32,
    /// Ids of effects and saved statuses in order.
    pub trace: Vec<&'static str>,
}

impl World {
    /// Nothing made yet; the Instance is ready.
    pub fn new() -> Self {
        let object = Object {
            identity: TenantIdentity {
                uid: uid("tenant-uid"),
                namespace: "team".to_owned(),
                name: "netbox".to_owned(),
            },
            generation: 1,
            instance_ref: "shared".to_owned(),
            database: None,
            role: None,
            secret_name: None,
            extensions: vec!["pg_trgm".to_owned()],
            policy: DeletionPolicy::Retain,
            status: TenantStatus::default(),
            finalizer: false,
            deleting: false,
        };
        Self {
            object,
            instance: InstanceState::Ready,
            instance_uid: uid("instance-uid"),
            instance_name: "shared".to_owned(),
            address: "192.0.2.10".to_owned(),
            refused: Vec::new(),
            rows: Vec::new(),
            alive: BTreeMap::new(),
            roles: BTreeMap::new(),
            databases: BTreeMap::new(),
            admin_name: "admin".to_owned(),
            entries: BTreeMap::new(),
            projections: BTreeMap::new(),
            secrets: BTreeMap::new(),
            server_down: false,
            bao_down: false,
            eso_down: false,
            terminating: false,
            next: 100,
            passwords: 0,
            created_databases: 0,
            api_writes: 0,
            trace: Vec::new(),
        }
    }

    /// Nothing made yet; policy `Delete`.
    pub fn destructible() -> Self {
        let mut world = Self::new();
        world.object.policy = DeletionPolicy::Delete;
        world
    }

    /// A converged Tenant, with the trace and the counters of writes cleared.
    pub fn converged() -> Self {
        Self::new().and_converge()
    }

    pub fn and_converge(mut self) -> Self {
        self.converge();
        assert!(self.is_ready(), "{:?}", self.object.status);
        self.trace.clear();
        self.api_writes = 0;
        self
    }

    /// Someone asks for deletion.
    pub fn delete(&mut self) {
        self.object.deleting = true;
    }

    pub fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub fn endpoint(&self) -> Endpoint {
        let draft = EndpointDraft {
            host: "pg.home.arpa",
            hostaddr: &self.address,
            port: 5432,
            database: "postgres",
            ssl_mode: "verify-full",
        };
        let mut violations = Vec::new();
        draft
            .parse(
                &FieldPath::new("spec.endpoint"),
                &AddressPolicy::default(),
                &mut violations,
            )
            .unwrap()
    }

    pub fn row(&self) -> Option<&Claim> {
        let uid = &self.object.identity.uid;
        self.rows.iter().find(|row| row.tenant_uid == *uid)
    }

    pub fn row_mut(&mut self) -> Option<&mut Claim> {
        let uid = self.object.identity.uid.clone();
        self.rows.iter_mut().find(|row| row.tenant_uid == uid)
    }

    pub fn holders(&self) -> Vec<Holder> {
        let definition = self.object.definition();
        let identity = &self.object.identity;
        let clash = |row: &&Claim| {
            row.tenant_uid != identity.uid
                && (row.database == definition.database.as_str()
                    || row.role == definition.role.as_str()
                    || (row.namespace == identity.namespace && row.name == identity.name))
        };
        let holder = |row: &Claim| Holder {
            claim: row.clone(),
            alive: self.alive.get(&row.tenant_uid).copied(),
        };
        self.rows.iter().filter(clash).map(holder).collect()
    }

    /// The claimed name of the database, or the effective one.
    pub fn database_name(&self) -> String {
        self.row().map_or_else(
            || self.object.draft().effective_database().to_owned(),
            |row| row.database.clone(),
        )
    }

    /// The claimed name of the role, or the effective one.
    pub fn role_name(&self) -> String {
        self.row().map_or_else(
            || self.object.draft().effective_login_role().to_owned(),
            |row| row.role.clone(),
        )
    }

    pub fn path(&self) -> String {
        self.row().map_or_else(
            || layout().path(&self.object.identity),
            |row| row.secret_path.clone(),
        )
    }

    pub fn projection_name(&self) -> String {
        self.object.departing().projection_name()
    }

    pub fn role_mut(&mut self) -> &mut RoleFact {
        let name = self.role_name();
        &mut self.roles.get_mut(&name).unwrap().fact
    }

    pub fn database_mut(&mut self) -> &mut Database {
        let name = self.database_name();
        self.databases.get_mut(&name).unwrap()
    }

    pub fn entry_mut(&mut self) -> &mut Entry {
        let path = self.path();
        self.entries.get_mut(&path).unwrap()
    }

    pub fn projection_mut(&mut self) -> &mut Projected {
        let name = self.projection_name();
        self.projections.get_mut(&name).unwrap()
    }

    pub fn phase(&self) -> TenantPhase {
        self.object.status.phase
    }

    /// The reason of the condition, or `-`.
    pub fn reason(&self) -> &'static str {
        let ready = self.object.status.ready.as_ref();
        ready.map_or("-", |ready| ready.reason.as_str())
    }

    pub fn message(&self) -> &str {
        let ready = self.object.status.ready.as_ref();
        ready.map_or("", |ready| ready.message.as_str())
    }

    pub fn is_ready(&self) -> bool {
        self.phase() == TenantPhase::Ready && self.reason() == "Ready"
    }

    /// Someone else's role of our name.
    pub fn plant_role(&mut self) {
        let oid = self.fresh();
        let fact = RoleFact {
            oid,
            can_login: true,
            expired: false,
            superuser: false,
            comment_uid: None,
            admin_is_member: true,
        };
        let role = Role { fact, verifier: 0 };
        self.roles.insert(self.role_name(), role);
    }

    /// Someone else's database of our name.
    pub fn plant_database(&mut self, owner: u32) {
        let oid = self.fresh();
        let database = Database {
            oid,
            owner,
            public_access: true,
            connectable: true,
            sessions: 0,
            extensions: BTreeSet::new(),
        };
        self.databases.insert(self.database_name(), database);
    }

    /// An entry at our path whose owner is `owner`.
    pub fn plant_entry(&mut self, owner: Option<&str>) {
        let version = Version {
            password: 0,
            owner: None,
            deleted: false,
        };
        let entry = Entry {
            versions: vec![version],
            metadata: owner.map(uid),
        };
        self.entries.insert(self.path(), entry);
    }

    /// An ExternalSecret of our name with another owner.
    pub fn plant_projection(&mut self, owner: Option<&str>) {
        let uid_of_it = self.fresh();
        let projection = Projected {
            uid: uid(&format!("es-{uid_of_it}")),
            owner: owner.map(uid),
            deleting: false,
            pinned: None,
            tampered: false,
            synced: true,
            ready: Some(true),
            failing: 0,
            owned_by_another: false,
            written: 0,
            force_sync: None,
        };
        self.projections.insert(self.projection_name(), projection);
    }

    pub fn refuse(&mut self, extension: &str) {
        let name = ExtensionName::parse(extension).unwrap();
        self.refused = vec![RefusedExtension {
            name,
            because: None,
        }];
    }

    /// Time passes.
    pub fn wait(&mut self, seconds: u64) {
        let time = Duration::from_secs(seconds);
        for row in &mut self.rows {
            row.resent_age = row.resent_age.map(|age| age + time);
        }
        for projection in self.projections.values_mut() {
            if projection.ready == Some(false) {
                projection.failing += seconds;
            }
            projection.written += seconds;
            projection.force_sync = projection.force_sync.map(|age| age + seconds);
        }
    }
}
