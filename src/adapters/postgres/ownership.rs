//! The proof of ownership inside the transaction that changes something (T3): the row is locked, and OIDs are compared again.
//!
//! Decides only "still what was decided on" or `Conflict`; a name alone proves nothing.

use domain::tenancy::claim::{self, Claim};
use domain::tenancy::failure::Class;
use tokio_postgres::{Error, Row};

use super::observe::{IS_MEMBER, PUBLIC_ACCESS};
use super::registry::registry_missing;
use super::sql::uid_in_comment;
use super::sqlstate::Problem;
use super::statement::Statements;

const STEP: &str = "verifying ownership";

/// The locked row, as far as ownership goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) role_oid: Option<u32>,
    pub(super) database_oid: Option<u32>,
}

impl Recorded {
    /// For the domain's proofs: what the locked row says, not what was observed before.
    fn of(self, claim: &Claim) -> claim::Recorded<'_> {
        claim::Recorded {
            tenant_uid: &claim.tenant_uid,
            role_oid: self.role_oid,
            database_oid: self.database_oid,
        }
    }
}

/// A role as its owner's transaction sees it.
#[derive(Clone, Debug)]
pub(super) struct LiveRole {
    pub(super) oid: u32,
    pub(super) can_login: bool,
    pub(super) superuser: bool,
    pub(super) member: bool,
    comment: Option<String>,
}

/// A database as its owner's transaction sees it.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // attributes of a database, as the server lists them
pub(super) struct LiveDatabase {
    pub(super) oid: u32,
    pub(super) owner_oid: u32,
    pub(super) of_admin: bool,
    pub(super) allows_connections: bool,
    pub(super) connection_limit: i32,
    pub(super) is_template: bool,
    pub(super) owner_may_connect: bool,
    pub(super) public_access: bool,
}

/// As [`lock_row`]; `None` if no row has the claim's Tenant any more.
pub(super) async fn lock_row_if_there(
    client: &impl Statements,
    claim: &Claim,
) -> Result<Option<Recorded>, Problem> {
    let there = "SELECT FROM tenantry.claim WHERE tenant_uid = $1";
    let found = client
        .maybe(STEP, there, &[&claim.tenant_uid.as_str()])
        .await
        .map_err(registry_missing)?;
    match found {
        None => Ok(None),
        Some(_) => lock_row(client, claim).await.map(Some),
    }
}

/// Locks the claim's row until the transaction ends.
pub(super) async fn lock_row(client: &impl Statements, claim: &Claim) -> Result<Recorded, Problem> {
    let (tenant, cluster) = (claim.tenant_uid.as_str(), claim.cluster_uid.as_str());
    let (database, role) = (claim.database.as_str(), claim.role.as_str());
    let row = client
        .maybe(
            STEP,
            "SELECT c.role_oid, c.database_oid FROM tenantry.claim c
              WHERE c.tenant_uid = $1 AND c.cluster_uid = $2 AND c.database = $3 AND c.role = $4 FOR UPDATE",
            &[&tenant, &cluster, &database, &role],
        )
        .await
        .map_err(registry_missing)?;
    let row = row.ok_or_else(|| {
        Problem::told(
            Class::Stale,
            format!(
                "the registry's row of database {database} and role {role} changed in the meantime"
            ),
        )
    })?;
    recorded(&row).map_err(unreadable)
}

fn recorded(row: &Row) -> Result<Recorded, Error> {
    Ok(Recorded {
        role_oid: row.try_get("role_oid")?,
        database_oid: row.try_get("database_oid")?,
    })
}

fn unreadable(source: Error) -> Problem {
    Problem::Server {
        step: STEP.to_owned(),
        source,
    }
}

/// The role of the claimed name, whoever it belongs to.
pub(super) async fn live_role(
    client: &impl Statements,
    claim: &Claim,
) -> Result<Option<LiveRole>, Problem> {
    let sql = format!(
        "SELECT r.oid, r.rolcanlogin, r.rolsuper, pg_catalog.shobj_description(r.oid, 'pg_authid') AS comment,
                {IS_MEMBER} AS member
           FROM pg_catalog.pg_roles r JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
          WHERE r.rolname = $1"
    );
    let row = client.maybe(STEP, &sql, &[&claim.role.as_str()]).await?;
    row.map(|row| {
        Ok(LiveRole {
            oid: row.try_get("oid")?,
            can_login: row.try_get("rolcanlogin")?,
            superuser: row.try_get("rolsuper")?,
            member: row.try_get("member")?,
            comment: row.try_get("comment")?,
        })
    })
    .transpose()
    .map_err(unreadable)
}

