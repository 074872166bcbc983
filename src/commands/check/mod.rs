//! `tenantry check FILE…`: admission over manifests without a cluster, for CI and editors.
//!
//! Decides the order: read everything, judge all of it together, report. Rules and words are those of the webhook and of the
//! schema; what only a cluster knows (other tenants, the server, an earlier version of the object) is not judged.
//!
//! Reading order: `manifests` beside this folder (files to objects), `judge` (objects to findings), `report` (findings to text or JSON).

mod judge;
mod report;

use domain::tenancy::endpoint::AddressPolicy;

use super::manifests::Input;
use crate::cli::CheckOptions;

/// Checks and reports; gives the exit code: 0 all valid, 1 something is invalid, 2 something could not be read.
#[must_use]
pub fn check(options: &CheckOptions) -> u8 {
    let input = Input::read(&options.files, options.recursive);
    let addresses = AddressPolicy::denying(options.deny_hostaddr.clone());
    let checked = judge::judge(&input.objects, &options.namespace, &addresses);
    let report = report::Report::of(&input, checked);
    if let Err(error) = report.show(options.output) {
        eprintln!("tenantry: standard output cannot be written to: {error}");
        return super::UNREADABLE;
    }
    report.exit_code()
}
