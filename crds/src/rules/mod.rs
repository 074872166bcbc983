//! The CEL form of the domain's rules (`x-kubernetes-validations`), so that a wrong edit is refused with the webhook away too.
//!
//! Decides which rule stands at which field of which kind. Lists and texts are asked of the domain ([`text`]), so neither
//! exists twice; the story `differential` gives one table of objects to both. No rule here judges what needs a server or a
//! store.
//!
//! A rule at the root is checked again in every update, also of a label or of status. So each carries a guard that lets an
//! unchanged spec pass ([`cel::UNCHANGED`], [`cel::not_created`]): D4. Rules at fields are skipped by the API server while
//! their value stays.

mod cel;
mod instance;
mod tenant;
mod text;
mod version;

pub(crate) use instance::instance_rules;
pub(crate) use tenant::tenant_rules;
pub(crate) use version::version_rules;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::ValidationRule;

/// A rule and the field of the schema that it stands at: dotted, `[]` for a list's items, empty for the root.
pub(crate) struct Placed {
    pub(crate) at: &'static str,
    pub(crate) rule: ValidationRule,
}

/// The cause's machine-readable reason.
#[derive(Clone, Copy)]
enum Why {
    Invalid,
    Required,
    Forbidden,
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
        }
    }
}

/// A rule at a field, about that very field.
fn at_field(at: &'static str, rule: impl Into<String>, why: Why, said: text::Said) -> Placed {
    Placed {
        at,
        rule: validation(rule.into(), why, said),
    }
}

/// A rule at the root that reports at `field` and lets an unchanged spec pass.
fn at_root(field: &str, rule: &str, why: Why, said: text::Said) -> Placed {
    let rule = ValidationRule {
        field_path: Some(format!(".{field}")),
        optional_old_self: Some(true),
        ..validation(format!("{}{rule}", cel::UNCHANGED), why, said)
    };
    Placed { at: "", rule }
}

/// A rule at the root that compares an update with what was stored; it reports at `field`.
fn at_transition(field: &str, rule: String, said: text::Said) -> Placed {
    let rule = ValidationRule {
        field_path: Some(format!(".{field}")),
        ..validation(rule, Why::Forbidden, said)
    };
    Placed { at: "", rule }
}

fn validation(rule: String, why: Why, said: text::Said) -> ValidationRule {
    ValidationRule {
        rule,
        message: Some(said.plain),
        message_expression: said.expression,
        reason: Some(why.as_str().to_owned()),
        ..ValidationRule::default()
    }
}

/// Both kinds: nothing of the spec changes once the controller deletes (D4, M3).
fn frozen_while_deleting(said: text::Said) -> Placed {
    at_transition("spec", cel::FROZEN_WHILE_DELETING.to_owned(), said)
}
