//! `Application` ↔ domain: what its status says, and the status to write.

use domain::applications::conditions::{Condition as Wanted, Past, Type};
use domain::applications::summary::Summary as WantedSummary;
use domain::packages::names::{VersionId, repository_or};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Map, Value};

use super::application::{Application, ApplicationStatus, CurrentVersion, Summary};

/// The value of `spec.maintenance` that stops manifests from being applied.
const NO_RECONCILIATION: &str = "NoResourceReconciliation";

/// What was applied, once it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The version that is in force now.
    pub version: String,
    /// The effective settings of that run.
    pub settings: Map<String, Value>,
}

impl Application {
    /// The version that is asked for; one without a repository means the default one.
    #[must_use]
    pub fn version_id(&self, default_repository: &str) -> VersionId {
        let stated = self.spec.package_repository_name.as_deref();
        VersionId {
            repository: repository_or(stated.unwrap_or_default(), default_repository).to_owned(),
            package: self.spec.package_name.clone(),
            version: self.spec.package_version.clone(),
        }
    }

    /// True if no manifest is to be applied.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.spec.maintenance.as_deref() == Some(NO_RECONCILIATION)
    }

    /// The settings as they stand; `null` if there are none.
    #[must_use]
    pub fn settings(&self) -> Value {
        let settings = self.spec.settings.clone();
        settings.map_or(Value::Null, Value::Object)
    }

    /// The effective settings that were applied last.
    #[must_use]
    pub fn last_applied(&self) -> Option<Value> {
        let status = self.status.as_ref()?;
        let applied = status.last_applied_configuration.clone();
        applied.map(Value::Object)
    }

    fn installed_version(&self) -> Option<&str> {
        let current = self.status.as_ref()?.current_version.as_ref()?;
        current.version.as_deref()
    }

    /// What is known of it beside a run.
    #[must_use]
    pub fn past(&self) -> Past {
        let installed = self.installed_version();
        let conditions = self.status.iter().flat_map(|status| &status.conditions);
        let update = Type::UpdateInstalled.as_str();
        let mut updates = conditions.filter(|condition| condition.type_ == update);
        Past {
            installed: installed.is_some(),
            updated: updates.next().is_some(),
            version_changes: installed.is_some_and(|version| version != self.spec.package_version),
            deleting: self.metadata.deletion_timestamp.is_some(),
        }
    }

    /// The status to write: what others wrote stays, and `lastTransitionTime` moves only with a condition's status.
    #[must_use]
    pub fn status_to_write(
        &self,
        (conditions, summary): (&[Wanted], &WantedSummary),
        applied: Option<Applied>,
        now: &Time,
    ) -> ApplicationStatus {
        let present = self.status.clone().unwrap_or_default();
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let mut next = ApplicationStatus {
            summary: Some(Summary {
                state: text(summary.state.as_str()),
                message: text(&summary.message),
                tip: text(summary.tip),
            }),
            conditions: self.conditions_to_write(&present.conditions, conditions, now),
            ..present
        };
        if let Some(applied) = applied {
            next.current_version = Some(CurrentVersion {
                version: Some(applied.version),
                channel: self.spec.release_channel.clone(),
            });
            next.last_applied_configuration = Some(applied.settings);
        }
        next
    }

    fn conditions_to_write(
        &self,
        before: &[Condition],
        wanted: &[Wanted],
        now: &Time,
    ) -> Vec<Condition> {
        let ours =
            |condition: &&Condition| OURS.iter().any(|type_| type_.as_str() == condition.type_);
        let written = wanted.iter().map(|wanted| {
            let known = before
                .iter()
                .find(|condition| condition.type_ == wanted.type_.as_str())
                .filter(|condition| condition.status == wanted.says.status());
            Condition {
                last_transition_time: known
                    .map_or_else(|| now.clone(), |known| known.last_transition_time.clone()),
                message: wanted.message().to_owned(),
                observed_generation: self.metadata.generation,
                reason: wanted.reason().to_owned(),
                status: wanted.says.status().to_owned(),
                type_: wanted.type_.as_str().to_owned(),
            }
        });
        let foreign = before.iter().filter(|condition| !ours(condition)).cloned();
        written.chain(foreign).collect()
    }
}

