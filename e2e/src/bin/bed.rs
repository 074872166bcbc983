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
    Up {
        /// With a node that runs pods, all in namespaces of its own; needs root and writable cgroups.
        #[arg(long)]
        node: bool,
    },
    /// Run a command in the network of a bed with a node, with its exports.
    In {
        /// The command and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Give the node of a bed the images of an OCI archive.
    Image {
        /// The archive.
        archive: std::path::PathBuf,
    },
    /// Stop the bed and remove its run folder.
    Down,
    /// Print what to export.
    Env,
    /// Install the chart and start Tenantry as the chart's ServiceAccount; `down` stops it too.
    Tenantry,
}

// On one thread, because that thread enters the network of a bed with a node.
#[tokio::main(flavor = "current_thread")]
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
        Command::Up { node } => {
            let mut options = Options::default().openbao_in_memory();
            if node {
                options = options.with_node();
            }
            print_exports(&bed::up(name, options).await?)
        }
        Command::In { command } => run_inside(name, &command),
        Command::Image { archive } => {
            let description = bed::running(name)?.context("no bed is running: run `make bed`")?;
            // The command that imports it runs in another folder.
            let archive = std::path::absolute(archive)?;
            Bed::open(description)?.import_image(&archive).await
        }
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

/// Becomes the command.
fn run_inside(name: &str, command: &[String]) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    let description = bed::running(name)?.context("no bed is running: run `make bed NODE=1`")?;
    let exports = description.exports()?;
    // Opened for its network alone.
    let _bed = Bed::open(description)?;
    let (program, arguments) = command.split_first().context("no command")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let variables = exports
        .into_iter()
        .map(|(key, value)| (key, value.replace("$PATH", &path)));
    let mut child = std::process::Command::new(program);
    child.args(arguments).envs(variables);
    Err(child.exec()).with_context(|| format!("running {program}"))
}

fn print_exports(description: &Description) -> Result<()> {
    for (key, value) in description.exports()? {
        println!("export {key}=\"{value}\"");
    }
    Ok(())
}
