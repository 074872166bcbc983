//! What is saved of a run: conditions, summary, and with success the version and settings that are in force, in one write.

use crds::applications::application::Application;
use crds::applications::convert_application::Applied;
use domain::applications::conditions::conditions;
use domain::applications::effect::ApplicationEffect as Effect;
use domain::applications::run::Stop;
use domain::applications::summary::summary;
use domain::tenancy::failure::Failure;
use kube::Resource;
use serde_json::{Map, Value};

use super::Instances;
use crate::controllers::offering::now;
use crate::effects;

/// Where a run stopped, and with which settings it came to its end.
pub(super) struct Ran {
    pub(super) stop: Stop,
    /// The effective settings, if they were not refused.
    pub(super) settings: Option<Value>,
}

impl From<Stop> for Ran {
    fn from(stop: Stop) -> Self {
        Self {
            stop,
            settings: None,
        }
    }
}

/// Saves what changed; a status that says the same already is not written.
pub(super) async fn record(
    instances: &Instances,
    object: &Application,
    ran: &Ran,
) -> Result<(), Failure> {
    let mut past = object.past();
    let applied = ran.stop.is_applied().then(|| Applied {
        version: object.spec.package_version.clone(),
        settings: match &ran.settings {
            Some(Value::Object(settings)) => settings.clone(),
            _ => Map::new(),
        },
    });
    if applied.is_some() {
        // The version asked for is the one in force now.
        past.updated |= past.version_changes;
        past.version_changes = false;
    }
    let found = conditions(&ran.stop.steps(), past);
    let summary = summary(&found, past);
    let status = object.status_to_write((&found, &summary), applied, &now());
    if object.status.as_ref() == Some(&status) {
        return Ok(());
    }
    let save = instances.applications.save(object, &status);
    effects::perform(&instances.metrics, Effect::Record.id(), save).await?;
    let before = object
        .status
        .as_ref()
        .and_then(|status| status.summary.as_ref());
    let before = before.and_then(|summary| summary.state.as_deref());
    if before != Some(summary.state.as_str()) {
        let fine = found.iter().all(|condition| condition.says.why().is_none());
        let about = object.object_ref(&());
        let state = summary.state.as_str();
        instances
            .events
            .reason_changed(&about, fine, state, &summary.message)
            .await;
    }
    Ok(())
}
