//! Which edits are refused, and what the person is warned of.
//!
//! Decides M1–M4, D2–D4 and the form of a new spec. It answers from the object and from what the caller's caches hold; it
//! asks no server, and an edit that changes no spec field always passes (D4).

use super::endpoint::{AddressPolicy, SslMode};
use super::names::{PROJECTION_NAME_MAX, derived_secret_name};
use super::reason::Reason;
use super::registration::{InstanceDefinition, InstanceDraft};
use super::tenant::{DeletionPolicy, TenantDefinition, TenantDraft, TenantPhase};
use crate::violation::{Kind, Verdict, Violation};

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Change<T, S> {
    /// A new object.
    Create(T),
    /// An edit of a stored one.
    Update {
        /// The stored spec.
        old: T,
        /// The wanted spec.
        new: T,
        /// What the stored status records.
        recorded: S,
        /// The object has a deletion timestamp.
        deleting: bool,
    },
}

/// What a stored Tenant's status records; the webhook takes it as the sign that external state exists (D3).
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded<'a> {
    /// `status.phase`.
    pub phase: TenantPhase,
    /// `status.database`.
    pub database: Option<&'a str>,
    /// `status.loginRole`.
    pub login_role: Option<&'a str>,
    /// `status.credential.secretRef.name`.
    pub secret_name: Option<&'a str>,
    /// The reason of the `Ready` condition.
    pub reason: Option<Reason>,
}

/// Judges a Tenant. `management_database` is the database of the Instance that the new spec names, if it is known.
pub fn review_tenant(
    change: &Change<TenantDraft<'_>, Recorded<'_>>,
    management_database: Option<&str>,
) -> Verdict {
    let (new, mut violations) = match change {
        Change::Create(new) => (new, Vec::new()),
        Change::Update {
            old,
            new,
            recorded,
            deleting,
        } => {
            if same_tenant_spec(old, new) {
                return Verdict::allowed();
            }
            (new, frozen_fields(old, new, recorded, *deleting))
        }
    };
    if let Err(invalid) = TenantDefinition::parse(new) {
        violations.extend(invalid.into_vec());
    } else if management_database == Some(new.effective_database()) {
        violations.push(Violation::new(
            "spec.database",
            Kind::Forbidden,
            format!(
                "{} is the management database of Instance {}: choose another",
                new.effective_database(),
                new.instance_ref
            ),
        ));
    }
    let mut verdict = Verdict::refused(violations);
    if verdict.is_allowed() {
        verdict.warnings.extend(destruction_warning(new));
        verdict.warnings.extend(delay_warning(change));
        verdict.warnings.extend(name_warning(new));
    }
    verdict
}

fn destroys(draft: &TenantDraft<'_>) -> bool {
    DeletionPolicy::parse(draft.deletion_policy) == Some(DeletionPolicy::Delete)
}

fn destruction_warning(new: &TenantDraft<'_>) -> Option<String> {
    destroys(new).then(|| {
        format!(
            "spec.deletionPolicy is Delete: deleting this tenant destroys database {}, its role and its password",
            new.effective_database()
        )
    })
}

/// `Retain` has no finalizer: until the new one is on, a deletion takes the object and leaves everything else (M3).
fn delay_warning(change: &Change<TenantDraft<'_>, Recorded<'_>>) -> Option<String> {
    let Change::Update { old, new, .. } = change else {
        return None;
    };
    (destroys(new) && !destroys(old)).then(|| {
        "spec.deletionPolicy: before you delete this tenant, wait until status.observedGeneration is metadata.generation; until \
         then the old policy holds"
            .to_owned()
    })
}

/// C3 allows what Kubernetes allows; ESO allows less, and its next version may allow more, so this is no refusal.
fn name_warning(new: &TenantDraft<'_>) -> Option<String> {
    let length = derived_secret_name(new.instance_ref, new.name).len();
    (length > PROJECTION_NAME_MAX).then(|| {
        format!(
            "the ExternalSecret's name <instanceRef>-<name>-postgresql has {length} bytes: External Secrets Operator may not \
             deliver names over {PROJECTION_NAME_MAX}, choose a shorter name"
        )
    })
}

