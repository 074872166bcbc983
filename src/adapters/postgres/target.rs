//! Which server is spoken to, with which credential, and within which limits.
//!
//! Decides nothing about connections. The admin's name is a secret here like the password (C5): it leaves this module only into
//! the login itself.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use certs::Trust;
use domain::tenancy::capability::TargetBinding;
use domain::tenancy::names::Uid;
use secrecy::{ExposeSecret, SecretString};

/// The admin's user name and password, as the referenced Secret has them now.
pub struct AdminCredential {
    username: SecretString,
    password: SecretString,
}

/// Tells two credentials apart without holding either: salted anew in each process, of no use outside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64, u64);

impl AdminCredential {
    /// The credential as read.
    #[must_use]
    pub fn new(username: SecretString, password: SecretString) -> Self {
        Self { username, password }
    }

    /// Equal for an equal user name and password, in this process; a change of it is the effective change that rebuilds the pool.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        static SALTS: LazyLock<(RandomState, RandomState)> = LazyLock::new(Default::default);
        let pair = (self.username.expose_secret(), self.password.expose_secret());
        Fingerprint(SALTS.0.hash_one(pair), SALTS.1.hash_one(pair))
    }

    pub(super) fn username(&self) -> &SecretString {
        &self.username
    }

    pub(super) fn password(&self) -> &SecretString {
        &self.password
    }
}

/// One Instance as it is configured now.
#[derive(Clone)]
pub struct ServerTarget {
    /// Instance, generation, endpoint and credential reference: what an observation is bound to (I1, I12).
    pub binding: TargetBinding,
    /// The credential that the reference led to.
    pub credential: Arc<AdminCredential>,
}

/// Limits and trust, the same for every Instance.
#[derive(Clone)]
pub struct PostgresSettings {
    /// Whom `verify-ca` and `verify-full` trust; a change of it makes new pools.
    pub trust: Arc<Trust>,
    /// For dialling, TLS and login together, and for the wait for a free connection.
    pub connect_timeout: Duration,
    /// For one call that only reads or changes catalog rows.
    pub statement_timeout: Duration,
    /// For `CREATE DATABASE`, `DROP DATABASE`, `CREATE EXTENSION` and a migration.
    pub ddl_timeout: Duration,
    /// Connections to the management database, per Instance.
    pub pool_size: usize,
    /// Short-lived connections beside the pool (tenant databases, login probes), per Instance.
    pub visits: usize,
    /// A pooled connection that was idle for longer is closed: a firewall may have forgotten it, or a credential been withdrawn.
    pub idle_most: Duration,
}

impl PostgresSettings {
    /// The defaults: 4 pooled and 2 short-lived connections, so at most 6 to one server however many Tenants it has (D14).
    #[must_use]
    pub fn new(trust: Arc<Trust>) -> Self {
        Self {
            trust,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            ddl_timeout: Duration::from_secs(60),
            pool_size: 4,
            visits: 2,
            idle_most: Duration::from_secs(60),
        }
    }
}

/// What [`super::Postgres::observe`] looks for: a Tenant and the names that it would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerQuery {
    /// UID of the cluster's `kube-system` namespace.
    pub cluster_uid: Uid,
    /// UID of the Tenant.
    pub tenant_uid: Uid,
    /// Namespace of the Tenant.
    pub namespace: String,
    /// Name of the Tenant.
    pub name: String,
    /// The effective database; the claim's own name wins where there is a claim.
    pub database: String,
    /// The effective role; likewise.
    pub role: String,
    /// Count the client sessions in the database: only a deletion asks.
    pub sessions: bool,
}

/// How closely a server is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Access, version, attributes and registry.
    Essentials,
    /// Also which extensions can be installed: the server reads a file for each.
    Extensions,
    /// Also by a new login and by trying the admin's rights out, in a transaction that is rolled back.
    Rights,
}

/// The row of a new claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewClaim {
    /// UID of the cluster's `kube-system` namespace.
    pub cluster_uid: Uid,
    /// UID of the Tenant.
    pub tenant_uid: Uid,
    /// UID of the Instance.
    pub instance_uid: Uid,
    /// Namespace of the Tenant.
    pub namespace: String,
    /// Name of the Tenant.
    pub name: String,
    /// The database to claim.
    pub database: String,
    /// The role to claim.
    pub role: String,
    /// The target Secret.
    pub secret_name: String,
    /// Where the password will be, under the mount.
    pub secret_path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(username: &str, password: &str) -> AdminCredential {
        AdminCredential::new(username.to_owned().into(), password.to_owned().into())
    }

    #[test]
    fn only_an_effective_change_of_the_credential_changes_the_fingerprint() {
        let first = credential("admin", "secret").fingerprint();
        assert!(first == credential("admin", "secret").fingerprint());
        for other in [
            ("admin", "secret2"),
            ("admin2", "secret"),
            ("adminsecret", ""),
            ("admins", "ecret"),
        ] {
            assert!(
                first != credential(other.0, other.1).fingerprint(),
                "{other:?}"
            );
        }
    }
}
