//! A certificate that is trusted: whose it is, when it ends, and what it signed. It keeps nothing.

use std::time::{Duration, SystemTime};

use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{EndEntityCert, KeyUsage};
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::issue::{AUTHORITY, BACKDATED};
use crate::pem;

/// A certificate that is trusted, and when.
#[derive(Clone)]
pub(super) struct Trusted {
    pub(super) der: CertificateDer<'static>,
    pub(super) not_before: SystemTime,
    pub(super) not_after: SystemTime,
    pub(super) is_ours: bool,
}

impl Trusted {
    pub(super) fn read(der: CertificateDer<'static>) -> Option<Self> {
        let tbs = Certificate::from_der(&der).ok()?.tbs_certificate;
        Some(Self {
            not_before: tbs.validity.not_before.to_system_time(),
            not_after: tbs.validity.not_after.to_system_time(),
            is_ours: tbs.subject.to_string() == format!("CN={AUTHORITY}"),
            der,
        })
    }

    pub(super) fn made(&self) -> SystemTime {
        self.not_before + BACKDATED
    }

    /// True once less than `rest`, or less than a third of its life, is left.
    pub(super) fn is_due(&self, rest: Duration, now: SystemTime) -> bool {
        let life = self
            .not_after
            .duration_since(self.made())
            .unwrap_or_default();
        self.not_after
            .duration_since(now)
            .is_ok_and(|left| left < rest.max(life / 3))
            || now >= self.not_after
    }

    pub(super) fn signed(&self, leaf: &CertificateDer<'_>, now: SystemTime) -> bool {
        let verified = || {
            let leaf = EndEntityCert::try_from(leaf).ok()?;
            let anchor = webpki::anchor_from_trusted_cert(&self.der).ok()?;
            let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            leaf.verify_for_usage(
                crate::provider().signature_verification_algorithms.all,
                &[anchor],
                &[],
                UnixTime::since_unix_epoch(since),
                KeyUsage::server_auth(),
                None,
                None,
            )
            .ok()
            .map(|_| ())
        };
        verified().is_some()
    }

    pub(super) fn pem(&self) -> String {
        pem::certificate_text(&self.der)
    }
}

/// The certificates of a PEM text that can be read; none of one that is damaged.
pub(super) fn trusted(text: &[u8]) -> Vec<Trusted> {
    pem::certificates(text)
        .unwrap_or_default()
        .into_iter()
        .filter_map(Trusted::read)
        .collect()
}

/// True if the certificate is valid for each of the names.
pub(super) fn has_names(leaf: &CertificateDer<'_>, names: &[String]) -> bool {
    let Ok(leaf) = EndEntityCert::try_from(leaf) else {
        return false;
    };
    names.iter().all(|name| {
        ServerName::try_from(name.as_str())
            .is_ok_and(|name| leaf.verify_is_valid_for_subject_name(&name).is_ok())
    })
}
