//! An Instance's reconcile: load → decide → save, one step a round, as seed 003 walks through it.
//!
//! It chooses the domain operation by the saved checkpoint and carries observations to it; what an observation amounts to is
//! the aggregate's. An external write happens only in a round that began from its saved intent.

mod deleting;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crds::PostgreSQLInstance;
use domain::tenancy::capability::{CapabilityObservation, Check};
use domain::tenancy::effect::{InstanceEffect, instance_status_id};
use domain::tenancy::failure::Class;
use domain::tenancy::instance::{Checkpoint, Instance, InstanceSnapshot, Outcome, RegistryPlan};
use domain::tenancy::names::Uid;
use domain::tenancy::reason::{Ready, Reason, Retry};
use domain::tenancy::registration::InstanceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};

use super::context::Context;
use super::phases::Saved;
use super::tenant::departed;
use super::{Counted, Ending, MOST_ROUNDS};
use crate::adapters::kubernetes::is_held;
use crate::adapters::postgres::{Depth, ServerTarget};
use crate::effects;
use crate::view::Guarded;

/// The controller's name in metrics and logs.
pub const CONTROLLER: &str = "postgresqlinstance";

/// One reconcile; failures are in the object's condition and in the pause, never an error for the runtime.
///
/// # Errors
/// Never.
pub async fn reconcile(
    object: Arc<Guarded<PostgreSQLInstance>>,
    ctx: Arc<Context>,
) -> Result<Action, Infallible> {
    let meta = object.meta();
    if let Err(error) = &object.0 {
        tracing::error!(name = ?meta.name, %error, "a PostgreSQLInstance could not be read and is skipped");
        return Ok(Action::await_change());
    }
    let (Some(name), Some(uid)) = (&meta.name, &meta.uid) else {
        return Ok(Action::await_change());
    };
    let uid = Uid::new(uid);
    if let Some(pause) = ctx
        .settled
        .remaining(&uid, meta.resource_version.as_deref().unwrap_or_default())
    {
        return Ok(Action::requeue(pause));
    }
    let counted = Counted::start(&ctx.metrics, CONTROLLER);
    let mut run = Run {
        ctx: &ctx,
        versions: Vec::new(),
    };
    let ending = super::caught(&ctx.metrics, CONTROLLER, run.converge(name)).await;
    counted.ended(ending);
    let Some(retry) = ending.retry() else {
        forget_uid(&ctx, &uid);
        return Ok(Action::await_change());
    };
    let pause = ctx.backoff.after(&uid, retry);
    ctx.settled.rest(uid, &run.versions, None, pause);
    Ok(Action::requeue(pause))
}

/// Drops what this process remembers of an Instance that is gone: its login and its connections among it.
pub fn forget(ctx: &Context, gone: &Guarded<PostgreSQLInstance>) {
    if let Some(uid) = gone.uid() {
        forget_uid(ctx, &Uid::new(uid));
    }
}

fn forget_uid(ctx: &Context, uid: &Uid) {
    ctx.settled.forget(uid);
    ctx.backoff.forget(uid);
    ctx.phases.forget(uid);
    ctx.credentials.forget(uid);
    ctx.events.forget(uid);
    ctx.postgres.retire(uid);
}

/// What a round gives: the object for the next one, or the end.
type Next = Result<PostgreSQLInstance, Stop>;

enum Stop {
    Reload,
    End(Ending),
}

impl From<Retry> for Stop {
    fn from(retry: Retry) -> Self {
        Self::End(Ending::Pause(retry))
    }
}

/// The rounds of one reconcile.
struct Run<'c> {
    ctx: &'c Context,
    versions: Vec<String>,
}

