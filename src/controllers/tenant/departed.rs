//! A Tenant that left without a finalizer (`Retain`): its row is marked as unmanaged, best effort.
//!
//! Nothing waits for it; a Tenant that meets such a row later may set the same mark.

use std::time::Duration;

use crds::PostgreSQLTenant;
use domain::tenancy::effect::TenantEffect;
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::{DeletionPolicy, TenantPhase};
use kube::ResourceExt;

use super::observe::target_of;
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
    let mark = async {
        let Some(target) = target_of(ctx, &gone.spec.instance_ref).await else {
            return;
        };
        let effect = TenantEffect::MarkUnmanaged(identity.uid.clone());
        let write =
            ctx.postgres
                .mark_unmanaged(&target, &ctx.deployment.cluster_uid, &identity.uid);
        if let Err(failure) = effects::perform(&ctx.metrics, effect.id(), write).await {
            tracing::info!(uid = %identity.uid, %failure, "a retained record could not be marked as unmanaged");
        }
    };
    if tokio::time::timeout(DEADLINE, mark).await.is_err() {
        tracing::info!(uid = %identity.uid, "a retained record could not be marked as unmanaged in time");
    }
}
