//! `bed up`, `bed down`, `bed env`: the test bed for people and for the Makefile.
//!
//! Decides what is printed; what is started is the library's matter.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use e2e::bed::{self, Description};
use e2e::world::tenantry::Tenantry;
use e2e::{Bed, Options};

/// The test bed: real Kubernetes API server, PostgreSQL, OpenBao and External Secrets Operator on loopback.
#[derive(Parser)]
struct Arguments {
    /// Which bed; beds of different names run side by side.
    #[arg(long, default_value = "current")]
    name: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the bed, or find it running, and print what to export.
    Up,
    /// Stop the bed and remove its run folder.
    Down,
    /// Print what to export.
    Env,
    /// Install the chart and start Tenantry as the chart's ServiceAccount; `down` stops it too.
    Tenantry,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let name = &arguments.name;
    match arguments.command {
        Command::Up => print_exports(&bed::up(name, Options::default().openbao_in_memory()).await?),
        Command::Env => {
            print_exports(&bed::running(name)?.context("no bed is running: run `make bed`")?)
        }
        Command::Tenantry => start_tenantry(name).await,
        Command::Down => {
            let stopped = bed::down(name)?;
            eprintln!(
                "{}",
                if stopped {
                    "the bed is stopped"
                } else {
                    "no bed is running"
                }
            );
            Ok(())
        }
    }
}

async fn start_tenantry(name: &str) -> Result<()> {
    let description = bed::running(name)?.context("no bed is running: run `make bed`")?;
    let tenantry = Tenantry::shared(&Bed::open(description)?).await?;
    println!("export TENANTRY_URL=\"{}\"", tenantry.url);
    println!("export TENANTRY_LOG=\"{}\"", tenantry.log_file().display());
    Ok(())
}

fn print_exports(description: &Description) -> Result<()> {
    for (key, value) in description.exports()? {
        println!("export {key}=\"{value}\"");
    }
    Ok(())
}
