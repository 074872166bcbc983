//! How the controllers are wired: which stream wakes which, and what happens to what is gone.
//!
//! It decides no step of an object; that is asked of `domain` by the controllers themselves.

use std::sync::Arc;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::runtime::reflector;
use kube::runtime::{Controller, controller};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::controllers::context::Context;
use crate::controllers::settled::Settled;
use crate::controllers::{instance, tenant};
use crate::view::Guarded;
use crate::watches::{self, InstanceWake};

/// Instances worked on at once.
pub(crate) const INSTANCES_AT_ONCE: u16 = 4;
/// Retained records marked at once.
const DEPARTURES_AT_ONCE: usize = 2;

pub(crate) type Stores<K> = (
    reflector::store::Writer<Guarded<K>>,
    reflector::Store<Guarded<K>>,
);
pub(crate) type Sender<K> = mpsc::UnboundedSender<Guarded<K>>;
pub(crate) type Receiver<K> = mpsc::UnboundedReceiver<Guarded<K>>;

/// What a controller is wired with.
pub(crate) struct Loop {
    pub(crate) context: Arc<Context>,
    pub(crate) settled: Arc<Settled>,
    pub(crate) stop: CancellationToken,
}

impl Loop {
    /// Instances: woken by themselves, their admin Secret, Tenants that left, and other authorities to trust.
    pub(crate) fn instances(
        self,
        (writer, reader): Stores<PostgreSQLInstance>,
        (seen, gone): (Sender<PostgreSQLInstance>, Sender<PostgreSQLInstance>),
        left: mpsc::UnboundedReceiver<String>,
    ) -> BoxFuture<'static, ()> {
        let (client, view) = (
            self.context.cluster.client(),
            Arc::clone(&self.context.view),
        );
        let listed = view.instances_listed();
        let watched = watches::objects::<PostgreSQLInstance>(
            client.clone(),
            (writer, reader.clone()),
            listed,
            gone,
        );
        let objects = watched.inspect(move |object| {
            if let Ok(instance) = object {
                // The receiver lives as long as the process; a closed one means that it is ending.
                let _sent = seen.send(instance.clone());
            }
        });
        let secrets = watches::admin_secrets(
            client,
            self.context.cluster.namespace(),
            Arc::clone(&view),
            Arc::clone(&self.settled),
        );
        let trust = &self.context.deployment.trust;
        let rotated = watches::all_instances(trust, Arc::clone(&view), Arc::clone(&self.settled));
        let settled = self.settled;
        let left = received(left).filter_map(move |name| {
            futures::future::ready(watches::instance_named(&view, &settled, &name))
        });
        Controller::for_stream(objects, reader)
            .with_config(controller::Config::default().concurrency(INSTANCES_AT_ONCE))
            .reconcile_on(secrets.boxed())
            .reconcile_on(left.boxed())
            .reconcile_on(rotated.boxed())
            .graceful_shutdown_on(self.stop.cancelled_owned())
            .run(instance::reconcile, never, self.context)
            .for_each(|_| futures::future::ready(()))
            .boxed()
    }

    /// Tenants: woken by themselves, their Instance, their ExternalSecret, and other authorities to publish.
    pub(crate) fn tenants(
        self,
        (writer, reader): Stores<PostgreSQLTenant>,
        gone: Sender<PostgreSQLTenant>,
        (instances_seen, instances_gone): (
            Receiver<PostgreSQLInstance>,
            Receiver<PostgreSQLInstance>,
        ),
        concurrency: u16,
    ) -> BoxFuture<'static, ()> {
        let (client, view) = (
            self.context.cluster.client(),
            Arc::clone(&self.context.view),
        );
        let wake = Arc::new(InstanceWake::new(
            Arc::clone(&view),
            Arc::clone(&self.settled),
        ));
        let gone_wake = Arc::clone(&wake);
        let changed = received(instances_seen)
            .flat_map(move |seen| futures::stream::iter(wake.tenants(&seen, false)));
        let context = Arc::clone(&self.context);
        let vanished = received(instances_gone).flat_map(move |seen| {
            instance::forget(&context, &seen);
            futures::stream::iter(gone_wake.tenants(&seen, true))
        });
        let listed = view.tenants_listed();
        let trust = &self.context.deployment.trust;
        let rotated = watches::all_tenants(trust, Arc::clone(&view), Arc::clone(&self.settled));
        let external = watches::external_secrets(client.clone(), view, self.settled);
        Controller::for_stream(
            watches::objects::<PostgreSQLTenant>(client, (writer, reader.clone()), listed, gone),
            reader,
        )
        .with_config(controller::Config::default().concurrency(concurrency))
        .reconcile_on(changed.boxed())
        .reconcile_on(vanished.boxed())
        .reconcile_on(external.boxed())
        .reconcile_on(rotated.boxed())
        .graceful_shutdown_on(self.stop.cancelled_owned())
        .run(tenant::reconcile, never, self.context)
        .for_each(|_| futures::future::ready(()))
        .boxed()
    }
}

/// Tenants that are gone: their row is marked, and their Instance is told.
pub(crate) fn departures(
    context: Arc<Context>,
    gone: Receiver<PostgreSQLTenant>,
) -> BoxFuture<'static, ()> {
    received(gone)
        .for_each_concurrent(DEPARTURES_AT_ONCE, move |tenant| {
            let context = Arc::clone(&context);
            async move {
                tenant::departed::forget(&context, &tenant);
                let Ok(tenant) = tenant.0 else { return };
                tenant::departed::mark_unmanaged(&context, &tenant).await;
                // Only now: its Instance may be waiting for it, and takes the connection away.
                let _sent = context.instances_to_check.send(tenant.spec.instance_ref);
            }
        })
        .boxed()
}

fn received<T: Send + 'static>(
    mut receiver: mpsc::UnboundedReceiver<T>,
) -> impl futures::Stream<Item = T> + Send {
    futures::stream::poll_fn(move |context| receiver.poll_recv(context))
}

/// Reconciles give no errors; this is what the runtime asks for all the same.
#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is the runtime's
fn never<K>(
    _object: Arc<K>,
    error: &std::convert::Infallible,
    _context: Arc<Context>,
) -> controller::Action {
    match *error {}
}

#[cfg(test)]
mod tests;
