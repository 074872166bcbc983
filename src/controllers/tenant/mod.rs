//! A Tenant's reconcile: rounds from the object as the API server has it, until the domain says to rest.
//!
//! What is observed is in `observe`, how an effect is carried out in `perform`. It decides nothing about tenants.

pub mod departed;
mod observe;
mod perform;
mod sight;
mod subject;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crds::PostgreSQLTenant;
use domain::tenancy::decide::{Step, Then};
use domain::tenancy::effect::{TenantEffect, tenant_status_id};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use domain::tenancy::reason::Retry;
use domain::tenancy::tenant::{TenantPhase, TenantStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};

use self::sight::Sight;
use self::subject::Subject;
use super::context::Context;
use super::phases::Saved;
use super::{Counted, Ending, MOST_ROUNDS};
use crate::adapters::kubernetes::is_held;
use crate::effects;
use crate::view::Guarded;

/// Times that one reconcile reads an object anew because it changed under its hands.
const MOST_RELOADS: usize = 5;

/// Pauses from here on are kept by [`super::settled::Settled`] alone. It is short, so that every rest takes the same way.
const SCHEDULED_MAX: Duration = Duration::from_secs(1);

/// The controller's name in metrics and logs.
pub const CONTROLLER: &str = "postgresqltenant";

/// One reconcile; failures are in the object's condition and in the pause, never an error for the runtime.
///
/// # Errors
/// Never.
pub async fn reconcile(
    object: Arc<Guarded<PostgreSQLTenant>>,
    ctx: Arc<Context>,
) -> Result<Action, Infallible> {
    let meta = object.meta();
    if let Err(error) = &object.0 {
        tracing::error!(namespace = ?meta.namespace, name = ?meta.name, %error, "a PostgreSQLTenant could not be read and is skipped");
        return Ok(Action::await_change());
    }
    let (Some(namespace), Some(name), Some(uid)) = (&meta.namespace, &meta.name, &meta.uid) else {
        return Ok(Action::await_change());
    };
    let uid = Uid::new(uid);
    if let Some(pause) = ctx
        .settled
        .remaining(&uid, meta.resource_version.as_deref().unwrap_or_default())
    {
        return Ok(again(pause));
    }
    // Before the first list of Instances is here, an Instance that exists would look absent.
    ctx.view.synced().await;
    let counted = Counted::start(&ctx.metrics, CONTROLLER);
    let mut run = Run {
        ctx: &ctx,
        versions: Vec::new(),
        done: None,
        seen: None,
        projection_version: None,
    };
    let ending = super::caught(&ctx.metrics, CONTROLLER, run.converge(namespace, name)).await;
    counted.ended(ending);
    let Some(retry) = ending.retry() else {
        departed::forget_uid(&ctx, &uid);
        return Ok(Action::await_change());
    };
    let pause = ctx.backoff.after(&uid, retry);
    tracing::debug!(namespace, name, ?pause, "reconciled");
    ctx.settled
        .rest(uid, &run.versions, run.projection_version, pause);
    Ok(again(pause))
}

/// Short pauses are the scheduler's. Whoever rests for long is woken by [`Settled::due`], since an entry in the scheduler takes
/// as much memory as half a Tenant.
///
/// [`Settled::due`]: super::settled::Settled::due
fn again(pause: Duration) -> Action {
    if pause < SCHEDULED_MAX {
        Action::requeue(pause)
    } else {
        Action::await_change()
    }
}

/// The rounds of one reconcile.
struct Run<'c> {
    ctx: &'c Context,
    versions: Vec<String>,
    /// The effect of the round before this one. Asked for again at once, it changed nothing that can be seen.
    done: Option<TenantEffect>,
    /// What the round before this one saw and left as it was.
    seen: Option<Sight>,
    /// The resourceVersion at which the ExternalSecret was seen last.
    projection_version: Option<String>,
}

