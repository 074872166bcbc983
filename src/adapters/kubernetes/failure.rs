//! What a Kubernetes error means: a class for rules and a text that names verb, resource and object. No server's text is passed
//! on (H38).

use std::time::Duration;

use domain::tenancy::failure::{Class, Failure};
use kube::core::Status;

/// The group whose absence has a reason of its own.
const PROJECTION_GROUP: &str = "external-secrets.io";

/// Ends a call at the deadline and classifies what came back.
///
/// # Errors
/// The classified failure.
pub(in crate::adapters) async fn within<T>(
    deadline: Duration,
    attempt: &Attempt<'_>,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(deadline, call).await {
        Ok(answer) => answer.map_err(|error| attempt.failed(&error)),
        Err(_) => Err(attempt.late()),
    }
}

/// What was tried on which object.
#[derive(Clone, Copy, Debug)]
pub(in crate::adapters) struct Attempt<'a> {
    /// The verb of RBAC.
    pub(in crate::adapters) verb: &'static str,
    /// The resource as RBAC names it.
    pub(in crate::adapters) resource: &'static str,
    /// The namespace; empty for an object without one.
    pub(in crate::adapters) namespace: &'a str,
    /// The name.
    pub(in crate::adapters) name: &'a str,
}

impl Attempt<'_> {
    fn describe(&self) -> String {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        format!(
            "{} {} {}{slash}{}",
            self.verb, self.resource, self.namespace, self.name
        )
    }

    /// The failure of a call that has no answer yet.
    pub(in crate::adapters) fn late(&self) -> Failure {
        Failure::new(
            Class::Unavailable,
            format!(
                "the API server did not answer in time to {}",
                self.describe()
            ),
        )
    }

    /// The failure of an object that is not the one that was read.
    pub(in crate::adapters) fn stale(&self) -> Failure {
        Failure::new(
            Class::Stale,
            format!(
                "{} {}/{} changed since it was read",
                self.resource, self.namespace, self.name
            ),
        )
    }

    /// The failure of an error.
    pub(in crate::adapters) fn failed(&self, error: &kube::Error) -> Failure {
        match error {
            kube::Error::Api(status) => self.refused(status),
            kube::Error::Auth(_) => Failure::new(
                Class::Authentication,
                format!(
                    "this process has no usable credential for the API server to {}",
                    self.describe()
                ),
            ),
            _ => Failure::new(
                Class::Unavailable,
                format!("the API server cannot be reached to {}", self.describe()),
            ),
        }
    }

    fn refused(&self, status: &Status) -> Failure {
        let what = self.describe();
        let Self {
            verb,
            resource,
            namespace,
            ..
        } = self;
        let failure = |class, text: String| Failure::new(class, text);
        match status.code {
            404 if is_unserved(status) && resource.ends_with(PROJECTION_GROUP) => failure(
                Class::ProjectionUnsupported,
                format!(
                    "the API server does not serve {resource} in version v1: install External Secrets Operator"
                ),
            ),
            404 if is_unserved(status) => failure(
                Class::Unavailable,
                format!("the API server does not serve {resource}: install its CRD"),
            ),
            404 if is_namespace(status) => failure(
                Class::NamespaceTerminating,
                format!("namespace {namespace} is gone"),
            ),
            404 | 409 | 410 => self.stale(),
            422 if is_another_uid(status) => self.stale(),
            403 if is_terminating(status) => failure(
                Class::NamespaceTerminating,
                format!("namespace {namespace} is being terminated"),
            ),
            401 => failure(
                Class::Authentication,
                format!("the API server does not accept this process's token to {what}"),
            ),
            403 => failure(
                Class::Rejected,
                format!(
                    "the API server forbids to {what}: give {verb} on {resource} to this process's service account"
                ),
            ),
            400 | 422 => failure(
                Class::Rejected,
                format!(
                    "the API server or a webhook refuses to {what}{}",
                    fields(status)
                ),
            ),
            408 | 425 | 429 | 500..=599 => failure(
                Class::Unavailable,
                format!("the API server is not able to {what} now ({})", status.code),
            ),
            code => failure(
                Class::Rejected,
                format!("the API server answers {code} to {what}"),
            ),
        }
    }
}

/// True if the object itself is what is missing.
pub(in crate::adapters) fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404 && !is_unserved(status) && !is_namespace(status))
}

/// True if the API server knows no such resource; it then answers without naming an object.
pub(in crate::adapters) fn is_unsupported(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404 && is_unserved(status))
}

