//! Extensions: which can be installed on a server (T6), which are installed in a database, and the installing.
//!
//! Decides installability from what the server lists; the attempt has the last word. It never drops or updates one.

use std::collections::{BTreeMap, BTreeSet};

use domain::tenancy::capability::{Installability, RefusedExtension};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::ExtensionName;
use tokio_postgres::{Client, Error, Row};

use super::sql;
use super::sqlstate::Problem;
use super::statement::Statements;

/// Each extension at the version that would be installed.
pub(super) const AVAILABLE: &str = "\
SELECT e.name::pg_catalog.text AS name, v.superuser, v.trusted, v.schema IS NOT NULL AS fixed_schema,
       v.requires::pg_catalog.text[] AS requires
  FROM pg_catalog.pg_available_extensions e
  JOIN pg_catalog.pg_available_extension_versions v ON v.name = e.name AND v.version = e.default_version";

/// Roles of managed services whose members may install more than what is trusted; whether they really may, the attempt shows.
const CLOUD_ADMINS: &[&str] = &[
    "rds_superuser",
    "cloudsqlsuperuser",
    "alloydbsuperuser",
    "azure_pg_admin",
];

/// True if the admin is a superuser or a member of a cloud's admin role.
pub(super) const MAY_INSTALL_UNTRUSTED: &str = "\
SELECT EXISTS (SELECT FROM pg_catalog.pg_roles r
                WHERE (r.rolname = CURRENT_USER AND r.rolsuper)
                   OR (r.rolname = ANY ($1) AND pg_catalog.pg_has_role(r.oid, 'MEMBER'))) AS powerful";

pub(super) fn cloud_admins() -> Vec<&'static str> {
    CLOUD_ADMINS.to_vec()
}

/// An extension as the server lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Available {
    needs_superuser: bool,
    fixed_schema: bool,
    requires: Vec<String>,
}

/// What a server lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    available: BTreeMap<String, Available>,
    powerful: bool,
}

impl Catalog {
    pub(super) async fn read(client: &impl Statements) -> Result<Self, Problem> {
        const STEP: &str = "reading which extensions the server has";
        let admins = cloud_admins();
        // Both at once: one round trip.
        let (rows, powerful) = futures::future::try_join(
            client.all(STEP, AVAILABLE, &[]),
            client.one(STEP, MAY_INSTALL_UNTRUSTED, &[&admins]),
        )
        .await?;
        let unreadable = |source| Problem::Server {
            step: STEP.to_owned(),
            source,
        };
        let available = rows
            .iter()
            .map(listed)
            .collect::<Result<_, Error>>()
            .map_err(unreadable)?;
        Ok(Self {
            available,
            powerful: powerful.try_get("powerful").map_err(unreadable)?,
        })
    }

    /// Every listed extension that a Tenant can name, judged by T6.
    pub(super) fn installable(&self) -> BTreeMap<ExtensionName, Installability> {
        let named = self
            .available
            .keys()
            .filter_map(|name| Some((ExtensionName::parse(name)?, self.judge(name))));
        named.collect()
    }

    fn judge(&self, name: &str) -> Installability {
        let mut seen = BTreeSet::from([name]);
        let mut open = vec![name];
        while let Some(next) = open.pop() {
            let Some(extension) = self.available.get(next) else {
                return Installability::Requires(next.to_owned());
            };
            if extension.needs_superuser && !self.powerful {
                return Installability::NeedsSuperuser(next.to_owned());
            }
            open.extend(
                extension
                    .requires
                    .iter()
                    .map(String::as_str)
                    .filter(|required| seen.insert(required)),
            );
        }
        Installability::Yes
    }

    /// The statement that installs it, with what it requires.
    fn statement(&self, name: &ExtensionName) -> Result<String, Failure> {
        let listed = self.available.get(name.as_str());
        let because = listed.map(|_| self.judge(name.as_str()));
        match (listed, because) {
            (Some(extension), Some(Installability::Yes)) => Ok(sql::create_extension(
                name.as_str(),
                extension.fixed_schema,
                !extension.requires.is_empty(),
            )),
            (_, because) => Err(refused(name, because)),
        }
    }
}

fn refused(name: &ExtensionName, because: Option<Installability>) -> Failure {
    let refused = RefusedExtension {
        name: name.clone(),
        because,
    };
    Failure::new(
        Class::NotInstallable,
        format!(
            "spec.extensions: {}; remove it, or ask the administrator",
            refused.describe()
        ),
    )
}

fn listed(row: &Row) -> Result<(String, Available), Error> {
    let requires: Option<Vec<String>> = row.try_get("requires")?;
    let (superuser, trusted): (bool, bool) = (row.try_get("superuser")?, row.try_get("trusted")?);
    let extension = Available {
        needs_superuser: superuser && !trusted,
        fixed_schema: row.try_get("fixed_schema")?,
        requires: requires.unwrap_or_default(),
    };
    Ok((row.try_get("name")?, extension))
}

/// What is installed in the database that the client is connected to.
pub(super) async fn installed(
    client: &Client,
    database: &str,
) -> Result<BTreeSet<String>, Problem> {
    let step = format!("reading the extensions of database {database}");
    let rows = client
        .all(
            &step,
            "SELECT e.extname::pg_catalog.text AS name FROM pg_catalog.pg_extension e",
            &[],
        )
        .await?;
    let names: Result<_, Error> = rows.iter().map(|row| row.try_get("name")).collect();
    names.map_err(|source| Problem::Server { step, source })
}

