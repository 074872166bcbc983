//! The registry in the management database: its schema, its migrations and the form of a row (contract, section 8).
//!
//! Decides whether a schema of that name is ours, and brings one of ours up to date, one transaction per migration under an
//! advisory lock. A schema that is not ours, or newer than this program, is never touched. Who owns what is not judged here.

use std::time::Duration;

use domain::tenancy::capability::RegistryState;
use domain::tenancy::claim::{Claim, ClaimState};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::DeletionPolicy;
use tokio_postgres::{Client, Row};

use super::sqlstate::Problem;
use super::statement::{Statements, begin, commit};
use super::work::{Limit, Session, Work};

/// In order; each is one transaction, and the last one's number is the version that this program needs.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_claims.sql")];
/// What the marker says.
const PRODUCT: &str = "tenantry";
/// Of the advisory lock that migrations hold; "tenantry" in ASCII.
const LOCK_KEY: i64 = 0x7465_6e61_6e74_7279;

/// The version that this program works with.
pub(super) fn current_version() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// What is there under the registry's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No such schema.
    Absent,
    /// Ours, at this version.
    Version(i32),
    /// Something else; the text says what.
    Foreign(String),
    /// It looks like ours but belongs to a role whose rights the admin does not have.
    OtherOwner,
}

impl Found {
    /// As the domain sees it.
    pub(super) fn state(&self, database: &str) -> RegistryState {
        match self {
            Self::Absent => RegistryState::Absent,
            Self::Version(version) if *version < current_version() => RegistryState::NeedsMigration,
            Self::Version(version) if *version > current_version() => {
                RegistryState::Incompatible(format!(
                    "the registry (schema tenantry in database {database}) has version {version}, newer than version {} of this \
                 program: run a newer Tenantry; nothing was changed",
                    current_version()
                ))
            }
            Self::Version(_) => RegistryState::Usable,
            Self::Foreign(why) => RegistryState::Incompatible(format!(
                "database {database} has a schema tenantry that is not Tenantry's registry ({why}): rename it, or set another \
                 spec.endpoint.database; nothing was changed"
            )),
            Self::OtherOwner => RegistryState::NotObserved,
        }
    }

    /// The missing right, if that is what is wrong.
    pub(super) fn missing_right(&self) -> Option<Failure> {
        (*self == Self::OtherOwner).then(|| {
            Failure::new(
                Class::Privileges,
                "the registry (schema tenantry) belongs to a role whose rights the admin does not have: as a superuser, give \
                 schema and tables to the admin (ALTER SCHEMA tenantry OWNER TO <admin role>; ALTER TABLE tenantry.marker OWNER \
                 TO <admin role>; ALTER TABLE tenantry.claim OWNER TO <admin role>)",
            )
        })
    }
}

const FIND: &str = "\
SELECT n.oid IS NOT NULL AS schema_there,
       m.oid IS NOT NULL AS marker_there,
       COALESCE(pg_catalog.pg_has_role(n.nspowner, 'USAGE'), false)
         AND COALESCE(pg_catalog.pg_has_role(m.relowner, 'USAGE'), true)
         AND NOT EXISTS (SELECT FROM pg_catalog.pg_class t WHERE t.relnamespace = n.oid
                                    AND NOT pg_catalog.pg_has_role(t.relowner, 'USAGE')) AS ours
  FROM (SELECT 1) AS one
  LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'tenantry'
  LEFT JOIN pg_catalog.pg_class m ON m.relnamespace = n.oid AND m.relname = 'marker' AND m.relkind = 'r'";

