//! `tenantry crds`: prints the CRDs of this build, for `kubectl apply` without the chart.
//!
//! Decides nothing: the crate `crds` does.

use std::io;

/// Why they could not be printed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CrdsError {
    /// They have no YAML form.
    #[error("a CRD cannot be written as YAML")]
    Yaml(#[source] serde_saphyr::SerializeError),
    /// Standard output is closed or full.
    #[error("standard output cannot be written to")]
    Write(#[source] io::Error),
}

/// One YAML document a CRD: those of PostgreSQL tenancy, and with `applications` those of Applications and their packages.
pub(super) fn print(applications: bool) -> Result<(), CrdsError> {
    let mut text = String::new();
    let mut kinds = crds::tenancy_kinds();
    if applications {
        kinds.extend(crds::application_kinds());
    }
    for crd in kinds {
        let document = serde_saphyr::to_string(&crd).map_err(CrdsError::Yaml)?;
        text.push_str("---\n");
        text.push_str(document.trim_end());
        text.push('\n');
    }
    super::print(&text).map_err(CrdsError::Write)
}
