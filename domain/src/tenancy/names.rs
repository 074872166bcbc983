//! Names: PostgreSQL identifiers, extension names, Kubernetes names, and those that are reserved.
//!
//! Decides C1, C2, C8 and the name lists of D2. It never asks a server whether a name is taken.

use std::fmt;

/// The identifier rule of C1, as the CRD shows it too.
pub const IDENTIFIER_PATTERN: &str = "^[a-z][a-z0-9_]{0,62}$";
/// The extension name rule of the contract, section 4.
pub const EXTENSION_PATTERN: &str = "^[a-z][a-z0-9_-]{0,62}$";
/// The longest identifier in bytes (`NAMEDATALEN - 1`).
pub const IDENTIFIER_MAX: usize = 63;
/// The longest DNS subdomain in bytes.
pub const SUBDOMAIN_MAX: usize = 253;
/// The most extensions one Tenant may ask for.
pub const EXTENSIONS_MAX: usize = 64;
/// The longest sum of `spec.instanceRef` and `metadata.name` in bytes (C3).
pub const REFERENCE_SUM_MAX: usize = 241;
/// The longest ExternalSecret name in bytes that External Secrets Operator 0.16 can deliver: it writes the name, after its own
/// prefix of 36 bytes, into a field manager, for which the API takes 128.
pub const PROJECTION_NAME_MAX: usize = 92;
/// What ends every derived Secret and ExternalSecret name.
pub const DERIVED_SUFFIX: &str = "-postgresql";

/// Databases that no Tenant may own (D2).
pub const RESERVED_DATABASES: &[&str] = &[
    "postgres",
    "template0",
    "template1",
    "rdsadmin",
    "cloudsqladmin",
    "azure_sys",
    "azure_maintenance",
    "pgbouncer",
];

/// Roles that no Tenant may be (D2); beside these, whatever begins with [`RESERVED_ROLE_PREFIX`].
pub const RESERVED_ROLES: &[&str] = &[
    "public",
    "none",
    "user",
    "current_user",
    "session_user",
    "current_role",
    "all",
    "postgres",
    "rdsadmin",
    "rds_superuser",
    "rds_replication",
    "rds_iam",
    "rds_password",
    "rdsrepladmin",
    "cloudsqladmin",
    "cloudsqlagent",
    "cloudsqlreplica",
    "cloudsqlsuperuser",
    "cloudsqliamuser",
    "cloudsqliamserviceaccount",
    "azuresu",
    "azure_superuser",
    "azure_pg_admin",
    "replication",
    "pgbouncer",
];

/// PostgreSQL keeps every role name with this beginning for itself.
pub const RESERVED_ROLE_PREFIX: &str = "pg_";

fn matches(text: &str, dash: bool) -> bool {
    let mut bytes = text.bytes();
    text.len() <= IDENTIFIER_MAX
        && bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || (dash && b == b'-')
        })
}

/// True for an RFC 1123 subdomain as Kubernetes checks it: at most 253 bytes, dot-separated labels of lower-case letters,
/// digits and inner dashes (C2).
#[must_use]
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX
        && text.split('.').all(|label| {
            let edge =
                |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            let bytes = label.as_bytes();
            edge(bytes.first())
                && edge(bytes.last())
                && bytes
                    .iter()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
        })
}

