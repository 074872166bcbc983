//! One read of the management database: the registry's rows, the role and the database of one Tenant.
//!
//! One statement, so that all of it is of one moment. Decides nothing; what it finds is for the domain to judge. Reads no
//! catalog that an ordinary role may not read.

use domain::tenancy::claim::Claim;
use domain::tenancy::facts::{DatabaseFact, Holder, RoleFact, ServerFacts};
use domain::tenancy::failure::Class;
use tokio_postgres::{Error, Row};

use super::registry::{COLUMNS, claim_of, current_version, registry_missing};
use super::sql::uid_in_comment;
use super::sqlstate::Problem;
use super::statement::Statements as _;
use super::target::ServerQuery;
use super::work::{Session, Work};

const STEP: &str = "reading the management database";

/// Who may connect to a database or fill its disk without being granted it by name.
pub(super) const PUBLIC_ACCESS: &str = "\
EXISTS (SELECT FROM pg_catalog.aclexplode(COALESCE(d.datacl, pg_catalog.acldefault('d', d.datdba))) a
         WHERE a.grantee = 0 AND a.privilege_type IN ('CONNECT', 'TEMPORARY'))";

/// The client sessions of the database `d`. A session of a foreign role hides what kind it is; background workers have no role.
pub(super) const SESSIONS: &str = "\
a.datid = d.oid AND a.usesysid IS NOT NULL AND COALESCE(a.backend_type, 'client backend') IN ('client backend', 'walsender')";

/// True for the database `d` if its owner and the admin can connect at all; -2 marks a database whose drop was interrupted.
pub(super) const CONNECTABLE: &str = "\
d.datallowconn AND d.datconnlimit <> 0 AND d.datconnlimit <> -2
       AND pg_catalog.has_database_privilege(d.datdba, d.oid, 'CONNECT')";

/// True if the admin `me` is a member of role `r`, with its rights and able to give it a database. Read from the catalog itself:
/// what `pg_has_role` says comes from a cache of the session, which can miss a membership that another session granted just
/// while it was filled. The options exist since version 16; before it the admin's own `INHERIT` counts.
pub(super) const IS_MEMBER: &str = "\
(me.rolsuper OR EXISTS (
          SELECT FROM pg_catalog.pg_auth_members m, pg_catalog.to_jsonb(m) AS j
           WHERE m.roleid = r.oid AND m.member = me.oid
             AND COALESCE((j ->> 'inherit_option')::pg_catalog.bool, me.rolinherit)
             AND COALESCE((j ->> 'set_option')::pg_catalog.bool, true)))";

/// Of the role `r`.
pub(super) const ROLE_FACTS: &str = "\
r.oid AS r_oid, r.rolcanlogin, r.rolsuper, COALESCE(r.rolvaliduntil <= pg_catalog.clock_timestamp(), false) AS expired,
       pg_catalog.shobj_description(r.oid, 'pg_authid') AS comment";

fn statement() -> String {
    format!(
        "WITH claims AS (
           SELECT * FROM tenantry.claim
            WHERE tenant_uid = $1 OR database = $2 OR role = $3 OR (cluster_uid = $4 AND namespace = $5 AND name = $6)
         ), names AS (
           SELECT COALESCE((SELECT o.database FROM claims o WHERE o.tenant_uid = $1), $2) AS database,
                  COALESCE((SELECT o.role FROM claims o WHERE o.tenant_uid = $1), $3) AS role
         )
         SELECT (SELECT m.version FROM tenantry.marker m) AS registry_version, $3 = CURRENT_USER AS is_admin,
                {ROLE_FACTS}, {IS_MEMBER} AS member,
                d.oid AS d_oid, d.datdba, d.datdba = me.oid AS d_of_admin, {PUBLIC_ACCESS} AS public_access,
                {CONNECTABLE} AS connectable,
                CASE WHEN $7 THEN (SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity a WHERE {SESSIONS}) ELSE 0 END AS sessions,
                {COLUMNS}
           FROM names n
           JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
           LEFT JOIN pg_catalog.pg_roles r ON r.rolname = n.role
           LEFT JOIN pg_catalog.pg_database d ON d.datname = n.database
           LEFT JOIN claims c ON true"
    )
}

