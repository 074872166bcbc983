//! The bed's certificate authority and the certificates it gives.
//!
//! Decides names and purposes; valid for rcgen's default span, which outlives every bed. Never used outside a bed.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};

use super::address;
use super::folder::RunFolder;

/// An authority whose files are `pki/NAME.crt` and `pki/NAME.key`.
pub struct Authority {
    run: RunFolder,
    name: String,
    issuer: Issuer<'static, KeyPair>,
}

/// The files of a serving certificate.
pub struct Certificate {
    /// PEM certificate.
    pub certificate: PathBuf,
    /// PEM private key (PKCS #8), readable by its owner only.
    pub key: PathBuf,
}

impl Certificate {
    /// The files of the certificate called `name`, made or not.
    #[must_use]
    pub fn of(run: &RunFolder, name: &str) -> Self {
        Self {
            certificate: run.join(format!("pki/{name}.crt")),
            key: run.join(format!("pki/{name}.key")),
        }
    }
}

impl Authority {
    /// The bed's own authority.
    pub const BED: &'static str = "ca";

    /// Makes a new authority; stories make foreign ones with another name.
    pub fn create(run: &RunFolder, name: &str) -> Result<Self> {
        let key = KeyPair::generate()?;
        let params = authority_params(name)?;
        let certificate = params.self_signed(&key)?;
        std::fs::write(run.join(format!("pki/{name}.crt")), certificate.pem())?;
        run.write_private(format!("pki/{name}.key"), &key.serialize_pem())?;
        Ok(Self {
            run: run.clone(),
            name: name.to_owned(),
            issuer: Issuer::new(params, key),
        })
    }

    /// Takes up the authority that `create` made in this bed.
    pub fn open(run: &RunFolder, name: &str) -> Result<Self> {
        let path = run.join(format!("pki/{name}.key"));
        let pem = std::fs::read_to_string(&path)
            .with_context(|| format!("reading {}", path.display()))?;
        let issuer = Issuer::new(authority_params(name)?, KeyPair::from_pem(&pem)?);
        Ok(Self {
            run: run.clone(),
            name: name.to_owned(),
            issuer,
        })
    }

    /// The file with its certificate.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.run.join(format!("pki/{}.crt", self.name))
    }

    /// A serving certificate `pki/NAME.crt` for the bed's addresses and the given DNS names.
    pub fn serving(&self, name: &str, dns_names: &[&str]) -> Result<Certificate> {
        self.issue(name, &self.server(name, dns_names)?)
    }

    /// As [`Authority::serving`], but its time was over long ago.
    pub fn expired(&self, name: &str) -> Result<Certificate> {
        let mut params = self.server(name, &[])?;
        params.not_after = date_time_ymd(2001, 1, 1);
        self.issue(name, &params)
    }

    fn server(&self, name: &str, dns_names: &[&str]) -> Result<CertificateParams> {
        let mut params = CertificateParams::new(
            dns_names
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
        )?;
        let addresses = address::served(&self.run).into_iter();
        params
            .subject_alt_names
            .extend(addresses.map(|address| SanType::IpAddress(IpAddr::V4(address))));
        params.distinguished_name = common_name(name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        Ok(params)
    }

    fn issue(&self, name: &str, params: &CertificateParams) -> Result<Certificate> {
        let key = KeyPair::generate()?;
        let files = Certificate::of(&self.run, name);
        std::fs::write(
            &files.certificate,
            params.signed_by(&key, &self.issuer)?.pem(),
        )?;
        super::folder::write_private(&files.key, &key.serialize_pem())?;
        Ok(files)
    }
}

/// The key pair that signs service-account tokens: `pki/sa.key` and `pki/sa.pub`.
pub fn service_account_keys(run: &RunFolder) -> Result<()> {
    let key = KeyPair::generate()?;
    run.write_private("pki/sa.key", &key.serialize_pem())?;
    std::fs::write(run.join("pki/sa.pub"), key.public_key_pem())?;
    Ok(())
}

fn authority_params(name: &str) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = common_name(&format!("tenantry test bed {name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    Ok(params)
}

fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
