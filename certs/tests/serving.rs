//! Proves that the serving pair follows its files, that no bad pair comes into force, and what listeners negotiate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod bed;

use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bed::{Authority, Pair, params, serve};
use certs::{
    CertStore, LoadError, LoadState, OldestTls, PairFiles, Reload, Roots, TlsMode, client_config,
    server_config,
};
use rcgen::{KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// A folder laid out as the kubelet lays out a Secret volume: `tls.crt -> ..data/tls.crt`, `..data -> <dated folder>`.
struct SecretVolume {
    folder: tempfile::TempDir,
    writes: u32,
}

impl SecretVolume {
    fn new(certificate: &str, key: &str) -> Self {
        let mut volume = Self {
            folder: tempfile::tempdir().unwrap(),
            writes: 0,
        };
        volume.swap(certificate, key);
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), volume.path(name)).unwrap();
        }
        volume
    }

    fn of(pair: &Pair) -> Self {
        Self::new(&pair.certificate.pem(), &pair.key.serialize_pem())
    }

    /// Writes a new dated folder, swaps `..data` to it in one step, and removes the old one.
    fn swap(&mut self, certificate: &str, key: &str) {
        self.writes += 1;
        let (data, fresh) = (
            self.path("..data"),
            self.path(&format!("..{}", self.writes)),
        );
        fs::create_dir(&fresh).unwrap();
        fs::write(fresh.join("tls.crt"), certificate).unwrap();
        fs::write(fresh.join("tls.key"), key).unwrap();
        symlink(fresh.file_name().unwrap(), self.path("..data_tmp")).unwrap();
        fs::rename(self.path("..data_tmp"), data).unwrap();
        if self.writes > 1 {
            fs::remove_dir_all(self.path(&format!("..{}", self.writes - 1))).unwrap();
        }
    }

    fn swap_to(&mut self, pair: &Pair) {
        self.swap(&pair.certificate.pem(), &pair.key.serialize_pem());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn files(&self) -> PairFiles {
        PairFiles {
            certificate: self.path("tls.crt"),
            key: self.path("tls.key"),
        }
    }

    fn store(&self) -> Arc<CertStore> {
        Arc::new(CertStore::load(self.files()).unwrap())
    }
}

fn issue() -> Pair {
    Authority::new("ours").issue(&params(&["db.test"], &[]))
}

fn expired() -> Pair {
    let mut wanted = params(&["db.test"], &[]);
    wanted.not_after = date_time_ymd(2001, 1, 1);
    Authority::new("ours").issue(&wanted)
}

/// The error and its causes, as a log shows them.
fn words(error: &dyn Error) -> String {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    format!("{error}: {cause}")
}

/// The certificate that a new client is shown, and the protocol agreed on.
async fn shown(server: SocketAddr, alpn: &[&[u8]]) -> (CertificateDer<'static>, Option<Vec<u8>>) {
    let roots = Roots::load(None).unwrap();
    let mut config = client_config(TlsMode::Require, "db.test", server.ip(), &roots).unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let socket = TcpStream::connect(server).await.unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from("db.test").unwrap(), socket)
        .await
        .unwrap();
    let (_, session) = stream.get_ref();
    let certificate = session
        .peer_certificates()
        .unwrap()
        .first()
        .unwrap()
        .clone()
        .into_owned();
    (certificate, session.alpn_protocol().map(<[u8]>::to_vec))
}

#[test]
fn a_bad_pair_at_start_is_an_error_that_names_the_file_and_the_fault() {
    let (one, two) = (issue(), issue());
    let (certificate, key) = (one.certificate.pem(), one.key.serialize_pem());
    let cases = [
        ("tls.crt", "no certificate", SecretVolume::new("", &key)),
        ("tls.crt", "no certificate", SecretVolume::new(&key, &key)),
        (
            "tls.key",
            "no usable private key",
            SecretVolume::new(&certificate, &certificate),
        ),
        (
            "tls.crt",
            "not well-formed",
            SecretVolume::new(&certificate[..certificate.len() / 2], &key),
        ),
        (
            "tls.key",
            "does not belong",
            SecretVolume::new(&certificate, &two.key.serialize_pem()),
        ),
        ("tls.crt", "expired", SecretVolume::of(&expired())),
    ];
    for (file, fault, volume) in cases {
        let text = words(&CertStore::load(volume.files()).unwrap_err());
        assert!(text.contains(file) && text.contains(fault), "{text}");
    }
}

#[test]
fn an_absent_file_at_start_is_an_error_that_names_it() {
    let volume = SecretVolume::of(&issue());
    fs::remove_file(volume.path("tls.key")).unwrap();
    let error = CertStore::load(volume.files()).unwrap_err();
    assert!(
        matches!(&error, LoadError::Read { path, .. } if path.ends_with("tls.key")),
        "{error:?}"
    );
}

#[test]
fn the_end_of_the_certificate_in_force_is_known_for_readiness_and_metrics() {
    let mut wanted = params(&["db.test"], &[]);
    wanted.not_after = date_time_ymd(2100, 1, 1);
    let store = SecretVolume::of(&Authority::new("ours").issue(&wanted)).store();
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(4_102_444_800);
    assert_eq!(store.not_after(), end);
    assert!(!store.is_expired(end));
    assert!(store.is_expired(end + Duration::from_secs(1)));
}

#[test]
fn a_symbolic_link_swap_replaces_the_pair_and_equal_bytes_replace_nothing() {
    let (one, two) = (issue(), issue());
    let mut volume = SecretVolume::of(&one);
    let store = volume.store();
    volume.swap_to(&one);
    assert!(matches!(store.reload(), Reload::Unchanged));
    volume.swap_to(&two);
    assert!(matches!(store.reload(), Reload::Replaced { .. }));
    assert_eq!(
        store.load_state(),
        LoadState {
            reads: 3,
            errors: 0,
            replacements: 1
        }
    );
}

