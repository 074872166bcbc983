//! Starts one PostgreSQL of the bed for the adapter's tests, prints where it is, and stops it on SIGTERM or SIGINT.
//! `server MAJOR DESCRIPTION-FILE`

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use e2e::bed::RunFolder;
use e2e::bed::pki::Authority;
use e2e::bed::postgres::Postgres;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let major: u8 = arguments.next().context("no major")?.parse()?;
    let file = PathBuf::from(arguments.next().context("no file")?);
    let cache = PathBuf::from(std::env::var("HOME")?).join(".cache/tenantry-bed");
    let install = std::fs::read_dir(&cache)?
        .filter_map(Result::ok)
        .find(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(&format!("postgresql-{major}."))
        })
        .context("that major is not installed")?
        .path();
    let run = RunFolder::create()?;
    let authority = Authority::create(&run, "authority")?;
    let server = Postgres::create(&run, &authority, &install, "postgresql", major).await?;
    let text = serde_json::json!({"run": run.path(), "authority": authority.file(), "server": server.description()});
    std::fs::write(&file, text.to_string())?;
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! { _ = term.recv() => {}, _ = tokio::signal::ctrl_c() => {} }
    server.stop();
    run.remove()
}
