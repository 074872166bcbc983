//! Events (`events.k8s.io/v1`): one per change of status and reason, and notices, each once until something else is said.
//!
//! It decides what was said already; what is said is the domain's. An event that cannot be written is logged and dropped.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use domain::tenancy::names::Uid;
use domain::tenancy::reason::{Ready, ReadyStatus, capped};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

/// An event is not worth waiting for.
const DEADLINE: Duration = Duration::from_secs(5);

/// Writes events about objects.
pub struct Events {
    client: Client,
    reporter: Reporter,
    noticed: Mutex<HashMap<Uid, String>>,
}

impl Events {
    /// Events reported by this process.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let reporter = Reporter {
            controller: "tenantry".to_owned(),
            instance: std::env::var("POD_NAME").ok(),
        };
        Self {
            client,
            reporter,
            noticed: Mutex::new(HashMap::new()),
        }
    }

    /// Says that `Ready` changed. Progress is not an event: a phase is not news.
    pub async fn ready_changed(
        &self,
        uid: &Uid,
        about: &ObjectReference,
        before: Option<&Ready>,
        now: &Ready,
    ) {
        let changed = before.is_none_or(|before| before.reason != now.reason);
        if !changed || now.status() == ReadyStatus::Unknown {
            return;
        }
        self.forget(uid);
        let type_ = if now.status() == ReadyStatus::True {
            EventType::Normal
        } else {
            EventType::Warning
        };
        self.publish(about, type_, now.reason.as_str(), &now.message)
            .await;
    }

    /// Says something that leaves the condition as it is; the same text once in a row.
    pub async fn notice(&self, uid: &Uid, about: &ObjectReference, text: &str) {
        let news = self.noticed.lock().is_ok_and(|mut noticed| {
            noticed.insert(uid.clone(), text.to_owned()).as_deref() != Some(text)
        });
        if news {
            self.publish(about, EventType::Warning, "NotObserved", text)
                .await;
        }
    }

    /// Warns about something that is no object of ours, such as this process's certificate.
    pub async fn warn(&self, about: &ObjectReference, reason: &str, text: &str) {
        self.publish(about, EventType::Warning, reason, text).await;
    }

    /// Says that a condition of another kind than `Ready` changed its reason.
    pub async fn reason_changed(
        &self,
        about: &ObjectReference,
        is_true: bool,
        reason: &str,
        text: &str,
    ) {
        let type_ = if is_true {
            EventType::Normal
        } else {
            EventType::Warning
        };
        self.publish(about, type_, reason, text).await;
    }

    /// Drops what was said of an object, so that the same notice is news again.
    pub fn forget(&self, uid: &Uid) {
        if let Ok(mut noticed) = self.noticed.lock() {
            noticed.remove(uid);
        }
    }

    async fn publish(&self, about: &ObjectReference, type_: EventType, reason: &str, text: &str) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            // As long as a condition's message may be, which is what the API takes of a note.
            note: Some(capped(text.to_owned())),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        // A recorder of its own for each: one that lives on merges events of the same reason and keeps the first note only, so
        // that what is said later would never be read.
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        match tokio::time::timeout(DEADLINE, recorder.publish(&event, about)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!("an event could not be written");
                tracing::debug!(?error, "why an event could not be written");
            }
            Err(_) => tracing::warn!("an event could not be written in time"),
        }
    }
}
