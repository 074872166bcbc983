//! Proves, over real handshakes on the loopback, which servers each TLS mode accepts, and what a person is told otherwise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod bed;

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bed::{Authority, Pair, params, presenting, serve, trusting};
use certs::{Roots, TlsMode, TlsProblem, client_config, explain};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const HOST: &str = "db.test";
const ADDR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 11, 12, 13));
const MODES: [TlsMode; 3] = [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull];

/// One handshake with a server at `server` whose Instance says `HOST` and `addr`.
async fn handshake(
    server: SocketAddr,
    mode: TlsMode,
    addr: IpAddr,
    roots: &Roots,
) -> Result<(), TlsProblem> {
    let config = client_config(mode, HOST, addr, roots).unwrap();
    let socket = TcpStream::connect(server).await.unwrap();
    tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from(HOST).unwrap(), socket)
        .await
        .map(drop)
        .map_err(|error| explain(&error).unwrap_or_else(|| panic!("not explained: {error:?}")))
}

async fn outcomes(pair: &Pair, addr: IpAddr, roots: &Roots) -> [Result<(), TlsProblem>; 3] {
    let server = serve(presenting(pair)).await;
    let mut seen = [Ok(()), Ok(()), Ok(())];
    for (slot, mode) in seen.iter_mut().zip(MODES) {
        *slot = handshake(server, mode, addr, roots).await;
    }
    seen
}

async fn issued(change: impl FnOnce(&mut CertificateParams)) -> [Result<(), TlsProblem>; 3] {
    let authority = Authority::new("ours");
    let mut wanted = params(&[HOST], &[ADDR]);
    change(&mut wanted);
    outcomes(&authority.issue(&wanted), ADDR, &trusting(&authority.pem())).await
}

#[tokio::test]
async fn d11_only_a_certificate_with_both_names_passes_verify_full_and_the_missing_one_is_named() {
    let authority = Authority::new("ours");
    let roots = trusting(&authority.pem());
    let (host, addr) = (HOST.to_owned(), ADDR);
    let cases = [
        ("both", params(&[HOST], &[ADDR]), Ok(())),
        (
            "DNS only",
            params(&[HOST], &[]),
            Err(TlsProblem::MissingIpSan { addr }),
        ),
        (
            "IP only",
            params(&[], &[ADDR]),
            Err(TlsProblem::MissingDnsSan { host: host.clone() }),
        ),
        (
            "CN only",
            params(&[], &[]),
            Err(TlsProblem::MissingSans { host, addr }),
        ),
    ];
    for (name, wanted, full) in cases {
        let seen = outcomes(&authority.issue(&wanted), ADDR, &roots).await;
        assert_eq!(seen, [Ok(()), Ok(()), full], "{name}");
    }
}

#[tokio::test]
async fn d11_other_names_and_other_addresses_do_not_cover_the_instance() {
    let other = IpAddr::V4(Ipv4Addr::new(10, 11, 12, 14));
    let seen =
        issued(|wanted| *wanted = params(&["other.test", "sub.db.test", "*.db.test"], &[ADDR]))
            .await;
    assert_eq!(
        seen[2],
        Err(TlsProblem::MissingDnsSan {
            host: HOST.to_owned()
        })
    );
    let seen = issued(|wanted| *wanted = params(&[HOST], &[other])).await;
    assert_eq!(seen[2], Err(TlsProblem::MissingIpSan { addr: ADDR }));
    // An address spelled as a DNS name is no IP name.
    let seen = issued(|wanted| *wanted = params(&[HOST, "10.11.12.13"], &[])).await;
    assert_eq!(seen[2], Err(TlsProblem::MissingIpSan { addr: ADDR }));
}

#[tokio::test]
async fn d11_an_ipv6_hostaddr_is_compared_with_the_ip_names_in_any_spelling() {
    let authority = Authority::new("ours");
    let roots = trusting(&authority.pem());
    let addr: IpAddr = "2001:db8::7".parse().unwrap();
    let spelled: IpAddr = "2001:0db8:0:0:0:0:0:0007".parse().unwrap();
    let seen = outcomes(&authority.issue(&params(&[HOST], &[spelled])), addr, &roots).await;
    assert_eq!(seen, [Ok(()), Ok(()), Ok(())]);
    let loopback = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let seen = outcomes(
        &authority.issue(&params(&[HOST], &[loopback, ADDR])),
        addr,
        &roots,
    )
    .await;
    assert_eq!(seen[2], Err(TlsProblem::MissingIpSan { addr }));
}

