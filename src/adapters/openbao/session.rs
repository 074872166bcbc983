//! The login: made when needed, before it ends, and once more when it is refused. One at a time, however many wait for it.
//!
//! A session is usable only after the mount was found to be KV version 2 (D9), so no call ever reaches another engine.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use domain::tenancy::failure::{Class, Failure};
use jiff::{SignedDuration, Timestamp};
use rustify::endpoint::Endpoint;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;
use tokio::time::Instant;
use vaultrs::api::EndpointMiddleware;
use vaultrs::api::auth::kubernetes::requests::LoginWithKubernetesRequest;
use vaultrs::api::token::requests::LookupTokenSelfRequest;

use super::call::{Login, Mount, ReadMount, TimeLeft, send};
use super::failure;
use super::settings::{Auth, OpenBaoSettings};
use super::transport::{Transport, token_header};

/// A token file is read again after this long.
const TOKEN_FILE_AGE: Duration = Duration::from_secs(60);
/// A login that never ends is made again after this long, so that a changed CA file is read.
const ENDLESS_AGE: Duration = Duration::from_secs(3600);
/// A refused call leads to at most one new login in this time: a missing right must not become a storm of logins.
const REFUSAL_PAUSE: Duration = Duration::from_secs(10);
/// After a failed login all that wait get its failure, instead of trying one after the other.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// A way to OpenBao with a token that was accepted.
pub(super) struct Session {
    /// Sends with the token.
    pub(super) transport: Transport,
    renew_at: Instant,
    /// When the login ends; until then it is used if no other can be made. `None` for a token from a file: the file decides.
    expires: Option<Timestamp>,
    /// When the token ends, if it does and that is known; only to be shown.
    ends: Option<Timestamp>,
}

#[derive(Default)]
struct Gate {
    failed: Option<(Instant, Failure)>,
    refused: Option<Instant>,
}

/// All logins of the process.
pub(super) struct Sessions {
    settings: Arc<OpenBaoSettings>,
    middleware: EndpointMiddleware,
    session: ArcSwapOption<Session>,
    gate: Mutex<Gate>,
}

impl Sessions {
    /// No session yet.
    pub(super) fn new(settings: Arc<OpenBaoSettings>) -> Self {
        let middleware = EndpointMiddleware {
            // The token is added by the transport, as a header value that no log shows.
            token: String::new(),
            version: "v1".to_owned(),
            wrap: None,
            namespace: settings.namespace.clone(),
        };
        Self {
            settings,
            middleware,
            session: ArcSwapOption::empty(),
            gate: Mutex::default(),
        }
    }

    /// Adds path prefix and namespace to a request.
    pub(super) fn middleware(&self) -> &EndpointMiddleware {
        &self.middleware
    }

    /// When the present token ends.
    pub(super) fn ends(&self) -> Option<Timestamp> {
        self.session.load().as_ref()?.ends
    }

    /// A session that is not about to end.
    pub(super) async fn current(&self) -> Result<Arc<Session>, Failure> {
        if let Some(session) = self.fresh() {
            return Ok(session);
        }
        let mut gate = self.gate.lock().await;
        if let Some(session) = self.fresh() {
            return Ok(session);
        }
        let renewed = self.renew(&mut gate).await;
        renewed.or_else(|failure| self.unexpired().ok_or(failure))
    }

    /// A session other than the refused one; `None` if a new login was made for a refusal just before, which then proves that
    /// the login is not what is missing.
    pub(super) async fn after_refusal(
        &self,
        refused: &Arc<Session>,
    ) -> Result<Option<Arc<Session>>, Failure> {
        let mut gate = self.gate.lock().await;
        if let Some(session) = self
            .fresh()
            .filter(|session| !Arc::ptr_eq(session, refused))
        {
            return Ok(Some(session));
        }
        if gate.refused.is_some_and(|at| at.elapsed() < REFUSAL_PAUSE) {
            return Ok(None);
        }
        gate.refused = Some(Instant::now());
        self.renew(&mut gate).await.map(Some)
    }

    fn fresh(&self) -> Option<Arc<Session>> {
        self.session
            .load_full()
            .filter(|session| Instant::now() < session.renew_at)
    }

    fn unexpired(&self) -> Option<Arc<Session>> {
        self.session
            .load_full()
            .filter(|session| session.expires.is_some_and(|end| Timestamp::now() < end))
    }

