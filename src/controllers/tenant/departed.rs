//! A Tenant that left without a finalizer (`Retain`): its row is marked as unmanaged, best effort.
//!
//! Nothing waits for it. What was missed, because the server or this process was away, its Instance's round makes up for once the
//! Instance is ready.

use std::collections::HashSet;
use std::time::Duration;

use crds::PostgreSQLTenant;
use domain::tenancy::effect::TenantEffect;
use domain::tenancy::facts::Holder;
use domain::tenancy::failure::Failure;
use domain::tenancy::instance::Instance;
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase};
use kube::ResourceExt;

use super::observe::{ask_who_lives, server_target, target_of};
use crate::adapters::postgres::ServerTarget;
use crate::controllers::context::Context;
use crate::effects;
use crate::view::Guarded;

const DEADLINE: Duration = Duration::from_secs(10);

/// Drops what this process remembers of the object.
pub fn forget(ctx: &Context, gone: &Guarded<PostgreSQLTenant>) {
    if let Some(uid) = gone.uid() {
        forget_uid(ctx, &Uid::new(uid));
    }
}

pub(super) fn forget_uid(ctx: &Context, uid: &Uid) {
    ctx.settled.forget(uid);
    ctx.backoff.forget(uid);
    ctx.phases.forget(uid);
    ctx.events.forget(uid);
}

/// The watch showed that the object is gone.
pub async fn mark_unmanaged(ctx: &Context, gone: &PostgreSQLTenant) {
    let Some(identity) = gone.identity() else {
        return;
    };
    let retained =
        DeletionPolicy::parse(&gone.spec.deletion_policy) == Some(DeletionPolicy::Retain);
    if !retained || gone.recorded().phase < TenantPhase::Planned {
        return;
    }
    let work = async {
        let Some(target) = target_of(ctx, &gone.spec.instance_ref).await else {
            return;
        };
        if let Err(failure) = mark(ctx, &target, &identity.uid).await {
            tracing::info!(uid = %identity.uid, %failure, "a retained record could not be marked as unmanaged");
        }
    };
    if tokio::time::timeout(DEADLINE, work).await.is_err() {
        tracing::info!(uid = %identity.uid, "a retained record could not be marked as unmanaged in time");
    }
}

/// Marks the rows of all Tenants that are gone, when their Instance is ready: the watch may have shown it while the server was
/// away, or while nobody watched. Whom the cache lacks, the API server is asked for.
pub async fn mark_left_behind(ctx: &Context, instance: &Instance) {
    let work = async {
        let target = server_target(ctx, instance).await?;
        ctx.view.synced().await;
        let mut cached = HashSet::new();
        ctx.view.each_tenant(|tenant| cached.extend(tenant.uid()));
        let mut holders: Vec<Holder> = ctx
            .postgres
            .claims(&target)
            .await?
            .into_iter()
            .filter(|claim| claim.may_be_left_behind(&ctx.deployment.cluster_uid))
            .filter(|claim| !cached.contains(claim.tenant_uid.as_str()))
            .map(|claim| Holder { claim, alive: None })
            .collect();
        ask_who_lives(ctx, &mut holders).await?;
        for holder in holders.iter().filter(|holder| holder.is_left_behind()) {
            mark(ctx, &target, &holder.claim.tenant_uid).await?;
        }
        Ok::<(), Failure>(())
    };
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            tracing::info!(%failure, "retained records could not be marked as unmanaged");
        }
        Err(_) => tracing::info!("retained records could not be marked as unmanaged in time"),
    }
}

async fn mark(ctx: &Context, target: &ServerTarget, tenant: &Uid) -> Result<(), Failure> {
    let effect = TenantEffect::MarkUnmanaged(tenant.clone());
    let write = ctx
        .postgres
        .mark_unmanaged(target, &ctx.deployment.cluster_uid, tenant);
    effects::perform(&ctx.metrics, effect.id(), write).await
}