/// Installs one extension in the database that the client is connected to, if its OID is the expected one.
pub(super) async fn install(
    client: &Client,
    database: &str,
    database_oid: u32,
    name: &ExtensionName,
) -> Result<(), Problem> {
    let step = format!("creating extension {name} in database {database}");
    let here = "SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database() AND d.oid = $1";
    if client.maybe(&step, here, &[&database_oid]).await?.is_none() {
        return Err(Problem::told(
            Class::Stale,
            format!("{step}: it is another database than a moment ago"),
        ));
    }
    let statement = Catalog::read(client)
        .await?
        .statement(name)
        .map_err(Problem::Told)?;
    match client.run(&step, &statement, &[]).await {
        Ok(_) => Ok(()),
        Err(problem) => Err(explain(problem, &step, database)),
    }
}

fn explain(problem: Problem, step: &str, database: &str) -> Problem {
    let Some(code) = problem.code().map(|code| code.code().to_owned()) else {
        return problem;
    };
    match code.as_str() {
        "42501" | "0A000" | "58P01" | "22023" | "42704" => Problem::told(
            Class::NotInstallable,
            format!(
                "{step}: the server does not let the admin install it (SQLSTATE {code}): remove it from spec.extensions, or ask the administrator"
            ),
        ),
        "3F000" => Problem::told(
            Class::Rejected,
            format!(
                "{step}: schema public is gone from the database; as the tenant run CREATE SCHEMA public in {database} (SQLSTATE 3F000)"
            ),
        ),
        "42710" | "42723" | "42P07" => Problem::told(
            Class::Rejected,
            format!(
                "{step}: schema public has an object of the same name as one of the extension's: rename or drop it (SQLSTATE {code})"
            ),
        ),
        _ => problem,
    }
}

/// True if another session installed the same extension at the same moment.
pub(super) fn raced(problem: &Problem) -> bool {
    problem.code().is_some_and(|code| code.code() == "23505")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn catalog(powerful: bool) -> Catalog {
        let listed = [
            ("pgcrypto", false, vec![]),
            ("cube", false, vec![]),
            ("earthdistance", true, vec!["cube"]),
            ("needs_earth", false, vec!["earthdistance", "cube"]),
            ("dangling", false, vec!["absent"]),
            ("loop_a", false, vec!["loop_b"]),
            ("loop_b", false, vec!["loop_a"]),
            ("Bad Name", false, vec![]),
        ];
        let available = listed.into_iter().map(|(name, needs_superuser, requires)| {
            let requires = requires.into_iter().map(str::to_owned).collect();
            (
                name.to_owned(),
                Available {
                    needs_superuser,
                    fixed_schema: name == "cube",
                    requires,
                },
            )
        });
        Catalog {
            available: available.collect(),
            powerful,
        }
    }

    fn name(text: &str) -> ExtensionName {
        ExtensionName::parse(text).unwrap()
    }

    #[test]
    fn t6_an_extension_is_installable_with_all_that_it_requires_or_not_at_all() {
        let judged = catalog(false).installable();
        assert_eq!(judged[&name("pgcrypto")], Installability::Yes);
        assert_eq!(
            judged[&name("earthdistance")],
            Installability::NeedsSuperuser("earthdistance".into())
        );
        assert_eq!(
            judged[&name("needs_earth")],
            Installability::NeedsSuperuser("earthdistance".into())
        );
        assert_eq!(
            judged[&name("dangling")],
            Installability::Requires("absent".into())
        );
        assert_eq!(judged[&name("loop_a")], Installability::Yes);
        assert_eq!(judged.len(), 7);
    }

    #[test]
    fn t6_a_superuser_or_a_cloud_s_admin_may_try_what_is_not_trusted() {
        let judged = catalog(true).installable();
        assert_eq!(judged[&name("needs_earth")], Installability::Yes);
        assert_eq!(
            judged[&name("dangling")],
            Installability::Requires("absent".into())
        );
    }

    #[test]
    fn cascade_is_used_only_for_an_extension_all_of_whose_requirements_are_installable() {
        let trusted = catalog(false);
        assert_eq!(
            trusted.statement(&name("pgcrypto")).unwrap(),
            "CREATE EXTENSION IF NOT EXISTS \"pgcrypto\" SCHEMA public"
        );
        assert_eq!(
            trusted.statement(&name("cube")).unwrap(),
            "CREATE EXTENSION IF NOT EXISTS \"cube\""
        );
        let failure = trusted.statement(&name("needs_earth")).unwrap_err();
        assert_eq!(failure.class, Class::NotInstallable);
        assert!(
            failure
                .text
                .contains("requires earthdistance, which needs a superuser"),
            "{failure}"
        );
        assert!(
            catalog(true)
                .statement(&name("needs_earth"))
                .unwrap()
                .ends_with(" SCHEMA public CASCADE")
        );
        assert!(
            trusted
                .statement(&name("unknown"))
                .unwrap_err()
                .text
                .contains("not available")
        );
    }
}
