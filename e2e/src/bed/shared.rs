//! The bed that stays: `bed up`, `bed down` and how tests find it.
//!
//! Decides by a pointer file (`run/NAME` in the cache folder) which bed is meant; `current` is the one of `make bed`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::address::has_node;
use super::description::Description;
use super::folder::RunFolder;
use super::logs::Marks;
use super::node::Node;
use super::process::{Process, stop_bed};
use super::{Bed, Options, binaries};

/// The pointer file of the bed called `name`.
pub fn pointer_file(name: &str) -> Result<PathBuf> {
    Ok(binaries::cache()?.join("run").join(name))
}

/// The running bed called `name`, if there is one that is whole.
pub fn running(name: &str) -> Result<Option<Description>> {
    let Some(run) = pointed_at(name)? else {
        return Ok(None);
    };
    let Ok(description) = Description::load(&run.join("bed.json")) else {
        return Ok(None);
    };
    Ok(Process::all(&run)
        .iter()
        .all(Process::is_alive)
        .then_some(description))
}

/// Starts the bed called `name`, or finds it running. One that lost a part, or is not what the options ask for, is stopped first.
pub async fn up(name: &str, options: Options) -> Result<Description> {
    let pointer = pointer_file(name)?;
    let folder = pointer.parent().context("the pointer file has no folder")?;
    fs::create_dir_all(folder)?;
    // Two `bed up` at once: the second waits and finds the first one's bed.
    let lock = File::create(folder.join(format!("{name}.lock")))?;
    lock.lock()?;
    if let Some(description) = running(name)? {
        let node = has_node(&RunFolder::open(&description.folder)?);
        if description.postgres.major == options.postgres_major && node == options.node {
            return Ok(description);
        }
        eprintln!(
            "the running bed has PostgreSQL {} and {} node: stopping it",
            description.postgres.major,
            if node { "a" } else { "no" }
        );
    }
    down(name)?;
    let bed = Bed::start(options).await?;
    fs::write(&pointer, bed.folder().path().as_os_str().as_encoded_bytes())?;
    Ok(bed.leave_running().description().clone())
}

/// Stops the bed called `name` and removes its run folder; false if there was none.
pub fn down(name: &str) -> Result<bool> {
    let Some(run) = pointed_at(name)? else {
        return Ok(false);
    };
    stop_bed(&run);
    run.remove()?;
    fs::remove_file(pointer_file(name)?)?;
    Ok(true)
}

/// A handle on the shared bed for a test.
pub fn attach() -> Result<Bed> {
    let description = match std::env::var_os("TENANTRY_BED") {
        Some(file) => Description::load(Path::new(&file))?,
        None => running("current")?
            .context("no bed is running: run `make bed`, or set TENANTRY_BED to its bed.json")?,
    };
    open(description)
}

/// A handle on a running bed.
pub fn open(description: Description) -> Result<Bed> {
    ensure!(
        description.folder.is_dir(),
        "the bed in {} is gone: run `make bed`",
        description.folder.display()
    );
    let run = RunFolder::open(&description.folder)?;
    if has_node(&run) {
        Node::enter(&run)?;
    }
    let log_marks = Marks::now(&run);
    Ok(Bed {
        run,
        description,
        private: false,
        log_marks,
    })
}

/// The run folder that the pointer file names, if both are there.
fn pointed_at(name: &str) -> Result<Option<RunFolder>> {
    let Ok(folder) = fs::read_to_string(pointer_file(name)?) else {
        return Ok(None);
    };
    Ok(RunFolder::open(folder.trim()).ok())
}
