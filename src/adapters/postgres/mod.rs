//! PostgreSQL: the only room that names SQL. Observations in, failures classified, one write per call.
//!
//! Decides how a server is spoken to (D10–D14) and proves ownership again inside every write (T3). What to do, and in which order,
//! is the domain's. It holds no password longer than a login or the making of a verifier takes, and keeps no state but pools.
//!
//! Reading order: `target` (who and where), `connect` + `guard` + `session` (one connection), `pool` and `work` (how many, how
//! long), `registry` and `ownership` (whose), then one file per thing on a server.

mod blockers;
mod claims;
mod connect;
mod databases;
mod extensions;
mod guard;
mod inspect;
mod observe;
mod ownership;
mod pool;
mod records;
mod registry;
mod roles;
mod session;
mod sql;
mod sqlstate;
mod statement;
mod target;
mod visit;
mod work;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use domain::tenancy::capability::{CapabilityObservation, Check};
use domain::tenancy::claim::Claim;
use domain::tenancy::facts::{EntryOwner, LoginFact, ServerFacts};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::{ExtensionName, Uid};
use domain::tenancy::tenant::DeletionPolicy;
use secrecy::SecretString;

pub use pool::Connections;
use pool::{Identity, Server};
pub use target::{
    AdminCredential, Depth, Fingerprint, NewClaim, PostgresSettings, ServerQuery, ServerTarget,
};
use work::Work;

/// Every PostgreSQL server of this process. Each call is bounded in time and safe to repeat.
pub struct Postgres {
    settings: PostgresSettings,
    servers: Mutex<HashMap<Uid, Arc<Server>>>,
}

impl Postgres {
    /// No server yet; each gets its pool with its first call.
    #[must_use]
    pub fn new(settings: PostgresSettings) -> Self {
        Self {
            settings,
            servers: Mutex::default(),
        }
    }

    /// How many connections there are now.
    #[must_use]
    pub fn connections(&self) -> Connections {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut connections = Connections::default();
        for server in servers.values() {
            server.count(&mut connections);
        }
        connections
    }

    /// One look at a server. It never fails as a whole: what is unmet is in the observation, with the statement that cures it.
    pub async fn inspect(&self, target: &ServerTarget, depth: Depth) -> CapabilityObservation {
        let mut blank = CapabilityObservation::blank(target.binding.clone());
        match self.server(target) {
            Ok(server) => server.inspect(&self.settings, depth, blank).await,
            Err(failure) => {
                blank.access = Check::Failed(failure);
                blank
            }
        }
    }

    /// Makes the registry or brings it up to date, one transaction per migration.
    ///
    /// # Errors
    /// `Misconfigured` if a schema of that name is not ours or newer (untouched then); `Privileges`, `Unavailable`.
    pub async fn migrate_registry(&self, target: &ServerTarget) -> Result<(), Failure> {
        self.perform(target, &registry::Migrate).await
    }

    /// Everything about one Tenant in the management database, as of one moment. `Holder::alive` is left open.
    ///
    /// # Errors
    /// `Unavailable` if the registry is missing or the server away, `Misconfigured` if the registry is of another version.
    pub async fn observe(
        &self,
        target: &ServerTarget,
        query: &ServerQuery,
    ) -> Result<ServerFacts, Failure> {
        self.perform(target, &observe::Observe(query)).await
    }

