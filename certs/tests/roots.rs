//! Proves which authorities come into force, and what of them is handed on to tenants.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod bed;

use std::error::Error;

use bed::{Authority, trusting};
use certs::{Renewal, Roots, Trust};

#[test]
fn d11_a_bundle_trusts_all_its_authorities_and_is_handed_on_without_comments() {
    let (one, two) = (Authority::new("one"), Authority::new("two"));
    let roots = trusting(&format!(
        "# first\r\n{}\n# second\n{}",
        one.pem(),
        two.pem()
    ));
    let handed_on = roots.bundle().unwrap().to_owned();
    assert!(!handed_on.contains('#'));
    assert_eq!(
        handed_on,
        format!(
            "{}{}",
            one.pem().replace("\r\n", "\n"),
            two.pem().replace("\r\n", "\n")
        )
    );
    assert_eq!(trusting(&handed_on).bundle(), Some(handed_on.as_str()));
}

#[test]
fn d11_a_bundle_that_is_absent_empty_or_damaged_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    assert!(
        Roots::load(Some(&file))
            .unwrap_err()
            .to_string()
            .contains("ca.pem")
    );
    let good = Authority::new("ours").pem();
    let hollow = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for content in [
        "",
        hollow,
        &format!("{good}{hollow}"),
        &good[..good.len() / 2],
    ] {
        std::fs::write(&file, content).unwrap();
        let error = Roots::load(Some(&file)).unwrap_err();
        assert!(
            error.to_string().contains("ca.pem") && error.source().is_some(),
            "{content}"
        );
    }
}

#[test]
fn d11_without_a_file_the_systems_authorities_are_used_and_nothing_is_handed_on() {
    assert_eq!(Roots::load(None).unwrap().bundle(), None);
}

#[test]
fn d11_a_file_that_changes_brings_its_new_authorities_into_force_and_a_bad_one_takes_none_away() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let (one, two) = (Authority::new("one").pem(), Authority::new("two").pem());
    std::fs::write(&file, &one).unwrap();
    let trust = Trust::load(Some(&file)).unwrap();
    let changes = trust.changes();
    assert!(matches!(trust.renew(), Renewal::Unchanged));
    std::fs::write(&file, format!("# a comment\n{one}")).unwrap();
    assert!(matches!(trust.renew(), Renewal::Unchanged));

    for repeated in [false, true] {
        std::fs::write(&file, "garbage").unwrap();
        let Renewal::Refused {
            error,
            repeated: again,
        } = trust.renew()
        else {
            panic!("garbage was taken");
        };
        assert!(error.to_string().contains("ca.pem"));
        assert_eq!(again, repeated);
    }
    std::fs::remove_file(&file).unwrap();
    let absent = trust.renew();
    assert!(matches!(
        absent,
        Renewal::Refused {
            repeated: false,
            ..
        }
    ));
    assert_eq!(trust.current(), trusting(&one));
    assert!(
        !changes.has_changed().unwrap(),
        "nobody is told of what was refused"
    );

    std::fs::write(&file, format!("{one}{two}")).unwrap();
    assert!(matches!(trust.renew(), Renewal::Replaced));
    assert_eq!(trust.current(), trusting(&format!("{one}{two}")));
    assert!(changes.has_changed().unwrap());
}
