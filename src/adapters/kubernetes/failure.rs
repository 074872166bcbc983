//! What an error of the API server means, and a deadline for each call.
//!
//! Maps HTTP status and cause to the domain's classes. The texts name verb and resource, never a body.

use std::future::Future;
use std::time::Duration;

use domain::tenancy::failure::{Class, Failure};

/// Ends a call at the deadline and classifies what came back. `call` names verb and resource, for example `get secrets`.
///
/// # Errors
/// The classified failure.
pub async fn bounded<T>(
    deadline: Duration,
    call: &str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(deadline, request).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(classify(call, &error)),
        Err(_) => Err(Failure::new(
            Class::Unavailable,
            format!("the API server did not answer in time ({call})"),
        )),
    }
}

/// The class of an API error.
#[must_use]
pub fn classify(call: &str, error: &kube::Error) -> Failure {
    let kube::Error::Api(status) = error else {
        tracing::debug!(call, %error, "API call failed");
        return Failure::new(
            Class::Unavailable,
            format!("the API server could not be reached ({call})"),
        );
    };
    tracing::debug!(call, code = status.code, reason = ?status.reason, message = ?status.message, "API call refused");
    match status.code {
        409 => Failure::new(
            Class::Stale,
            format!("the object changed in the meantime ({call})"),
        ),
        403 if status.message.contains("being terminated") => Failure::new(
            Class::NamespaceTerminating,
            format!("the namespace is being terminated ({call})"),
        ),
        401 | 403 => Failure::new(
            Class::Rejected,
            format!("the API server forbids this process to {call}: check its RBAC"),
        ),
        429 | 500..=599 => Failure::new(
            Class::Unavailable,
            format!(
                "the API server is busy or failing ({call}, {})",
                status.code
            ),
        ),
        code => Failure::new(
            Class::Rejected,
            format!(
                "the API server refused to {call} ({code} {})",
                status.reason
            ),
        ),
    }
}
