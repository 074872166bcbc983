//! Proves what the self-signed mode keeps: when it makes, renews, puts back and forgets, and that trust never has a gap.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod bed;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bed::{Authority, params, serve, trusting};
use certs::upkeep::{AUTHORITIES, AUTHORITY_KEY, CERTIFICATE, KEY, Material, Why, Wishes, keep};
use certs::{CertStore, OldestTls, PairFiles, Reload, TlsMode, client_config, server_config};
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret;
use tokio::net::TcpStream;

const HOUR: Duration = Duration::from_secs(3600);

type Stored = BTreeMap<String, Vec<u8>>;

fn wishes() -> Wishes {
    Wishes {
        names: vec!["tenantry.ns.svc".to_owned(), "127.0.0.1".to_owned()],
        authority: HOUR * 9,
        pair: HOUR * 3,
    }
}

fn stored(material: &Material) -> Stored {
    let entries = material.to_store().into_iter();
    entries
        .map(|(key, text)| (key.to_owned(), text.expose_secret().as_bytes().to_vec()))
        .collect()
}

fn first(now: SystemTime) -> Material {
    let (material, why) = keep(None, b"", None, &wishes(), now).unwrap();
    assert!(matches!(why, Some(Why::Absent)), "{why:?}");
    material
}

/// What follows from what is stored, with nothing in memory.
fn next(stored: &Stored, now: SystemTime) -> (Material, Option<Why>) {
    keep(Some(stored), b"", None, &wishes(), now).unwrap()
}

fn authorities(material: &Material) -> usize {
    material.bundle().matches("BEGIN CERTIFICATE").count()
}

/// Whether a client that trusts `bundle` alone accepts the pair under the Service's name.
async fn is_trusted(material: &Material, bundle: &str) -> bool {
    let names = PairFiles {
        certificate: "tls.crt".into(),
        key: "tls.key".into(),
    };
    let store = CertStore::handed(names, material.certificate(), material.key()).unwrap();
    let server = serve(server_config(Arc::new(store), OldestTls::default()).unwrap()).await;
    let name = "tenantry.ns.svc";
    let config = client_config(TlsMode::VerifyFull, name, server.ip(), &trusting(bundle)).unwrap();
    let socket = TcpStream::connect(server).await.unwrap();
    tokio_rustls::TlsConnector::from(Arc::new(config))
        .connect(ServerName::try_from(name).unwrap(), socket)
        .await
        .is_ok()
}

#[tokio::test]
async fn what_is_made_first_is_trusted_by_its_bundle_for_every_name_and_is_kept_as_it_is() {
    let now = SystemTime::now();
    let made = first(now);
    assert!(is_trusted(&made, &made.bundle()).await);
    assert!(!is_trusted(&made, &first(now).bundle()).await);
    let (again, why) = next(&stored(&made), now + HOUR);
    assert!(why.is_none(), "{why:?}");
    assert!(again == made);
}

#[tokio::test]
async fn a_pair_is_renewed_by_the_same_authority_once_a_third_of_its_life_is_left() {
    let now = SystemTime::now();
    let made = first(now);
    let (_, why) = next(&stored(&made), now + HOUR * 2 - HOUR / 60);
    assert!(why.is_none(), "{why:?}");
    let (renewed, why) = next(&stored(&made), now + HOUR * 2 + HOUR / 60);
    assert!(matches!(why, Some(Why::PairDue)), "{why:?}");
    assert_eq!(renewed.bundle(), made.bundle());
    assert_ne!(renewed.certificate(), made.certificate());
}

