//! Where a repository is, over which protocol, and with which credentials. It makes no call.
//!
//! Decides what is wrong with such settings, in the words of whoever gave them: an object's `spec.registry`, or flags.

use std::fmt;

use crds::applications::repository::Registry as Spec;
use oci_client::Reference;
use oci_client::client::{Certificate, CertificateEncoding, ClientProtocol};
use oci_client::secrets::RegistryAuth;

use super::docker_config::{self, Entry};
use super::failure::{Kind, RegistryError};
use super::origin::Origin;

/// A repository and how it is reached. Its `Debug` shows no credential.
#[derive(Clone)]
pub struct Access {
    pub(super) host: String,
    pub(super) path: String,
    pub(super) protocol: ClientProtocol,
    pub(super) auth: RegistryAuth,
    pub(super) authorities: Vec<Certificate>,
    pub(super) origin: Origin,
}

impl Access {
    /// Of a PackageRepository.
    ///
    /// # Errors
    /// The field that cannot be used and why; no value of a credential is in it.
    pub fn of_spec(spec: &Spec) -> Result<Self, RegistryError> {
        let origin = Origin::Spec;
        let (host, path) = split(&spec.repo, origin)?;
        let plain = match spec.scheme.as_deref() {
            None | Some("" | "HTTPS" | "https") => false,
            Some("HTTP" | "http") => true,
            Some(_) => {
                return Err(settings("spec.registry.scheme must be HTTPS or HTTP"));
            }
        };
        let given = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let auth = match (
            given(&spec.docker_cfg),
            given(&spec.login),
            given(&spec.password),
        ) {
            (Some(config), _, _) => {
                let entry = docker_config::find(config.as_bytes(), &host, &path)
                    .map_err(|what| settings(format!("spec.registry.dockerCfg {what}")))?;
                match entry {
                    Entry::Credentials(auth) => auth,
                    Entry::Absent => {
                        return Err(settings(format!(
                            "spec.registry.dockerCfg has no entry for {host}: add it to auths, or leave dockerCfg out"
                        )));
                    }
                }
            }
            (None, Some(login), Some(password)) => RegistryAuth::Basic(login, password),
            (None, None, None) => RegistryAuth::Anonymous,
            (None, _, _) => {
                return Err(settings(
                    "spec.registry.login and password belong together: give both or neither",
                ));
            }
        };
        Ok(Self {
            host,
            path,
            protocol: protocol(plain),
            auth,
            authorities: authorities(given(&spec.ca).as_deref(), origin)?,
            origin,
        })
    }

    /// Of the flags of a command: `config` is docker's config file, of which an entry for the registry is taken if there is one.
    ///
    /// # Errors
    /// The flag that cannot be used and why; no value of a credential is in it.
    pub fn of_flags(
        repo: &str,
        plain: bool,
        ca: Option<&str>,
        config: Option<&[u8]>,
    ) -> Result<Self, RegistryError> {
        let origin = Origin::Flags;
        let (host, path) = split(repo, origin)?;
        let entry = config.map(|config| docker_config::find(config, &host, &path));
        let auth = match entry.transpose() {
            Ok(Some(Entry::Credentials(auth))) => auth,
            Ok(Some(Entry::Absent) | None) => RegistryAuth::Anonymous,
            Err(what) => return Err(settings(format!("docker's config file {what}"))),
        };
        Ok(Self {
            host,
            path,
            protocol: protocol(plain),
            auth,
            authorities: authorities(ca, origin)?,
            origin,
        })
    }

    /// The repository itself, without a tag.
    #[must_use]
    pub fn repository(&self) -> String {
        format!("{}/{}", self.host, self.path)
    }

