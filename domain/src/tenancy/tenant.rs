//! What a Tenant asks for, what its status records, and the names that follow from both.
//!
//! Decides the spec's form (C1–C4, C8, D2) and effective values. What to do next is in [`super::decide`], which edits are
//! refused in [`super::admission`].

use std::collections::BTreeSet;

use super::endpoint::identifier_violation;
use super::names::{
    EXTENSIONS_MAX, ExtensionName, Identifier, ObjectName, REFERENCE_SUM_MAX, Uid,
    derived_secret_name, is_reserved_database, is_reserved_role,
};
use super::reason::Ready;
use crate::violation::{FieldPath, Kind, Violation, Violations};

/// What becomes of database, role and password when the Tenant is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeletionPolicy {
    /// They stay, marked as unmanaged.
    #[default]
    Retain,
    /// They are removed, once ownership is verified at every store.
    Delete,
}

impl DeletionPolicy {
    /// The name in the spec.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retain => "Retain",
            Self::Delete => "Delete",
        }
    }

    /// The policy with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Retain, Self::Delete]
            .into_iter()
            .find(|policy| policy.as_str() == text)
    }
}

/// Which Tenant this is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TenantIdentity {
    /// UID: the only proof of ownership.
    pub uid: Uid,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// `spec` and name as written, defaults filled in.
#[derive(Clone, Debug)]
pub struct TenantDraft<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `instanceRef`.
    pub instance_ref: &'a str,
    /// `database`.
    pub database: Option<&'a str>,
    /// `loginRole`.
    pub login_role: Option<&'a str>,
    /// `extensions`.
    pub extensions: Vec<&'a str>,
    /// `credential.secretName`.
    pub secret_name: Option<&'a str>,
    /// `deletionPolicy`.
    pub deletion_policy: &'a str,
}

impl TenantDraft<'_> {
    /// The database, explicit or by default.
    #[must_use]
    pub fn effective_database(&self) -> &str {
        self.database.unwrap_or(self.name)
    }

    /// The login role, explicit or by default.
    #[must_use]
    pub fn effective_login_role(&self) -> &str {
        self.login_role.unwrap_or(self.name)
    }

    /// The target Secret's name, explicit or by default.
    #[must_use]
    pub fn effective_secret_name(&self) -> String {
        self.secret_name.map_or_else(
            || derived_secret_name(self.instance_ref, self.name),
            str::to_owned,
        )
    }
}

/// A validated spec with its effective values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantDefinition {
    /// The Instance.
    pub instance: ObjectName,
    /// Effective database.
    pub database: Identifier,
    /// Effective login role, the database's owner.
    pub role: Identifier,
    /// Extensions.
    pub extensions: BTreeSet<ExtensionName>,
    /// Effective name of the target Secret.
    pub secret_name: ObjectName,
    /// Name of the ExternalSecret.
    pub projection_name: ObjectName,
    /// Deletion policy.
    pub policy: DeletionPolicy,
}

impl TenantDefinition {
    /// The validated spec.
    ///
    /// # Errors
    /// Every violation, with its path.
    pub fn parse(draft: &TenantDraft<'_>) -> Result<Self, Violations> {
        let mut violations = Vec::new();
        let instance = parse_instance(draft, &mut violations);
        let database = parse_identifier(
            "database",
            draft.database,
            draft.name,
            is_reserved_database,
            &mut violations,
        );
        let role = parse_identifier(
            "loginRole",
            draft.login_role,
            draft.name,
            is_reserved_role,
            &mut violations,
        );
        let extensions = parse_extensions(&draft.extensions, &mut violations);
        let secret_name = parse_secret_name(draft, &mut violations);
        let policy = DeletionPolicy::parse(draft.deletion_policy);
        if policy.is_none() {
            violations.push(Violation::new(
                "spec.deletionPolicy",
                Kind::Unsupported,
                "must be Retain or Delete",
            ));
        }
        Violations::or(violations, || {
            Some(Self {
                projection_name: ObjectName::parse(&derived_secret_name(
                    draft.instance_ref,
                    draft.name,
                ))?,
                instance: instance?,
                database: database?,
                role: role?,
                extensions,
                secret_name: secret_name?,
                policy: policy?,
            })
        })
    }
}

fn parse_instance(draft: &TenantDraft<'_>, violations: &mut Vec<Violation>) -> Option<ObjectName> {
    let path = FieldPath::new("spec.instanceRef");
    let name = ObjectName::parse(draft.instance_ref);
    if name.is_none() {
        let text = "must be the name of a PostgreSQLInstance: a lower-case DNS subdomain";
        violations.push(Violation::new(path, Kind::Invalid, text));
        return None;
    }
    let sum = draft.instance_ref.len() + draft.name.len();
    if sum > REFERENCE_SUM_MAX {
        let text = format!(
            "instanceRef and metadata.name together have {sum} bytes; at most {REFERENCE_SUM_MAX} fit into \
             <instanceRef>-<name>-postgresql: choose a shorter name"
        );
        violations.push(Violation::new(path, Kind::TooLong, text));
        return None;
    }
    name
}

fn parse_identifier(
    field: &str,
    explicit: Option<&str>,
    name: &str,
    reserved: fn(&str) -> bool,
    violations: &mut Vec<Violation>,
) -> Option<Identifier> {
    let path = FieldPath::new("spec").child(field);
    let Some(identifier) = Identifier::parse(explicit.unwrap_or(name)) else {
        violations.push(match explicit {
            Some(_) => identifier_violation(path),
            None => Violation::new(path, Kind::Required, default_advice(field)),
        });
        return None;
    };
    if reserved(identifier.as_str()) {
        let text = format!("{identifier} is reserved; choose another name for {field}");
        violations.push(Violation::new(path, Kind::Forbidden, text));
        return None;
    }
    Some(identifier)
}

