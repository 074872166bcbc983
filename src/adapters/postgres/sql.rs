//! The statements that name a role, a database or an extension, which cannot be bound as parameters.
//!
//! Decides their text and nothing else. Every name goes through the quoting of the PostgreSQL protocol library (H15), and a
//! password is only ever a SCRAM verifier (D13).

use domain::tenancy::names::Uid;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use postgres_protocol::password::scram_sha_256;
use secrecy::{ExposeSecret, SecretString};

/// Since this version a role's creator is an admin of it without its rights, and a grant says which of them it gives.
const GRANTS_HAVE_OPTIONS: u16 = 16;

/// What a comment of ours on a role begins with; only an administrator can write one, so it is the second witness.
const COMMENT_PREFIX: &str = "tenantry: tenant ";
const COMMENT_CLUSTER: &str = " of cluster ";

/// The verifier that a server stores as it is (D13): the password itself stays here.
pub(super) fn verifier(password: &SecretString) -> SecretString {
    scram_sha_256(password.expose_secret().as_bytes()).into()
}

/// `CREATE ROLE` of a tenant. What a role may not have is spelt out: a server's defaults are not ours.
pub(super) fn create_role(role: &str, verifier: &SecretString) -> String {
    format!(
        "CREATE ROLE {} WITH LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD {}",
        escape_identifier(role),
        escape_literal(verifier.expose_secret())
    )
}

/// The role that a rights probe makes and rolls back: it never logs in.
pub(super) fn create_probe_role(role: &str) -> String {
    format!(
        "CREATE ROLE {} WITH NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS",
        escape_identifier(role)
    )
}

pub(super) fn comment_on_role(role: &str, cluster: &Uid, tenant: &Uid) -> String {
    let comment = format!("{COMMENT_PREFIX}{tenant}{COMMENT_CLUSTER}{cluster}");
    format!(
        "COMMENT ON ROLE {} IS {}",
        escape_identifier(role),
        escape_literal(&comment)
    )
}

/// The Tenant's UID in a role's comment, if it is ours.
pub(super) fn uid_in_comment(comment: &str) -> Option<Uid> {
    let (tenant, _cluster) = comment
        .strip_prefix(COMMENT_PREFIX)?
        .split_once(COMMENT_CLUSTER)?;
    Some(Uid::new(tenant))
}

/// Makes the admin a member of the role, never the other way round.
pub(super) fn grant_to_self(role: &str, major: u16) -> String {
    let options = if major >= GRANTS_HAVE_OPTIONS {
        " WITH INHERIT TRUE, SET TRUE"
    } else {
        ""
    };
    format!("GRANT {} TO CURRENT_USER{options}", escape_identifier(role))
}

/// What a superuser must run so that the admin can administer a role that it did not make itself (after a restore, say).
pub(super) fn admin_remedy(role: &str, major: u16) -> String {
    let options = if major >= GRANTS_HAVE_OPTIONS {
        " WITH ADMIN TRUE, INHERIT TRUE, SET TRUE"
    } else {
        ""
    };
    format!("GRANT {} TO <admin role>{options}", escape_identifier(role))
}

pub(super) fn set_password(role: &str, verifier: &SecretString) -> String {
    format!(
        "ALTER ROLE {} PASSWORD {}",
        escape_identifier(role),
        escape_literal(verifier.expose_secret())
    )
}

pub(super) fn allow_login(role: &str) -> String {
    format!("ALTER ROLE {} LOGIN", escape_identifier(role))
}

pub(super) fn forbid_login(role: &str) -> String {
    format!("ALTER ROLE {} NOLOGIN", escape_identifier(role))
}

pub(super) fn drop_role(role: &str) -> String {
    format!("DROP ROLE {}", escape_identifier(role))
}

/// `template0`: nobody can be connected to it, and it has no collation version that could mismatch.
pub(super) fn create_database(database: &str, owner: &str) -> String {
    format!(
        "CREATE DATABASE {} OWNER {} TEMPLATE template0",
        escape_identifier(database),
        escape_identifier(owner)
    )
}

pub(super) fn close_database(database: &str) -> String {
    format!(
        "REVOKE CONNECT, TEMPORARY ON DATABASE {} FROM PUBLIC",
        escape_identifier(database)
    )
}

pub(super) fn give_back_database(database: &str, owner: &str) -> String {
    format!(
        "ALTER DATABASE {} OWNER TO {}",
        escape_identifier(database),
        escape_identifier(owner)
    )
}

pub(super) fn allow_connections(database: &str) -> String {
    format!(
        "ALTER DATABASE {} WITH ALLOW_CONNECTIONS true",
        escape_identifier(database)
    )
}

pub(super) fn lift_connection_limit(database: &str) -> String {
    format!(
        "ALTER DATABASE {} WITH CONNECTION LIMIT -1",
        escape_identifier(database)
    )
}

pub(super) fn unmark_template(database: &str) -> String {
    format!(
        "ALTER DATABASE {} WITH IS_TEMPLATE false",
        escape_identifier(database)
    )
}

pub(super) fn let_owner_connect(database: &str, owner: &str) -> String {
    format!(
        "GRANT CONNECT, TEMPORARY ON DATABASE {} TO {}",
        escape_identifier(database),
        escape_identifier(owner)
    )
}

pub(super) fn drop_database(database: &str) -> String {
    format!("DROP DATABASE {} WITH (FORCE)", escape_identifier(database))
}