    /// The image below the repository: `path` is empty for the repository itself, `reference` a tag or a digest.
    pub(super) fn image(&self, path: &str, reference: &str) -> Result<Reference, RegistryError> {
        let slash = if path.is_empty() { "" } else { "/" };
        let mark = if reference.contains(':') { '@' } else { ':' };
        let text = format!("{}{slash}{path}{mark}{reference}", self.repository());
        let wrong = || settings(format!("{text:?} is no reference of an image"));
        let image = Reference::try_from(text.as_str()).map_err(|_| wrong())?;
        // The library fills in a registry or a tag where it sees none; that would be another image.
        if image.registry() == self.host && image.to_string() == text {
            Ok(image)
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("repository", &self.repository())
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

fn protocol(plain: bool) -> ClientProtocol {
    if plain {
        ClientProtocol::Http
    } else {
        ClientProtocol::Https
    }
}

/// Host with port, and path.
fn split(repo: &str, origin: Origin) -> Result<(String, String), RegistryError> {
    let name = origin.repository();
    let wrong = |what: &str| {
        settings(format!(
            "{name} {what}: write it as registry.example.org/packages, or registry.example.org:5000/packages"
        ))
    };
    if repo.contains("://") {
        return Err(wrong("holds a scheme, which has a place of its own"));
    }
    let trimmed = repo.trim_end_matches('/');
    let Some((host, path)) = trimmed.split_once('/') else {
        return Err(wrong("names no repository on the registry"));
    };
    // The parser takes a first part without a dot, a port or this name for a path on a public registry.
    if !host.contains(['.', ':']) && host != "localhost" {
        return Err(wrong("begins with no host (it needs a dot or a port)"));
    }
    let parsed = Reference::try_from(format!("{trimmed}:tag").as_str());
    let fits = parsed.is_ok_and(|image| {
        image.registry() == host && image.repository() == path && image.tag() == Some("tag")
    });
    if !fits {
        return Err(wrong("is no name of a repository (lower case, no tag)"));
    }
    Ok((host.to_owned(), path.to_owned()))
}

fn authorities(pem: Option<&str>, origin: Origin) -> Result<Vec<Certificate>, RegistryError> {
    let Some(pem) = pem else {
        return Ok(Vec::new());
    };
    let found = certs::authorities(pem.as_bytes())
        .map_err(|error| settings(format!("{} cannot be used: {error}", origin.authority())))?;
    Ok(found
        .into_iter()
        .map(|certificate| Certificate {
            encoding: CertificateEncoding::Der,
            data: certificate.to_vec(),
        })
        .collect())
}

fn settings(text: impl Into<String>) -> RegistryError {
    RegistryError::new(Kind::Settings, text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn spec(repo: &str) -> Spec {
        Spec {
            repo: repo.to_owned(),
            ..Spec::default()
        }
    }

    #[test]
    fn a_repository_is_host_and_path_without_scheme_or_tag() {
        for (good, host, path) in [
            (
                "registry.example.org/packages",
                "registry.example.org",
                "packages",
            ),
            ("127.0.0.1:5000/a/b-c/", "127.0.0.1:5000", "a/b-c"),
            ("localhost/a", "localhost", "a"),
        ] {
            let access = Access::of_spec(&spec(good)).unwrap();
            assert_eq!((access.host.as_str(), access.path.as_str()), (host, path));
        }
        for bad in [
            "",
            "packages",
            "registry/packages",
            "registry.example.org",
            "registry.example.org/",
            "https://registry.example.org/packages",
            "registry.example.org/packages:v1.0.0",
            "registry.example.org/Packages",
            "registry.example.org/../packages",
            "user@registry.example.org/packages",
            "registry.example.org/packages?x",
        ] {
            let error = Access::of_spec(&spec(bad)).unwrap_err();
            assert_eq!(error.kind, Kind::Settings, "{bad}");
            let text = error.to_string();
            assert!(text.starts_with("spec.registry.repo "), "{text}");
        }
    }

    #[test]
    fn plain_http_is_used_only_when_asked_for() {
        let scheme = |scheme: Option<&str>| {
            let scheme = scheme.map(str::to_owned);
            Access::of_spec(&Spec {
                scheme,
                ..spec("localhost/a")
            })
            .map(|access| access.protocol)
        };
        assert_eq!(scheme(None).unwrap(), ClientProtocol::Https);
        assert_eq!(scheme(Some("HTTPS")).unwrap(), ClientProtocol::Https);
        assert_eq!(scheme(Some("HTTP")).unwrap(), ClientProtocol::Http);
        assert!(scheme(Some("ftp")).is_err());
    }

    #[test]
    fn c5_no_credential_is_shown_and_half_a_pair_is_refused() {
        let with = |login: Option<&str>, password: Option<&str>| Spec {
            login: login.map(str::to_owned),
            password: password.map(str::to_owned),
            ..spec("localhost/a")
        };
        let access = Access::of_spec(&with(Some("bob"), Some("hunter2"))).unwrap();
        assert_eq!(
            access.auth,
            RegistryAuth::Basic("bob".to_owned(), "hunter2".to_owned())
        );
        let shown = format!("{access:?}");
        assert!(
            !shown.contains("hunter2") && !shown.contains("bob"),
            "{shown}"
        );
        for half in [with(Some("bob"), None), with(None, Some("hunter2"))] {
            let text = Access::of_spec(&half).unwrap_err().to_string();
            assert!(text.contains("belong together"), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_docker_config_without_the_registry_is_a_mistake_in_a_spec_and_none_at_a_command() {
        let config = r#"{"auths": {"elsewhere.example.org": {"username": "u", "password": "p"}}}"#;
        let docker_cfg = Some(config.to_owned());
        let error = Access::of_spec(&Spec {
            docker_cfg,
            ..spec("localhost/a")
        })
        .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("no entry for localhost"), "{text}");
        let access = Access::of_flags("localhost/a", false, None, Some(config.as_bytes())).unwrap();
        assert_eq!(access.auth, RegistryAuth::Anonymous);
    }

    #[test]
    fn an_authority_that_is_no_certificate_is_named_by_its_field() {
        let ca = Some("not PEM".to_owned());
        let error = Access::of_spec(&Spec {
            ca,
            ..spec("localhost/a")
        })
        .unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("spec.registry.ca cannot be used"),
            "{text}"
        );
    }

    #[test]
    fn only_a_tag_or_a_digest_makes_a_reference_and_never_another_registry() {
        let access = Access::of_spec(&spec("localhost:5000/a")).unwrap();
        let image = |path, reference| access.image(path, reference).map(|image| image.to_string());
        assert_eq!(image("", "shop").unwrap(), "localhost:5000/a:shop");
        assert_eq!(
            image("shop/version", "v1.0.0").unwrap(),
            "localhost:5000/a/shop/version:v1.0.0"
        );
        let digest = format!("sha256:{}", "0".repeat(64));
        let by_digest = format!("localhost:5000/a/shop@{digest}");
        assert_eq!(image("shop", &digest).unwrap(), by_digest);
        for (path, reference) in [
            ("../b", "x"),
            ("shop", ""),
            ("shop", "a/b"),
            ("shop", "a b"),
            ("shop", "sha256:00"),
            ("Shop", "x"),
            ("shop?", "x"),
        ] {
            assert!(image(path, reference).is_err(), "{path} {reference}");
        }
    }
}
