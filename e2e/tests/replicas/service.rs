//! A Service before the processes: whom requests go to, and how an endpoint leaves the list and comes back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use e2e::bed::wait::until;
use e2e::world::tenancy::SOON;
use e2e::world::tenantry::{Tenantry, trusting};
use nix::sys::signal::Signal;
use reqwest::tls::TlsInfo;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// How long the senders of requests go on with an endpoint that is leaving.
const HEARD_OF: Duration = Duration::from_millis(500);

/// The ready endpoints.
#[derive(Clone)]
pub struct Service {
    endpoints: Arc<Mutex<Vec<String>>>,
    turn: Arc<AtomicUsize>,
}

impl Service {
    /// Before processes that are ready.
    pub fn of(processes: &[&Tenantry]) -> Self {
        let urls = processes.iter().map(|process| process.url.clone());
        Self {
            endpoints: Arc::new(Mutex::new(urls.collect())),
            turn: Arc::default(),
        }
    }

    fn endpoints(&self) -> Vec<String> {
        self.endpoints.lock().unwrap().clone()
    }

    /// The endpoint whose turn it is.
    pub fn next(&self) -> String {
        let endpoints = self.endpoints.lock().unwrap();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        endpoints[turn % endpoints.len()].clone()
    }

    /// Ends a process and starts it again. It hears of its end first, the senders later; it is sent requests once it says that it is ready.
    pub async fn restart(&self, process: &Tenantry) {
        process.process().unwrap().signal(Signal::SIGTERM);
        tokio::time::sleep(HEARD_OF).await;
        let leaving = |url: &String| *url == process.url;
        self.endpoints.lock().unwrap().retain(|url| !leaving(url));
        process.ended(SOON).await.unwrap();
        process.spawn().unwrap();
        process.ready(SOON).await.unwrap();
        self.endpoints.lock().unwrap().push(process.url.clone());
    }

    /// Waits until every endpoint presents this certificate, PEM.
    pub async fn presents(&self, certificate: &[u8], authority: &[u8]) {
        let expected = CertificateDer::from_pem_slice(certificate).unwrap();
        until(SOON, "the new certificate is presented", async || {
            for url in self.endpoints() {
                let presented = presented(&url, authority).await?;
                ensure!(presented == *expected, "{url} has not taken it up");
            }
            Ok(())
        })
        .await
        .unwrap();
    }
}

async fn presented(url: &str, authority: &[u8]) -> Result<Vec<u8>> {
    let answer = trusting(authority)?
        .get(format!("{url}/livez"))
        .send()
        .await?;
    let met = answer.extensions().get::<TlsInfo>();
    let certificate = met.and_then(TlsInfo::peer_certificate);
    Ok(certificate
        .context("no certificate was presented")?
        .to_vec())
}
