//! A jq filter applied to objects, in the confined process: the request is a file of the scratch folder, each object's outcome
//! a line of standard output.

use std::io::{self, Write as _};
use std::path::Path;

use domain::hooks::jq::Jq;
use domain::hooks::limits::HookLimits;

use crate::adapters::hooks::filter::{Outcome, REQUEST, Request};

/// A filter's terms nest as deeply as its text is long.
const STACK: usize = 64 << 20;

/// Reads the request, before the file is out of reach.
pub(super) fn request(scratch: &Path) -> io::Result<Request> {
    let bytes = std::fs::read(scratch.join(REQUEST))?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Applies the filter and prints the outcomes. What is not printed the server counts as failed.
pub(super) fn answer(request: &Request) {
    std::thread::scope(|scope| {
        let apply = || apply(request);
        let _ = std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, apply);
    });
}

fn apply(request: &Request) {
    const LIMITS: HookLimits = HookLimits::DEFAULT;
    let filter = Jq::compile(&request.filter, &LIMITS);
    let mut out = io::stdout().lock();
    for object in &request.objects {
        let outcome = match &filter {
            Ok(filter) => filter
                .apply(object, &LIMITS)
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let outcome = Outcome::from(outcome);
        let Ok(mut line) = serde_json::to_string(&outcome) else {
            return;
        };
        line.push('\n');
        if out
            .write_all(line.as_bytes())
            .and_then(|()| out.flush())
            .is_err()
        {
            return;
        }
    }
}
