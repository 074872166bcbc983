//! S21: as whom releases are applied, objects purged and hooks' objects patched: a service account of the Application's namespace.
//!
//! Its token is asked for, kept in memory, and asked for again before it expires. Tenantry's own rights are never used for it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::tenancy::failure::{Class, Failure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use pem::Pem;
use secrecy::SecretString;

use super::failure::{Attempt, within};
use crate::adapters::helm::Identity;

/// How long a token is asked to be good for.
const GOOD_FOR: Duration = Duration::from_secs(3600);
/// A token is not used for longer than this: the API server may have given less than was asked, never less than ten minutes.
const USED_FOR: Duration = Duration::from_secs(300);

/// The accounts of namespaces.
pub struct Accounts {
    client: Client,
    config: Config,
    authority: Option<String>,
    account: String,
    deadline: Duration,
    held: Mutex<HashMap<String, (Instant, SecretString)>>,
}

impl Accounts {
    /// Accounts of this name, reached as `config` says; `client` asks for their tokens.
    #[must_use]
    pub fn new(client: Client, config: Config, account: String, deadline: Duration) -> Self {
        let authority = config.root_cert.as_ref().map(|certificates| {
            let blocks = certificates.iter();
            let blocks = blocks.map(|der| Pem::new("CERTIFICATE", der.as_slice()));
            pem::encode_many(&blocks.collect::<Vec<_>>())
        });
        Self {
            client,
            config,
            authority,
            account,
            deadline,
            held: Mutex::default(),
        }
    }

    /// The account of this namespace.
    ///
    /// # Errors
    /// A missing account or right, by name and with what to do; else the API server's failure, classified.
    pub async fn identity(&self, namespace: &str) -> Result<Identity, Failure> {
        Ok(Identity {
            server: self.config.cluster_url.to_string(),
            authority: self.authority.clone(),
            token: self.token(namespace).await?,
        })
    }

    /// A client as the account of this namespace.
    ///
    /// # Errors
    /// As [`Accounts::identity`].
    pub async fn client(&self, namespace: &str) -> Result<Client, Failure> {
        let mut config = self.config.clone();
        config.auth_info = kube::config::AuthInfo {
            token: Some(self.token(namespace).await?),
            ..kube::config::AuthInfo::default()
        };
        Client::try_from(config).map_err(|_| {
            let text = "no client as the service account of a namespace can be made";
            Failure::new(Class::Misconfigured, text)
        })
    }

    /// Asks for another token next time.
    pub fn forget(&self, namespace: &str) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(namespace);
    }

    async fn token(&self, namespace: &str) -> Result<SecretString, Failure> {
        let held = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((since, token)) = held().get(namespace)
            && since.elapsed() < USED_FOR
        {
            return Ok(token.clone());
        }
        let now = Instant::now();
        let token = self.request(namespace).await?;
        held().insert(namespace.to_owned(), (now, token.clone()));
        Ok(token)
    }

    async fn request(&self, namespace: &str) -> Result<SecretString, Failure> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let attempt = Attempt {
            verb: "create",
            resource: "serviceaccounts/token",
            namespace,
            name: &self.account,
        };
        let seconds = i64::try_from(GOOD_FOR.as_secs()).ok();
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: seconds,
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let params = PostParams::default();
        let asked = api.create_token_request(&self.account, &params, &request);
        let answer = within(self.deadline, &attempt, async {
            match asked.await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                answer => answer.map(Some),
            }
        });
        let Some(answer) = answer.await? else {
            let text = format!(
                "namespace {namespace} has no ServiceAccount {}: add the namespace to applications.namespaces of the chart, or make the account and bind it to a role",
                self.account
            );
            return Err(Failure::new(Class::Misconfigured, text));
        };
        let status = answer
            .status
            .ok_or_else(|| Failure::not_observed("a token"))?;
        Ok(status.token.into())
    }
}