/// Judges an Instance. `claimed` are databases of Tenants that name this Instance, as status records them.
pub fn review_instance(
    change: &Change<InstanceDraft<'_>, ()>,
    policy: &AddressPolicy,
    claimed: &[(String, String)],
) -> Verdict {
    let (new, mut violations) = match change {
        Change::Create(new) => (new, Vec::new()),
        Change::Update {
            old, new, deleting, ..
        } => {
            if same_instance_spec(old, new) {
                return Verdict::allowed();
            }
            (
                new,
                if *deleting {
                    vec![deleting_violation()]
                } else {
                    Vec::new()
                },
            )
        }
    };
    if let Err(invalid) = InstanceDefinition::parse(new, policy) {
        violations.extend(invalid.into_vec());
    }
    if let Some((tenant, database)) = claimed
        .iter()
        .find(|(_, database)| database == new.endpoint.database)
    {
        violations.push(Violation::new(
            "spec.endpoint.database",
            Kind::Forbidden,
            format!("{database} is the database of tenant {tenant}: the registry must not live there, choose another"),
        ));
    }
    let mut verdict = Verdict::refused(violations);
    if verdict.is_allowed() {
        verdict.warnings.extend(tls_warning(new.endpoint.ssl_mode));
    }
    verdict
}

fn tls_warning(mode: &str) -> Option<String> {
    let text = match SslMode::parse(mode)? {
        SslMode::VerifyFull => return None,
        SslMode::VerifyCa => "the server's name is not verified",
        SslMode::Require => "the server is not verified at all: anyone in between can pose as it",
        SslMode::Disable => "passwords and data travel unencrypted",
    };
    Some(format!(
        "spec.endpoint.sslMode is {mode}: {text}; use verify-full"
    ))
}

fn same_instance_spec(old: &InstanceDraft<'_>, new: &InstanceDraft<'_>) -> bool {
    let key = |draft: &InstanceDraft<'_>| {
        let endpoint = draft.endpoint;
        [
            endpoint.host,
            endpoint.hostaddr,
            endpoint.database,
            endpoint.ssl_mode,
            draft.secret_name,
            draft.username_key,
            draft.password_key,
        ]
        .map(str::to_owned)
    };
    old.endpoint.port == new.endpoint.port && key(old) == key(new)
}

fn same_tenant_spec(old: &TenantDraft<'_>, new: &TenantDraft<'_>) -> bool {
    old.instance_ref == new.instance_ref
        && old.database == new.database
        && old.login_role == new.login_role
        && old.extensions == new.extensions
        && old.secret_name == new.secret_name
        && old.deletion_policy == new.deletion_policy
}

fn deleting_violation() -> Violation {
    Violation::new(
        "spec",
        Kind::Forbidden,
        "the object is being deleted: its spec may not change any more",
    )
}

/// M1, M2 and D4: what may not change any more.
fn frozen_fields(
    old: &TenantDraft<'_>,
    new: &TenantDraft<'_>,
    recorded: &Recorded<'_>,
    deleting: bool,
) -> Vec<Violation> {
    if deleting || recorded.phase == TenantPhase::Deleting {
        return vec![deleting_violation()];
    }
    if !recorded.phase.says_created() {
        return Vec::new();
    }
    let secret_name = new.effective_secret_name();
    let fields = [
        ("spec.instanceRef", new.instance_ref, Some(old.instance_ref)),
        ("spec.database", new.effective_database(), recorded.database),
        (
            "spec.loginRole",
            new.effective_login_role(),
            recorded.login_role,
        ),
        (
            "spec.credential.secretName",
            secret_name.as_str(),
            recorded.secret_name,
        ),
    ];
    let mut violations: Vec<Violation> = fields
        .into_iter()
        .filter_map(|(path, wanted, created)| {
            let created = created.filter(|created| *created != wanted)?;
            let text = format!("may not change once created: it is {created}; set it back, or make a new tenant and migrate");
            Some(Violation::new(path, Kind::Immutable, text))
        })
        .collect();
    // A name that turned out not to be installable must be removable (M2).
    if recorded.reason != Some(Reason::InvalidSpec) {
        violations.extend(
            old.extensions
                .iter()
                .filter(|name| !new.extensions.contains(name))
                .map(|name| {
                    let text = format!(
                        "{name} may not be removed: extensions are never dropped; add it again"
                    );
                    Violation::new("spec.extensions", Kind::Immutable, text)
                }),
        );
    }
    violations
}
