//! The tenant's role: made, repaired, locked out and dropped, each in one transaction with its row.
//!
//! Decides nothing about when. An attribute is altered only where it differs, because altering an unchanged one can already be
//! refused. The admin becomes a member of the role, never the other way round.

use domain::tenancy::claim::Claim;
use domain::tenancy::failure::Class;
use secrecy::SecretString;
use tokio_postgres::error::SqlState;

use super::ownership::{LiveRole, lock_row, own_role, present_role};
use super::sql;
use super::sqlstate::{Problem, quoted};
use super::statement::{Statements, begin, commit};
use super::work::{Session, Work};

/// One transaction: role with verifier, comment, grant to ourselves, role OID and KV version in the row (section 7).
pub(super) struct CreateRole<'a> {
    pub(super) claim: &'a Claim,
    pub(super) verifier: &'a SecretString,
    pub(super) kv_version: i64,
}

impl Work for CreateRole<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("creating role {}", self.claim.role)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.claim;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        // An earlier attempt whose answer was lost; what it lacks is for the next round to see.
        if own_role(&transaction, claim, recorded).await?.is_some() {
            return Ok(());
        }
        let create = sql::create_role(&claim.role, self.verifier);
        match transaction.run(&self.name(), &create, &[]).await {
            Err(problem)
                if problem.is(&[SqlState::DUPLICATE_OBJECT, SqlState::UNIQUE_VIOLATION]) =>
            {
                let text = format!(
                    "role {} was made by something else in the meantime: nothing was changed",
                    claim.role
                );
                return Err(Problem::told(Class::Conflict, text));
            }
            created => created?,
        };
        mark_and_join(&transaction, claim, session.major, &self.name()).await?;
        let update = "UPDATE tenantry.claim SET applied_kv_version = $2, verifier_resent_at = NULL, updated_at = pg_catalog.now(),
                             role_oid = (SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = $3)
                       WHERE tenant_uid = $1";
        let parameters: super::statement::Parameters<'_> = &[
            &claim.tenant_uid.as_str(),
            &self.kv_version,
            &claim.role.as_str(),
        ];
        transaction.run(&self.name(), update, parameters).await?;
        commit(transaction, &self.name()).await
    }
}

async fn mark_and_join(
    client: &impl Statements,
    claim: &Claim,
    major: u16,
    step: &str,
) -> Result<(), Problem> {
    let comment = sql::comment_on_role(&claim.role, &claim.cluster_uid, &claim.tenant_uid);
    client.run(step, &comment, &[]).await?;
    client
        .run(step, &sql::grant_to_self(&claim.role, major), &[])
        .await?;
    Ok(())
}

/// Sends a verifier and records the KV version that it was made from (D13). The same version again leaves the time in the row.
pub(super) struct SetVerifier<'a> {
    pub(super) claim: &'a Claim,
    pub(super) verifier: &'a SecretString,
    pub(super) kv_version: i64,
}

impl Work for SetVerifier<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("setting the password of role {}", self.claim.role)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.claim;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = present_role(&transaction, claim, recorded).await?;
        alter(
            &transaction,
            claim,
            &role,
            session.major,
            &self.name(),
            &sql::set_password(&claim.role, self.verifier),
        )
        .await?;
        let update = "UPDATE tenantry.claim SET applied_kv_version = $2, updated_at = pg_catalog.now(),
                             verifier_resent_at = CASE WHEN applied_kv_version = $2 THEN pg_catalog.clock_timestamp() END
                       WHERE tenant_uid = $1";
        transaction
            .run(
                &self.name(),
                update,
                &[&claim.tenant_uid.as_str(), &self.kv_version],
            )
            .await?;
        commit(transaction, &self.name()).await
    }
}

/// `LOGIN`, the comment, the grant to ourselves, and the OID in the row after a restore: whatever of these differs.
pub(super) struct RepairRole<'a>(pub(super) &'a Claim);

impl Work for RepairRole<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("repairing role {}", self.0.role)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = present_role(&transaction, claim, recorded).await?;
        if !role.can_login {
            alter(
                &transaction,
                claim,
                &role,
                session.major,
                &self.name(),
                &sql::allow_login(&claim.role),
            )
            .await?;
        }
        if !role.has_our_comment(claim) {
            let comment = sql::comment_on_role(&claim.role, &claim.cluster_uid, &claim.tenant_uid);
            alter(
                &transaction,
                claim,
                &role,
                session.major,
                &self.name(),
                &comment,
            )
            .await?;
        }
        join(&transaction, claim, &role, session.major, &self.name()).await?;
        let update = "UPDATE tenantry.claim SET role_oid = $2, updated_at = pg_catalog.now() WHERE tenant_uid = $1";
        transaction
            .run(
                &self.name(),
                update,
                &[&claim.tenant_uid.as_str(), &role.oid],
            )
            .await?;
        commit(transaction, &self.name()).await
    }
}