fn is_unserved(status: &Status) -> bool {
    status
        .details
        .as_ref()
        .is_none_or(|details| details.name.is_empty())
}

fn is_namespace(status: &Status) -> bool {
    status
        .details
        .as_ref()
        .is_some_and(|details| details.kind == "namespaces")
}

fn is_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "NamespaceTerminating")
        || status.message.contains("being terminated")
}

/// A merge patch with a UID is bound to the object of that UID; another one refuses it as a change of its own.
fn is_another_uid(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.field == "metadata.uid")
}

/// The paths of the refused fields; the values and texts beside them are not ours to show.
fn fields(status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<&str> = causes
        .map(|cause| cause.field.as_str())
        .filter(|field| is_path(field))
        .take(5)
        .collect();
    if fields.is_empty() {
        String::new()
    } else {
        format!(" because of {}", fields.join(", "))
    }
}

fn is_path(field: &str) -> bool {
    !field.is_empty() && field.len() <= 200 && field.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    const ATTEMPT: Attempt<'_> = Attempt {
        verb: "create",
        resource: "externalsecrets.external-secrets.io",
        namespace: "team-a",
        name: "p",
    };

    fn error(status: &Value) -> kube::Error {
        kube::Error::Api(Box::new(serde_json::from_value(status.clone()).unwrap()))
    }

    #[test]
    fn every_answer_of_the_api_server_has_its_class() {
        let object = json!({"name": "p", "kind": "externalsecrets"});
        let terminating = json!({"name": "p", "causes": [{"reason": "NamespaceTerminating"}]});
        let table = [
            (
                json!({"code": 404, "message": "404 page not found"}),
                Class::ProjectionUnsupported,
            ),
            (
                json!({"code": 404, "details": {}, "message": "the server could not find the requested resource"}),
                Class::ProjectionUnsupported,
            ),
            (
                json!({"code": 404, "details": {"name": "team-a", "kind": "namespaces"}}),
                Class::NamespaceTerminating,
            ),
            (json!({"code": 404, "details": object}), Class::Stale),
            (
                json!({"code": 403, "details": terminating}),
                Class::NamespaceTerminating,
            ),
            (
                json!({"code": 403, "message": "… because it is being terminated"}),
                Class::NamespaceTerminating,
            ),
            (json!({"code": 403, "details": object}), Class::Rejected),
            (json!({"code": 401}), Class::Authentication),
            (json!({"code": 409, "details": object}), Class::Stale),
            (json!({"code": 400}), Class::Rejected),
            (json!({"code": 422}), Class::Rejected),
            (
                json!({"code": 422, "details": {"causes": [{"field": "metadata.uid"}]}}),
                Class::Stale,
            ),
            (json!({"code": 429}), Class::Unavailable),
            (json!({"code": 500}), Class::Unavailable),
            (json!({"code": 503}), Class::Unavailable),
            (json!({"code": 504}), Class::Unavailable),
        ];
        for (status, class) in table {
            assert_eq!(ATTEMPT.failed(&error(&status)).class, class, "{status}");
        }
    }

    #[test]
    fn only_a_404_that_names_the_object_means_absent() {
        assert!(is_absent(&error(
            &json!({"code": 404, "details": {"name": "p", "kind": "externalsecrets"}})
        )));
        assert!(!is_absent(&error(
            &json!({"code": 404, "message": "404 page not found"})
        )));
        assert!(!is_absent(&error(
            &json!({"code": 404, "details": {"name": "n", "kind": "namespaces"}})
        )));
        assert!(!is_absent(&error(&json!({"code": 403}))));
    }

    #[test]
    fn h38_a_servers_text_is_not_passed_on_and_a_missing_right_is_named() {
        let forbidden = ATTEMPT.failed(&error(
            &json!({"code": 403, "message": "hunter2\nInjected: line"}),
        ));
        assert!(
            forbidden
                .text
                .contains("give create on externalsecrets.external-secrets.io"),
            "{forbidden}"
        );
        let causes = json!([{"field": "spec.target", "message": "hunter2"}, {"field": "a\nb"}]);
        let invalid = ATTEMPT.failed(&error(
            &json!({"code": 422, "details": {"name": "p", "causes": causes}}),
        ));
        assert!(
            invalid.text.ends_with("because of spec.target"),
            "{invalid}"
        );
        for failure in [forbidden, invalid] {
            assert!(
                !failure.text.contains("hunter2") && !failure.text.contains('\n'),
                "{failure}"
            );
        }
    }
}
