//! One request and its answer, whatever the status. Whether to log in again is decided in [`super::session`].

use std::collections::HashMap;

use rustify::endpoint::{Endpoint, MutatedEndpoint};
use rustify::enums::{RequestMethod, RequestType, ResponseType};
use rustify::errors::ClientError;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use vaultrs::api::EndpointMiddleware;

use super::failure;
use super::transport::Transport;
use domain::tenancy::failure::Failure;

/// A request with its path prefix and namespace header, to be sent with or without a token.
pub(super) type Call<'m, E> = MutatedEndpoint<'m, E, EndpointMiddleware>;

/// Sends a request.
pub(super) async fn send<E: Endpoint>(
    call: &Call<'_, E>,
    transport: &Transport,
    doing: &str,
) -> Result<Answer, Failure> {
    let result = call
        .exec(transport)
        .await
        .map_err(|error| failure::of_transport(&error, doing))?;
    let (parts, body) = result.response.into_parts();
    Ok(Answer {
        status: parts.status.as_u16(),
        body,
    })
}

/// An answer; it may hold a password, so it has no `Debug`.
pub(super) struct Answer {
    /// HTTP status.
    pub(super) status: u16,
    body: Vec<u8>,
}

#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(Deserialize)]
struct Auth {
    auth: Login,
}

/// What a login gives.
#[derive(Deserialize)]
pub(super) struct Login {
    /// The token.
    pub(super) client_token: SecretString,
    /// Seconds until it ends; 0 means never.
    pub(super) lease_duration: u32,
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<String>,
}

impl Answer {
    /// True for 200 and 204 and what is between.
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The `data` of the answer, if the body has such; also of a 404, which may carry a deleted version's metadata.
    pub(super) fn data<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body)
            .ok()
            .map(|body: Data<T>| body.data)
    }

    /// What a login gave, if this is the answer to one.
    pub(super) fn login(&self) -> Option<Login> {
        serde_json::from_slice(&self.body)
            .ok()
            .map(|body: Auth| body.auth)
    }

    /// True if it is the API's error form without any error: nothing is stored there.
    pub(super) fn says_nothing_there(&self) -> bool {
        self.status == 404 && self.errors().is_some_and(|errors| errors.is_empty())
    }

    /// True if an error text holds these words. The text itself is read for nothing else (H38).
    pub(super) fn complains_of(&self, words: &str) -> bool {
        self.errors()
            .is_some_and(|errors| errors.iter().any(|error| error.contains(words)))
    }

    fn errors(&self) -> Option<Vec<String>> {
        serde_json::from_slice(&self.body)
            .ok()
            .map(|body: Errors| body.errors)
    }
}

/// Asks what is mounted at a path.
pub(super) struct ReadMount {
    /// The mount.
    pub(super) mount: String,
}

impl Endpoint for ReadMount {
    type Response = Mount;
    const REQUEST_BODY_TYPE: RequestType = RequestType::JSON;
    const RESPONSE_BODY_TYPE: ResponseType = ResponseType::JSON;

    fn path(&self) -> String {
        format!("sys/internal/ui/mounts/{}", self.mount)
    }

    fn method(&self) -> RequestMethod {
        RequestMethod::GET
    }
}

/// What is mounted there.
#[derive(Deserialize)]
pub(super) struct Mount {
    #[serde(rename = "type")]
    engine: String,
    options: Option<HashMap<String, String>>,
}

impl Mount {
    /// True for a KV engine of version 2, the only one that knows check-and-set (D9).
    pub(super) fn is_kv2(&self) -> bool {
        let version = self
            .options
            .as_ref()
            .and_then(|options| options.get("version"));
        self.engine == "kv" && version.is_some_and(|version| version == "2")
    }
}

/// What is read of a token; the rest of the answer, the token itself among it, is not.
#[derive(Deserialize)]
pub(super) struct TimeLeft {
    /// Seconds; 0 means that it never ends.
    pub(super) ttl: u32,
}

/// Writes custom metadata and nothing else. The library's request sends its unset fields as `null`, which resets
/// `max_versions` and `cas_required` of the entry.
pub(super) struct WriteCustomMetadata {
    /// The mount.
    pub(super) mount: String,
    /// The entry.
    pub(super) path: String,
    /// The whole map; it replaces the present one.
    pub(super) custom_metadata: HashMap<String, String>,
}

impl Endpoint for WriteCustomMetadata {
    type Response = ();
    const REQUEST_BODY_TYPE: RequestType = RequestType::JSON;
    const RESPONSE_BODY_TYPE: ResponseType = ResponseType::JSON;

    fn path(&self) -> String {
        format!("{}/metadata/{}", self.mount, self.path)
    }

    fn method(&self) -> RequestMethod {
        RequestMethod::POST
    }

    fn body(&self) -> Result<Option<Vec<u8>>, ClientError> {
        let body = serde_json::json!({ "custom_metadata": self.custom_metadata });
        Ok(Some(body.to_string().into_bytes()))
    }
}