/// True for a legal key of a Secret's data: letters, digits, `-`, `_`, `.`, at most 253 bytes, not `.` and not starting with `..`.
#[must_use]
pub fn is_data_key(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= SUBDOMAIN_MAX
        && text != "."
        && !text.starts_with("..")
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

macro_rules! name_type {
    ($(#[$meta:meta])* $type:ident, $check:expr) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(String);

        impl $type {
            /// The name, or `None` if it is not of the legal form.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let check: fn(&str) -> bool = $check;
                check(text).then(|| Self(text.to_owned()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// A PostgreSQL identifier that never needs quoting (C1).
    Identifier,
    |text| matches(text, false)
);
name_type!(
    /// The name of a PostgreSQL extension; unlike an identifier it may hold a dash (`uuid-ossp`).
    ExtensionName,
    |text| matches(text, true)
);
name_type!(
    /// The name of a Kubernetes object: an RFC 1123 subdomain (C2).
    ObjectName,
    is_subdomain
);
name_type!(
    /// A key of a Secret's data.
    DataKey,
    is_data_key
);

/// A Kubernetes UID. It is the only proof of ownership in this project; names prove nothing (D1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(String);

impl Uid {
    /// The UID as the API server gave it.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The UID as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// True for a database name that is refused to every Tenant (D2).
#[must_use]
pub fn is_reserved_database(name: &str) -> bool {
    RESERVED_DATABASES.contains(&name)
}

/// True for a role name that is refused to every Tenant (D2).
#[must_use]
pub fn is_reserved_role(name: &str) -> bool {
    RESERVED_ROLES.contains(&name) || name.starts_with(RESERVED_ROLE_PREFIX)
}

/// The name of a Tenant's ExternalSecret, and of its Secret unless the spec names another.
#[must_use]
pub fn derived_secret_name(instance_ref: &str, tenant_name: &str) -> String {
    format!("{instance_ref}-{tenant_name}{DERIVED_SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_an_identifier_is_lower_case_begins_with_a_letter_and_fits_63_bytes() {
        for good in ["a", "netbox", "a_1", "a".repeat(63).as_str()] {
            assert!(Identifier::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "1a",
            "_a",
            "A",
            "my-app",
            "a b",
            "а",
            "ａ",
            "a\u{200f}",
            "a ",
            "a\"b",
            "a'b",
            "a\\b",
            "a\n",
        ] {
            assert!(Identifier::parse(bad).is_none(), "{bad:?}");
        }
        assert!(Identifier::parse(&"a".repeat(64)).is_none());
    }

    #[test]
    fn h15_hostile_identifiers_are_refused() {
        for bad in [
            "a\"; DROP DATABASE x;--",
            "a\0",
            "${a}",
            "{{a}}",
            "%s",
            "a;b",
        ] {
            assert!(Identifier::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn c2_object_names_are_subdomains() {
        for good in ["a", "a-b", "a.b", "0", "a--b", "shared-netbox-postgresql"] {
            assert!(is_subdomain(good), "{good}");
        }
        for bad in ["", "-a", "a-", "a..b", ".a", "A", "a_b", "a b", "ü"] {
            assert!(!is_subdomain(bad), "{bad:?}");
        }
        assert!(is_subdomain(&"a".repeat(253)));
        assert!(!is_subdomain(&"a".repeat(254)));
    }

    #[test]
    fn d2_reserved_names_cover_the_servers_own_and_the_clouds() {
        for name in [
            "postgres",
            "template0",
            "template1",
            "rdsadmin",
            "azure_sys",
        ] {
            assert!(is_reserved_database(name), "{name}");
        }
        for name in [
            "pg_x",
            "pg_signal_backend",
            "public",
            "none",
            "current_user",
            "rds_superuser",
            "azure_pg_admin",
        ] {
            assert!(is_reserved_role(name), "{name}");
        }
        assert!(!is_reserved_database("netbox"));
        assert!(!is_reserved_role("pgx"));
    }

    #[test]
    fn extension_names_may_hold_a_dash_but_no_path_or_version() {
        assert!(ExtensionName::parse("uuid-ossp").is_some());
        for bad in ["../../x", "a=1.0", "A", "", "a b", "\"x\""] {
            assert!(ExtensionName::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn secret_keys_are_the_kind_that_kubernetes_accepts() {
        assert!(is_data_key("user.name_1-x"));
        for bad in ["", ".", "..", "..a", "a/b", "a b"] {
            assert!(!is_data_key(bad), "{bad:?}");
        }
    }
}
