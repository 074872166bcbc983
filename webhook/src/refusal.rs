//! HTTP errors: requests that get no review.
//!
//! Decides status and text. The API server takes each as a failed call, so with `failurePolicy: Fail` nothing is stored.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::review::NotAReview;

/// Why a request gets an HTTP error. The text is for the log of the API server and names nothing of this process.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// 415: another content type than JSON, or none (H5).
    #[error("the content type must be application/json")]
    MediaType,
    /// 415: a compressed body (H5).
    #[error("the body must not be encoded")]
    Encoding,
    /// 413: a body over the limit, announced or not (H3).
    #[error("the body is too large")]
    TooLarge,
    /// 429: no place left, or no bytes (H4).
    #[error("too many reviews at once: try again")]
    Busy,
    /// 408: the body did not arrive within the deadline.
    #[error("the body did not arrive in time")]
    Slow,
    /// 400: the body ended early.
    #[error("the body was interrupted")]
    Interrupted,
    /// 400: the body holds no review that could be answered (H6).
    #[error(transparent)]
    NotAReview(#[from] NotAReview),
    /// 503: what a verdict needs is not known yet.
    #[error("the caches are not filled yet: try again")]
    Unsynced,
    /// 504: no verdict within the deadline.
    #[error("no verdict in time: try again")]
    Late,
    /// 500: a bug; its detail is in our log only (H7).
    #[error("internal error")]
    Panicked,
}

impl Refusal {
    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MediaType | Self::Encoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Interrupted | Self::NotAReview(_) => StatusCode::BAD_REQUEST,
            Self::Unsynced => StatusCode::SERVICE_UNAVAILABLE,
            Self::Late => StatusCode::GATEWAY_TIMEOUT,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Refusal {
    /// Every label that [`Self::before_decode`] gives.
    pub const CAUSES: [&str; 7] = [
        "media_type",
        "encoding",
        "too_large",
        "busy",
        "slow",
        "interrupted",
        "not_a_review",
    ];

    /// Why nothing of the review was read, as a metric label; `None` if it was, or may have been.
    #[must_use]
    pub fn before_decode(&self) -> Option<&'static str> {
        match self {
            Self::MediaType => Some("media_type"),
            Self::Encoding => Some("encoding"),
            Self::TooLarge => Some("too_large"),
            Self::Busy => Some("busy"),
            Self::Slow => Some("slow"),
            Self::Interrupted => Some("interrupted"),
            Self::NotAReview(_) => Some("not_a_review"),
            Self::Unsynced | Self::Late | Self::Panicked => None,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let busy = self == Self::Busy;
        let mut response = (self.status(), self.to_string()).into_response();
        if busy {
            // Kubernetes' client repeats a 429 only if it is told when, and within the webhook's own timeout.
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_in_the_closed_list() {
        let all = [
            Refusal::MediaType,
            Refusal::Encoding,
            Refusal::TooLarge,
            Refusal::Busy,
            Refusal::Slow,
            Refusal::Interrupted,
            Refusal::NotAReview(NotAReview::NotUtf8),
            Refusal::Unsynced,
            Refusal::Late,
            Refusal::Panicked,
        ];
        let causes: Vec<_> = all.iter().filter_map(Refusal::before_decode).collect();
        assert_eq!(causes, Refusal::CAUSES);
    }
}