/// The types that are the controller's.
const OURS: [Type; 6] = [
    Type::Installed,
    Type::UpdateInstalled,
    Type::ConfigurationApplied,
    Type::Scaled,
    Type::Managed,
    Type::Ready,
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use domain::applications::conditions::conditions;
    use domain::applications::run::Stop;
    use domain::applications::steps::Standing;
    use domain::applications::summary::summary;
    use k8s_openapi::jiff::Timestamp;
    use serde_json::json;

    use super::super::application::ApplicationSpec;
    use super::*;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn application() -> Application {
        let spec = ApplicationSpec {
            package_name: "shop".to_owned(),
            package_version: "v1.0.0".to_owned(),
            ..ApplicationSpec::default()
        };
        let mut object = Application::new("shop", spec);
        object.metadata.generation = Some(1);
        object
    }

    fn write(object: &mut Application, stop: &Stop, second: i64) {
        let past = object.past();
        let conditions = conditions(&stop.steps(), past);
        let summary = summary(&conditions, past);
        let applied = stop.is_applied().then(|| Applied {
            version: object.spec.package_version.clone(),
            settings: json!({"size": 1}).as_object().cloned().unwrap(),
        });
        let status = object.status_to_write((&conditions, &summary), applied, &at(second));
        object.status = Some(serde_json::from_value(json!(status)).unwrap());
    }

    fn types(object: &Application) -> Vec<&str> {
        let conditions = &object.status.as_ref().unwrap().conditions;
        conditions
            .iter()
            .map(|condition| condition.type_.as_str())
            .collect()
    }

    #[test]
    fn what_was_applied_is_written_with_success_and_never_with_a_failure() {
        let mut object = application();
        write(&mut object, &Stop::Refused("size: no".to_owned()), 1);
        assert_eq!(types(&object), ["Installed"]);
        assert_eq!(object.last_applied(), None);
        assert!(!object.past().installed);
        write(&mut object, &Stop::Applied(Standing::True), 2);
        assert_eq!(object.last_applied(), Some(json!({"size": 1})));
        assert!(object.past().installed && !object.past().version_changes);
        assert_eq!(
            types(&object),
            [
                "Installed",
                "ConfigurationApplied",
                "Scaled",
                "Managed",
                "Ready"
            ]
        );
        object.spec.package_version = "v2.0.0".to_owned();
        assert!(object.past().version_changes);
        write(&mut object, &Stop::Refused("size: no".to_owned()), 3);
        assert_eq!(object.last_applied(), Some(json!({"size": 1})));
        write(&mut object, &Stop::Applied(Standing::True), 4);
        assert!(object.past().updated && !object.past().version_changes);
        assert_eq!(types(&object).get(1), Some(&"UpdateInstalled"));
    }

    #[test]
    fn times_move_with_a_status_alone_and_conditions_of_others_stay() {
        let mut object = application();
        write(&mut object, &Stop::Applied(Standing::True), 1);
        let status = object.status.as_mut().unwrap();
        status.conditions.push(Condition {
            last_transition_time: at(1),
            message: String::new(),
            observed_generation: None,
            reason: "X".to_owned(),
            status: "True".to_owned(),
            type_: "Other".to_owned(),
        });
        let before = object.status.clone();
        write(&mut object, &Stop::Applied(Standing::True), 9);
        assert_eq!(
            object.status, before,
            "nothing changed, so nothing is to be written"
        );
        write(&mut object, &Stop::NotApplied("no".to_owned()), 9);
        let conditions = &object.status.as_ref().unwrap().conditions;
        let time = |type_: &str| {
            let found = conditions.iter().find(|condition| condition.type_ == type_);
            found.unwrap().last_transition_time.clone()
        };
        assert_eq!(time("Ready"), at(9));
        assert_eq!(time("Installed"), at(1));
        assert_eq!(time("Other"), at(1));
    }

    #[test]
    fn an_application_without_a_repository_means_the_default_one() {
        let mut object = application();
        assert_eq!(object.version_id("main").object_name(), "main-shop-v1.0.0");
        object.spec.package_repository_name = Some("other".to_owned());
        assert_eq!(object.version_id("main").object_name(), "other-shop-v1.0.0");
    }
}
