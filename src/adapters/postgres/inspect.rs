//! One look at a server: can it serve as an Instance, and what is missing?
//!
//! Each check is by reading, in a few round trips. With [`Depth::Rights`] the admin's rights are also tried out in a transaction that
//! is rolled back, which proves more than attributes. Decides the texts that tell what to run; concludes nothing.

use domain::tenancy::capability::{CapabilityObservation, Check, RegistryState};
use domain::tenancy::endpoint::Endpoint;
use domain::tenancy::failure::{Class, Failure};
use tokio_postgres::{Error, Row};

use super::connect::access_failure;
use super::extensions::Catalog;
use super::observe::IS_MEMBER;
use super::pool::Server;
use super::registry::{Found, find};
use super::session::NONCE_SETTING;
use super::sql;
use super::sqlstate::{Problem, quoted};
use super::statement::{Statements as _, begin};
use super::target::{Depth, PostgresSettings};
use super::work::{Session, Work};

/// The oldest supported version, as `server_version_num`.
const OLDEST: i32 = 130_000;
/// Since this version a grant says whether its member has the role's rights; before it, the member's `INHERIT` does.
const GRANTS_INHERIT: i32 = 160_000;

const LOOK: &str = "\
SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4 AS version,
       pg_catalog.current_setting('server_version') AS version_text,
       pg_catalog.pg_is_in_recovery() AS in_recovery,
       pg_catalog.current_setting('transaction_read_only') = 'on' AS read_only,
       COALESCE(pg_catalog.current_setting($1, true), '') AS nonce,
       r.rolsuper, r.rolcreatedb, r.rolcreaterole, r.rolinherit, r.rolconnlimit,
       COALESCE(r.rolvaliduntil < 'infinity'::pg_catalog.timestamptz, false) AS expires,
       pg_catalog.has_database_privilege(d.oid, 'CREATE') AS may_create_schema,
       EXISTS (SELECT FROM pg_catalog.aclexplode(COALESCE(d.datacl, pg_catalog.acldefault('d', d.datdba))) a
                WHERE a.grantee = 0 AND a.privilege_type = 'CONNECT') AS public_connect
  FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
 WHERE r.rolname = CURRENT_USER AND d.datname = pg_catalog.current_database()";

/// What the one statement shows.
#[allow(clippy::struct_excessive_bools)] // attributes as the server lists them
struct Look {
    version: i32,
    version_text: String,
    in_recovery: bool,
    read_only: bool,
    nonce: String,
    superuser: bool,
    create_database: bool,
    create_role: bool,
    inherit: bool,
    connection_limit: i32,
    expires: bool,
    may_create_schema: bool,
    public_connect: bool,
}