#[tokio::test]
async fn a_new_authority_is_trusted_before_it_signs_and_the_old_one_until_its_last_pair_has_ended()
{
    let wanted = Wishes {
        authority: HOUR * 24,
        ..wishes()
    };
    let at = |stored: &Stored, now| keep(Some(stored), b"", None, &wanted, now).unwrap();
    let start = SystemTime::now() - HOUR * 17;
    let (made, _) = keep(None, b"", None, &wanted, start).unwrap();
    let (young, why) = at(&stored(&made), start + HOUR * 15);
    assert!(matches!(why, Some(Why::PairFault(_))), "{why:?}");

    let due = start + HOUR * 16 + HOUR / 2;
    let (both, why) = at(&stored(&young), due);
    assert!(matches!(why, Some(Why::AuthorityDue)), "{why:?}");
    assert_eq!(authorities(&both), 2);
    assert_eq!(
        both.certificate(),
        young.certificate(),
        "the old pair stays"
    );

    let (same, why) = at(&stored(&both), due + Duration::from_secs(30));
    assert!(why.is_none() && same == both, "{why:?}");

    let known = due + Duration::from_secs(70);
    let (signed, why) = at(&stored(&both), known);
    assert!(matches!(why, Some(Why::NewAuthority)), "{why:?}");
    assert_ne!(signed.certificate(), both.certificate());
    assert_eq!(signed.bundle(), both.bundle());
    for pair in [&both, &signed] {
        assert!(is_trusted(pair, &both.bundle()).await);
    }
    assert!(!is_trusted(&signed, &young.bundle()).await);

    let (renewed, _) = at(&stored(&signed), due + HOUR * 5 / 2);
    let (gone, why) = at(&stored(&renewed), due + HOUR * 7 / 2);
    assert!(matches!(why, Some(Why::OldAuthorityGone)), "{why:?}");
    assert_eq!(authorities(&gone), 1);
    assert!(is_trusted(&signed, &gone.bundle()).await);
}

#[test]
fn a_pair_that_lacks_a_wanted_name_is_made_anew_and_one_with_more_names_is_not() {
    let now = SystemTime::now();
    let made = stored(&first(now));
    let more = Wishes {
        names: vec!["other.ns.svc".to_owned()],
        ..wishes()
    };
    let (_, why) = keep(Some(&made), b"", None, &more, now).unwrap();
    assert!(matches!(why, Some(Why::NamesChanged)), "{why:?}");
    let fewer = Wishes {
        names: vec!["127.0.0.1".to_owned()],
        ..wishes()
    };
    let (_, why) = keep(Some(&made), b"", None, &fewer, now).unwrap();
    assert!(why.is_none(), "{why:?}");
}

#[tokio::test]
async fn a_broken_pair_is_made_anew_by_the_authority_that_is_there() {
    let now = SystemTime::now();
    let made = first(now);
    let foreign = Authority::new("foreign").issue(&params(&["tenantry.ns.svc"], &[]));
    let whole = stored(&made);
    let half = whole[CERTIFICATE][..whole[CERTIFICATE].len() / 2].to_vec();
    let foreign_key = foreign.key.serialize_pem().into_bytes();
    let foreign_pair = foreign.certificate.pem().into_bytes();
    let cases = [
        (vec![(KEY, Vec::new())], "tls.key is missing or empty"),
        (vec![(CERTIFICATE, half)], "not well-formed"),
        (vec![(KEY, foreign_key.clone())], "does not belong"),
        (
            vec![(CERTIFICATE, foreign_pair), (KEY, foreign_key)],
            "was not signed by an authority in ca.crt",
        ),
    ];
    for (changes, fault) in cases {
        let mut broken = whole.clone();
        broken.extend(
            changes
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value)),
        );
        let (mended, why) = next(&broken, now);
        let why = why.unwrap();
        assert!(matches!(why, Why::PairFault(_)) && why.is_fault(), "{why}");
        assert!(why.to_string().contains(fault), "{why}");
        assert_eq!(mended.bundle(), made.bundle());
        assert!(is_trusted(&mended, &made.bundle()).await);
    }
}

