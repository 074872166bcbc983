//! `bed.json`: what a story or a person needs to know to use a running bed.
//!
//! Holds addresses and paths only; secrets lie in files of their own beside it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::folder::RunFolder;

/// A running bed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The run folder.
    pub folder: PathBuf,
    /// Folder with a log per process.
    pub logs: PathBuf,
    /// Certificate of the bed's authority (API server, PostgreSQL and Tenantry serve with certificates from it).
    pub ca_file: PathBuf,
    /// Kubeconfig of the cluster's administrator.
    pub kubeconfig: PathBuf,
    /// URL of the API server.
    pub kubernetes_url: String,
    /// OpenBao.
    pub openbao: OpenBaoDescription,
    /// The bed's PostgreSQL.
    pub postgres: PostgresDescription,
    /// Folders of the programs.
    pub programs: Programs,
    /// Whether External Secrets Operator and its CRDs are there.
    pub external_secrets: bool,
}

/// How OpenBao is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenBaoDescription {
    /// Its URL, plain HTTP on loopback.
    pub address: String,
    /// File with the root token.
    pub root_token_file: PathBuf,
    /// File with the one unseal key.
    pub unseal_key_file: PathBuf,
}

/// How a PostgreSQL server is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PostgresDescription {
    /// Name of the server in the bed (and of its log).
    pub name: String,
    /// Major version.
    pub major: u8,
    /// DNS name in its certificate; resolves nowhere.
    pub host: String,
    /// Address in its certificate; it listens on 127.0.0.2 too, which is not in it.
    pub host_address: String,
    /// TCP port.
    pub port: u16,
    /// Folder of the unix socket, where the superuser `postgres` needs no password.
    pub socket_folder: PathBuf,
    /// The administrator that Tenantry uses: LOGIN CREATEDB CREATEROLE, no superuser.
    pub admin_user: String,
    /// File with the administrator's password, without a line end.
    pub admin_password_file: PathBuf,
    /// The same as a `PGPASSFILE`.
    pub pgpass_file: PathBuf,
    /// The management database that the bed made.
    pub management_database: String,
}

/// Folders of the programs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Programs {
    /// `kubectl`.
    pub kubernetes: PathBuf,
    /// `helm`.
    pub helm: PathBuf,
    /// `bao`.
    pub openbao: PathBuf,
    /// The server programs of PostgreSQL, where its own user can read them.
    pub postgresql: PathBuf,
}

impl Description {
    /// Writes `bed.json`.
    pub fn save(&self, run: &RunFolder) -> Result<PathBuf> {
        let path = run.join("bed.json");
        fs::write(&path, serde_json::to_string_pretty(self)?)?;
        Ok(path)
    }

    /// Reads a `bed.json`.
    pub fn load(path: &std::path::Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// The variables to export for using the bed by hand, in order.
    pub fn exports(&self) -> Result<Vec<(&'static str, String)>> {
        let path = |path: &PathBuf| path.display().to_string();
        let programs = [
            &self.programs.kubernetes,
            &self.programs.helm,
            &self.programs.openbao,
        ];
        Ok(vec![
            ("TENANTRY_BED", path(&self.folder.join("bed.json"))),
            ("TENANTRY_BED_LOGS", path(&self.logs)),
            ("KUBECONFIG", path(&self.kubeconfig)),
            ("BAO_ADDR", self.openbao.address.clone()),
            (
                "BAO_TOKEN",
                fs::read_to_string(&self.openbao.root_token_file)?,
            ),
            ("VAULT_TOKEN_FILE", path(&self.openbao.root_token_file)),
            ("PGHOST", self.postgres.host.clone()),
            ("PGHOSTADDR", self.postgres.host_address.clone()),
            ("PGPORT", self.postgres.port.to_string()),
            ("PGUSER", self.postgres.admin_user.clone()),
            ("PGDATABASE", self.postgres.management_database.clone()),
            ("PGPASSFILE", path(&self.postgres.pgpass_file)),
            ("PGSSLMODE", "verify-full".to_owned()),
            ("PGSSLROOTCERT", path(&self.ca_file)),
            (
                "TENANTRY_BED_ADMIN_PASSWORD_FILE",
                path(&self.postgres.admin_password_file),
            ),
            (
                "TENANTRY_BED_SUPERUSER_SOCKET",
                path(&self.postgres.socket_folder),
            ),
            ("PATH", format!("{}:$PATH", programs.map(path).join(":"))),
        ])
    }
}
