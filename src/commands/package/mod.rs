//! `tenantry package …`: what an author may ask of a package without a cluster.
//!
//! Decides the order of each command: read everything, ask the domain, print. No rule of packages is here.
//!
//! Reading order: `input` (files to documents), then one file a command.

mod input;
mod push;
mod render;
mod verify;

use crate::cli::PackageCommand;

/// Does what the subcommand says; gives the exit code.
#[must_use]
pub fn package(command: &PackageCommand) -> u8 {
    match command {
        PackageCommand::Verify(options) => verify::verify(options),
        PackageCommand::Push(options) => push::push(options),
        PackageCommand::RenderSettings(options) => render::render(options),
    }
}