#[test]
fn every_bad_pair_is_kept_out_counted_at_each_look_and_told_once_per_change() {
    let (one, two) = (issue(), issue());
    let mut volume = SecretVolume::of(&one);
    let store = volume.store();
    let end = store.not_after();
    let refused = |store: &CertStore, again: bool| match store.reload() {
        Reload::Refused { repeated, error } => assert_eq!(repeated, again, "{error}"),
        other => panic!("{other:?}"),
    };
    volume.swap(&two.certificate.pem(), &one.key.serialize_pem());
    refused(&store, false);
    refused(&store, true);
    volume.swap(&one.certificate.pem(), &two.key.serialize_pem());
    refused(&store, false);
    volume.swap_to(&expired());
    refused(&store, false);
    volume.swap("", "");
    refused(&store, false);
    fs::remove_dir_all(volume.path("..5")).unwrap();
    refused(&store, false);
    refused(&store, true);
    assert_eq!(
        store.load_state(),
        LoadState {
            reads: 8,
            errors: 7,
            replacements: 0
        }
    );
    assert_eq!(store.not_after(), end);
}

#[test]
fn a_fault_that_comes_back_after_a_good_look_is_told_again() {
    let (one, other) = (issue(), KeyPair::generate().unwrap().serialize_pem());
    let mut volume = SecretVolume::of(&one);
    let store = volume.store();
    for _ in 0..2 {
        volume.swap(&one.certificate.pem(), &other);
        assert!(matches!(
            store.reload(),
            Reload::Refused {
                repeated: false,
                ..
            }
        ));
        volume.swap_to(&one);
        assert!(matches!(store.reload(), Reload::Unchanged));
    }
}

#[test]
fn neither_the_stores_debug_form_nor_an_error_shows_key_material() {
    let one = issue();
    let flat = one.key.serialize_pem().replace('\n', "");
    let volume = SecretVolume::new(&one.certificate.pem(), &flat);
    let error = CertStore::load(volume.files()).unwrap_err();
    let shown = format!(
        "{error:?} {} {:?}",
        words(&error),
        SecretVolume::of(&one).store()
    );
    assert!(!shown.contains(&flat[40..60]), "{shown}");
}

#[tokio::test]
async fn the_watch_takes_a_swapped_pair_into_force_for_new_clients_keeps_bad_ones_out_and_ends_when_told()
 {
    let (one, two, three) = (issue(), issue(), issue());
    let mut volume = SecretVolume::of(&one);
    let store = volume.store();
    let server = serve(server_config(store.clone(), OldestTls::default()).unwrap()).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel();
    let watching = tokio::spawn(certs::watch(
        store.clone(),
        Duration::from_millis(10),
        async {
            stopped.await.ok();
        },
        move |words| tell.send(words).unwrap(),
    ));
    assert_eq!(&shown(server, &[]).await.0, one.certificate.der());

    volume.swap_to(&two);
    until(|| store.load_state().replacements == 1).await;
    assert_eq!(&shown(server, &[]).await.0, two.certificate.der());

    volume.swap(&three.certificate.pem(), &two.key.serialize_pem());
    until(|| store.load_state().errors >= 2).await;
    assert_eq!(&shown(server, &[]).await.0, two.certificate.der());

    volume.swap_to(&three);
    until(|| store.load_state().replacements == 2).await;
    assert_eq!(&shown(server, &[]).await.0, three.certificate.der());

    let words: Vec<String> = told.try_iter().collect();
    assert_eq!(words.len(), 1, "one fault is told once: {words:?}");
    assert!(words[0].contains("does not belong"), "{words:?}");

    stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(10), watching)
        .await
        .expect("the watch ends")
        .unwrap();
}

async fn until(done: impl Fn() -> bool) {
    let reached = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached)
        .await
        .expect("the state is reached");
}

#[tokio::test]
async fn a_listener_agrees_on_h2_before_http_1_1() {
    let server =
        serve(server_config(SecretVolume::of(&issue()).store(), OldestTls::default()).unwrap())
            .await;
    assert_eq!(
        shown(server, &[b"http/1.1", b"h2"]).await.1.as_deref(),
        Some(&b"h2"[..])
    );
    assert_eq!(
        shown(server, &[b"http/1.1"]).await.1.as_deref(),
        Some(&b"http/1.1"[..])
    );
}

#[tokio::test]
async fn a_client_of_tls_1_2_is_served_only_when_the_option_says_so() {
    let volume = SecretVolume::of(&issue());
    for (oldest, served) in [(OldestTls::V1_2, true), (OldestTls::V1_3, false)] {
        let server = serve(server_config(volume.store(), oldest).unwrap()).await;
        let mut roots = rustls::RootCertStore::empty();
        let (certificate, _) = issue().der();
        roots.add(certificate).unwrap();
        let config = rustls::ClientConfig::builder_with_provider(certs::provider())
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let socket = TcpStream::connect(server).await.unwrap();
        let name = ServerName::try_from("db.test").unwrap();
        let error = tokio_rustls::TlsConnector::from(Arc::new(config))
            .connect(name, socket)
            .await
            .unwrap_err();
        // A served client gets as far as the certificate, which it does not know.
        let expected = if served {
            certs::TlsProblem::UnknownIssuer
        } else {
            certs::TlsProblem::Version
        };
        assert_eq!(certs::explain(&error), Some(expected), "{oldest:?}");
    }
}
