//! Decides what the self-signed mode keeps: whether the stored authority and pair are usable, what is due, and what is trusted.
//!
//! Pure: stored bytes and a time go in, what to store comes out. It never reads or writes a store, and never gives up an
//! authority while a pair that it signed may still be served.

mod trusted;
mod why;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use rustls::pki_types::CertificateDer;
use secrecy::{ExposeSecret, SecretString};

use self::trusted::{Trusted, has_names, trusted};
pub use self::why::{Fault, Why};
use crate::issue::{self, IssueError, Issued};
use crate::pem;

/// The key of the stored Secret that holds the authorities, the current one first; also what `caBundle` is made of.
pub const AUTHORITIES: &str = "ca.crt";
/// The key of the stored Secret that holds the current authority's private key.
pub const AUTHORITY_KEY: &str = "ca.key";
/// The key of the stored Secret that holds the serving certificate.
pub const CERTIFICATE: &str = "tls.crt";
/// The key of the stored Secret that holds the serving certificate's private key.
pub const KEY: &str = "tls.key";

/// An authority must have been published this long before a pair of its is served, so that every API server knows it.
const MOST_SETTLING: Duration = Duration::from_secs(60);

/// What is wanted of the certificates.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// DNS names and addresses of the serving certificate.
    pub names: Vec<String>,
    /// How long an authority lives. At least twice `pair`, so that it outlives what it signs.
    pub authority: Duration,
    /// How long a serving pair lives. Renewed when a third is left.
    pub pair: Duration,
}

impl Wishes {
    /// Whether an authority lives long enough for its pairs.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        !self.pair.is_zero() && self.authority >= self.pair * 2
    }

    fn settling(&self) -> Duration {
        MOST_SETTLING.min(self.pair / 20)
    }
}

/// A usable authority and pair.
#[derive(Clone)]
pub struct Material {
    authorities: Vec<Trusted>,
    authority_key: SecretString,
    certificate: String,
    key: SecretString,
    leaf: CertificateDer<'static>,
}

impl Material {
    /// PEM of all authorities that are to be trusted: the `caBundle`.
    #[must_use]
    pub fn bundle(&self) -> String {
        self.authorities.iter().map(Trusted::pem).collect()
    }

    /// The serving certificate, PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its private key, PEM.
    #[must_use]
    pub fn key(&self) -> &SecretString {
        &self.key
    }

