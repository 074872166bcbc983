//! Rows in a person's hands: seen beside what is on the server, forgotten, or given to another UID (T4).
//!
//! Decides nothing about whether that is right; it only refuses a row that is not what the caller read, and a role or database
//! that is not the row's (T3).

use domain::tenancy::claim::Claim;
use domain::tenancy::facts::{EntryOwner, ServerFacts};
use domain::tenancy::names::Uid;

use super::observe::{
    CONNECTABLE, IS_MEMBER, PUBLIC_ACCESS, ROLE_FACTS, check_version, server_facts,
};
use super::ownership::{lock_row, lock_row_if_there, own_role, present_database, present_role};
use super::registry::{COLUMNS, claim_of, registry_missing};
use super::sql;
use super::sqlstate::Problem;
use super::statement::{Statements as _, begin, commit};
use super::work::{Session, Work};

/// Every row of the registry with the role and the database of its names.
pub(super) struct Survey;

fn statement() -> String {
    format!(
        "SELECT (SELECT m.version FROM tenantry.marker m) AS registry_version, false AS is_admin, 0::pg_catalog.int8 AS sessions,
                {ROLE_FACTS}, {IS_MEMBER} AS member,
                d.oid AS d_oid, d.datdba, d.datdba = me.oid AS d_of_admin, {PUBLIC_ACCESS} AS public_access,
                {CONNECTABLE} AS connectable, {COLUMNS}
           FROM tenantry.claim c
           JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
           LEFT JOIN pg_catalog.pg_roles r ON r.rolname = c.role
           LEFT JOIN pg_catalog.pg_database d ON d.datname = c.database
          ORDER BY c.namespace, c.name, c.tenant_uid"
    )
}

impl Work for Survey {
    type Output = Vec<(Claim, ServerFacts)>;

    fn name(&self) -> String {
        "reading the registry".to_owned()
    }

    async fn run(&self, session: Session<'_>) -> Result<Self::Output, Problem> {
        let rows = session
            .client
            .all(&self.name(), &statement(), &[])
            .await
            .map_err(registry_missing)?;
        rows.iter()
            .map(|row| {
                let unreadable = |source| Problem::Server {
                    step: self.name(),
                    source,
                };
                check_version(row.try_get("registry_version").map_err(unreadable)?)?;
                Ok((claim_of(row)?, server_facts(row).map_err(unreadable)?))
            })
            .collect()
    }
}

/// Deletes a row and nothing else on the server; success if it is gone.
pub(super) struct ForgetClaim<'a>(pub(super) &'a Claim);

impl Work for ForgetClaim<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("forgetting the claim of database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let tenant = self.0.tenant_uid.as_str();
        let transaction = begin(session.client, &self.name()).await?;
        let Some(recorded) = lock_row_if_there(&transaction, self.0).await? else {
            return Ok(());
        };
        // Another role of that name would mean that the row no longer says what is there.
        own_role(&transaction, self.0, recorded).await?;
        let delete = "DELETE FROM tenantry.claim WHERE tenant_uid = $1";
        transaction.run(&self.name(), delete, &[&tenant]).await?;
        commit(transaction, &self.name()).await
    }
}

/// Gives a row to another Tenant or Instance UID, and the role's comment with it, in one transaction.
pub(super) struct HandOver<'a> {
    pub(super) claim: &'a Claim,
    pub(super) owner: &'a EntryOwner,
    pub(super) cluster_uid: &'a Uid,
    /// The entry's version from now on, if its password is the one whose verifier the role has.
    pub(super) kv_version: Option<i64>,
}

impl Work for HandOver<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("handing over the claim of database {}", self.claim.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let (claim, owner) = (self.claim, self.owner);
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = present_role(&transaction, claim, recorded).await?;
        let database = present_database(&transaction, claim, recorded, &role).await?;
        let comment = sql::comment_on_role(&claim.role, self.cluster_uid, &owner.tenant_uid);
        transaction.run(&self.name(), &comment, &[]).await?;
        // The OIDs as proved just now: after a restore the comment was the only witness, and it is another's from here on.
        let update = "UPDATE tenantry.claim
                         SET tenant_uid = $2, cluster_uid = $3, instance_uid = $4, role_oid = $5, database_oid = $6,
                             applied_kv_version = COALESCE($7, applied_kv_version), state = 'managed', frozen_policy = NULL,
                             updated_at = pg_catalog.now()
                       WHERE tenant_uid = $1";
        let parameters: super::statement::Parameters<'_> = &[
            &claim.tenant_uid.as_str(),
            &owner.tenant_uid.as_str(),
            &self.cluster_uid.as_str(),
            &owner.instance_uid.as_str(),
            &role.oid,
            &database.oid,
            &self.kv_version,
        ];
        transaction
            .run(&self.name(), update, parameters)
            .await
            .map_err(registry_missing)?;
        commit(transaction, &self.name()).await
    }
}