/// `NOLOGIN`, and the membership without which nothing of the role can be ended or dropped. No role is success.
pub(super) struct ForbidLogin<'a>(pub(super) &'a Claim);

impl Work for ForbidLogin<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("forbidding role {} to log in", self.0.role)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let Some(role) = own_role(&transaction, claim, recorded).await? else {
            return Ok(());
        };
        if role.can_login {
            alter(
                &transaction,
                claim,
                &role,
                session.major,
                &self.name(),
                &sql::forbid_login(&claim.role),
            )
            .await?;
        }
        join(&transaction, claim, &role, session.major, &self.name()).await?;
        commit(transaction, &self.name()).await
    }
}

/// `DROP ROLE`, which the server itself refuses while the role owns anything. No role is success.
pub(super) struct DropRole<'a>(pub(super) &'a Claim);

impl Work for DropRole<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("dropping role {}", self.0.role)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let major = session.major;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let Some(role) = own_role(&transaction, claim, recorded).await? else {
            return Ok(());
        };
        let dropped = alter(
            &transaction,
            claim,
            &role,
            major,
            &self.name(),
            &sql::drop_role(&claim.role),
        )
        .await;
        match dropped {
            Ok(()) => commit(transaction, &self.name()).await,
            Err(problem) if problem.is(&[SqlState::DEPENDENT_OBJECTS_STILL_EXIST]) => {
                drop(transaction);
                Err(depended_on(session.client, claim, &role).await?)
            }
            Err(problem) => Err(problem),
        }
    }
}

/// Where the things are that keep a role from being dropped.
async fn depended_on(
    client: &impl Statements,
    claim: &Claim,
    role: &LiveRole,
) -> Result<Problem, Problem> {
    let sql = "SELECT DISTINCT COALESCE(d.datname::pg_catalog.text, '') AS place
                 FROM pg_catalog.pg_shdepend s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid
                WHERE s.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass AND s.refobjid = $1 ORDER BY place LIMIT 5";
    let step = format!("finding what depends on role {}", claim.role);
    let rows = client.all(&step, sql, &[&role.oid]).await?;
    let unreadable = |source| Problem::Server {
        step: step.clone(),
        source,
    };
    let mut places = Vec::new();
    for row in &rows {
        let place: String = row.try_get("place").map_err(unreadable)?;
        places.push(if place.is_empty() {
            "the server as a whole".to_owned()
        } else {
            format!("database {}", quoted(&place))
        });
    }
    let text = format!(
        "role {} still owns or was granted something in {}: reassign or drop it there (REASSIGN OWNED, DROP OWNED), then this goes on \
         (SQLSTATE 2BP01)",
        claim.role,
        places.join(", ")
    );
    Ok(Problem::told(Class::Blocked, text))
}

async fn join(
    client: &impl Statements,
    claim: &Claim,
    role: &LiveRole,
    major: u16,
    step: &str,
) -> Result<(), Problem> {
    if role.member {
        return Ok(());
    }
    alter(
        client,
        claim,
        role,
        major,
        step,
        &sql::grant_to_self(&claim.role, major),
    )
    .await
}

/// A statement on our own role; a missing right is told with the statement that gives it.
async fn alter(
    client: &impl Statements,
    claim: &Claim,
    role: &LiveRole,
    major: u16,
    step: &str,
    statement: &str,
) -> Result<(), Problem> {
    match client.run(step, statement, &[]).await {
        Ok(_) => Ok(()),
        Err(problem) if problem.is(&[SqlState::INSUFFICIENT_PRIVILEGE]) => {
            let remedy = if role.superuser {
                format!(
                    "role {} was made a superuser, so the admin may not change it; as a superuser run ALTER ROLE \"{0}\" NOSUPERUSER",
                    claim.role
                )
            } else {
                format!(
                    "the admin may not administer role {}; as a superuser run {}",
                    claim.role,
                    sql::admin_remedy(&claim.role, major)
                )
            };
            Err(Problem::told(
                Class::Privileges,
                format!("{step}: {remedy} (SQLSTATE 42501)"),
            ))
        }
        Err(problem) => Err(problem),
    }
}