impl Look {
    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            version: row.try_get("version")?,
            version_text: row.try_get("version_text")?,
            in_recovery: row.try_get("in_recovery")?,
            read_only: row.try_get("read_only")?,
            nonce: row.try_get("nonce")?,
            superuser: row.try_get("rolsuper")?,
            create_database: row.try_get("rolcreatedb")?,
            create_role: row.try_get("rolcreaterole")?,
            inherit: row.try_get("rolinherit")?,
            connection_limit: row.try_get("rolconnlimit")?,
            expires: row.try_get("expires")?,
            may_create_schema: row.try_get("may_create_schema")?,
            public_connect: row.try_get("public_connect")?,
        })
    }

    /// Version, role of the server, and whether the session is the server's own.
    fn metadata(&self, endpoint: &Endpoint, nonce: &str) -> Check {
        let place = format!("{}:{}", endpoint.hostaddr(), endpoint.port());
        let failed = |class, text: String| Check::Failed(Failure::new(class, text));
        if self.nonce != nonce {
            let text = format!(
                "a connection pooler answers at {place} (session settings are not kept): the endpoint must be PostgreSQL itself"
            );
            return failed(Class::Misconfigured, text);
        }
        if self.version < OLDEST {
            let text = format!(
                "the server at {place} has version {}; 13 or newer is needed",
                quoted(&self.version_text)
            );
            return failed(Class::Misconfigured, text);
        }
        if self.in_recovery {
            let text = format!(
                "the server is in recovery: {place} is a standby; point spec.endpoint at the primary"
            );
            return failed(Class::Unavailable, text);
        }
        if self.read_only {
            return failed(
                Class::Unavailable,
                format!("the server at {place} takes no writes (transaction_read_only)"),
            );
        }
        Check::Passed
    }

    /// The attributes that the admin itself must have (D10); membership in a role that has them does not count.
    fn privileges(&self, found: &Found, endpoint: &Endpoint) -> Check {
        let mut statements = Vec::new();
        let attributes = [
            (self.create_database, "CREATEDB"),
            (self.create_role, "CREATEROLE"),
            // Since 16 the grant itself gives the rights.
            (self.inherit || self.version >= GRANTS_INHERIT, "INHERIT"),
        ];
        let missing: Vec<&str> = attributes
            .into_iter()
            .filter(|(has, _)| !has && !self.superuser)
            .map(|(_, name)| name)
            .collect();
        if !missing.is_empty() {
            statements.push(format!("ALTER ROLE <admin role> {}", missing.join(" ")));
        }
        if *found == Found::Absent && !self.may_create_schema {
            let database = endpoint.database();
            statements.push(format!(
                "GRANT CREATE ON DATABASE \"{database}\" TO <admin role> (or CREATE DATABASE tenantry OWNER <admin role>, with \
                 spec.endpoint.database: tenantry)"
            ));
        }
        if !statements.is_empty() {
            let text = format!(
                "the admin role lacks rights; as a superuser run: {}",
                statements.join("; ")
            );
            return Check::Failed(Failure::new(Class::Privileges, text));
        }
        found.missing_right().map_or(Check::Passed, Check::Failed)
    }

    fn advice(&self, endpoint: &Endpoint, connections: usize) -> Vec<String> {
        let database = endpoint.database();
        let due = [
            (
                self.superuser,
                "the admin role is a superuser: a role with LOGIN CREATEDB CREATEROLE is enough"
                    .to_owned(),
            ),
            (
                self.public_connect,
                format!(
                    "every role may connect to the management database: run REVOKE CONNECT, TEMPORARY ON DATABASE \"{database}\" FROM \
                     PUBLIC, after granting CONNECT to the admin role"
                ),
            ),
            (
                self.expires,
                "the admin role's password has an end (VALID UNTIL)".to_owned(),
            ),
            (
                usize::try_from(self.connection_limit).is_ok_and(|limit| limit < connections),
                format!(
                    "the admin role's connection limit is below the {connections} connections that may be used"
                ),
            ),
        ];
        due.into_iter()
            .filter_map(|(applies, text)| applies.then_some(text))
            .collect()
    }
}

/// What a look gives.
struct Seen {
    look: Look,
    found: Found,
    catalog: Catalog,
}

struct Inspect<'a> {
    endpoint: &'a Endpoint,
    depth: Depth,
}

const STEP: &str = "reading the server's metadata";

impl Work for Inspect<'_> {
    type Output = Seen;

    fn name(&self) -> String {
        format!(
            "{STEP} at {}:{}",
            self.endpoint.hostaddr(),
            self.endpoint.port()
        )
    }

    async fn run(&self, session: Session<'_>) -> Result<Seen, Problem> {
        let client = &*session.client;
        // Sent together and answered in turn.
        let (row, catalog, found) = futures::future::try_join3(
            client.one(STEP, LOOK, &[&NONCE_SETTING]),
            async {
                if self.depth < Depth::Extensions {
                    return Ok(Catalog::default());
                }
                Catalog::read(client).await
            },
            find(client),
        )
        .await?;
        let look = Look::read(&row).map_err(|source| Problem::Server {
            step: STEP.to_owned(),
            source,
        })?;
        Ok(Seen {
            look,
            found,
            catalog,
        })
    }
}

/// Everything that a tenant's role needs, tried out and rolled back.
struct ProbeRights {
    role: String,
}

impl Work for ProbeRights {
    type Output = ();

