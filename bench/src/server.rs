//! Connections of the bare client: verified TLS, as Tenantry and applications make them.

use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context as _, Result};
use e2e::bed::PostgresDescription;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Logs in under `verify-full`.
pub async fn connect(
    server: &PostgresDescription,
    ca_file: &Path,
    database: &str,
    user: &str,
    password: &str,
) -> Result<Client> {
    let roots = certs::Roots::load(Some(ca_file))?;
    let address: IpAddr = server.host_address.parse()?;
    let tls = certs::client_config(certs::TlsMode::VerifyFull, &server.host, address, &roots)?;
    let (client, connection) = Config::new()
        .host(&server.host)
        .hostaddr(address)
        .port(server.port)
        .dbname(database)
        .user(user)
        .password(password)
        .ssl_mode(SslMode::Require)
        .connect(MakeRustlsConnect::new(tls))
        .await
        .with_context(|| format!("logging in to {database}"))?;
    // Ends when the client is dropped.
    tokio::spawn(connection);
    Ok(client)
}
