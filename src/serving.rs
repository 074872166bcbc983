//! Keeps up what this process serves with: the files' pair or the self-signed one, its trust, and who hears of a fault.
//!
//! It decides when to look again and in which order trust and pair change. What is due is `certs`' decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use certs::CertStore;
use certs::upkeep::Material;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::Resource as _;
use kube::api::ObjectMeta;
use tokio_util::sync::CancellationToken;

use crate::adapters::kubernetes::events::Events;
use crate::adapters::serving::{Pass, SelfSigned, ServingError, Trust};

/// API servers see a changed `caBundle` within moments; a pair that needs it waits as long.
const TRUST_SPREADS: Duration = Duration::from_secs(1);
/// Reason of events about a pair that was not taken into force or had to be replaced.
const REASON: &str = "ServingCertificateFault";

/// The self-signed pair, begun.
pub struct SelfSignedPair {
    /// What is served.
    pub store: Arc<CertStore>,
    /// Whether the API server was told to trust it.
    pub trusted: Arc<AtomicBool>,
    kept: SelfSigned,
    held: Material,
    events: Events,
}

/// Why the self-signed mode could not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// Secret, webhook configuration or certificates.
    #[error(transparent)]
    Kept(#[from] ServingError),
    /// What was kept cannot be served with.
    #[error(transparent)]
    Load(#[from] certs::LoadError),
}

impl SelfSignedPair {
    /// Finds or makes the pair that all replicas share.
    ///
    /// # Errors
    /// The step that failed: without a pair there is nothing to serve with.
    pub async fn begin(kept: SelfSigned, events: Events) -> Result<Self, BeginError> {
        let pass = kept.pass(None).await?;
        let material = &pass.material;
        let store = CertStore::handed(kept.names(), material.certificate(), material.key())?;
        let pair = Self {
            store: Arc::new(store),
            trusted: Arc::new(AtomicBool::new(false)),
            held: pass.material.clone(),
            kept,
            events,
        };
        pair.tell(&pass).await;
        Ok(pair)
    }

    /// Looks again after each `interval` until `stop`.
    pub async fn keep_up(mut self, interval: Duration, stop: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = tokio::time::sleep(interval) => {}
            }
            match self.kept.pass(Some(&self.held)).await {
                Ok(pass) => {
                    self.tell(&pass).await;
                    if pass.trust == Trust::Published && pass.material != self.held {
                        tokio::time::sleep(TRUST_SPREADS).await;
                    }
                    self.serve(pass.material);
                }
                Err(error) => {
                    tracing::warn!(%error, "the serving certificate could not be kept up; the one in force stays");
                }
            }
        }
    }

    fn serve(&mut self, material: Material) {
        let offered = self.store.offer(material.certificate(), material.key());
        certs::report(&offered);
        if !matches!(offered, certs::Reload::Refused { .. }) {
            self.held = material;
        }
    }

    async fn tell(&self, pass: &Pass) {
        self.trusted
            .store(pass.trust != Trust::Absent, Ordering::Relaxed);
        match pass.trust {
            Trust::Published => tracing::info!("caBundle was written"),
            Trust::Absent => {
                tracing::warn!("the webhook configuration does not exist yet: not ready");
            }
            Trust::InForce => {}
        }
        let Some(why) = &pass.changed else { return };
        tracing::info!(%why, "the serving Secret was written");
        if why.is_fault() {
            let text = format!("The serving Secret was written anew: {why}.");
            self.events.warn(&self.kept.about(), REASON, &text).await;
        }
    }
}

/// Follows the files of `store` until `stop`; this Pod hears of a fault in an event, if this is one.
pub async fn follow_files(
    store: Arc<CertStore>,
    events: Events,
    interval: Duration,
    stop: CancellationToken,
) {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let watching = certs::watch(store, interval, stop.cancelled_owned(), move |words| {
        // The receiver is polled beside; a closed one means that the process ends.
        let _sent = tell.send(words);
    });
    let telling = async {
        while let Some(words) = told.recv().await {
            if let Some(about) = this_pod() {
                events.warn(&about, REASON, &words).await;
            }
        }
    };
    tokio::select! {
        () = watching => {}
        () = telling => {}
    }
}

fn this_pod() -> Option<ObjectReference> {
    let pod = Pod {
        metadata: ObjectMeta {
            name: Some(std::env::var("POD_NAME").ok()?),
            namespace: Some(std::env::var("POD_NAMESPACE").ok()?),
            ..ObjectMeta::default()
        },
        ..Pod::default()
    };
    Some(pod.object_ref(&()))
}