impl Run<'_> {
    async fn converge(&mut self, namespace: &str, name: &str) -> Ending {
        let mut object = match self.load(namespace, name).await {
            Ok(object) => object,
            Err(ending) => return ending,
        };
        let mut reloads = 0;
        for _ in 0..MOST_ROUNDS {
            if self.ctx.stop.is_cancelled() {
                return Ending::STOPPED;
            }
            match Box::pin(self.round(&object)).await {
                Ok(next) => object = next,
                Err(Stop::Reload) if reloads < MOST_RELOADS => {
                    reloads += 1;
                    self.seen = None;
                    object = match self.load(namespace, name).await {
                        Ok(object) => object,
                        Err(ending) => return ending,
                    };
                }
                Err(Stop::Reload) => return Ending::Pause(Retry::Backoff),
                Err(Stop::End(ending)) => return ending,
            }
        }
        tracing::warn!(
            namespace,
            name,
            rounds = MOST_ROUNDS,
            "a reconcile took too many rounds and pauses"
        );
        Ending::Pause(Retry::Backoff)
    }

    async fn load(&mut self, namespace: &str, name: &str) -> Result<PostgreSQLTenant, Ending> {
        match self.ctx.cluster.tenant(namespace, name).await {
            Ok(Some(object)) => Ok(self.ours(object)),
            Ok(None) => Err(Ending::Gone),
            Err(failure) => {
                tracing::warn!(namespace, name, %failure, "a tenant could not be loaded");
                Err(Ending::Pause(Retry::Backoff))
            }
        }
    }

    /// A version of the object that wakes nobody when the watch brings it.
    fn ours(&mut self, object: PostgreSQLTenant) -> PostgreSQLTenant {
        self.versions.extend(object.resource_version());
        object
    }

    /// One round: the object for the next one, or why there is none.
    async fn round(&mut self, object: &PostgreSQLTenant) -> Result<PostgreSQLTenant, Stop> {
        let ctx = self.ctx;
        // Nothing of ours is left to do for an object that is going without our finalizer.
        if object.is_deleting() && !is_held(object) {
            return Err(Stop::End(Ending::Gone));
        }
        let subject =
            Subject::of(object, &ctx.deployment).ok_or(Stop::End(Ending::Pause(Retry::Slow)))?;
        let sight = Box::pin(observe::observe(ctx, &subject, self.seen.take())).await;
        if let Some(version) = &sight.projection_version {
            self.projection_version = Some(version.clone());
        }
        match subject.decide(&sight.facts) {
            Step::Save { status, then } => {
                self.seen = Some(sight);
                self.save(object, &status, then).await
            }
            Step::Rest { retry, notice } => {
                if let Some(text) = notice {
                    let about = object.object_ref(&());
                    ctx.events
                        .notice(&subject.identity().uid, &about, &text)
                        .await;
                }
                let ready = subject.saved().ready.as_ref();
                Err(Stop::End(Ending::rest(retry, ready)))
            }
            Step::Effect(effect) if self.done.as_ref() == Some(&effect) => {
                let text = format!(
                    "{} was carried out and changed nothing that can be seen",
                    effect.id()
                );
                self.failed(
                    object,
                    &subject,
                    effect.id(),
                    &Failure::new(Class::Unavailable, text),
                )
                .await
            }
            Step::Effect(effect) => {
                let id = effect.id();
                let done = effects::perform(
                    &ctx.metrics,
                    id,
                    perform::perform(ctx, object, &subject, &sight, &effect),
                )
                .await;
                match done {
                    Ok(next) => {
                        tracing::info!(
                            namespace = %subject.identity().namespace, name = %subject.identity().name, uid = %subject.identity().uid,
                            phase = subject.saved().phase.as_str(), effect = id, "done"
                        );
                        self.seen = sight.after(&effect);
                        self.done = Some(effect);
                        Ok(next.map_or_else(|| object.clone(), |next| self.ours(next)))
                    }
                    Err(failure) => self.failed(object, &subject, id, &failure).await,
                }
            }
        }
    }

    async fn failed(
        &mut self,
        object: &PostgreSQLTenant,
        subject: &Subject,
        effect: &str,
        failure: &Failure,
    ) -> Result<PostgreSQLTenant, Stop> {
        if failure.class == Class::Stale {
            return Err(Stop::Reload);
        }
        tracing::warn!(
            namespace = %subject.identity().namespace, name = %subject.identity().name, uid = %subject.identity().uid,
            phase = subject.saved().phase.as_str(), effect, class = ?failure.class, %failure, "failed"
        );
        match subject.after_failure(failure) {
            Step::Save { status, then } => self.save(object, &status, then).await,
            Step::Rest { retry, notice } => {
                if let Some(text) = notice {
                    self.ctx
                        .events
                        .notice(&subject.identity().uid, &object.object_ref(&()), &text)
                        .await;
                }
                let ready = subject.saved().ready.as_ref();
                Err(Stop::End(Ending::rest(retry, ready)))
            }
            // A failure is never answered by another effect.
            Step::Effect(_) => Err(Stop::End(Ending::Pause(Retry::Backoff))),
        }
    }

    async fn save(
        &mut self,
        object: &PostgreSQLTenant,
        status: &TenantStatus,
        then: Then,
    ) -> Result<PostgreSQLTenant, Stop> {
        let ctx = self.ctx;
        self.done = None;
        let before = object.domain_status();
        let saved = match object.status_to_write(status, &Time(jiff::Timestamp::now())) {
            None => object.clone(),
            Some(wire) => {
                let id = tenant_status_id(status.phase);
                match effects::perform(&ctx.metrics, id, ctx.cluster.save_tenant(object, &wire))
                    .await
                {
                    Ok(saved) => self.ours(saved),
                    Err(failure) if failure.class == Class::Stale => return Err(Stop::Reload),
                    Err(failure) => {
                        tracing::warn!(namespace = ?object.namespace(), name = %object.name_any(), %failure, "a status could not be saved");
                        return Err(Stop::End(Ending::Pause(Retry::Backoff)));
                    }
                }
            }
        };
        let phase = Saved {
            kind: "PostgreSQLTenant",
            from: before.phase.as_str(),
            to: status.phase.as_str(),
            first: object.status.is_none(),
            rests: status.phase == TenantPhase::Ready,
        };
        ctx.phases.saved(&ctx.metrics, object.meta(), phase);
        if let (Some(ready), Some(uid)) = (&status.ready, object.uid()) {
            tracing::info!(
                namespace = %object.namespace().unwrap_or_default(), name = %object.name_any(), uid,
                phase_from = before.phase.as_str(), phase_to = status.phase.as_str(), ready = ready.status().as_str(),
                reason = ready.reason.as_str(), says = ?ready.message, "saved"
            );
            ctx.events
                .ready_changed(
                    &Uid::new(uid),
                    &object.object_ref(&()),
                    before.ready.as_ref(),
                    ready,
                )
                .await;
        }
        match then {
            Then::Continue => Ok(saved),
            Then::Rest(retry) => Err(Stop::End(Ending::rest(retry, status.ready.as_ref()))),
        }
    }
}

/// Why a round has no successor with the object at hand.
enum Stop {
    /// The object changed: load it again.
    Reload,
    /// The reconcile ends.
    End(Ending),
}

#[cfg(test)]
mod tests;
