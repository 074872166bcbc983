//! What a registry's error means: a kind for rules and a text for people. No server's text is passed on (H38).

use std::error::Error;
use std::io;

use certs::TlsProblem;
use domain::tenancy::failure::{Class, Failure};
use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};

use super::origin::Origin;

/// Why a question to a registry has no answer, as far as rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The settings themselves are wrong; no call was made.
    Settings,
    /// The registry is away, busy or broken; retrying helps.
    Away,
    /// TLS failed: a certificate, or no TLS at all on that port.
    Untrusted,
    /// The credentials are wrong or missing.
    Denied,
    /// There is no such repository, tag or digest.
    Absent,
    /// What came is not what was named: another digest, cut short, no image.
    Damaged,
    /// More than is read.
    TooLarge,
    /// The registry refuses the request.
    Refused,
    /// Our own disk.
    Disk,
}

/// Why a question to a registry has no answer; its text is safe for status (C5).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct RegistryError {
    /// What rules read.
    pub kind: Kind,
    text: String,
}

impl RegistryError {
    pub(super) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        let class = match error.kind {
            Kind::Settings | Kind::Absent => Class::Misconfigured,
            Kind::Away | Kind::Damaged | Kind::Disk => Class::Unavailable,
            Kind::Untrusted | Kind::Denied => Class::Authentication,
            Kind::TooLarge | Kind::Refused => Class::Rejected,
        };
        Self::new(class, error.text)
    }
}

/// One question: of which registry, and what for.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    pub(super) host: &'a str,
    /// Such as `reading registry.example.org/packages/shop:v1.0.0`.
    pub(super) doing: String,
    pub(super) origin: Origin,
}

impl Ask<'_> {
    /// The failure of an error of the library.
    pub(super) fn failed(&self, error: &OciDistributionError) -> RegistryError {
        use OciDistributionError as Oci;
        match error {
            Oci::RequestError(error) => self.lost(error),
            Oci::IoError(error) => self.broken(error),
            Oci::UnauthorizedError { .. } | Oci::AuthenticationFailure(_) => self.denied(401),
            Oci::ServerError { code, .. } => self.refused(*code),
            Oci::RegistryError { envelope, .. } => match envelope.errors.first() {
                Some(first) => self.told(&first.code),
                None => self.refused(400),
            },
            Oci::DigestError(DigestError::VerificationError { .. }) => self.wrong_digest(),
            Oci::DigestError(_) => self.damaged("it names a digest that is not understood"),
            Oci::ImageManifestNotFoundError(_) => self.damaged(
                "it is an index without an image for linux/amd64: push one image for that platform",
            ),
            Oci::UnsupportedMediaTypeError(_)
            | Oci::UnsupportedSchemaVersionError(_)
            | Oci::ManifestParsingError(_)
            | Oci::ManifestEncodingError(_)
            | Oci::VersionedParsingError(_) => self.damaged("its manifest is not that of an image"),
            _ => self.damaged("the answer does not follow the registry protocol"),
        }
    }

    /// The whole operation took too long.
    pub(super) fn late(&self) -> RegistryError {
        self.away("it did not answer in time")
    }

    /// A part of the answer is not what it should be.
    pub(super) fn damaged(&self, what: &str) -> RegistryError {
        self.error(Kind::Damaged, what)
    }

    /// What came has another digest.
    pub(super) fn wrong_digest(&self) -> RegistryError {
        self.damaged("what it gives has another digest than the one it names")
    }

    /// What came is more than is read.
    pub(super) fn too_large(&self, what: &str) -> RegistryError {
        self.error(Kind::TooLarge, what)
    }

    /// A stream that broke; the library wraps its own and the connection's errors alike.
    pub(super) fn broken(&self, error: &io::Error) -> RegistryError {
        let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
        let digest = inner.and_then(|inner| inner.downcast_ref::<DigestError>());
        match digest {
            Some(DigestError::VerificationError { .. }) => self.wrong_digest(),
            Some(_) => self.damaged("it names a digest that is not understood"),
            None => match inner.and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
                Some(error) => self.lost(error),
                None => self.away("the connection broke"),
            },
        }
    }

    fn error(&self, kind: Kind, what: &str) -> RegistryError {
        let Self { host, doing, .. } = self;
        RegistryError::new(kind, format!("{doing} from registry {host} failed: {what}"))
    }

    fn away(&self, what: &str) -> RegistryError {
        self.error(Kind::Away, what)
    }

    fn denied(&self, code: u16) -> RegistryError {
        let what = format!(
            "it answers {code}: the credentials in {} are wrong, missing or not allowed to",
            self.origin.credentials()
        );
        self.error(Kind::Denied, &what)
    }

    fn refused(&self, code: u16) -> RegistryError {
        match code {
            401 | 403 => self.denied(code),
            404 => self.error(
                Kind::Absent,
                "it has no such repository, tag or digest (404)",
            ),
            // What a server with TLS says to a request without.
            400 => self.error(
                Kind::Refused,
                &format!(
                    "it refuses the request as wrong (400); if it speaks HTTPS, leave out {}",
                    self.origin.plain()
                ),
            ),
            405 => self.error(Kind::Refused, "it does not allow that (405)"),
            413 => self.error(Kind::TooLarge, "it takes nothing that large (413)"),
            429 => self.away("it limits our requests (429)"),
            code => self.away(&format!("it answers {code}")),
        }
    }

    fn told(&self, code: &OciErrorCode) -> RegistryError {
        use OciErrorCode as Code;
        match code {
            Code::Unauthorized => self.denied(401),
            Code::Denied => self.denied(403),
            Code::BlobUnknown
            | Code::ManifestBlobUnknown
            | Code::ManifestUnknown
            | Code::NameUnknown
            | Code::NotFound => self.refused(404),
            Code::Unsupported => self.refused(405),
            Code::Toomanyrequests => self.refused(429),
            Code::SizeInvalid | Code::DigestInvalid => self.wrong_digest(),
            _ => self.error(Kind::Refused, "it refuses the request as wrong"),
        }
    }

    /// A request without a whole answer.
    fn lost(&self, error: &reqwest::Error) -> RegistryError {
        if error.is_timeout() {
            return self.late();
        }
        if let Some(status) = error.status() {
            return self.refused(status.as_u16());
        }
        if has_no_tls(error) {
            let what = format!(
                "it speaks no TLS on that port; if it is meant to be plain HTTP, give {}",
                self.origin.plain()
            );
            return self.error(Kind::Untrusted, &what);
        }
        if let Some(problem) = certs::explain(error) {
            let advice = match problem {
                TlsProblem::UnknownIssuer => format!(": give it in {}", self.origin.authority()),
                _ => String::new(),
            };
            return self.error(Kind::Untrusted, &format!("{problem}{advice}"));
        }
        if error.is_connect() {
            self.away("it cannot be reached")
        } else if error.is_body() || error.is_decode() {
            self.damaged("the answer was cut short")
        } else {
            self.away("the connection broke")
        }
    }
}

