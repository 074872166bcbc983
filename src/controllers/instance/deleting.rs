//! An Instance that is being deleted: it goes once no Tenant names it (I8).
//!
//! References are counted by asking the API server; that they hold, and what is said of it, is the aggregate's.

use std::time::Duration;

use crds::PostgreSQLInstance;
use domain::tenancy::effect::InstanceEffect;
use domain::tenancy::instance::{Checkpoint, Instance, InstanceSnapshot, held_message};
use domain::tenancy::reason::{Ready, Reason, Retry};
use domain::tenancy::registration::{InstanceDefinition, InstanceIdentity};

use super::{Next, Run, Stop};
use crate::adapters::kubernetes::is_held;
use crate::controllers::Ending;

/// A deleting Instance that Tenants hold looks again after this long, though their deletion wakes it.
const HELD_INTERVAL: Duration = Duration::from_secs(30);

impl Run<'_> {
    pub(super) async fn deleting(
        &mut self,
        object: &PostgreSQLInstance,
        identity: InstanceIdentity,
    ) -> Next {
        if !is_held(object) {
            return Err(Stop::End(Ending::Gone));
        }
        let (count, example) = match self.ctx.cluster.tenants_of(&identity.name).await {
            Ok(tenants) => tenants,
            Err(failure) => {
                tracing::warn!(name = %identity.name, %failure, "references could not be counted; the finalizer stays");
                return Err(Retry::Backoff.into());
            }
        };
        let snapshot = object.snapshot();
        // The definition plays no part in a deletion, so an illegal one does not stop it.
        if count == 0 {
            return self
                .hold(object, InstanceEffect::RemoveFinalizer, false)
                .await;
        }
        let example = example.unwrap_or_default();
        let snapshot = match departing(object, identity, snapshot.clone()) {
            Some(mut instance) => {
                let _outcome = instance.begin_deletion();
                let _outcome = instance.held_by(count, &example);
                instance.snapshot()
            }
            None => InstanceSnapshot {
                checkpoint: Checkpoint::Deleting,
                ready: Some(Ready::new(
                    Reason::Reconciling,
                    held_message(count, &example),
                )),
                ..snapshot
            },
        };
        self.save(object, &snapshot).await?;
        Err(Retry::After(HELD_INTERVAL).into())
    }
}

fn departing(
    object: &PostgreSQLInstance,
    identity: InstanceIdentity,
    snapshot: InstanceSnapshot,
) -> Option<Instance> {
    let definition = InstanceDefinition::parse(
        &object.spec.draft(),
        &domain::tenancy::endpoint::AddressPolicy::default(),
    )
    .ok()?;
    Some(Instance::reconstitute(
        identity,
        object.revision(),
        definition,
        snapshot,
        true,
    ))
}