/// Looks at the registry; changes nothing.
pub(super) async fn find(client: &impl Statements) -> Result<Found, Problem> {
    const STEP: &str = "looking for the registry";
    let row = client.one(STEP, FIND, &[]).await?;
    if !flag(&row, "schema_there")? {
        return Ok(Found::Absent);
    }
    if !flag(&row, "marker_there")? {
        return Ok(Found::Foreign("it has no table marker".to_owned()));
    }
    // A marker of another owner proves nothing, and what others own may run code of theirs with our rights (D12).
    if !flag(&row, "ours")? {
        return Ok(Found::OtherOwner);
    }
    let marker = client
        .maybe(
            STEP,
            "SELECT m.product, m.version FROM tenantry.marker m LIMIT 1",
            &[],
        )
        .await;
    let marker = match marker {
        Err(Problem::Server { source, .. })
            if source.code().is_some_and(|code| code.code() == "42703") =>
        {
            return Ok(Found::Foreign(
                "its table marker has other columns".to_owned(),
            ));
        }
        marker => marker?,
    };
    let Some(marker) = marker else {
        return Ok(Found::Foreign("its table marker is empty".to_owned()));
    };
    match (
        marker.try_get::<_, String>("product"),
        marker.try_get::<_, i32>("version"),
    ) {
        (Ok(product), Ok(version)) if product == PRODUCT => Ok(Found::Version(version)),
        _ => Ok(Found::Foreign(
            "its marker names another product".to_owned(),
        )),
    }
}

/// Brings the registry into being, or up to date.
pub(super) struct Migrate;

impl Work for Migrate {
    type Output = ();

    const LIMIT: Limit = Limit::Long;

    fn name(&self) -> String {
        "preparing the registry".to_owned()
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        while migrate_once(session.client).await? {}
        Ok(())
    }
}

/// One migration in one transaction; true if it did something.
async fn migrate_once(client: &mut Client) -> Result<bool, Problem> {
    const STEP: &str = "preparing the registry";
    let transaction = begin(client, STEP).await?;
    transaction
        .one(
            STEP,
            "SELECT pg_catalog.pg_advisory_xact_lock($1::pg_catalog.int8)",
            &[&LOCK_KEY],
        )
        .await?;
    let version = match find(&transaction).await? {
        Found::Absent => 0,
        Found::Version(version) => version,
        found @ (Found::Foreign(_) | Found::OtherOwner) => {
            let why = found
                .missing_right()
                .unwrap_or_else(|| Failure::new(Class::Misconfigured, incompatible(&found)));
            return Err(Problem::Told(why));
        }
    };
    if version > current_version() {
        return Err(Problem::told(
            Class::Misconfigured,
            incompatible(&Found::Version(version)),
        ));
    }
    let pending = usize::try_from(version)
        .ok()
        .and_then(|done| MIGRATIONS.get(done));
    let Some(sql) = pending else { return Ok(false) };
    transaction
        .batch(STEP, sql)
        .await
        .map_err(without_create_right)?;
    let next = version + 1;
    transaction
        .run(STEP, "UPDATE tenantry.marker SET version = $1", &[&next])
        .await?;
    commit(transaction, STEP).await?;
    tracing::info!(version = next, "migrated the registry");
    Ok(true)
}

fn incompatible(found: &Found) -> String {
    match found.state("<management>") {
        RegistryState::Incompatible(text) => text,
        _ => "the registry cannot be prepared".to_owned(),
    }
}

fn without_create_right(problem: Problem) -> Problem {
    if problem.code().is_some_and(|code| code.code() == "42501") {
        return Problem::told(
            Class::Privileges,
            "preparing the registry: run GRANT CREATE ON DATABASE <management database> TO <admin role> (SQLSTATE 42501)",
        );
    }
    problem
}

/// The columns of a row, in a statement that calls the table `c`.
pub(super) const COLUMNS: &str = "\
c.tenant_uid, c.cluster_uid, c.instance_uid, c.namespace, c.name, c.database, c.role, c.secret_name, c.secret_path, \
c.role_oid, c.database_oid, c.extensions, c.applied_kv_version, \
EXTRACT(EPOCH FROM pg_catalog.clock_timestamp() - c.verifier_resent_at)::pg_catalog.float8 AS resent_age, \
c.state, c.frozen_policy";

