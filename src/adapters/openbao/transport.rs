//! Sends one request to the one configured address and reads a bounded answer.
//!
//! It follows no redirect, uses no proxy from the environment, and logs nothing (H34). It does not judge an answer's status.

use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderValue, Request, Response};
use reqwest::Certificate;
use reqwest::redirect::Policy;
use rustify::errors::ClientError;

/// The most bytes that are read of an answer; an entry is a few hundred.
pub(super) const ANSWER_LIMIT: usize = 1024 * 1024;

/// The answer was longer than [`ANSWER_LIMIT`].
#[derive(Debug, thiserror::Error)]
#[error("the answer is longer than {ANSWER_LIMIT} bytes")]
pub(super) struct TooLong;

/// The way to OpenBao, with a token or without. It has no `Debug`.
#[derive(Clone)]
pub(super) struct Transport {
    http: reqwest::Client,
    base: String,
    token: Option<HeaderValue>,
}

impl Transport {
    /// A transport without a token. Without `roots` the system's certificates are trusted.
    pub(super) fn new(
        address: &str,
        roots: Option<Vec<Certificate>>,
        timeout: Duration,
    ) -> Result<Self, reqwest::Error> {
        let builder = reqwest::Client::builder()
            .tls_backend_rustls()
            .redirect(Policy::none())
            .no_proxy()
            .timeout(timeout)
            .connect_timeout(timeout);
        // Without TLS no roots are needed, and loading none must not fail on an image that has none.
        let roots = if address.starts_with("http://") {
            Some(roots.unwrap_or_default())
        } else {
            roots
        };
        let builder = match roots {
            Some(roots) => builder.tls_certs_only(roots),
            None => builder,
        };
        Ok(Self {
            http: builder.build()?,
            base: address.to_owned(),
            token: None,
        })
    }

    /// The same way with a token in the header.
    pub(super) fn with_token(&self, token: HeaderValue) -> Self {
        Self {
            token: Some(token),
            ..self.clone()
        }
    }
}

/// A token as a header value that no log shows; `None` if it holds a character that no header may hold.
pub(super) fn token_header(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(token.trim())
        .ok()
        .filter(|value| !value.is_empty())?;
    value.set_sensitive(true);
    Some(value)
}

#[async_trait]
impl rustify::client::Client for Transport {
    async fn send(&self, mut request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        if let Some(token) = &self.token {
            request.headers_mut().insert("X-Vault-Token", token.clone());
        }
        let request = reqwest::Request::try_from(request)
            .map_err(|source| ClientError::ReqwestBuildError { source })?;
        let lost = |source: reqwest::Error| ClientError::ResponseError {
            source: source.without_url().into(),
        };
        let mut response = self.http.execute(request).await.map_err(lost)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Err(ClientError::ResponseError {
                    source: TooLong.into(),
                });
            }
            body.extend_from_slice(&chunk);
        }
        Response::builder()
            .status(response.status())
            .body(body)
            .map_err(|source| ClientError::ResponseError {
                source: source.into(),
            })
    }

    fn base(&self) -> &str {
        &self.base
    }

    /// Every status is an answer: a 404 may carry the metadata of a deleted version, and it is no error to log.
    async fn execute(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, ClientError> {
        self.send(request).await
    }
}
