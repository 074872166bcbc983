//! PostgreSQL servers of the bed: TLS from the bed's authority, SCRAM, an administrator that is no superuser.
//!
//! Decides their settings and their start and stop. Never durable: fsync is off, because a bed is thrown away.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::Signal;
use nix::unistd::{Uid, User};

use super::address;
use super::description::PostgresDescription;
use super::folder::RunFolder;
use super::pki::Authority;
use super::ports::free_port;
use super::process::{Process, Spawn};
use super::wait::until;

/// The DNS name in the servers' certificates.
pub const HOST: &str = "postgresql.bed.test";
/// The administrator that Tenantry connects as.
pub const ADMIN: &str = "tenantry_admin";
/// The management database that each server has from the start.
pub const MANAGEMENT_DATABASE: &str = "tenantry";

/// A server of the bed, running or stopped.
#[derive(Clone, Debug)]
pub struct Postgres {
    run: RunFolder,
    description: PostgresDescription,
}

impl Postgres {
    /// Makes and starts a server called `name`, from the install tree at `install`.
    pub async fn create(
        run: &RunFolder,
        authority: &Authority,
        install: &Path,
        name: &str,
        major: u8,
    ) -> Result<Self> {
        copy_install_tree(install, &run.join("postgresql-programs"))?;
        let folder = run.join(name);
        fs::create_dir(&folder)?;
        let description = PostgresDescription {
            name: name.to_owned(),
            major,
            host: HOST.to_owned(),
            host_address: address::of(run).to_string(),
            port: free_port()?,
            socket_folder: folder.join("socket"),
            admin_user: ADMIN.to_owned(),
            admin_password_file: run.join(format!("pki/{name}-admin-password")),
            pgpass_file: run.join(format!("pki/{name}-pgpass")),
            management_database: MANAGEMENT_DATABASE.to_owned(),
        };
        let server = Self {
            run: run.clone(),
            description,
        };
        server.init(authority).await?;
        server.start().await?;
        server.create_administrator().await?;
        Ok(server)
    }

    /// Takes up a server that runs or ran in this bed.
    #[must_use]
    pub fn open(run: &RunFolder, description: &PostgresDescription) -> Self {
        Self {
            run: run.clone(),
            description: description.clone(),
        }
    }

    /// How it is reached.
    #[must_use]
    pub fn description(&self) -> &PostgresDescription {
        &self.description
    }

    /// The administrator's password.
    pub fn admin_password(&self) -> Result<String> {
        Ok(fs::read_to_string(&self.description.admin_password_file)?)
    }

    /// Starts the server (again) and waits until it takes connections.
    pub async fn start(&self) -> Result<()> {
        let mut spawn = Spawn::new(&self.description.name, self.program("postgres"))
            .args(["-D"])
            .args([self.data()]);
        // The "fast" shutdown: SIGTERM would wait for clients to leave.
        spawn.stop_signal = Signal::SIGINT;
        self.run_as_server_user(&mut spawn.command)?;
        let process = spawn.start(&self.run)?;
        until(
            Duration::from_secs(30),
            "PostgreSQL takes connections",
            async || {
                process.check(&self.run)?;
                self.superuser("postgres").await.map(drop)
            },
        )
        .await
    }

    /// Stops the server; clients are cut off, data stay.
    pub fn stop(&self) {
        if let Some(process) = Process::recorded(&self.run, &self.description.name) {
            process.stop(&self.run);
        }
    }

