//! What is passed on after a list: everything that is cached, no faster than it is worked on.
//!
//! It decides how many objects may wait because of a list, so that an edit made meanwhile does not queue behind thousands and the
//! queue stays small. It decides nothing about what is done with them.

use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use kube::Resource;
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::{Notify, Semaphore};

/// Objects that wait because of a list, at most.
pub(super) const WAITING_MAX: usize = 256;
/// The next object is passed on after this long even if none was begun: one that waited may have been deleted.
const PATIENCE: Duration = Duration::from_secs(1);

/// The backlog of one kind.
pub(crate) struct Backlog {
    asked: Notify,
    room: Semaphore,
}

impl Backlog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            asked: Notify::new(),
            room: Semaphore::new(WAITING_MAX),
        })
    }

    /// A list came in: everything is to be passed on, once more if that is under way.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    /// The work on some object began, whatever woke it.
    pub(crate) fn begun(&self) {
        if self.room.available_permits() < WAITING_MAX {
            self.room.add_permits(1);
        }
    }

    /// The objects, each as the cache has it when its turn comes. Never ends.
    pub(crate) fn objects<K>(self: Arc<Self>, cached: Store<K>) -> impl Stream<Item = K> + Send
    where
        K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    {
        let none = Vec::<ObjectRef<K>>::new().into_iter();
        futures::stream::unfold((self, cached, none), |(backlog, cached, mut left)| async {
            loop {
                let Some(next) = left.next() else {
                    backlog.asked.notified().await;
                    let listed = cached.state();
                    let all: Vec<_> = listed.iter().map(|object| reference(&**object)).collect();
                    left = all.into_iter();
                    continue;
                };
                if let Some(object) = cached.get(&next) {
                    backlog.wait_for_room().await;
                    return Some((K::clone(&object), (backlog, cached, left)));
                }
            }
        })
    }

    async fn wait_for_room(&self) {
        if let Ok(room) = self.room.try_acquire() {
            return room.forget();
        }
        if let Ok(Ok(room)) = tokio::time::timeout(PATIENCE, self.room.acquire()).await {
            room.forget();
        }
    }
}

/// Without the version and the UID that `ObjectRef::from_obj` keeps beside.
fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectRef<K> {
    let meta = object.meta();
    let named = ObjectRef::new(meta.name.as_deref().unwrap_or_default());
    match &meta.namespace {
        Some(namespace) => named.within(namespace),
        None => named,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::{FutureExt as _, StreamExt as _};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::runtime::reflector::store;
    use kube::runtime::watcher::Event;

    use super::*;

    fn filled(count: usize) -> Store<ConfigMap> {
        let (reader, mut writer) = store();
        for position in 0..count {
            let mut object = ConfigMap::default();
            object.metadata.name = Some(format!("c{position}"));
            writer.apply_watcher_event(&Event::Apply(object));
        }
        reader
    }

    #[tokio::test]
    async fn an_object_of_a_list_waits_until_another_one_was_begun() {
        let backlog = Backlog::new();
        let mut objects = Arc::clone(&backlog)
            .objects(filled(WAITING_MAX + 2))
            .boxed();
        assert!(objects.next().now_or_never().is_none(), "nobody asked");
        backlog.ask();
        let mut passed = 0;
        while let Some(Some(_)) = objects.next().now_or_never() {
            passed += 1;
        }
        assert_eq!(passed, WAITING_MAX);
        backlog.begun();
        assert!(objects.next().now_or_never().is_some());
        assert!(objects.next().now_or_never().is_none());
        let waited = tokio::time::timeout(PATIENCE * 2, objects.next()).await;
        assert!(waited.unwrap().is_some(), "whoever waited may be gone");
    }

    #[tokio::test]
    async fn a_second_list_is_passed_on_too_and_room_does_not_add_up() {
        let backlog = Backlog::new();
        let mut objects = Arc::clone(&backlog).objects(filled(2)).boxed();
        for _ in 0..2 {
            backlog.begun();
            backlog.ask();
            let mut passed = 0;
            while let Some(Some(_)) = objects.next().now_or_never() {
                passed += 1;
                backlog.begun();
            }
            assert_eq!(passed, 2);
        }
        assert_eq!(backlog.room.available_permits(), WAITING_MAX);
    }
}