impl Run<'_> {
    async fn converge(&mut self, name: &str) -> Ending {
        let mut object = None;
        for _ in 0..MOST_ROUNDS {
            if self.ctx.stop.is_cancelled() {
                return Ending::STOPPED;
            }
            let current = match object.take() {
                Some(object) => object,
                None => match self.ctx.cluster.instance(name).await {
                    Ok(Some(object)) => self.seen(object),
                    Ok(None) => return Ending::Gone,
                    Err(failure) => {
                        tracing::warn!(name, %failure, "an instance could not be loaded");
                        return Ending::Pause(Retry::Backoff);
                    }
                },
            };
            match Box::pin(self.round(&current)).await {
                Ok(next) => object = Some(next),
                Err(Stop::Reload) => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(Stop::End(ending)) => return ending,
            }
        }
        Ending::Pause(Retry::Backoff)
    }

    fn seen(&mut self, object: PostgreSQLInstance) -> PostgreSQLInstance {
        self.versions.extend(object.resource_version());
        object
    }

    async fn round(&mut self, object: &PostgreSQLInstance) -> Next {
        let Some(identity) = object.identity() else {
            return Err(Retry::Slow.into());
        };
        if object.is_deleting() {
            return self.deleting(object, identity).await;
        }
        // On from the start of management, not from the first Tenant (I8).
        if !is_held(object) {
            return self.hold(object, InstanceEffect::AddFinalizer, true).await;
        }
        let definition =
            match InstanceDefinition::parse(&object.spec.draft(), &self.ctx.deployment.addresses) {
                Ok(definition) => definition,
                Err(violations) => {
                    let snapshot = InstanceSnapshot {
                        observed_revision: Some(object.revision()),
                        ready: Some(Ready::new(Reason::InvalidSpec, violations.to_string())),
                        ..object.snapshot()
                    };
                    self.save(object, &snapshot).await?;
                    return Err(Stop::End(Ending::Terminal));
                }
            };
        let instance = Instance::reconstitute(
            identity,
            object.revision(),
            definition,
            object.snapshot(),
            false,
        );
        match instance.checkpoint() {
            Checkpoint::Pending | Checkpoint::Deleting => self.begin(object, instance).await,
            Checkpoint::Validating => Box::pin(self.validate(object, instance)).await,
            Checkpoint::InitializingRegistry => self.prepare(object, instance).await,
            Checkpoint::Ready => self.check(object, instance).await,
        }
    }

    async fn begin(&mut self, object: &PostgreSQLInstance, mut instance: Instance) -> Next {
        let _outcome = instance.begin_validation();
        self.save(object, &instance.snapshot()).await
    }

    async fn validate(&mut self, object: &PostgreSQLInstance, mut instance: Instance) -> Next {
        let observation = match self.target(&instance).await {
            Ok(target) => {
                let id = InstanceEffect::ProbeRights.id();
                let probe = async { Ok(self.ctx.postgres.inspect(&target, Depth::Rights).await) };
                effects::perform(&self.ctx.metrics, id, probe)
                    .await
                    .unwrap_or_else(|failure| unreached(&instance, failure))
            }
            Err(observation) => *observation,
        };
        let outcome = instance.assess_management(&current(observation)?);
        self.judged(object, &instance, &outcome).await
    }

    async fn prepare(&mut self, object: &PostgreSQLInstance, mut instance: Instance) -> Next {
        let target = match self.target(&instance).await {
            Ok(target) => target,
            Err(observation) => {
                let plan = instance.plan_registry_preparation(&observation);
                return self.denied(object, &instance, &plan).await;
            }
        };
        let before = current(self.ctx.postgres.inspect(&target, Depth::Extensions).await)?;
        let outcome = match instance.plan_registry_preparation(&before) {
            RegistryPlan::AlreadyUsable => instance.assess_registry_result(&before),
            RegistryPlan::PreparationAllowed => {
                let id = InstanceEffect::MigrateRegistry.id();
                match effects::perform(
                    &self.ctx.metrics,
                    id,
                    self.ctx.postgres.migrate_registry(&target),
                )
                .await
                {
                    Ok(()) => {
                        let after =
                            current(self.ctx.postgres.inspect(&target, Depth::Extensions).await)?;
                        instance.assess_registry_result(&after)
                    }
                    Err(failure) => instance.registry_preparation_failed(failure),
                }
            }
            denied => return self.denied(object, &instance, &denied).await,
        };
        self.judged(object, &instance, &outcome).await
    }

    async fn check(&mut self, object: &PostgreSQLInstance, mut instance: Instance) -> Next {
        let observation = match self.target(&instance).await {
            Ok(target) => self.ctx.postgres.inspect(&target, Depth::Extensions).await,
            Err(observation) => *observation,
        };
        let outcome = instance.assess_readiness(&current(observation)?);
        self.judged(object, &instance, &outcome).await
    }

    /// Saves what was judged; goes on at once while the checkpoint moves, else rests by the condition's reason.
    async fn judged(
        &mut self,
        object: &PostgreSQLInstance,
        instance: &Instance,
        outcome: &Outcome,
    ) -> Next {
        let moved = object.snapshot().checkpoint != instance.checkpoint();
        let saved = self.save(object, &instance.snapshot()).await?;
        match outcome {
            Outcome::Advanced if moved && instance.checkpoint() != Checkpoint::Ready => Ok(saved),
            Outcome::Advanced => {
                departed::mark_left_behind(self.ctx, instance).await;
                Err(Retry::Slow.into())
            }
            Outcome::Failed(failure) => {
                Err(Reason::of_instance_failure(failure.class).retry().into())
            }
            Outcome::Refused(refusal) => {
                tracing::debug!(name = %object.name_any(), ?refusal, "nothing to judge");
                Err(Retry::Backoff.into())
            }
        }
    }

    async fn denied(
        &mut self,
        object: &PostgreSQLInstance,
        instance: &Instance,
        plan: &RegistryPlan,
    ) -> Next {
        tracing::debug!(name = %object.name_any(), ?plan, "the registry is not prepared");
        self.save(object, &instance.snapshot()).await?;
        Err(Retry::Backoff.into())
    }

    async fn hold(
        &mut self,
        object: &PostgreSQLInstance,
        effect: InstanceEffect,
        hold: bool,
    ) -> Next {
        let done = effects::perform(
            &self.ctx.metrics,
            effect.id(),
            self.ctx.cluster.hold_instance(object, hold),
        )
        .await;
        match done {
            Ok(next) => {
                tracing::info!(name = %object.name_any(), effect = effect.id(), "done");
                Ok(self.seen(next))
            }
            Err(failure) if failure.class == Class::Stale => Err(Stop::Reload),
            Err(failure) => {
                tracing::warn!(name = %object.name_any(), effect = effect.id(), %failure, "failed");
                Err(Retry::Backoff.into())
            }
        }
    }

    /// The server with the login that the Secret holds now; a missing one is an observation too.
    async fn target(
        &self,
        instance: &Instance,
    ) -> Result<ServerTarget, Box<CapabilityObservation>> {
        let binding = instance.target();
        let read = self
            .ctx
            .credentials
            .read(&self.ctx.cluster, &binding.uid, &binding.credential)
            .await;
        match read {
            Ok(credential) => Ok(ServerTarget {
                binding,
                credential,
            }),
            Err(failure) => Err(Box::new(unreached(instance, failure))),
        }
    }

    async fn save(&mut self, object: &PostgreSQLInstance, snapshot: &InstanceSnapshot) -> Next {
        let ctx = self.ctx;
        let before = object.snapshot();
        let Some(wire) = object.status_to_write(snapshot, &Time(jiff::Timestamp::now())) else {
            return Ok(object.clone());
        };
        let id = instance_status_id(snapshot.checkpoint);
        let saved = match effects::perform(
            &ctx.metrics,
            id,
            ctx.cluster.save_instance(object, &wire),
        )
        .await
        {
            Ok(saved) => self.seen(saved),
            Err(failure) if failure.class == Class::Stale => return Err(Stop::Reload),
            Err(failure) => {
                tracing::warn!(name = %object.name_any(), %failure, "a status could not be saved");
                return Err(Retry::Backoff.into());
            }
        };
        let phase = Saved {
            kind: "PostgreSQLInstance",
            from: before.checkpoint.as_str(),
            to: snapshot.checkpoint.as_str(),
            first: object.status.is_none(),
            rests: snapshot.checkpoint == Checkpoint::Ready,
        };
        ctx.phases.saved(&ctx.metrics, object.meta(), phase);
        if let (Some(ready), Some(uid)) = (&snapshot.ready, object.uid()) {
            tracing::info!(
                name = %object.name_any(), uid, phase_from = before.checkpoint.as_str(), phase_to = snapshot.checkpoint.as_str(),
                ready = ready.status().as_str(), reason = ready.reason.as_str(), says = ?ready.message, "saved"
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
        Ok(saved)
    }
}

/// A look that lost its pool to another login or endpoint says nothing of the server: look again.
fn current(observation: CapabilityObservation) -> Result<CapabilityObservation, Stop> {
    match &observation.access {
        Check::Failed(failure) if failure.class == Class::Stale => Err(Stop::Reload),
        _ => Ok(observation),
    }
}

fn unreached(
    instance: &Instance,
    failure: domain::tenancy::failure::Failure,
) -> CapabilityObservation {
    CapabilityObservation {
        access: Check::Failed(failure),
        ..CapabilityObservation::blank(instance.target())
    }
}

#[cfg(test)]
mod tests;