/// What is said when `metadata.name` cannot be the default of a field (C8); the CRD says the same.
#[must_use]
pub fn default_advice(field: &str) -> String {
    format!(
        "metadata.name is no PostgreSQL identifier, so it cannot be the default: set spec.{field}"
    )
}

fn parse_extensions(names: &[&str], violations: &mut Vec<Violation>) -> BTreeSet<ExtensionName> {
    let path = FieldPath::new("spec.extensions");
    if names.len() > EXTENSIONS_MAX {
        let text = format!(
            "has {} items; at most {EXTENSIONS_MAX} are allowed",
            names.len()
        );
        violations.push(Violation::new(path.clone(), Kind::TooLong, text));
    }
    let mut extensions = BTreeSet::new();
    for (position, name) in names.iter().enumerate() {
        match ExtensionName::parse(name) {
            None => violations.push(Violation::new(
                path.index(position),
                Kind::Invalid,
                EXTENSION_ADVICE,
            )),
            Some(extension) => {
                if !extensions.insert(extension) {
                    let text = "stands twice; name each extension once";
                    violations.push(Violation::new(path.index(position), Kind::Duplicate, text));
                }
            }
        }
    }
    extensions
}

/// The remedy for an illegal extension name.
pub const EXTENSION_ADVICE: &str = "must be an extension's name: a lower-case letter, then lower-case letters, digits, \
                                    underscores or dashes, at most 63 bytes, without a version";

fn parse_secret_name(
    draft: &TenantDraft<'_>,
    violations: &mut Vec<Violation>,
) -> Option<ObjectName> {
    let name = ObjectName::parse(&draft.effective_secret_name());
    // A derived name is illegal only if instanceRef is, and that was said already.
    if name.is_none() && draft.secret_name.is_some() {
        let text = "must be a Secret's name: a lower-case DNS subdomain of at most 253 bytes";
        violations.push(Violation::new(
            "spec.credential.secretName",
            Kind::Invalid,
            text,
        ));
    }
    name
}

/// `status.phase` of a Tenant: the controller's checkpoint, never proof of anything (C7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TenantPhase {
    /// Nothing planned.
    #[default]
    Pending,
    /// Names are chosen and free; claim and password are to be made.
    Planned,
    /// The password is stored; the role is to be made.
    CredentialCreated,
    /// The role is there; the database is to be made.
    RoleCreated,
    /// The database is there; the ExternalSecret is to be made.
    DatabaseCreated,
    /// The ExternalSecret is there; its proof is awaited.
    ExternalSecretCreated,
    /// The Secret is there; the login is to be proved.
    CredentialProjected,
    /// Converged.
    Ready,
    /// Being deleted with policy `Delete`.
    Deleting,
}

impl TenantPhase {
    /// Every phase, in order.
    pub const ALL: &'static [Self] = &[
        Self::Pending,
        Self::Planned,
        Self::CredentialCreated,
        Self::RoleCreated,
        Self::DatabaseCreated,
        Self::ExternalSecretCreated,
        Self::CredentialProjected,
        Self::Ready,
        Self::Deleting,
    ];

    /// The name in status.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Planned => "Planned",
            Self::CredentialCreated => "CredentialCreated",
            Self::RoleCreated => "RoleCreated",
            Self::DatabaseCreated => "DatabaseCreated",
            Self::ExternalSecretCreated => "ExternalSecretCreated",
            Self::CredentialProjected => "CredentialProjected",
            Self::Ready => "Ready",
            Self::Deleting => "Deleting",
        }
    }

    /// The phase with this name; a missing or unknown one counts as `Pending`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::ALL
            .iter()
            .copied()
            .find(|phase| phase.as_str() == text)
            .unwrap_or_default()
    }

    /// True once status says that external state exists (D3): beyond `Planned`.
    #[must_use]
    pub fn says_created(self) -> bool {
        self > Self::Planned
    }
}

/// `status` of a Tenant, conditions aside from `Ready` left out (there are none).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantStatus {
    /// The generation of the last round with a conclusion.
    pub observed_generation: Option<i64>,
    /// The checkpoint.
    pub phase: TenantPhase,
    /// The effective database.
    pub database: Option<String>,
    /// The effective login role.
    pub login_role: Option<String>,
    /// Read back, for diagnostics.
    pub database_oid: Option<u32>,
    /// The target Secret.
    pub secret_name: Option<String>,
    /// The entry's URL for consumers, without any credential.
    pub openbao_url: Option<String>,
    /// The `Ready` condition.
    pub ready: Option<Ready>,
}

/// Where entries are kept; from the deployment, never from a Tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretLayout {
    /// OpenBao's address as consumers reach it, without a trailing slash.
    pub consumer_address: String,
    /// The KV v2 mount.
    pub mount: String,
    /// The base path under the mount; one per cluster (D9).
    pub base_path: String,
}

impl SecretLayout {
    /// The path of a Tenant's entry under the mount.
    #[must_use]
    pub fn path(&self, identity: &TenantIdentity) -> String {
        format!(
            "{}/{}/{}",
            self.base_path, identity.namespace, identity.name
        )
    }

    /// The KV v2 API URL of a path, for consumers.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}/v1/{}/data/{path}", self.consumer_address, self.mount)
    }
}