    /// A connection as the superuser through the unix socket.
    pub async fn superuser(&self, database: &str) -> Result<tokio_postgres::Client> {
        let (client, connection) = tokio_postgres::Config::new()
            .host_path(&self.description.socket_folder)
            .port(self.description.port)
            .user("postgres")
            .dbname(database)
            .connect(tokio_postgres::NoTls)
            .await
            .with_context(|| {
                format!(
                    "connecting to {database} of {} as superuser",
                    self.description.name
                )
            })?;
        // Ends when the client is dropped; a cut connection shows in the client's next call.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Makes a database in which the administrator may keep Tenantry's registry; one per story isolates them.
    pub async fn create_management_database(&self, name: &str) -> Result<()> {
        let quoted = quote_identifier(name);
        let client = self.superuser("postgres").await?;
        client
            .batch_execute(&format!("CREATE DATABASE {quoted} TEMPLATE template0"))
            .await?;
        client
            .batch_execute(&format!("GRANT CREATE ON DATABASE {quoted} TO {ADMIN}"))
            .await?;
        Ok(())
    }

    async fn create_administrator(&self) -> Result<()> {
        // Every character that a connection string, a URL, a shell or SQL could trip over.
        let password = format!(
            "@:/?#% '\"{:016x}{:016x}",
            rand::random::<u64>(),
            rand::random::<u64>()
        );
        super::folder::write_private(&self.description.admin_password_file, &password)?;
        let pgpass = password.replace('\\', "\\\\").replace(':', "\\:");
        super::folder::write_private(
            &self.description.pgpass_file,
            &format!("*:*:*:{ADMIN}:{pgpass}\n"),
        )?;
        // A verifier instead of the password, because the server logs every statement.
        let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
        let client = self.superuser("postgres").await?;
        client
            .batch_execute(&format!(
                "CREATE ROLE {ADMIN} LOGIN CREATEDB CREATEROLE PASSWORD '{verifier}'"
            ))
            .await
            .context("creating the administrator")?;
        self.create_management_database(MANAGEMENT_DATABASE).await
    }

    async fn init(&self, authority: &Authority) -> Result<()> {
        let name = &self.description.name;
        let owner = server_user()?;
        let folder = self.run.join(name);
        fs::create_dir(&self.description.socket_folder)?;
        for path in [&folder, &self.description.socket_folder] {
            give(path, owner.as_ref())?;
        }
        let mut command = Command::new(self.program("initdb"));
        command.arg("-D").arg(self.data());
        command.args([
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        ]);
        self.run_as_server_user(&mut command)?;
        let output = tokio::process::Command::from(command)
            .output()
            .await
            .context("running initdb")?;
        ensure!(
            output.status.success(),
            "initdb failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );

        let certificate = authority.serving(name, &[HOST])?;
        for (from, to) in [
            (&certificate.certificate, "server.crt"),
            (&certificate.key, "server.key"),
        ] {
            let to = self.data().join(to);
            fs::copy(from, &to)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600))?;
            give(&to, owner.as_ref())?;
        }
        fs::write(
            self.data().join("pg_hba.conf"),
            format!(
                "{HBA}hostssl   all all {}     scram-sha-256\n",
                address::PODS
            ),
        )?;
        let conf = self.data().join("postgresql.conf");
        let mut text = fs::read_to_string(&conf)?;
        write!(text, "{CONF}\nport = {}\n", self.description.port)?;
        if address::has_node(&self.run) {
            writeln!(
                text,
                "listen_addresses = '127.0.0.1,127.0.0.2,{}'",
                address::BRIDGE
            )?;
        }
        writeln!(
            text,
            "unix_socket_directories = '{}'",
            self.description.socket_folder.display()
        )?;
        fs::write(&conf, text)?;
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.run.join(&self.description.name).join("data")
    }

    fn program(&self, name: &str) -> PathBuf {
        self.run.join("postgresql-programs/bin").join(name)
    }

    /// PostgreSQL refuses to run as root: there it runs as `nobody`.
    fn run_as_server_user(&self, command: &mut Command) -> Result<()> {
        command.env("LD_LIBRARY_PATH", self.run.join("postgresql-programs/lib"));
        // A folder that the server's user can enter.
        command.current_dir(self.run.join(&self.description.name));
        if let Some(user) = server_user()? {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        Ok(())
    }
}

const HBA: &str = "\
local     all all                  trust
hostssl   all all 127.0.0.0/8      scram-sha-256
hostnossl all all 127.0.0.0/8      scram-sha-256
";

const CONF: &str = "
# The settings of the test bed.
listen_addresses = '127.0.0.1,127.0.0.2'
ssl = on
password_encryption = 'scram-sha-256'
max_connections = 200
max_prepared_transactions = 5
fsync = off
synchronous_commit = off
full_page_writes = off
log_statement = 'all'
log_connections = on
log_line_prefix = '%m [%p] %q%u@%d '
";

/// Double-quotes an identifier.
#[must_use]
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// `nobody` where we are root, else `None`: ourselves.
fn server_user() -> Result<Option<User>> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    User::from_name("nobody")?
        .context("no user nobody to run PostgreSQL as")
        .map(Some)
}

fn give(path: &Path, owner: Option<&User>) -> Result<()> {
    if let Some(user) = owner {
        chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw()))
            .with_context(|| format!("giving {} to {}", path.display(), user.name))?;
    }
    Ok(())
}

/// Puts the programs where the server's user can read them (a home folder is often closed): hard links where the file
/// system allows, else copies.
fn copy_install_tree(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        return Ok(());
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_install_tree(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).with_context(|| format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}