    async fn renew(&self, gate: &mut Gate) -> Result<Arc<Session>, Failure> {
        if let Some((at, failure)) = &gate.failed
            && at.elapsed() < FAILURE_PAUSE
        {
            return Err(failure.clone());
        }
        match self.begin().await {
            Ok(session) => {
                let session = Arc::new(session);
                gate.failed = None;
                self.session.store(Some(Arc::clone(&session)));
                Ok(session)
            }
            Err(failure) => {
                gate.failed = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    async fn begin(&self) -> Result<Session, Failure> {
        // The CA file is read anew, so a renewed CA needs no restart.
        let anonymous = self
            .settings
            .transport()
            .map_err(|error| Failure::new(Class::Misconfigured, error.to_string()))?;
        let mut session = match &self.settings.auth {
            Auth::Token { file } => {
                let token = read_token(file).await?;
                Self::session(&anonymous, &token, TOKEN_FILE_AGE, None)?
            }
            Auth::Kubernetes {
                mount,
                role,
                token_file,
            } => {
                let token = read_token(token_file).await?;
                let login = self.log_in(&anonymous, mount, role, &token).await?;
                let lease = Duration::from_secs(u64::from(login.lease_duration));
                let (age, expires) = if lease.is_zero() {
                    (ENDLESS_AGE, None)
                } else {
                    (
                        lease * 2 / 3,
                        Some(
                            Timestamp::now()
                                + SignedDuration::from_secs(i64::from(login.lease_duration)),
                        ),
                    )
                };
                Self::session(&anonymous, &login.client_token, age, expires)?
            }
        };
        self.check_mount(&session.transport).await?;
        if let Auth::Token { .. } = &self.settings.auth {
            session.ends = self.end_of_token(&session.transport).await;
        }
        tracing::debug!(expires = ?session.expires, "logged in to OpenBao");
        Ok(session)
    }

    fn session(
        anonymous: &Transport,
        token: &SecretString,
        age: Duration,
        expires: Option<Timestamp>,
    ) -> Result<Session, Failure> {
        let header = token_header(token.expose_secret()).ok_or_else(|| {
            Failure::new(
                Class::Authentication,
                "the OpenBao token is empty or holds characters that none has",
            )
        })?;
        Ok(Session {
            transport: anonymous.with_token(header),
            renew_at: Instant::now() + age,
            expires,
            ends: expires,
        })
    }

    async fn log_in(
        &self,
        anonymous: &Transport,
        mount: &str,
        role: &str,
        jwt: &SecretString,
    ) -> Result<Login, Failure> {
        let doing = format!("the login at auth/{mount}");
        let request = LoginWithKubernetesRequest {
            mount: mount.to_owned(),
            role: role.to_owned(),
            jwt: jwt.expose_secret().to_owned(),
        };
        let answer = send(
            &request.with_middleware(&self.middleware),
            anonymous,
            &doing,
        )
        .await?;
        match answer.status {
            400 | 401 | 403 => Err(Failure::new(
                Class::Authentication,
                format!(
                    "OpenBao answers {} to {doing}: check that role {role} exists there and is bound to this service account, \
                     its namespace and the token's audience",
                    answer.status
                ),
            )),
            200..300 => answer
                .login()
                .ok_or_else(|| failure::garbled(&doing, "it has no token")),
            status => Err(failure::of_status(status, &doing)),
        }
    }

    /// When a token that nobody renews here ends; `None` if never, or if it has no right to ask.
    async fn end_of_token(&self, transport: &Transport) -> Option<Timestamp> {
        let request = LookupTokenSelfRequest {};
        let request = request.with_middleware(&self.middleware);
        let answer = send(&request, transport, "asking when the token ends").await;
        let ttl = answer.ok()?.data::<TimeLeft>()?.ttl;
        (ttl > 0).then(|| Timestamp::now() + SignedDuration::from_secs(i64::from(ttl)))
    }

    async fn check_mount(&self, transport: &Transport) -> Result<(), Failure> {
        let mount = &self.settings.mount;
        let doing = format!("asking what is mounted at {mount}");
        let request = ReadMount {
            mount: mount.clone(),
        };
        let answer = send(
            &request.with_middleware(&self.middleware),
            transport,
            &doing,
        )
        .await?;
        // The token was accepted: OpenBao hides a mount that the token has no right on, and one that is not there.
        if answer.status == 403 && answer.complains_of("preflight capability check") {
            let text = format!(
                "OpenBao shows no mount {mount} to this login: it is not there, or the policy gives no path under it"
            );
            return Err(Failure::new(Class::Misconfigured, text));
        }
        if answer.status == 403 {
            let text = format!(
                "OpenBao answers 403 to {doing}: it does not accept the token, which may have ended or been revoked"
            );
            return Err(Failure::new(Class::Authentication, text));
        }
        if !answer.is_success() {
            return Err(failure::of_status(answer.status, &doing));
        }
        match answer.data::<Mount>() {
            Some(found) if found.is_kv2() => Ok(()),
            Some(_) => Err(Failure::new(
                Class::Misconfigured,
                format!(
                    "the OpenBao mount {mount} is not a KV engine of version 2, which alone has check-and-set: \
                     upgrade it (bao kv enable-versioning {mount}) or choose another mount"
                ),
            )),
            None => Err(failure::garbled(&doing, "it is not of OpenBao's form")),
        }
    }
}

async fn read_token(file: &std::path::Path) -> Result<SecretString, Failure> {
    match tokio::fs::read_to_string(file).await {
        Ok(token) => Ok(SecretString::from(token.trim())),
        Err(error) => Err(Failure::new(
            Class::Authentication,
            format!(
                "cannot read the token file {} for the OpenBao login: {}",
                file.display(),
                error.kind()
            ),
        )),
    }
}
