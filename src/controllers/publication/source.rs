//! The directory as what it offers: scanned again and again, and judged only where files changed.
//!
//! Decides when a directory is still. What is published of files is the domain's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use domain::packages::files::Files;
use domain::packages::names::{LOCAL_REPOSITORY, VersionId};
use domain::packages::publication::{LoadReason, Refusal};
use domain::packages::repository::Problem;

use crate::controllers::judged::{Judged, deep, judge};
use crate::packages::repository::{Scanned, scan};

/// What is offered of one version.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    files: Result<Files, String>,
    pub(super) judged: Judged,
}

/// See the module text.
pub(super) struct Source {
    directory: PathBuf,
    scanned: Scanned,
    offered: BTreeMap<VersionId, Offered>,
    /// Two looks in a row saw the same.
    still: bool,
    /// What is offered was not carried to the API server yet.
    changed: bool,
}

impl Source {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            scanned: Scanned::default(),
            offered: BTreeMap::new(),
            still: false,
            changed: true,
        }
    }

    /// Looks; true if something is to be carried to the API server. `None` if the look itself died.
    pub(super) async fn look(&mut self) -> Option<bool> {
        let directory = self.directory.clone();
        let scanned = deep(move || scan(&directory, LOCAL_REPOSITORY)).await?;
        if scanned != self.scanned {
            self.still = false;
            self.scanned = scanned;
            return Some(false);
        }
        if !self.still {
            self.still = true;
            self.changed = true;
            self.judge().await?;
        }
        Some(self.changed)
    }

    pub(super) const fn is_still(&self) -> bool {
        self.still
    }

    /// Everything was carried over, or will be tried again.
    pub(super) const fn acted(&mut self, done: bool) {
        self.changed = self.changed && !done;
    }

    pub(super) const fn offered(&self) -> &BTreeMap<VersionId, Offered> {
        &self.offered
    }

    /// What a scan left out.
    pub(super) fn problems(&self) -> Vec<Problem> {
        self.scanned.problems.clone()
    }

    /// True if what is not offered was taken away.
    pub(super) const fn is_complete(&self) -> bool {
        self.scanned.complete
    }

    /// The API server did not take what would be published; it is not tried again until the files change.
    pub(super) fn not_stored(&mut self, id: &VersionId, text: &str) {
        if let Some(offered) = self.offered.get_mut(id) {
            offered.judged.outcome = Err(Refusal::new(LoadReason::NotStored, text));
        }
    }

    /// Judges what changed, on a thread of its own; the rest is taken over.
    async fn judge(&mut self) -> Option<()> {
        let before = std::mem::take(&mut self.offered);
        let versions = self.scanned.versions.clone();
        self.offered = deep(move || offered(versions, before)).await?;
        Some(())
    }
}

fn offered(
    versions: BTreeMap<VersionId, Result<Files, String>>,
    mut before: BTreeMap<VersionId, Offered>,
) -> BTreeMap<VersionId, Offered> {
    let mut offered = BTreeMap::new();
    for (id, files) in versions {
        let known = before.remove(&id).filter(|known| known.files == files);
        let now = known.unwrap_or_else(|| {
            let judged = judge(&id, files.clone());
            Offered { files, judged }
        });
        offered.insert(id, now);
    }
    offered
}