/// The database of the claimed name, whoever it belongs to.
pub(super) async fn live_database(
    client: &impl Statements,
    claim: &Claim,
) -> Result<Option<LiveDatabase>, Problem> {
    let database = claim.database.as_str();
    let sql = format!(
        "SELECT d.oid, d.datdba, d.datdba = me.oid AS of_admin, d.datallowconn, d.datconnlimit, d.datistemplate,
                pg_catalog.has_database_privilege(d.datdba, d.oid, 'CONNECT') AS owner_may_connect,
                {PUBLIC_ACCESS} AS public_access
           FROM pg_catalog.pg_database d JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
          WHERE d.datname = $1"
    );
    let row = client.maybe(STEP, &sql, &[&database]).await?;
    row.map(|row| {
        Ok(LiveDatabase {
            oid: row.try_get("oid")?,
            owner_oid: row.try_get("datdba")?,
            of_admin: row.try_get("of_admin")?,
            allows_connections: row.try_get("datallowconn")?,
            connection_limit: row.try_get("datconnlimit")?,
            is_template: row.try_get("datistemplate")?,
            owner_may_connect: row.try_get("owner_may_connect")?,
            public_access: row.try_get("public_access")?,
        })
    })
    .transpose()
    .map_err(unreadable)
}

impl LiveRole {
    /// The OID is the recorded one or, after a restore, the comment carries the UID.
    pub(super) fn is_of(&self, claim: &Claim, recorded: Recorded) -> bool {
        let witness = self.comment.as_deref().and_then(uid_in_comment);
        recorded.of(claim).is_own_role(self.oid, witness.as_ref())
    }

    pub(super) fn has_our_comment(&self, claim: &Claim) -> bool {
        self.comment.as_deref().and_then(uid_in_comment).as_ref() == Some(&claim.tenant_uid)
    }
}

/// The tenant's role; `None` if there is none of that name.
pub(super) async fn own_role(
    client: &impl Statements,
    claim: &Claim,
    recorded: Recorded,
) -> Result<Option<LiveRole>, Problem> {
    let role = live_role(client, claim).await?;
    if role
        .as_ref()
        .is_some_and(|role| !role.is_of(claim, recorded))
    {
        let text = format!(
            "role {} exists and is not this tenant's: nothing was changed",
            claim.role
        );
        return Err(Problem::told(Class::Conflict, text));
    }
    Ok(role)
}

/// The tenant's role, which must be there.
pub(super) async fn present_role(
    client: &impl Statements,
    claim: &Claim,
    recorded: Recorded,
) -> Result<LiveRole, Problem> {
    let role = own_role(client, claim, recorded).await?;
    role.ok_or_else(|| role_is_gone(claim))
}

/// The tenant's role, which was there, is not.
pub(super) fn role_is_gone(claim: &Claim) -> Problem {
    Problem::told(Class::Stale, format!("role {} is gone", claim.role))
}

/// The tenant's database: owned by its role, and the recorded one if any was recorded. The recorded one in the admin's own hands
/// counts too, because it can be given back. `None` if there is none of that name.
pub(super) async fn own_database(
    client: &impl Statements,
    claim: &Claim,
    recorded: Recorded,
    role: Option<&LiveRole>,
) -> Result<Option<LiveDatabase>, Problem> {
    let Some(database) = live_database(client, claim).await? else {
        return Ok(None);
    };
    let proof = recorded.of(claim);
    if proof.is_own_database(database.oid, database.owner_oid, role.map(|role| role.oid))
        || proof.is_own_database_of_admin(database.oid, database.of_admin)
    {
        return Ok(Some(database));
    }
    let text = format!(
        "database {} exists and is not this tenant's (owner or OID differ from what was recorded): nothing was changed",
        claim.database
    );
    Err(Problem::told(Class::Conflict, text))
}

/// The tenant's database, which must be there.
pub(super) async fn present_database(
    client: &impl Statements,
    claim: &Claim,
    recorded: Recorded,
    role: &LiveRole,
) -> Result<LiveDatabase, Problem> {
    let database = own_database(client, claim, recorded, Some(role)).await?;
    database
        .ok_or_else(|| Problem::told(Class::Stale, format!("database {} is gone", claim.database)))
}
