//! Where OpenBao is and how to log in, and what is wrong with such settings. It makes no call.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;

use super::transport::Transport;

/// How the process proves itself to OpenBao.
#[derive(Clone, Debug)]
pub enum Auth {
    /// The Kubernetes auth method with a projected service account token.
    Kubernetes {
        /// Path of the auth mount, such as `kubernetes`.
        mount: String,
        /// Role of that mount.
        role: String,
        /// The token's file, read again at every login because the kubelet rotates it.
        token_file: PathBuf,
    },
    /// A token in a file, read again at least once a minute.
    Token {
        /// The file; white space around the token is ignored.
        file: PathBuf,
    },
}

/// Settings of the deployment for OpenBao; no secret is in them.
#[derive(Clone, Debug)]
pub struct OpenBaoSettings {
    /// `http://` or `https://`, host and port.
    pub address: String,
    /// The namespace, if any.
    pub namespace: Option<String>,
    /// PEM bundle that the server's certificate is verified with, instead of the system's roots; read again at every login.
    pub ca_file: Option<PathBuf>,
    /// The KV v2 mount.
    pub mount: String,
    /// The login.
    pub auth: Auth,
    /// Deadline of one request; a whole operation takes at most three times as long.
    pub timeout: Duration,
}

/// What is wrong with the settings; each variant names the setting.
#[derive(Debug, thiserror::Error)]
pub enum OpenBaoConfigError {
    /// Not a URL.
    #[error("the OpenBao address is not a URL: write it as https://host:port")]
    Address(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another scheme, or user info, path, query or fragment.
    #[error(
        "the OpenBao address must be http:// or https:// with a host and nothing behind the port"
    )]
    AddressForm,
    /// The mount or the auth mount.
    #[error("the OpenBao {0} must be a path without empty, '.' or '..' segments, such as secret")]
    Path(&'static str),
    /// The namespace is no header value.
    #[error("the OpenBao namespace holds a character that no HTTP header may hold")]
    Namespace,
    /// The CA file cannot be read.
    #[error("cannot read the OpenBao CA file {path}")]
    ReadCa {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The CA file holds no certificates.
    #[error("the OpenBao CA file {path} holds no PEM certificate that can be used")]
    ParseCa {
        /// The file.
        path: PathBuf,
        /// Why, if the parser said.
        source: Option<reqwest::Error>,
    },
    /// The HTTP client cannot be made.
    #[error("cannot prepare the HTTP client for OpenBao")]
    Client(#[source] reqwest::Error),
}

/// True for a path of plain segments: nothing that a URL would fold away.
pub(super) fn is_plain_path(path: &str) -> bool {
    path.split('/')
        .all(|segment| !matches!(segment, "" | "." | ".."))
        && !path.chars().any(char::is_control)
}

impl OpenBaoSettings {
    /// Checks everything that can be checked without a call.
    pub(super) fn check(&self) -> Result<(), OpenBaoConfigError> {
        let url = reqwest::Url::parse(&self.address)
            .map_err(|error| OpenBaoConfigError::Address(error.into()))?;
        let bare =
            matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        let anonymous = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !bare || !anonymous {
            return Err(OpenBaoConfigError::AddressForm);
        }
        if !is_plain_path(&self.mount) {
            return Err(OpenBaoConfigError::Path("mount"));
        }
        if let Auth::Kubernetes { mount, .. } = &self.auth
            && !is_plain_path(mount)
        {
            return Err(OpenBaoConfigError::Path("auth mount"));
        }
        if self
            .namespace
            .as_deref()
            .is_some_and(|name| HeaderValue::from_str(name).is_err())
        {
            return Err(OpenBaoConfigError::Namespace);
        }
        self.transport().map(drop)
    }

    /// A transport without a token, with the CA file as it is now.
    pub(super) fn transport(&self) -> Result<Transport, OpenBaoConfigError> {
        let roots = self.ca_file.as_ref().map(|path| {
            let pem = fs::read(path).map_err(|source| OpenBaoConfigError::ReadCa {
                path: path.clone(),
                source,
            })?;
            let parsed = reqwest::Certificate::from_pem_bundle(&pem);
            match parsed {
                Ok(roots) if roots.is_empty() => Err(OpenBaoConfigError::ParseCa {
                    path: path.clone(),
                    source: None,
                }),
                Ok(roots) => Ok(roots),
                Err(source) => Err(OpenBaoConfigError::ParseCa {
                    path: path.clone(),
                    source: Some(source),
                }),
            }
        });
        Transport::new(&self.address, roots.transpose()?, self.timeout)
            .map_err(OpenBaoConfigError::Client)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::double::install_provider;
    use super::*;

    fn settings(address: &str) -> OpenBaoSettings {
        install_provider();
        OpenBaoSettings {
            address: address.to_owned(),
            namespace: None,
            ca_file: None,
            mount: "secret".to_owned(),
            auth: Auth::Token {
                file: PathBuf::from("token"),
            },
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn h34_an_address_with_user_path_query_or_another_scheme_is_refused() {
        for good in ["http://127.0.0.1:8200", "http://bao.home.arpa/"] {
            assert!(settings(good).check().is_ok(), "{good}");
        }
        for bad in [
            "",
            "bao:8200",
            "ftp://bao",
            "http://user:pass@bao",
            "http://bao/v1",
            "http://bao?x=1",
            "http://bao#x",
        ] {
            assert!(settings(bad).check().is_err(), "{bad}");
        }
    }

    #[test]
    fn mounts_and_namespace_are_checked_before_any_call() {
        for mount in ["", "/", "a//b", "../x", "a/./b", "a\n"] {
            let broken = OpenBaoSettings {
                mount: mount.to_owned(),
                ..settings("http://bao")
            };
            assert!(
                matches!(broken.check(), Err(OpenBaoConfigError::Path("mount"))),
                "{mount:?}"
            );
        }
        let namespace = OpenBaoSettings {
            namespace: Some("a\nb".to_owned()),
            ..settings("http://bao")
        };
        assert!(matches!(
            namespace.check(),
            Err(OpenBaoConfigError::Namespace)
        ));
    }

    #[test]
    fn a_missing_or_empty_ca_file_is_named() {
        let missing = OpenBaoSettings {
            ca_file: Some(PathBuf::from("/nowhere/ca.pem")),
            ..settings("http://bao")
        };
        assert!(
            missing
                .check()
                .unwrap_err()
                .to_string()
                .contains("/nowhere/ca.pem")
        );
        let empty = OpenBaoSettings {
            ca_file: Some(PathBuf::from("/dev/null")),
            ..settings("http://bao")
        };
        assert!(matches!(
            empty.check(),
            Err(OpenBaoConfigError::ParseCa { .. })
        ));
    }
}
