//! The tenant's role: made, repaired, locked out and dropped, each in one transaction with its row.
//!
//! Decides nothing about when. An attribute is altered only where it differs, because altering an unchanged one can already be
//! refused. The admin becomes a member of the role, never the other way round.

use domain::tenancy::claim::Claim;
use domain::tenancy::failure::Class;
use secrecy::SecretString;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Transaction};

use super::ownership::{LiveRole, lock_row, own_role, role_is_gone};
use super::sql;
use super::sqlstate::{Problem, quoted};
use super::statement::{Parameters, Statements, begin, commit};
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
        let (transaction, role) = prove(session.client, claim, &self.name()).await?;
        // An earlier attempt whose answer was lost; what it lacks is for the next round to see.
        if role.is_some() {
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
        let parameters: Parameters<'_> = &[
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

/// Begins a transaction with the claim's row locked, and with its role if there is one: ours, or nothing goes on (T3).
async fn prove<'c>(
    client: &'c mut Client,
    claim: &Claim,
    step: &str,
) -> Result<(Transaction<'c>, Option<LiveRole>), Problem> {
    let transaction = begin(client, step).await?;
    let recorded = lock_row(&transaction, claim).await?;
    let role = own_role(&transaction, claim, recorded).await?;
    Ok((transaction, role))
}

/// A transaction over the claim's own role, which is there.
struct OwnRole<'c> {
    transaction: Transaction<'c>,
    claim: &'c Claim,
    role: LiveRole,
    major: u16,
    step: String,
}

impl<'c> OwnRole<'c> {
    /// `None` if there is no role of that name.
    async fn find(
        session: Session<'c>,
        claim: &'c Claim,
        step: String,
    ) -> Result<Option<Self>, Problem> {
        let (transaction, role) = prove(session.client, claim, &step).await?;
        Ok(role.map(|role| Self {
            transaction,
            claim,
            role,
            major: session.major,
            step,
        }))
    }

    /// A role that must be there.
    async fn require(
        session: Session<'c>,
        claim: &'c Claim,
        step: String,
    ) -> Result<Self, Problem> {
        let found = Self::find(session, claim, step).await?;
        found.ok_or_else(|| role_is_gone(claim))
    }

    /// A statement on the role; a missing right is told with the statement that gives it.
    async fn alter(&self, statement: &str) -> Result<(), Problem> {
        let (claim, step) = (self.claim, &self.step);
        match self.transaction.run(step, statement, &[]).await {
            Ok(_) => Ok(()),
            Err(problem) if problem.is(&[SqlState::INSUFFICIENT_PRIVILEGE]) => {
                let remedy = if self.role.superuser {
                    format!(
                        "role {} was made a superuser, so the admin may not change it; as a superuser run ALTER ROLE \"{0}\" NOSUPERUSER",
                        claim.role
                    )
                } else {
                    format!(
                        "the admin may not administer role {}; as a superuser run {}",
                        claim.role,
                        sql::admin_remedy(&claim.role, self.major)
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

    /// The admin's membership in the role, if it lacks it.
    async fn join(&self) -> Result<(), Problem> {
        if self.role.member {
            return Ok(());
        }
        self.alter(&sql::grant_to_self(&self.claim.role, self.major))
            .await
    }

    /// A change of the claim's row.
    async fn record(&self, update: &str, parameters: Parameters<'_>) -> Result<(), Problem> {
        self.transaction
            .run(&self.step, update, parameters)
            .await
            .map(drop)
    }

    async fn commit(self) -> Result<(), Problem> {
        commit(self.transaction, &self.step).await
    }
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
        let own = OwnRole::require(session, claim, self.name()).await?;
        own.alter(&sql::set_password(&claim.role, self.verifier))
            .await?;
        let update = "UPDATE tenantry.claim SET applied_kv_version = $2, updated_at = pg_catalog.now(),
                             verifier_resent_at = CASE WHEN applied_kv_version = $2 THEN pg_catalog.clock_timestamp() END
                       WHERE tenant_uid = $1";
        own.record(update, &[&claim.tenant_uid.as_str(), &self.kv_version])
            .await?;
        own.commit().await
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
        let own = OwnRole::require(session, claim, self.name()).await?;
        if !own.role.can_login {
            own.alter(&sql::allow_login(&claim.role)).await?;
        }
        if !own.role.has_our_comment(claim) {
            let comment = sql::comment_on_role(&claim.role, &claim.cluster_uid, &claim.tenant_uid);
            own.alter(&comment).await?;
        }
        own.join().await?;
        let update = "UPDATE tenantry.claim SET role_oid = $2, updated_at = pg_catalog.now() WHERE tenant_uid = $1";
        own.record(update, &[&claim.tenant_uid.as_str(), &own.role.oid])
            .await?;
        own.commit().await
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
        let Some(own) = OwnRole::find(session, claim, self.name()).await? else {
            return Ok(());
        };
        if own.role.can_login {
            own.alter(&sql::forbid_login(&claim.role)).await?;
        }
        own.join().await?;
        own.commit().await
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
        let Session { client, major } = session;
        let again = Session {
            client: &mut *client,
            major,
        };
        let Some(own) = OwnRole::find(again, claim, self.name()).await? else {
            return Ok(());
        };
        match own.alter(&sql::drop_role(&claim.role)).await {
            Ok(()) => own.commit().await,
            Err(problem) if problem.is(&[SqlState::DEPENDENT_OBJECTS_STILL_EXIST]) => {
                let role = own.role.clone();
                drop(own);
                Err(depended_on(client, claim, &role).await?)
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
