//! What a status or a lost answer means: a class for rules and a text for people. No server's text is passed on (H38).

use std::error::Error;

use domain::tenancy::failure::{Class, Failure};
use rustify::errors::ClientError;

use super::transport::TooLong;

/// The failure of an answer that is no success. `doing` says what was tried, such as "reading secret/data/a/b".
pub(super) fn of_status(status: u16, doing: &str) -> Failure {
    let (class, what) = match status {
        300..=399 => (
            Class::Unavailable,
            "it redirects, and a redirect is never followed with a token: give the address of the active node or of a load balancer",
        ),
        400 => (Class::Rejected, "it refuses the request as wrong"),
        401 | 403 => (
            Class::Authentication,
            "the login is not allowed to: check the policy of its role",
        ),
        404 | 405 => (
            Class::Misconfigured,
            "it has no such path: check mount, auth mount and namespace",
        ),
        412 => (Class::Unavailable, "this node lags behind"),
        429 => (
            Class::Unavailable,
            "it limits our requests, or it is a standby",
        ),
        472 | 473 => (Class::Unavailable, "it is a standby"),
        503 => (Class::Unavailable, "it is sealed or down"),
        500..=599 => (Class::Unavailable, "it has an internal error"),
        _ => (Class::Rejected, "it gives an unexpected answer"),
    };
    Failure::new(
        class,
        format!("OpenBao answers {status} to {doing}: {what}"),
    )
}

/// The failure of a request that got no whole answer.
pub(super) fn of_transport(error: &ClientError, doing: &str) -> Failure {
    let what = match error {
        ClientError::ResponseError { source } if source.is::<TooLong>() => {
            return garbled(doing, "its answer is too long");
        }
        ClientError::ResponseError { source } => match source.downcast_ref::<reqwest::Error>() {
            Some(error) if error.is_timeout() => "it did not answer in time",
            Some(error) if is_certificate_error(error) => {
                "its certificate was not accepted: check the CA file and the names in the certificate"
            }
            Some(error) if error.is_connect() => "it cannot be reached",
            _ => "the connection broke",
        },
        _ => "the request cannot be made",
    };
    Failure::new(
        Class::Unavailable,
        format!("OpenBao does not answer to {doing}: {what}"),
    )
}

/// The failure of a success whose body is not the API's.
pub(super) fn garbled(doing: &str, what: &str) -> Failure {
    Failure::new(
        Class::Unavailable,
        format!("OpenBao gives no usable answer to {doing}: {what}"),
    )
}

/// The mount is being brought to KV version 2, which takes a moment.
pub(super) fn not_ready(doing: &str) -> Failure {
    Failure::new(
        Class::Unavailable,
        format!("OpenBao answers 400 to {doing}: the mount is being upgraded to KV version 2"),
    )
}

/// The whole operation took too long.
pub(super) fn late(doing: &str) -> Failure {
    Failure::new(
        Class::Unavailable,
        format!("OpenBao does not answer to {doing}: it did not answer in time"),
    )
}

fn is_certificate_error(error: &reqwest::Error) -> bool {
    let mut next: Option<&dyn Error> = error.source();
    while let Some(cause) = next {
        let tls = cause
            .downcast_ref()
            .or_else(|| cause.downcast_ref().and_then(tls_within));
        if let Some(tls) = tls {
            return matches!(tls, rustls::Error::InvalidCertificate(_));
        }
        next = cause.source();
    }
    false
}

/// What an IO error wraps is not among its sources, and the TLS error is wrapped more than once.
fn tls_within(error: &std::io::Error) -> Option<&rustls::Error> {
    let inner = error.get_ref()?;
    inner
        .downcast_ref()
        .or_else(|| inner.downcast_ref().and_then(tls_within))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h34_every_status_has_its_class_and_its_remedy() {
        let table = [
            (301, Class::Unavailable),
            (307, Class::Unavailable),
            (400, Class::Rejected),
            (403, Class::Authentication),
            (404, Class::Misconfigured),
            (405, Class::Misconfigured),
            (412, Class::Unavailable),
            (418, Class::Rejected),
            (429, Class::Unavailable),
            (472, Class::Unavailable),
            (500, Class::Unavailable),
            (502, Class::Unavailable),
            (503, Class::Unavailable),
        ];
        for (status, class) in table {
            let failure = of_status(status, "reading secret/data/a");
            assert_eq!(failure.class, class, "{status}");
            assert!(failure.text.starts_with(&format!(
                "OpenBao answers {status} to reading secret/data/a: "
            )));
        }
    }
}