/// Reads what is known of one Tenant.
pub(super) struct Observe<'a>(pub(super) &'a ServerQuery);

impl Work for Observe<'_> {
    type Output = ServerFacts;

    fn name(&self) -> String {
        STEP.to_owned()
    }

    async fn run(&self, session: Session<'_>) -> Result<ServerFacts, Problem> {
        let query = self.0;
        let (tenant, cluster) = (query.tenant_uid.as_str(), query.cluster_uid.as_str());
        let (database, role) = (query.database.as_str(), query.role.as_str());
        let (namespace, name) = (query.namespace.as_str(), query.name.as_str());
        let rows = session
            .client
            .all(
                STEP,
                &statement(),
                &[
                    &tenant,
                    &database,
                    &role,
                    &cluster,
                    &namespace,
                    &name,
                    &query.sessions,
                ],
            )
            .await
            .map_err(registry_missing)?;
        let Some(first) = rows.first() else {
            return Err(Problem::told(
                Class::Unavailable,
                format!("{STEP}: the server gave no answer"),
            ));
        };
        let unreadable = |source| Problem::Server {
            step: STEP.to_owned(),
            source,
        };
        check_version(first.try_get("registry_version").map_err(unreadable)?)?;
        let mut facts = server_facts(first).map_err(unreadable)?;
        for row in &rows {
            // The outer join gives one row without a claim where nothing is claimed.
            if row
                .try_get::<_, Option<String>>("tenant_uid")
                .map_err(unreadable)?
                .is_none()
            {
                continue;
            }
            let claim = claim_of(row)?;
            if claim.tenant_uid == query.tenant_uid {
                facts.claim = Some(claim);
            } else {
                facts.holders.push(Holder { claim, alive: None });
            }
        }
        // The same holder first in each round, so that a condition's text does not flap.
        facts
            .holders
            .sort_by(|a, b| a.claim.tenant_uid.cmp(&b.claim.tenant_uid));
        Ok(facts)
    }
}

pub(super) fn check_version(version: Option<i32>) -> Result<(), Problem> {
    if version == Some(current_version()) {
        return Ok(());
    }
    let text = "the registry has another version than this program: its Instance says what to do";
    Err(Problem::told(Class::Misconfigured, text))
}

pub(super) fn server_facts(row: &Row) -> Result<ServerFacts, Error> {
    let role_oid: Option<u32> = row.try_get("r_oid")?;
    let database_oid: Option<u32> = row.try_get("d_oid")?;
    Ok(ServerFacts {
        claim: None,
        holders: Vec::new(),
        role: role_oid.map(|oid| role_fact(row, oid)).transpose()?,
        database: database_oid
            .map(|oid| database_fact(row, oid))
            .transpose()?,
        role_is_admin: row.try_get("is_admin")?,
    })
}

fn role_fact(row: &Row, oid: u32) -> Result<RoleFact, Error> {
    let comment: Option<String> = row.try_get("comment")?;
    Ok(RoleFact {
        oid,
        can_login: row.try_get("rolcanlogin")?,
        expired: row.try_get("expired")?,
        superuser: row.try_get("rolsuper")?,
        comment_uid: comment.as_deref().and_then(uid_in_comment),
        admin_is_member: row.try_get("member")?,
    })
}

fn database_fact(row: &Row, oid: u32) -> Result<DatabaseFact, Error> {
    let sessions: i64 = row.try_get("sessions")?;
    Ok(DatabaseFact {
        oid,
        owner_oid: row.try_get("datdba")?,
        owned_by_admin: row.try_get("d_of_admin")?,
        public_access: row.try_get("public_access")?,
        connectable: row.try_get("connectable")?,
        sessions: u32::try_from(sessions).unwrap_or(u32::MAX),
    })
}

/// Every row of the registry.
pub(super) struct ListClaims;

impl Work for ListClaims {
    type Output = Vec<Claim>;

    fn name(&self) -> String {
        "reading the registry".to_owned()
    }

    async fn run(&self, session: Session<'_>) -> Result<Vec<Claim>, Problem> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tenantry.claim c ORDER BY c.namespace, c.name, c.tenant_uid"
        );
        let rows = session
            .client
            .all(&self.name(), &sql, &[])
            .await
            .map_err(registry_missing)?;
        rows.iter().map(claim_of).collect()
    }
}
