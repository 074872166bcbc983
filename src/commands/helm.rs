//! The two processes around helm that no person starts: one that becomes helm and dies with us, and helm's post-renderer.
//!
//! What is put on objects, and which are refused, is the domain's (`domain::releases`).

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use domain::releases::marks::mark;
use domain::releases::{Instance, scope, stream};
use rustix::process::{Pid, Signal};

use crate::adapters::helm::request::Request;
use crate::cli::{HelmExecOptions, HelmPostRenderOptions};

/// The most bytes that templates may render.
const RENDERED_MAX: u64 = 64 << 20;

/// Becomes helm; comes back only if that failed.
pub(super) fn execute(options: &HelmExecOptions) -> ExitCode {
    let bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // It may have died before the signal was set.
    let parent = rustix::process::getppid().map(Pid::as_raw_pid);
    let alive = parent.and_then(|parent| u32::try_from(parent).ok()) == Some(options.parent);
    if bound.is_err() || !alive {
        return ExitCode::FAILURE;
    }
    let mut command = options.command.iter();
    let Some(program) = command.next() else {
        return ExitCode::FAILURE;
    };
    let error = Command::new(program).args(command).exec();
    eprintln!("Error: helm cannot be executed: {error}");
    ExitCode::FAILURE
}

/// Objects come in and go out; a refusal is written where the request says, since helm passes on nothing else.
pub(super) fn post_render(options: &HelmPostRenderOptions) -> ExitCode {
    let request = fs::read(&options.request).ok();
    let request = request.and_then(|bytes| serde_json::from_slice::<Request>(&bytes).ok());
    let Some(request) = request else {
        return ExitCode::FAILURE;
    };
    match rendered(&request) {
        Ok(text) => match io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(refusal) => {
            // Without it helm's own words are told.
            let _ = fs::write(&request.refusal, refusal);
            ExitCode::FAILURE
        }
    }
}

fn rendered(request: &Request) -> Result<String, String> {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(RENDERED_MAX + 1);
    input
        .read_to_string(&mut text)
        .map_err(|error| format!("what the templates rendered cannot be read: {error}"))?;
    if text.len() as u64 > RENDERED_MAX {
        return Err(format!(
            "the templates rendered more than {} MiB",
            RENDERED_MAX >> 20
        ));
    }
    let mut objects = stream::read(&text).map_err(|error| error.to_string())?;
    if let Some(kinds) = &request.kinds {
        scope::check(&objects, &request.namespace, kinds).map_err(|error| error.to_string())?;
    }
    let instance = Instance {
        namespace: request.namespace.clone(),
        name: request.instance.clone(),
    };
    for object in &mut objects {
        mark(object, &instance, &request.package);
    }
    Ok(stream::write(&objects))
}
