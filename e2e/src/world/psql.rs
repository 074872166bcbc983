//! The real `psql`, as an application would log in.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::command::{Output, output};
use crate::Bed;
use crate::bed::PostgresDescription;

/// A login by TCP and TLS (`verify-full` unless changed).
#[derive(Clone)]
pub struct Login {
    /// Name in the server's certificate.
    pub host: String,
    /// Address that is connected to.
    pub host_address: String,
    /// TCP port.
    pub port: u16,
    /// Database.
    pub database: String,
    /// Role.
    pub user: String,
    /// Its password; given to psql in the environment.
    pub password: String,
    /// `disable` … `verify-full`.
    pub ssl_mode: String,
    /// Authority that must have signed the server's certificate.
    pub ca_file: PathBuf,
}

impl Login {
    /// A login to a server of the bed.
    #[must_use]
    pub fn new(
        bed: &Bed,
        server: &PostgresDescription,
        database: &str,
        user: &str,
        password: &str,
    ) -> Self {
        Self {
            host: server.host.clone(),
            host_address: server.host_address.clone(),
            port: server.port,
            database: database.to_owned(),
            user: user.to_owned(),
            password: password.to_owned(),
            ssl_mode: "verify-full".to_owned(),
            ca_file: bed.description().ca_file.clone(),
        }
    }

    /// Runs one or more statements; the output is their rows, unaligned and without headers.
    pub async fn query(&self, sql: &str) -> Result<Output> {
        let mut command = Command::new("psql");
        command.args([
            "--no-psqlrc",
            "--no-align",
            "--tuples-only",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--file=-",
        ]);
        command
            .env("PGHOST", &self.host)
            .env("PGHOSTADDR", &self.host_address)
            .env("PGPORT", self.port.to_string())
            .env("PGDATABASE", &self.database)
            .env("PGUSER", &self.user)
            .env("PGPASSWORD", &self.password)
            .env("PGSSLMODE", &self.ssl_mode)
            .env("PGSSLROOTCERT", &self.ca_file)
            .env("PGCONNECT_TIMEOUT", "10");
        output(command, sql).await
    }
}