/// An extension whose control file fixes a schema goes there; any other into `public`, whatever the session's path is.
pub(super) fn create_extension(name: &str, fixed_schema: bool, cascade: bool) -> String {
    let schema = if fixed_schema { "" } else { " SCHEMA public" };
    let cascade = if cascade { " CASCADE" } else { "" };
    format!(
        "CREATE EXTENSION IF NOT EXISTS {}{schema}{cascade}",
        escape_identifier(name)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use base64_length::decoded;

    use super::*;

    /// Just enough of base64 for the test of the verifier's form.
    mod base64_length {
        pub(super) fn decoded(text: &str) -> Option<usize> {
            let body = text.trim_end_matches('=');
            let legal = body
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
            (legal && text.len().is_multiple_of(4)).then(|| body.len() * 3 / 4)
        }
    }

    fn secret(text: &str) -> SecretString {
        text.to_owned().into()
    }

    #[test]
    fn each_statement_reads_as_it_should() {
        let uid = |text: &str| Uid::new(text);
        let table = [
            (
                create_role("app", &secret("V")),
                "CREATE ROLE \"app\" WITH LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS PASSWORD 'V'",
            ),
            (
                comment_on_role("app", &uid("c"), &uid("t")),
                "COMMENT ON ROLE \"app\" IS 'tenantry: tenant t of cluster c'",
            ),
            (grant_to_self("app", 15), "GRANT \"app\" TO CURRENT_USER"),
            (
                grant_to_self("app", 16),
                "GRANT \"app\" TO CURRENT_USER WITH INHERIT TRUE, SET TRUE",
            ),
            (admin_remedy("app", 13), "GRANT \"app\" TO <admin role>"),
            (
                set_password("app", &secret("V")),
                "ALTER ROLE \"app\" PASSWORD 'V'",
            ),
            (allow_login("app"), "ALTER ROLE \"app\" LOGIN"),
            (forbid_login("app"), "ALTER ROLE \"app\" NOLOGIN"),
            (drop_role("app"), "DROP ROLE \"app\""),
            (
                create_database("d", "r"),
                "CREATE DATABASE \"d\" OWNER \"r\" TEMPLATE template0",
            ),
            (
                close_database("d"),
                "REVOKE CONNECT, TEMPORARY ON DATABASE \"d\" FROM PUBLIC",
            ),
            (
                give_back_database("d", "r"),
                "ALTER DATABASE \"d\" OWNER TO \"r\"",
            ),
            (
                allow_connections("d"),
                "ALTER DATABASE \"d\" WITH ALLOW_CONNECTIONS true",
            ),
            (
                lift_connection_limit("d"),
                "ALTER DATABASE \"d\" WITH CONNECTION LIMIT -1",
            ),
            (
                unmark_template("d"),
                "ALTER DATABASE \"d\" WITH IS_TEMPLATE false",
            ),
            (
                let_owner_connect("d", "r"),
                "GRANT CONNECT, TEMPORARY ON DATABASE \"d\" TO \"r\"",
            ),
            (drop_database("d"), "DROP DATABASE \"d\" WITH (FORCE)"),
            (
                create_extension("uuid-ossp", false, false),
                "CREATE EXTENSION IF NOT EXISTS \"uuid-ossp\" SCHEMA public",
            ),
            (
                create_extension("plpgsql", true, true),
                "CREATE EXTENSION IF NOT EXISTS \"plpgsql\" CASCADE",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn h15_hostile_names_stay_one_quoted_identifier() {
        for name in [
            "a\"; DROP DATABASE x;--",
            "a'b",
            "a\\b",
            "Ünïcode",
            " a ",
            "current_user",
        ] {
            let quoted = format!("\"{}\"", name.replace('"', "\"\""));
            assert_eq!(
                drop_database(name),
                format!("DROP DATABASE {quoted} WITH (FORCE)")
            );
            assert_eq!(
                grant_to_self(name, 15),
                format!("GRANT {quoted} TO CURRENT_USER")
            );
            assert!(create_extension(name, true, false).ends_with(&quoted));
        }
    }

    #[test]
    fn d13_a_password_is_sent_only_as_a_well_formed_scram_verifier() {
        for password in ["correct horse", "", "p'w\\\"$:", "пароль", "a\u{ad}b"] {
            let text = verifier(&secret(password)).expose_secret().to_owned();
            assert!(password.is_empty() || !text.contains(password));
            let (scheme, rest) = text.split_once('$').unwrap();
            let (salt, keys) = rest.split_once('$').unwrap();
            let (iterations, salt) = salt.split_once(':').unwrap();
            let (stored, server) = keys.split_once(':').unwrap();
            assert_eq!((scheme, iterations), ("SCRAM-SHA-256", "4096"));
            assert_eq!(
                [salt, stored, server].map(decoded),
                [Some(16), Some(32), Some(32)],
                "{text}"
            );
        }
    }

    #[test]
    fn two_verifiers_of_one_password_differ_by_their_salt() {
        let password = secret("same");
        assert_ne!(
            verifier(&password).expose_secret(),
            verifier(&password).expose_secret()
        );
    }

    #[test]
    fn only_a_comment_of_our_own_form_is_a_witness() {
        let uid = Uid::new("0b1c");
        let statement = comment_on_role("app", &Uid::new("cluster"), &uid);
        let comment = statement
            .split_once(" IS '")
            .unwrap()
            .1
            .trim_end_matches('\'');
        assert_eq!(uid_in_comment(comment), Some(uid));
        for other in [
            "",
            "0b1c",
            "tenantry: tenant 0b1c",
            "managed by hand; tenantry: tenant 0b1c of cluster c",
        ] {
            assert_eq!(uid_in_comment(other), None, "{other}");
        }
    }
}
