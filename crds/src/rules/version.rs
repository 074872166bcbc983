//! Rules of `ApplicationPackageVersion`: which version it is never changes (settings contract, section 1.3).

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;

use super::{Placed, Why};

/// Every rule of the kind.
pub(crate) fn version_rules() -> Vec<Placed> {
    let rule = ValidationRule {
        rule: "self == oldSelf".to_owned(),
        message: Some(
            "may not change: another version is another object; delete this one and create it"
                .to_owned(),
        ),
        reason: Some(Why::Forbidden.as_str().to_owned()),
        ..ValidationRule::default()
    };
    vec![Placed { at: "spec", rule }]
}