/// True if the other side answered a TLS greeting with something that is no TLS.
fn has_no_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return matches!(tls, rustls::Error::InvalidMessage(_));
        }
        next = match error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(origin: Origin) -> Ask<'static> {
        Ask {
            host: "registry.example.org",
            doing: "reading registry.example.org/packages/shop:v1.0.0".to_owned(),
            origin,
        }
    }

    #[test]
    fn every_answer_of_a_registry_has_its_kind_and_names_what_was_asked() {
        for (code, kind) in [
            (400, Kind::Refused),
            (401, Kind::Denied),
            (403, Kind::Denied),
            (404, Kind::Absent),
            (405, Kind::Refused),
            (413, Kind::TooLarge),
            (429, Kind::Away),
            (500, Kind::Away),
            (503, Kind::Away),
        ] {
            let error = ask(Origin::Spec).failed(&OciDistributionError::ServerError {
                code,
                url: "u".to_owned(),
                message: "hunter2".to_owned(),
            });
            assert_eq!(error.kind, kind, "{code}");
            let text = error.to_string();
            assert!(text.starts_with("reading registry.example.org/packages/shop:v1.0.0 from"));
            assert!(!text.contains("hunter2"), "h38 {text}");
        }
    }

    #[test]
    fn who_gave_the_credentials_is_told_where_they_are() {
        let error = OciDistributionError::UnauthorizedError { url: String::new() };
        let spec = ask(Origin::Spec).failed(&error).to_string();
        assert!(spec.contains("spec.registry.dockerCfg"), "{spec}");
        let flags = ask(Origin::Flags).failed(&error).to_string();
        assert!(flags.contains("--docker-config"), "{flags}");
    }

    #[test]
    fn a_failure_has_the_class_of_its_kind() {
        let class = |kind| Failure::from(RegistryError::new(kind, "")).class;
        assert_eq!(class(Kind::Away), Class::Unavailable);
        assert_eq!(class(Kind::Denied), Class::Authentication);
        assert_eq!(class(Kind::Untrusted), Class::Authentication);
        assert_eq!(class(Kind::Absent), Class::Misconfigured);
        assert_eq!(class(Kind::TooLarge), Class::Rejected);
    }
}