#[tokio::test]
async fn a_broken_authority_is_put_back_by_whoever_holds_it_and_else_made_anew_beside_what_is_trusted()
 {
    let now = SystemTime::now();
    let made = first(now);
    let other = stored(&first(now));
    let foreign = Authority::new("foreign").pem().into_bytes();
    let cases = [
        (AUTHORITIES, Vec::new(), "ca.crt is missing or empty"),
        (AUTHORITY_KEY, b"half".to_vec(), "no usable private key"),
        (
            AUTHORITY_KEY,
            other[AUTHORITY_KEY].clone(),
            "does not belong",
        ),
        (
            AUTHORITIES,
            foreign,
            "ca.key: the private key does not belong",
        ),
    ];
    for (key, value, fault) in cases {
        let mut broken = stored(&made);
        broken.insert(key.to_owned(), value);
        let (back, why) = keep(Some(&broken), b"", Some(&made), &wishes(), now).unwrap();
        assert!(matches!(why, Some(Why::PutBack(_))), "{why:?}");
        assert!(back == made);

        let in_force = made.bundle().into_bytes();
        let (fresh, why) = keep(Some(&broken), &in_force, None, &wishes(), now).unwrap();
        let why = why.unwrap();
        assert!(
            matches!(why, Why::AuthorityFault(_)) && why.is_fault(),
            "{why}"
        );
        assert!(why.to_string().contains(fault), "{why}");
        assert_eq!(
            authorities(&fresh),
            2,
            "a replica may still serve the old pair"
        );
        for pair in [&made, &fresh] {
            assert!(is_trusted(pair, &fresh.bundle()).await);
        }
    }
}

#[test]
fn a_foreign_authority_is_not_carried_over_into_the_bundle() {
    let foreign = Authority::new("foreign").pem();
    let (made, _) = keep(None, foreign.as_bytes(), None, &wishes(), SystemTime::now()).unwrap();
    assert_eq!(authorities(&made), 1);
}

#[test]
fn an_expired_authority_or_pair_is_replaced_and_a_held_one_that_has_expired_is_not_put_back() {
    let start = SystemTime::now();
    let made = first(start);
    let (_, why) = next(&stored(&made), start + HOUR * 4);
    let why = why.unwrap();
    assert_eq!(
        why.to_string(),
        "what was stored cannot be used: tls.crt has expired"
    );
    let late = start + HOUR * 10;
    let in_force = made.bundle().into_bytes();
    let (fresh, why) = keep(
        Some(&stored(&made)),
        &in_force,
        Some(&made),
        &wishes(),
        late,
    )
    .unwrap();
    let why = why.unwrap();
    assert!(why.to_string().contains("ca.crt has expired"), "{why}");
    assert_eq!(authorities(&fresh), 1);
}

#[test]
fn a_name_that_is_none_is_an_error_that_names_it() {
    let wrong = Wishes {
        names: vec!["käse".to_owned()],
        ..wishes()
    };
    let error = keep(None, b"", None, &wrong, SystemTime::now()).unwrap_err();
    assert!(error.to_string().contains("käse"), "{error}");
}

#[test]
fn an_authority_must_outlive_what_it_signs() {
    assert!(wishes().is_consistent());
    let short = Wishes {
        authority: HOUR * 5,
        ..wishes()
    };
    assert!(!short.is_consistent());
}

#[test]
fn a_handed_pair_is_replaced_by_a_good_one_only() {
    let now = SystemTime::now();
    let (one, two) = (first(now), first(now));
    let names = PairFiles {
        certificate: "Secret ns/name tls.crt".into(),
        key: "Secret ns/name tls.key".into(),
    };
    let store = CertStore::handed(names, one.certificate(), one.key()).unwrap();
    assert!(matches!(
        store.offer(one.certificate(), one.key()),
        Reload::Unchanged
    ));
    match store.offer(two.certificate(), one.key()) {
        Reload::Refused { error, .. } => {
            assert!(
                error.to_string().contains("Secret ns/name tls.key"),
                "{error}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        store.offer(two.certificate(), two.key()),
        Reload::Replaced { .. }
    ));
}
