//! From a version's files to what is published of it, on a thread with room for schemas that nest.
//!
//! What is published, and what is refused, is the domain's.

use domain::packages::files::Files;
use domain::packages::names::VersionId;
use domain::packages::publication::{LoadReason, Noted, Publication, Refusal, publication};
use domain::settings::limits::Limits;

/// Stack of the thread that judges schemas and rules; the domain's limits stay far below it.
const STACK: usize = 16 << 20;

/// What came of a version's files.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    /// What is published, or why not.
    pub(super) outcome: Result<Publication, Refusal>,
    /// `type` of package.yaml.
    pub(super) kind: Option<String>,
}

impl From<Refusal> for Judged {
    fn from(refusal: Refusal) -> Self {
        Self {
            outcome: Err(refusal),
            kind: None,
        }
    }
}

/// Judges files, or says why there are none; call it on [`deep`].
pub(super) fn judge(id: &VersionId, files: Result<Files, String>) -> Judged {
    let noted = match files {
        Ok(files) => publication(&files, &id.package, &Limits::DEFAULT),
        Err(text) => Err(Refusal::new(LoadReason::Unreadable, text)),
    };
    match noted {
        Ok(Noted {
            publication,
            kind,
            notes,
        }) => {
            for note in notes {
                tracing::info!(version = %id.object_name(), %note, "a package has a mistake that stops nothing");
            }
            Judged {
                outcome: Ok(publication),
                kind,
            }
        }
        Err(refusal) => refusal.into(),
    }
}

/// Runs work that recurses on a thread with room for it; `None` if it panicked.
pub(super) async fn deep<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (tell, told) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("packages".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody listens any more only when the process ends.
            let _sent = tell.send(work());
        });
    thread.ok()?;
    told.await.ok()
}
