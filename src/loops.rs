//! How the controllers are wired: which stream wakes which, and what happens to what is gone.
//!
//! The caches fill on every replica; controllers begin once this one leads. It decides no step of an object; that is asked of
//! `domain` by the controllers themselves.

use std::sync::Arc;

use crds::{PostgreSQLInstance, PostgreSQLTenant};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, Stream, StreamExt};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::{Controller, controller, reflector, watcher};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::controllers::context::Context;
use crate::controllers::settled::Settled;
use crate::controllers::{instance, tenant};
use crate::leader::Leading;
use crate::loops::backlog::Backlog;
use crate::metrics::queue::Key;
use crate::metrics::requests::Watched;
use crate::view::Guarded;
use crate::watches::{self, InstanceWake};

pub(crate) mod backlog;

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
    pub(crate) leading: Leading,
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
        let (listed, backlog) = (view.instances_listed(), Backlog::new());
        let metrics = Arc::clone(&self.context.metrics);
        let watched = watches::objects::<PostgreSQLInstance>(
            client.clone(),
            (Arc::clone(&metrics), Watched::Instances),
            (writer, reader.clone()),
            (listed, Arc::clone(&backlog)),
            gone,
        );
        let followed = following(
            watched,
            (reader.clone(), Arc::clone(&backlog)),
            self.leading.clone(),
            self.stop.clone(),
        );
        let secrets = watches::admin_secrets(
            client,
            metrics,
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
        let (stop, leading, context) = (self.stop, self.leading, self.context);
        async move {
            let Some(objects) = followed.await else {
                return;
            };
            let objects = objects.inspect(move |object| {
                if let Ok(instance) = object {
                    // The receiver lives as long as the process; a closed one means that it is ending.
                    let _sent = seen.send(instance.clone());
                }
            });
            let gate = leading.clone();
            let objects = changes(&context, instance::CONTROLLER, objects);
            let controller = Controller::for_stream(objects, reader)
                .with_config(controller::Config::default().concurrency(INSTANCES_AT_ONCE))
                .reconcile_on(noted(&context, instance::CONTROLLER, secrets))
                .reconcile_on(noted(&context, instance::CONTROLLER, left))
                .reconcile_on(noted(&context, instance::CONTROLLER, rotated))
                .graceful_shutdown_on(stop.cancelled_owned())
                .run(
                    gated((gate, backlog), instance::CONTROLLER, instance::reconcile),
                    never,
                    context,
                )
                .for_each(|_| futures::future::ready(()));
            leading.gate(controller).await;
        }
        .boxed()
    }

    /// Tenants: woken by themselves, their Instance, their ExternalSecret, other authorities to publish, and the end of a rest.
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
        let (listed, backlog) = (view.tenants_listed(), Backlog::new());
        let trust = &self.context.deployment.trust;
        let rotated = watches::all_tenants(trust, Arc::clone(&view), Arc::clone(&self.settled));
        let due = watches::due_tenants(Arc::clone(&view), Arc::clone(&self.settled));
        let metrics = Arc::clone(&self.context.metrics);
        let external =
            watches::external_secrets(client.clone(), Arc::clone(&metrics), view, self.settled);
        let watched = watches::objects::<PostgreSQLTenant>(
            client,
            (metrics, Watched::Tenants),
            (writer, reader.clone()),
            (listed, Arc::clone(&backlog)),
            gone,
        );
        let followed = following(
            watched,
            (reader.clone(), Arc::clone(&backlog)),
            self.leading.clone(),
            self.stop.clone(),
        );
        let (stop, leading, context) = (self.stop, self.leading, self.context);
        async move {
            let Some(objects) = followed.await else {
                return;
            };
            let gate = leading.clone();
            let objects = changes(&context, tenant::CONTROLLER, objects);
            let controller = Controller::for_stream(objects, reader)
                .with_config(controller::Config::default().concurrency(concurrency))
                .reconcile_on(noted(&context, tenant::CONTROLLER, changed))
                .reconcile_on(noted(&context, tenant::CONTROLLER, vanished))
                .reconcile_on(noted(&context, tenant::CONTROLLER, external))
                .reconcile_on(noted(&context, tenant::CONTROLLER, rotated))
                .reconcile_on(noted(&context, tenant::CONTROLLER, due))
                .graceful_shutdown_on(stop.cancelled_owned())
                .run(
                    gated((gate, backlog), tenant::CONTROLLER, tenant::reconcile),
                    never,
                    context,
                )
                .for_each(|_| futures::future::ready(()));
            leading.gate(controller).await;
        }
        .boxed()
    }
}

