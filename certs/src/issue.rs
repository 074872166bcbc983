//! Makes what the self-signed mode serves with: an authority of its own, and serving pairs that it signs.
//!
//! Decides key type, names, usages and validity. Never stores anything and never decides when something is due: that is
//! `upkeep`'s.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use secrecy::{ExposeSecret, SecretString};
use time::OffsetDateTime;

/// The one subject of all authorities made here; they differ in key and validity.
pub(crate) const AUTHORITY: &str = "tenantry self-signed authority";

/// How far validity reaches back, for clients whose clock is behind ours.
pub(crate) const BACKDATED: Duration = Duration::from_secs(5 * 60);

/// What could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IssueError {
    /// A name is neither a DNS name nor an address.
    #[error("{name} is neither a DNS name nor an IP address")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        source: rcgen::Error,
    },
    /// No key could be made.
    #[error("no key could be made")]
    Key(#[source] rcgen::Error),
    /// The authority's stored key cannot sign.
    #[error("the authority's key cannot be used")]
    AuthorityKey(#[source] rcgen::Error),
    /// The certificate could not be signed.
    #[error("the certificate could not be signed")]
    Sign(#[source] rcgen::Error),
}

/// A certificate and its key, both PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: SecretString,
}

/// An authority that is valid for `lifetime` from `now`.
pub(crate) fn authority(now: SystemTime, lifetime: Duration) -> Result<Issued, IssueError> {
    let key = KeyPair::generate().map_err(IssueError::Key)?;
    let mut params = authority_params();
    validity(&mut params, now, lifetime);
    let certificate = params.self_signed(&key).map_err(IssueError::Sign)?;
    Ok(issued(&certificate, &key))
}

/// A serving pair for `names`, signed by the authority with this key, valid for `lifetime` from `now`.
pub(crate) fn pair(
    authority_key: &SecretString,
    names: &[String],
    now: SystemTime,
    lifetime: Duration,
) -> Result<Issued, IssueError> {
    let signing =
        KeyPair::from_pem(authority_key.expose_secret()).map_err(IssueError::AuthorityKey)?;
    let issuer = Issuer::new(authority_params(), signing);
    let key = KeyPair::generate().map_err(IssueError::Key)?;
    let mut params = CertificateParams::default();
    for name in names {
        let one =
            CertificateParams::new(vec![name.clone()]).map_err(|source| IssueError::Name {
                name: name.clone(),
                source,
            })?;
        params.subject_alt_names.extend(one.subject_alt_names);
    }
    params.distinguished_name = subject(names.first().map_or("tenantry", String::as_str));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    validity(&mut params, now, lifetime);
    let certificate = params.signed_by(&key, &issuer).map_err(IssueError::Sign)?;
    Ok(issued(&certificate, &key))
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(AUTHORITY);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn subject(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    // A common name holds 64 characters; the names that count are the alternative ones.
    name.push(
        DnType::CommonName,
        common_name.chars().take(64).collect::<String>(),
    );
    name
}

fn validity(params: &mut CertificateParams, now: SystemTime, lifetime: Duration) {
    params.not_before = OffsetDateTime::from(now - BACKDATED);
    params.not_after = OffsetDateTime::from(now + lifetime);
}

fn issued(certificate: &rcgen::Certificate, key: &KeyPair) -> Issued {
    Issued {
        certificate: certificate.pem(),
        key: SecretString::from(key.serialize_pem()),
    }
}