    fn name(&self) -> String {
        "trying out the admin's rights".to_owned()
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let major = session.major;
        let transaction = begin(session.client, &self.name()).await?;
        let steps = [
            ("create a role", sql::create_probe_role(&self.role)),
            (
                "comment on a role that it made",
                format!("COMMENT ON ROLE \"{}\" IS 'tenantry: probe'", self.role),
            ),
            (
                "become a member of a role that it made",
                sql::grant_to_self(&self.role, major),
            ),
            ("alter a role that it made", sql::allow_login(&self.role)),
        ];
        for (what, statement) in steps {
            let step = format!("trying out the admin's rights: it cannot {what}");
            transaction.run(&step, &statement, &[]).await?;
        }
        let member = format!(
            "SELECT {IS_MEMBER} AS member FROM pg_catalog.pg_roles r JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
              WHERE r.rolname = $1"
        );
        let row = transaction
            .one(&self.name(), &member, &[&self.role.as_str()])
            .await?;
        if !super::registry::flag(&row, "member")? {
            let text = "the admin is a member of a role that it made, but without its rights: as a superuser run ALTER ROLE <admin \
                        role> INHERIT";
            return Err(Problem::told(Class::Privileges, text));
        }
        transaction
            .rollback()
            .await
            .map_err(|source| Problem::Server {
                step: self.name(),
                source,
            })
    }
}

impl Server {
    /// Fills in the observation as far as the server lets it.
    pub(super) async fn inspect(
        &self,
        settings: &PostgresSettings,
        depth: Depth,
        mut seen: CapabilityObservation,
    ) -> CapabilityObservation {
        if depth == Depth::Rights {
            // The configuration is being validated: an old login is no proof that the credential still works.
            self.forget_idle();
        }
        let endpoint = self.dialer.endpoint();
        let Some(Seen {
            look,
            found,
            catalog,
        }) = self.look(settings, depth, &mut seen).await
        else {
            return seen;
        };
        seen.server_version = Some(quoted(&look.version_text));
        seen.metadata = look.metadata(endpoint, self.dialer.nonce());
        if seen.metadata != Check::Passed {
            return seen;
        }
        seen.registry = found.state(endpoint.database().as_str());
        seen.privileges = look.privileges(&found, endpoint);
        seen.extensions = catalog.installable();
        seen.advice = look.advice(endpoint, settings.pool_size + settings.visits);
        if depth == Depth::Rights
            && seen.privileges == Check::Passed
            && !matches!(seen.registry, RegistryState::Incompatible(_))
        {
            let probe = ProbeRights {
                role: format!("tenantry_probe_{:016x}", rand::random::<u64>()),
            };
            seen.rights_probe = match self.perform(settings, &probe).await {
                Ok(()) => Check::Passed,
                Err(failure) => Check::Failed(failure),
            };
        }
        seen
    }

    /// The reading, with access and what broke it noted; once more if a pooled connection turns out to be dead.
    async fn look(
        &self,
        settings: &PostgresSettings,
        depth: Depth,
        seen: &mut CapabilityObservation,
    ) -> Option<Seen> {
        let endpoint = self.dialer.endpoint();
        let mut second = false;
        loop {
            let lease = match self.lease().await {
                Ok(lease) => lease,
                Err(failure) => {
                    seen.access = Check::Failed(failure);
                    return None;
                }
            };
            seen.access = Check::Passed;
            let failure = match self
                .perform_on(lease, settings, &Inspect { endpoint, depth })
                .await
            {
                Ok(Ok(looked)) => return Some(looked),
                Ok(Err(problem)) if problem.lost_connection() && !second => {
                    second = true;
                    continue;
                }
                // What broke the conversation (a guard, say) is told as at the login.
                Ok(Err(Problem::Server { source, .. })) if source.code().is_none() => {
                    access_failure(endpoint, &source)
                }
                Ok(Err(problem)) => problem.into_failure(),
                Err(failure) => failure,
            };
            seen.metadata = Check::Failed(failure);
            return None;
        }
    }
}
