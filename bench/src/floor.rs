//! The floor: the same TLS and HTTP stack as Tenantry's server, which reads the body and allows
//! everything, at every path.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum_server::accept::{TcpConfigAcceptor, TcpSocketConfig};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};

const ANSWER: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}"#;

/// Serves until it is killed.
pub async fn serve(certificate: PathBuf, key: PathBuf, port: u16) -> Result<()> {
    let pair = certs::PairFiles { certificate, key };
    let store = Arc::new(certs::CertStore::load(pair)?);
    let tls = certs::server_config(store, certs::OldestTls::default())?;
    let app = Router::new()
        .fallback(|_body: Bytes| async { ([(header::CONTENT_TYPE, "application/json")], ANSWER) });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let at_once = TcpConfigAcceptor::new(TcpSocketConfig::new().nodelay(true));
    let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(tls)).acceptor(at_once);
    axum_server::from_tcp(listener)?
        .acceptor(acceptor)
        .serve(app.into_make_service())
        .await?;
    Ok(())
}
