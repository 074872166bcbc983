//! What a rule says when it refuses: the domain's own words, got by giving the domain a broken draft.
//!
//! Decides nothing: a text that names a value is asked for with a stand-in, which is then replaced by a CEL expression.

use domain::tenancy::admission::{Change, Recorded, review_instance, review_tenant};
use domain::tenancy::endpoint::{AddressPolicy, EndpointDraft};
use domain::tenancy::registration::InstanceDraft;
use domain::tenancy::tenant::{DeletionPolicy, TenantDraft, TenantPhase};
use domain::violation::Verdict;

use super::cel::quoted;

/// A text; and, if it names a value, the CEL expression that says it of the object at hand.
pub(super) struct Said {
    pub(super) plain: String,
    pub(super) expression: Option<String>,
}

impl Said {
    /// The same text, with `instead` in the place of `stand_in`.
    pub(super) fn with(self, stand_in: &str, instead: &str) -> Self {
        Self {
            plain: self.plain.replacen(stand_in, instead, 1),
            ..self
        }
    }

    /// The same text, with `value` (CEL) in the place of `stand_in`; the plain text, which the API server uses when the
    /// expression fails, has `otherwise` there.
    pub(super) fn naming(self, stand_in: &str, value: &str, otherwise: &str) -> Self {
        let Some((before, after)) = self.plain.split_once(stand_in) else {
            return self;
        };
        let literal = |text: &str| (!text.is_empty()).then(|| quoted(text));
        let parts: Vec<String> = [literal(before), Some(value.to_owned()), literal(after)]
            .into_iter()
            .flatten()
            .collect();
        Self {
            expression: Some(parts.join(" + ")),
            plain: format!("{before}{otherwise}{after}"),
        }
    }
}

fn said(verdict: &Verdict, path: &str) -> Said {
    let found = verdict
        .violations
        .iter()
        .find(|violation| violation.path.as_str() == path);
    Said {
        plain: found
            .map(|violation| violation.text.clone())
            .unwrap_or_default(),
        expression: None,
    }
}

/// What the domain says at `path` of an Instance that was broken so.
pub(super) fn of_instance<'a>(path: &str, broken: impl FnOnce(&mut InstanceDraft<'a>)) -> Said {
    let mut draft = instance();
    broken(&mut draft);
    said(
        &review_instance(&Change::Create(draft), &AddressPolicy::default(), &[]),
        path,
    )
}

/// What the domain says at `path` of a new Tenant that was broken so.
pub(super) fn of_tenant<'a>(path: &str, broken: impl FnOnce(&mut TenantDraft<'a>)) -> Said {
    let mut draft = tenant();
    broken(&mut draft);
    said(&review_tenant(&Change::Create(draft), None), path)
}

/// What the domain says at `path` of a change to a created Tenant whose recorded names are all `stand_in`.
pub(super) fn of_tenant_change(
    path: &str,
    stand_in: &'static str,
    phase: TenantPhase,
    changed: impl FnOnce(&mut TenantDraft<'static>),
) -> Said {
    let old = TenantDraft {
        instance_ref: stand_in,
        extensions: vec![stand_in],
        ..tenant()
    };
    let mut new = old.clone();
    changed(&mut new);
    let recorded = Recorded {
        phase,
        database: Some(stand_in),
        login_role: Some(stand_in),
        secret_name: Some(stand_in),
        reason: None,
    };
    said(
        &review_tenant(
            &Change::Update {
                old,
                new,
                recorded,
                deleting: false,
            },
            None,
        ),
        path,
    )
}

/// What the domain says of a change to an Instance that is being deleted.
pub(super) fn of_deleting_instance() -> Said {
    let new = InstanceDraft {
        secret_name: "other",
        ..instance()
    };
    let change = Change::Update {
        old: instance(),
        new,
        recorded: (),
        deleting: true,
    };
    said(
        &review_instance(&change, &AddressPolicy::default(), &[]),
        "spec",
    )
}

/// `metadata.name` of the drafted Tenant.
pub(super) const NAME: &str = "app";

fn instance() -> InstanceDraft<'static> {
    InstanceDraft {
        endpoint: EndpointDraft {
            host: "pg.example",
            hostaddr: "192.0.2.1",
            port: 5432,
            database: "registry",
            ssl_mode: "verify-full",
        },
        secret_name: "admin",
        username_key: "username",
        password_key: "password",
    }
}

fn tenant() -> TenantDraft<'static> {
    TenantDraft {
        name: NAME,
        instance_ref: "main",
        database: None,
        login_role: None,
        extensions: Vec::new(),
        secret_name: None,
        deletion_policy: DeletionPolicy::Retain.as_str(),
    }
}
