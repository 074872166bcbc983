//! What an administrator registers: which Instance, where it is, and whose login it takes.
//!
//! Decides the form of an Instance's spec. Whether the server is usable is [`super::instance`]'s matter.

use super::endpoint::{AddressPolicy, Endpoint, EndpointDraft};
use super::names::{DataKey, ObjectName, Uid};
use crate::violation::{FieldPath, Kind, Violation, Violations};

/// Which object this is; another UID is another Instance, whatever its name (I1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstanceIdentity {
    /// UID.
    pub uid: Uid,
    /// Name.
    pub name: String,
}

/// The Secret with the admin's login, in the controller's own namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CredentialReference {
    /// The Secret's name.
    pub name: ObjectName,
    /// Key of the user name.
    pub username_key: DataKey,
    /// Key of the password.
    pub password_key: DataKey,
}

/// `spec` as written, defaults filled in.
#[derive(Clone, Copy, Debug)]
pub struct InstanceDraft<'a> {
    /// `endpoint`.
    pub endpoint: EndpointDraft<'a>,
    /// `adminCredentialRef.name`.
    pub secret_name: &'a str,
    /// `adminCredentialRef.usernameKey`.
    pub username_key: &'a str,
    /// `adminCredentialRef.passwordKey`.
    pub password_key: &'a str,
}

/// A validated spec.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstanceDefinition {
    /// Where the server is.
    pub endpoint: Endpoint,
    /// Which Secret holds the admin's login.
    pub credential: CredentialReference,
}

impl InstanceDefinition {
    /// The validated spec.
    ///
    /// # Errors
    /// Every violation, with its path.
    pub fn parse(draft: &InstanceDraft<'_>, policy: &AddressPolicy) -> Result<Self, Violations> {
        let mut violations = Vec::new();
        let endpoint =
            draft
                .endpoint
                .parse(&FieldPath::new("spec.endpoint"), policy, &mut violations);
        let path = FieldPath::new("spec.adminCredentialRef");
        let name = ObjectName::parse(draft.secret_name);
        if name.is_none() {
            violations.push(Violation::new(
                path.child("name"),
                Kind::Invalid,
                "must be the name of a Secret in the controller's namespace: a lower-case DNS subdomain of at most 253 bytes",
            ));
        }
        let mut key = |field: &str, text: &str| {
            let parsed = DataKey::parse(text);
            if parsed.is_none() {
                violations.push(Violation::new(
                    path.child(field),
                    Kind::Invalid,
                    "must be a key of a Secret: letters, digits, '-', '_' or '.', at most 253 bytes",
                ));
            }
            parsed
        };
        let username_key = key("usernameKey", draft.username_key);
        let password_key = key("passwordKey", draft.password_key);
        Violations::or(violations, || {
            let credential = CredentialReference {
                name: name?,
                username_key: username_key?,
                password_key: password_key?,
            };
            Some(Self {
                endpoint: endpoint?,
                credential,
            })
        })
    }
}