type Seen<K> = Result<Guarded<K>, watcher::Error>;

/// Fills the cache until this replica leads; then what the watch brings and, at its pace, everything that is cached. `None` if
/// `stop` came first.
async fn following<K>(
    watched: impl Stream<Item = Seen<K>> + Send + 'static,
    (reader, backlog): (reflector::Store<Guarded<K>>, Arc<Backlog>),
    leading: Leading,
    stop: CancellationToken,
) -> Option<BoxStream<'static, Seen<K>>>
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let mut watched = watched.boxed();
    let filling = async { while watched.next().await.is_some() {} };
    tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        () = leading.acquired() => {}
        () = filling => return None,
    }
    backlog.ask();
    let cached = backlog.objects(reader).map(Ok);
    Some(futures::stream::select(watched, cached).boxed())
}

/// Counts what the watch brings as wakes.
fn changes<K>(
    context: &Arc<Context>,
    controller: &'static str,
    objects: impl Stream<Item = Seen<K>> + Send + 'static,
) -> BoxStream<'static, Seen<K>>
where
    K: Resource<DynamicType = ()>,
{
    let metrics = Arc::clone(&context.metrics);
    let note = move |object: &Seen<K>| {
        if let Ok(object) = object {
            metrics.woken(controller, key_of(object));
        }
    };
    objects.inspect(note).boxed()
}

/// Counts what a trigger brings as wakes.
fn noted<K>(
    context: &Arc<Context>,
    controller: &'static str,
    woken: impl Stream<Item = ObjectRef<Guarded<K>>> + Send + 'static,
) -> BoxStream<'static, ObjectRef<Guarded<K>>>
where
    K: Resource<DynamicType = ()> + 'static,
{
    let metrics = Arc::clone(&context.metrics);
    let note = move |object: &ObjectRef<Guarded<K>>| {
        let namespace = object.namespace.clone().unwrap_or_default();
        metrics.woken(controller, (namespace, object.name.clone()));
    };
    woken.inspect(note).boxed()
}

fn key_of<K: Resource>(object: &K) -> Key {
    let meta = object.meta();
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    (text(&meta.namespace), text(&meta.name))
}

/// A reconcile that goes on only while this replica leads, looked at before each of its steps: the runtime runs it as a task of
/// its own, which a dropped controller does not end in the middle of a step.
fn gated<K, F>(
    (leading, backlog): (Leading, Arc<Backlog>),
    controller: &'static str,
    reconcile: impl Fn(Arc<Guarded<K>>, Arc<Context>) -> F,
) -> impl Fn(Arc<Guarded<K>>, Arc<Context>) -> BoxFuture<'static, F::Output>
where
    K: Resource<DynamicType = ()>,
    F: Future<Output: Send> + Send + 'static,
{
    move |object, context| {
        backlog.begun();
        let working = context.metrics.working(controller, key_of(&*object));
        let (leading, round) = (leading.clone(), reconcile(object, context));
        async move {
            let ended = leading.gate(round).await;
            drop(working);
            ended
        }
        .boxed()
    }
}

/// Tenants that are gone: their row is marked, and their Instance is told. What goes while another replica leads is that one's to
/// mark; what goes while none does, the first round of its Instance makes up for.
pub(crate) fn departures(
    context: Arc<Context>,
    mut gone: Receiver<PostgreSQLTenant>,
    leading: Leading,
) -> BoxFuture<'static, ()> {
    async move {
        loop {
            tokio::select! {
                biased;
                () = leading.acquired() => break,
                Some(_another_s) = gone.recv() => {}
            }
        }
        let marked = received(gone).for_each_concurrent(DEPARTURES_AT_ONCE, |tenant| {
            let context = Arc::clone(&context);
            async move {
                tenant::departed::forget(&context, &tenant);
                let Ok(tenant) = tenant.0 else { return };
                tenant::departed::mark_unmanaged(&context, &tenant).await;
                // Only now: its Instance may be waiting for it, and takes the connection away.
                let _sent = context.instances_to_check.send(tenant.spec.instance_ref);
            }
        });
        leading.gate(marked).await;
    }
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