/// The claim in a row with [`COLUMNS`].
pub(super) fn claim_of(row: &Row) -> Result<Claim, Problem> {
    decode(row)
        .map_err(|source| Problem::Server {
            step: "reading the registry".to_owned(),
            source,
        })?
        .ok_or_else(|| {
            Problem::told(
                Class::Misconfigured,
                "the registry has a row that this program cannot read: was it edited by hand?",
            )
        })
}

fn decode(row: &Row) -> Result<Option<Claim>, tokio_postgres::Error> {
    let uid = |column: &str| row.try_get::<_, String>(column).map(Uid::new);
    let state: String = row.try_get("state")?;
    let policy: Option<String> = row.try_get("frozen_policy")?;
    let version: Option<i64> = row.try_get("applied_kv_version")?;
    let resent: Option<f64> = row.try_get("resent_age")?;
    let (Some(state), Ok(applied_kv_version)) = (
        ClaimState::parse(&state),
        version.map(u64::try_from).transpose(),
    ) else {
        return Ok(None);
    };
    let frozen_policy = match policy.as_deref() {
        None => None,
        Some(text) => match DeletionPolicy::parse(text) {
            Some(policy) => Some(policy),
            None => return Ok(None),
        },
    };
    Ok(Some(Claim {
        cluster_uid: uid("cluster_uid")?,
        tenant_uid: uid("tenant_uid")?,
        instance_uid: uid("instance_uid")?,
        namespace: row.try_get("namespace")?,
        name: row.try_get("name")?,
        database: row.try_get("database")?,
        role: row.try_get("role")?,
        secret_name: row.try_get("secret_name")?,
        secret_path: row.try_get("secret_path")?,
        role_oid: row.try_get("role_oid")?,
        database_oid: row.try_get("database_oid")?,
        extensions: row.try_get("extensions")?,
        applied_kv_version,
        // A server whose clock went back says a negative age: just now.
        resent_age: resent.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()),
        state,
        frozen_policy,
    }))
}

pub(super) fn flag(row: &Row, column: &str) -> Result<bool, Problem> {
    row.try_get(column).map_err(|source| Problem::Server {
        step: "reading the server's answer".to_owned(),
        source,
    })
}

/// A missing or half-made registry seen by a statement that needs it: someone removed it, or it was not prepared yet.
pub(super) fn registry_missing(problem: Problem) -> Problem {
    if problem
        .code()
        .is_some_and(|code| ["3F000", "42P01", "42703"].contains(&code.code()))
    {
        return Problem::told(
            Class::Unavailable,
            "the registry is missing from the management database: its Instance prepares it again, or restore it from a backup",
        );
    }
    problem
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_registry_is_usable_only_at_the_version_of_this_program() {
        let now = current_version();
        assert_eq!(Found::Absent.state("m"), RegistryState::Absent);
        assert_eq!(Found::Version(now).state("m"), RegistryState::Usable);
        assert_eq!(
            Found::Version(now - 1).state("m"),
            RegistryState::NeedsMigration
        );
        assert!(
            matches!(Found::Version(now + 1).state("m"), RegistryState::Incompatible(text) if text.contains("newer"))
        );
        assert!(
            matches!(Found::Foreign("x".into()).state("m"), RegistryState::Incompatible(text) if text.contains("not Tenantry's"))
        );
        assert_eq!(
            Found::OtherOwner.missing_right().unwrap().class,
            Class::Privileges
        );
    }

    #[test]
    fn d12_a_migration_names_the_schema_of_everything_it_makes() {
        for sql in MIGRATIONS {
            let statements = sql
                .lines()
                .filter(|line| line.starts_with("CREATE ") || line.starts_with("INSERT "));
            for statement in statements {
                assert!(statement.contains(" tenantry"), "{statement}");
            }
        }
    }
}
