//! Decides when to look at the serving pair again, and what of it is worth a log line.
//!
//! It polls and compares bytes: a Secret volume swaps a symbolic link, which watches on files miss. It never ends by itself and
//! never takes the pair in force away.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::chain::chain;
use crate::store::{CertStore, Reload};

/// Looks at the files of `store` after each `interval` until `stop` completes (for example a cancelled token).
///
/// A change is logged once; a fault that stays the same is only counted. `refused` hears each new fault, in words that are safe
/// to show.
pub async fn watch(
    store: Arc<CertStore>,
    interval: Duration,
    stop: impl Future<Output = ()>,
    mut refused: impl FnMut(String),
) {
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => return,
            () = sleep(interval) => {}
        }
        let looked = Arc::clone(&store);
        // Files on a network volume may block.
        match tokio::task::spawn_blocking(move || looked.reload()).await {
            Ok(outcome) => {
                report(&outcome);
                if let Reload::Refused {
                    error,
                    repeated: false,
                } = &outcome
                {
                    refused(chain(error));
                }
            }
            Err(error) => {
                tracing::error!(%error, "the look at the serving certificate did not end");
            }
        }
    }
}

/// Logs what a look or an offer led to.
pub fn report(outcome: &Reload) {
    match outcome {
        Reload::Replaced { not_after } => {
            let seconds = not_after
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0, |since| since.as_secs());
            tracing::info!(
                not_after_unix_seconds = seconds,
                "the serving certificate was replaced"
            );
        }
        Reload::Refused {
            error,
            repeated: false,
        } => {
            tracing::warn!(
                error = chain(error),
                "the new serving certificate is not usable; the one in force stays"
            );
        }
        Reload::Refused { repeated: true, .. } | Reload::Unchanged => {}
    }
}