#[tokio::test]
async fn d11_the_name_that_the_connecting_code_passes_along_does_not_change_who_is_verified() {
    let authority = Authority::new("ours");
    let server = serve(presenting(
        &authority.issue(&params(&["other.test"], &[ADDR])),
    ))
    .await;
    let config =
        client_config(TlsMode::VerifyFull, HOST, ADDR, &trusting(&authority.pem())).unwrap();
    let socket = TcpStream::connect(server).await.unwrap();
    let error = tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from("other.test").unwrap(), socket)
        .await
        .unwrap_err();
    assert_eq!(
        explain(&error),
        Some(TlsProblem::MissingDnsSan {
            host: HOST.to_owned()
        })
    );
}

#[tokio::test]
async fn h22_expired_and_not_yet_valid_certificates_pass_only_under_require() {
    let seen = issued(|wanted| wanted.not_after = date_time_ymd(2001, 1, 1)).await;
    assert_eq!(
        seen,
        [Ok(()), Err(TlsProblem::Expired), Err(TlsProblem::Expired)]
    );
    let seen = issued(|wanted| wanted.not_before = date_time_ymd(4000, 1, 1)).await;
    assert_eq!(
        seen,
        [
            Ok(()),
            Err(TlsProblem::NotYetValid),
            Err(TlsProblem::NotYetValid)
        ]
    );
}

#[tokio::test]
async fn h22_a_certificate_of_another_authority_passes_only_under_require_also_when_the_names_are_equal()
 {
    for name in ["theirs", "ours"] {
        let roots = trusting(&Authority::new("ours").pem());
        let pair = Authority::new(name).issue(&params(&[HOST], &[ADDR]));
        let refused = Err(TlsProblem::UnknownIssuer);
        assert_eq!(
            outcomes(&pair, ADDR, &roots).await,
            [Ok(()), refused.clone(), refused],
            "{name}"
        );
    }
}

fn self_signed(change: impl FnOnce(&mut CertificateParams)) -> Pair {
    let mut wanted = params(&[HOST], &[ADDR]);
    change(&mut wanted);
    let key = KeyPair::generate().unwrap();
    Pair {
        certificate: wanted.self_signed(&key).unwrap(),
        key,
    }
}

#[tokio::test]
async fn h22_a_self_signed_certificate_passes_only_where_it_is_itself_trusted() {
    let pair = self_signed(|_| {});
    let refused = Err(TlsProblem::UnknownIssuer);
    let strangers = trusting(&Authority::new("ours").pem());
    assert_eq!(
        outcomes(&pair, ADDR, &strangers).await,
        [Ok(()), refused.clone(), refused]
    );
    let itself = trusting(&pair.certificate.pem());
    assert_eq!(
        outcomes(&pair, ADDR, &itself).await,
        [Ok(()), Ok(()), Ok(())]
    );
}

#[tokio::test]
async fn a_server_that_presents_its_authority_is_told_so_rather_than_called_unknown() {
    let pair =
        self_signed(|wanted| wanted.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained));
    let seen = outcomes(&pair, ADDR, &trusting(&pair.certificate.pem())).await;
    assert_eq!(seen[0], Ok(()));
    assert!(
        seen[1]
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("authority as its own"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_certificate_for_clients_is_not_accepted_from_a_server() {
    let seen =
        issued(|wanted| wanted.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth])
            .await;
    assert_eq!(seen[0], Ok(()));
    assert!(
        seen[1]
            .as_ref()
            .unwrap_err()
            .to_string()
            .contains("extended key usage"),
        "{seen:?}"
    );
}

/// Presents one certificate and signs with the key of another.
#[derive(Debug)]
struct Impostor(Arc<rustls::sign::CertifiedKey>);

impl rustls::server::ResolvesServerCert for Impostor {
    fn resolve(
        &self,
        _: rustls::server::ClientHello<'_>,
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

#[tokio::test]
async fn a_handshake_that_the_certificates_key_did_not_sign_fails_in_every_mode_and_version() {
    let authority = Authority::new("ours");
    let roots = trusting(&authority.pem());
    let (stolen, _) = authority.issue(&params(&[HOST], &[ADDR])).der();
    let (_, own) = authority.issue(&params(&[], &[])).der();
    let key = certs::provider()
        .key_provider
        .load_private_key(own)
        .unwrap();
    let resolver = Arc::new(Impostor(Arc::new(rustls::sign::CertifiedKey::new(
        vec![stolen],
        key,
    ))));
    for version in rustls::ALL_VERSIONS {
        let config = rustls::ServerConfig::builder_with_provider(certs::provider())
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(resolver.clone());
        let server = serve(Arc::new(config)).await;
        for mode in MODES {
            let seen = handshake(server, mode, ADDR, &roots).await;
            let told = seen.unwrap_err().to_string();
            assert!(
                told.contains("does not hold the key"),
                "{version:?} {mode:?}: {told}"
            );
        }
    }
}

/// A server that answers each connection's first bytes with `answer`, and then reads until the client goes.
async fn answering(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut first = [0; 8];
            if socket.read_exact(&mut first).await.is_ok() && socket.write_all(answer).await.is_ok()
            {
                tokio::io::copy(&mut socket, &mut tokio::io::sink())
                    .await
                    .ok();
            }
        }
    });
    address
}