    /// Every row of the registry.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub async fn claims(&self, target: &ServerTarget) -> Result<Vec<Claim>, Failure> {
        self.perform(target, &observe::ListClaims).await
    }

    /// Every row of the registry with the role and the database of its names, as of one moment.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub async fn survey(
        &self,
        target: &ServerTarget,
    ) -> Result<Vec<(Claim, ServerFacts)>, Failure> {
        self.perform(target, &records::Survey).await
    }

    /// Deletes a row and nothing else; success if it is gone.
    ///
    /// # Errors
    /// `Stale` if the row changed, `Conflict` if the role of its name is another's.
    pub async fn forget_claim(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &records::ForgetClaim(claim)).await
    }

    /// Gives a row and its role's comment to another UID (T4). `kv_version` is recorded if the role has that password.
    ///
    /// # Errors
    /// `Stale` if the row changed or its role or database is gone, `Conflict` if they are another's.
    pub async fn hand_over(
        &self,
        target: &ServerTarget,
        claim: &Claim,
        owner: &EntryOwner,
        cluster_uid: &Uid,
        kv_version: Option<u64>,
    ) -> Result<(), Failure> {
        let kv_version = kv_version.map(storable).transpose()?;
        let work = records::HandOver {
            claim,
            owner,
            cluster_uid,
            kv_version,
        };
        self.perform(target, &work).await
    }

    /// The extensions in a database, by a short visit as the admin.
    ///
    /// # Errors
    /// `Blocked`, `Privileges` or `Unavailable` if the database does not let the admin in.
    pub async fn installed_extensions(
        &self,
        target: &ServerTarget,
        database: &str,
    ) -> Result<BTreeSet<String>, Failure> {
        self.server(target)?
            .installed(&self.settings, database)
            .await
    }

    /// A login as the tenant, under the Instance's TLS mode, that also looks whether the database is the role's own.
    ///
    /// # Errors
    /// Only if the server could not be asked: `Unavailable`, or `Authentication` for TLS.
    pub async fn login(
        &self,
        target: &ServerTarget,
        database: &str,
        role: &str,
        password: &SecretString,
    ) -> Result<LoginFact, Failure> {
        self.server(target)?
            .login(&self.settings, database, &role.to_owned().into(), password)
            .await
    }

    /// Inserts the claim's row; success if the same row is there.
    ///
    /// # Errors
    /// `Conflict` if another row holds database, role or (cluster, namespace, name).
    pub async fn claim(&self, target: &ServerTarget, new: &NewClaim) -> Result<(), Failure> {
        self.perform(target, &claims::InsertClaim(new)).await
    }

    /// Makes the role with a verifier of the password (D13) in one transaction with its row; success if it is there and ours.
    ///
    /// # Errors
    /// `Conflict` if a role of that name is not ours, `Stale` if the row changed, `Privileges`.
    pub async fn create_role(
        &self,
        target: &ServerTarget,
        claim: &Claim,
        password: &SecretString,
        kv_version: u64,
    ) -> Result<(), Failure> {
        let kv_version = storable(kv_version)?;
        let verifier = sql::verifier(password);
        self.perform(
            target,
            &roles::CreateRole {
                claim,
                verifier: &verifier,
                kv_version,
            },
        )
        .await
    }

    /// Sends a verifier of the password and records its KV version (D13).
    ///
    /// # Errors
    /// As [`Self::create_role`].
    pub async fn set_verifier(
        &self,
        target: &ServerTarget,
        claim: &Claim,
        password: &SecretString,
        kv_version: u64,
    ) -> Result<(), Failure> {
        let kv_version = storable(kv_version)?;
        let verifier = sql::verifier(password);
        self.perform(
            target,
            &roles::SetVerifier {
                claim,
                verifier: &verifier,
                kv_version,
            },
        )
        .await
    }

    /// `LOGIN`, comment, membership and the recorded OID: whatever of these differs.
    ///
    /// # Errors
    /// As [`Self::create_role`].
    pub async fn repair_role(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &roles::RepairRole(claim)).await
    }

    /// Makes the database; success if it is there and ours.
    ///
    /// # Errors
    /// `Conflict` if it is another's, or was recorded once and is gone (T5); `Privileges`.
    pub async fn create_database(
        &self,
        target: &ServerTarget,
        claim: &Claim,
    ) -> Result<(), Failure> {
        self.perform(target, &databases::CreateDatabase(claim))
            .await
    }

    /// Takes `CONNECT` and `TEMPORARY` from `PUBLIC`.
    ///
    /// # Errors
    /// `Conflict`, `Stale`; `Blocked` if another role than the owner granted them.
    pub async fn close_database(
        &self,
        target: &ServerTarget,
        claim: &Claim,
    ) -> Result<(), Failure> {
        self.perform(target, &databases::CloseDatabase(claim)).await
    }

    /// Gives the database back to its role and lets connections in: whatever of these differs.
    ///
    /// # Errors
    /// `Conflict`, `Stale`; `Blocked` for a database whose drop was interrupted.
    pub async fn repair_database(
        &self,
        target: &ServerTarget,
        claim: &Claim,
    ) -> Result<(), Failure> {
        self.perform(target, &databases::RepairDatabase(claim))
            .await
    }

    /// Installs one extension with what it requires; success if it is installed.
    ///
    /// # Errors
    /// `NotInstallable` (T6); `Rejected` if something in the database is in the way.
    pub async fn create_extension(
        &self,
        target: &ServerTarget,
        claim: &Claim,
        name: &ExtensionName,
    ) -> Result<(), Failure> {
        self.server(target)?
            .install(&self.settings, claim, name)
            .await
    }

    /// Records the database's OID, and adds to the recorded extensions.
    ///
    /// # Errors
    /// `Conflict`, or `Stale` if it is not the database with this OID.
    pub async fn record_database(
        &self,
        target: &ServerTarget,
        claim: &Claim,
        oid: u32,
        extensions: &BTreeSet<String>,
    ) -> Result<(), Failure> {
        self.perform(
            target,
            &claims::RecordDatabase {
                claim,
                oid,
                extensions,
            },
        )
        .await
    }

    /// Freezes the deletion policy unless one is frozen already (M3); `Delete` also makes the row's state `deleting`.
    ///
    /// # Errors
    /// `Stale` if the row changed.
    pub async fn freeze_policy(
        &self,
        target: &ServerTarget,
        claim: &Claim,
        policy: DeletionPolicy,
    ) -> Result<(), Failure> {
        self.perform(target, &claims::FreezePolicy { claim, policy })
            .await
    }

    /// `NOLOGIN`, and membership in the role; success if there is no such role.
    ///
    /// # Errors
    /// `Conflict`, `Stale`, `Privileges`.
    pub async fn forbid_login(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &roles::ForbidLogin(claim)).await
    }

    /// Ends the sessions in the database and waits for them to go; success if there is no such database.
    ///
    /// # Errors
    /// `Blocked` names what remains: pid, user and application.
    pub async fn end_sessions(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &blockers::EndSessions(claim)).await
    }

    /// Drops the database, if it is ours; success if there is none of that name.
    ///
    /// # Errors
    /// `Conflict` if it is another's; `Blocked` names what holds it.
    pub async fn drop_database(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &databases::DropDatabase(claim)).await
    }

    /// Drops the role, if it is ours and owns nothing; success if there is none of that name.
    ///
    /// # Errors
    /// `Conflict` if it is another's; `Blocked` names the databases in which something depends on it.
    pub async fn drop_role(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &roles::DropRole(claim)).await
    }

    /// Deletes the row of a Tenant whose policy is frozen as `Delete`; success if it is gone.
    ///
    /// # Errors
    /// `Stale` while the role is there, `Conflict` if the policy is not frozen.
    pub async fn release_claim(&self, target: &ServerTarget, claim: &Claim) -> Result<(), Failure> {
        self.perform(target, &claims::ReleaseClaim(claim)).await
    }

    /// Marks a row as unmanaged; success if there is none, or if it is being deleted (which it stays).
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn mark_unmanaged(
        &self,
        target: &ServerTarget,
        cluster_uid: &Uid,
        tenant_uid: &Uid,
    ) -> Result<(), Failure> {
        self.perform(
            target,
            &claims::MarkUnmanaged {
                cluster_uid,
                tenant_uid,
            },
        )
        .await
    }

    /// Closes the pool of an Instance that is gone.
    pub fn retire(&self, instance_uid: &Uid) {
        if let Some(server) = self.lock().remove(instance_uid) {
            server.close();
        }
    }

    /// True while there is a pool for this Instance.
    #[cfg(test)]
    pub(crate) fn knows(&self, instance_uid: &Uid) -> bool {
        self.lock().contains_key(instance_uid)
    }

    async fn perform<W: Work>(
        &self,
        target: &ServerTarget,
        work: &W,
    ) -> Result<W::Output, Failure> {
        self.server(target)?.perform(&self.settings, work).await
    }

    /// The Instance's server; another endpoint, credential or trust closes the old pool and begins a new one.
    fn server(&self, target: &ServerTarget) -> Result<Arc<Server>, Failure> {
        let identity = Identity::of(target, &self.settings);
        let mut servers = self.lock();
        if let Some(server) = servers
            .get(&target.binding.uid)
            .filter(|server| server.identity == identity)
        {
            return Ok(Arc::clone(server));
        }
        let server = Arc::new(Server::new(identity, target, &self.settings)?);
        if let Some(old) = servers.insert(target.binding.uid.clone(), Arc::clone(&server)) {
            old.close();
        }
        Ok(server)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Uid, Arc<Server>>> {
        // A panic elsewhere leaves the map whole: each change of it is one call.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The registry's column is a signed number.
fn storable(kv_version: u64) -> Result<i64, Failure> {
    i64::try_from(kv_version)
        .map_err(|_| Failure::new(Class::Rejected, "the KV version is out of range"))
}