    /// What to store, by key of the Secret.
    #[must_use]
    pub fn to_store(&self) -> [(&'static str, SecretString); 4] {
        [
            (AUTHORITIES, self.bundle().into()),
            (AUTHORITY_KEY, self.authority_key.clone()),
            (CERTIFICATE, self.certificate.clone().into()),
            (KEY, self.key.clone()),
        ]
    }
}

/// What to keep, given what is stored (by key of the Secret; `None` if there is no Secret), the `caBundle` in force, and what
/// this process held before. With a reason, it has to be stored.
///
/// # Errors
/// A name that is none, or a fault of the cryptography provider.
pub fn keep(
    stored: Option<&BTreeMap<String, Vec<u8>>>,
    bundle_in_force: &[u8],
    held: Option<&Material>,
    wishes: &Wishes,
    now: SystemTime,
) -> Result<(Material, Option<Why>), IssueError> {
    let (fault, absent) = match stored {
        None => (Fault::Missing { key: AUTHORITIES }, true),
        Some(stored) => match authority(stored, now) {
            Ok((authorities, authority_key)) => {
                return with_authority(stored, authorities, authority_key, wishes, now);
            }
            Err(fault) => (fault, false),
        },
    };
    if let Some(held) = held.filter(|held| held.is_usable(now)) {
        return Ok((held.clone(), Some(Why::PutBack(fault))));
    }
    let why = if absent {
        Why::Absent
    } else {
        Why::AuthorityFault(fault)
    };
    let mut authorities: Vec<Trusted> = trusted(bundle_in_force)
        .into_iter()
        .filter(|authority| authority.is_ours && authority.not_after > now)
        .collect();
    let key = add_authority(&mut authorities, wishes, now)?;
    let pair = issue::pair(&key, &wishes.names, now, wishes.pair)?;
    Ok((assemble(authorities, key, pair)?, Some(why)))
}

impl Material {
    fn is_usable(&self, now: SystemTime) -> bool {
        self.authorities
            .first()
            .is_some_and(|current| current.not_after > now)
            && self
                .authorities
                .iter()
                .any(|authority| authority.signed(&self.leaf, now))
    }
}

/// The stored authority is good: is anything else due?
fn with_authority(
    stored: &BTreeMap<String, Vec<u8>>,
    mut authorities: Vec<Trusted>,
    mut authority_key: SecretString,
    wishes: &Wishes,
    now: SystemTime,
) -> Result<(Material, Option<Why>), IssueError> {
    let fresh = |authorities, key: SecretString, why| {
        let pair = issue::pair(&key, &wishes.names, now, wishes.pair)?;
        Ok((assemble(authorities, key, pair)?, Some(why)))
    };
    let (pair, leaf) = match serving(stored, &authorities, now) {
        Ok(pair) => pair,
        Err(fault) => return fresh(authorities, authority_key, Why::PairFault(fault)),
    };
    let current = authorities.first().cloned();
    let Some(current) = current else {
        return fresh(
            authorities,
            authority_key,
            Why::PairFault(Fault::Missing { key: AUTHORITIES }),
        );
    };
    let mut why = None;
    if current.is_due(wishes.pair, now) {
        authority_key = add_authority(&mut authorities, wishes, now)?;
        why = Some(Why::AuthorityDue);
    } else {
        let known_long_enough = now >= current.made() + wishes.settling();
        if known_long_enough && !current.signed(&leaf.der, now) {
            return fresh(authorities, authority_key, Why::NewAuthority);
        }
        if leaf.is_due(Duration::ZERO, now) {
            return fresh(authorities, authority_key, Why::PairDue);
        }
        if !has_names(&leaf.der, &wishes.names) {
            return fresh(authorities, authority_key, Why::NamesChanged);
        }
        let before = authorities.len();
        // The last pair of an old authority was made while the new one settled.
        let needed_until = current.made() + wishes.settling() + wishes.pair;
        let mut first = true;
        authorities.retain(|authority| {
            std::mem::take(&mut first) || (authority.not_after > now && now < needed_until)
        });
        if authorities.len() < before {
            why = Some(Why::OldAuthorityGone);
        }
    }
    let material = Material {
        authorities,
        authority_key,
        certificate: pair.certificate,
        key: pair.key,
        leaf: leaf.der,
    };
    Ok((material, why))
}

fn add_authority(
    authorities: &mut Vec<Trusted>,
    wishes: &Wishes,
    now: SystemTime,
) -> Result<SecretString, IssueError> {
    let made = issue::authority(now, wishes.authority)?;
    let new = trusted(made.certificate.as_bytes());
    authorities.splice(0..0, new);
    Ok(made.key)
}

fn assemble(
    authorities: Vec<Trusted>,
    authority_key: SecretString,
    pair: Issued,
) -> Result<Material, IssueError> {
    let leaf = trusted(pair.certificate.as_bytes())
        .into_iter()
        .next()
        .ok_or(IssueError::Sign(rcgen::Error::CouldNotParseCertificate))?;
    Ok(Material {
        authorities,
        authority_key,
        certificate: pair.certificate,
        key: pair.key,
        leaf: leaf.der,
    })
}

/// The authorities and the key of the first, if they are whole, ours, matching and not expired.
fn authority(
    stored: &BTreeMap<String, Vec<u8>>,
    now: SystemTime,
) -> Result<(Vec<Trusted>, SecretString), Fault> {
    let (certificates, key) = matching(stored, AUTHORITIES, AUTHORITY_KEY)?;
    let authorities: Vec<Trusted> = certificates.into_iter().filter_map(Trusted::read).collect();
    let current = authorities
        .first()
        .ok_or(Fault::Missing { key: AUTHORITIES })?;
    if !current.is_ours {
        return Err(Fault::Foreign);
    }
    if current.not_after <= now {
        return Err(Fault::Expired { key: AUTHORITIES });
    }
    Ok((authorities, key))
}

/// The pair, if it is whole, matching, not expired and signed by one of `authorities`.
fn serving(
    stored: &BTreeMap<String, Vec<u8>>,
    authorities: &[Trusted],
    now: SystemTime,
) -> Result<(Issued, Trusted), Fault> {
    let (certificates, key) = matching(stored, CERTIFICATE, KEY)?;
    let leaf = certificates.into_iter().find_map(Trusted::read);
    let leaf = leaf.ok_or(Fault::Missing { key: CERTIFICATE })?;
    if leaf.not_after <= now {
        return Err(Fault::Expired { key: CERTIFICATE });
    }
    if !authorities
        .iter()
        .any(|authority| authority.signed(&leaf.der, now))
    {
        return Err(Fault::Untrusted);
    }
    let certificate = pem::certificate_text(&leaf.der);
    Ok((Issued { certificate, key }, leaf))
}

/// The certificates under one key, and the private key of the first of them under the other.
fn matching(
    stored: &BTreeMap<String, Vec<u8>>,
    certificates_at: &'static str,
    key_at: &'static str,
) -> Result<(Vec<CertificateDer<'static>>, SecretString), Fault> {
    let at = |key| {
        let bytes = stored.get(key).filter(|bytes| !bytes.is_empty());
        bytes.ok_or(Fault::Missing { key })
    };
    let content = |key| move |source| Fault::Content { key, source };
    let certificates = pem::certificates(at(certificates_at)?).map_err(content(certificates_at))?;
    let bytes = at(key_at)?;
    let key = pem::private_key(bytes).map_err(content(key_at))?;
    pem::pair(certificates.clone(), key, &crate::provider()).map_err(content(key_at))?;
    let text = SecretString::from(String::from_utf8_lossy(bytes).into_owned());
    Ok((certificates, text))
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("authorities", &self.authorities.len())
            .finish_non_exhaustive()
    }
}

impl PartialEq for Material {
    fn eq(&self, other: &Self) -> bool {
        self.bundle() == other.bundle()
            && self.certificate == other.certificate
            && self.key.expose_secret() == other.key.expose_secret()
            && self.authority_key.expose_secret() == other.authority_key.expose_secret()
    }
}