#[tokio::test]
async fn h22_a_server_of_tls_1_0_and_one_that_speaks_something_else_are_refused_in_every_mode() {
    let roots = trusting(&Authority::new("ours").pem());
    // A fatal protocol_version alert, as a server that knows nothing newer than TLS 1.0 sends it.
    let old = answering(&[0x15, 0x03, 0x01, 0, 2, 2, 70]).await;
    let other = answering(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    for mode in MODES {
        assert_eq!(
            handshake(old, mode, ADDR, &roots).await,
            Err(TlsProblem::Version)
        );
        let seen = handshake(other, mode, ADDR, &roots).await;
        assert_eq!(
            seen,
            Err(TlsProblem::Other(
                "the server does not follow the TLS protocol"
            ))
        );
    }
}

/// A `PostgreSQL` server as far as TLS: it answers the request for TLS with `S`, and shakes hands.
async fn postgres(pair: &Pair) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(presenting(pair));
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 8];
            socket.read_exact(&mut request).await.unwrap();
            socket.write_all(b"S").await.unwrap();
            acceptor.accept(socket).await.ok();
        }
    });
    address
}

async fn connect(server: SocketAddr, mode: TlsMode, roots: &Roots) -> tokio_postgres::Error {
    let tls = client_config(mode, HOST, ADDR, roots).unwrap();
    let outcome = tokio_postgres::Config::new()
        .host(HOST)
        .hostaddr(server.ip())
        .port(server.port())
        .user("nobody")
        .ssl_mode(tokio_postgres::config::SslMode::Require)
        .connect(tokio_postgres_rustls::MakeRustlsConnect::new(tls))
        .await;
    outcome
        .err()
        .expect("no server here gets as far as a login")
}

#[tokio::test]
async fn d11_the_missing_name_is_found_through_the_errors_of_tokio_postgres() {
    let authority = Authority::new("ours");
    let server = postgres(&authority.issue(&params(&[HOST], &[]))).await;
    let error = connect(server, TlsMode::VerifyFull, &trusting(&authority.pem())).await;
    assert_eq!(
        explain(&error),
        Some(TlsProblem::MissingIpSan { addr: ADDR })
    );
    let boxed: Box<dyn Error + Send + Sync> = Box::new(std::io::Error::other(error));
    assert_eq!(
        explain(boxed.as_ref()),
        Some(TlsProblem::MissingIpSan { addr: ADDR })
    );
}

#[tokio::test]
async fn h22_a_server_that_answers_n_is_refused_and_named_in_every_mode() {
    let roots = trusting(&Authority::new("ours").pem());
    let server = answering(b"N").await;
    for mode in MODES {
        assert_eq!(
            explain(&connect(server, mode, &roots).await),
            Some(TlsProblem::NotOffered)
        );
    }
}

#[tokio::test]
async fn a_connection_that_ends_in_the_middle_is_not_called_a_tls_problem() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            drop(socket);
        }
    });
    let error = connect(
        server,
        TlsMode::VerifyFull,
        &trusting(&Authority::new("ours").pem()),
    )
    .await;
    assert_eq!(explain(&error), None, "{error:?}");
}

#[test]
fn d11_the_configuration_offers_no_protocol_names_and_no_early_data() {
    let config = client_config(
        TlsMode::VerifyFull,
        HOST,
        ADDR,
        &trusting(&Authority::new("ours").pem()),
    )
    .unwrap();
    assert!(config.alpn_protocols.is_empty());
    assert!(config.enable_sni && !config.enable_early_data);
}
