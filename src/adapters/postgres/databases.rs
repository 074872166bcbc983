//! The tenant's database: made, shut to others, repaired and dropped.
//!
//! `CREATE DATABASE` and `DROP DATABASE` cannot be in a transaction, so ownership is proved right before each, and what the server
//! then says is checked against what is there. Decides nothing about when.

use domain::tenancy::claim::Claim;
use domain::tenancy::failure::{Class, Failure};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::blockers;
use super::ownership::{
    LiveDatabase, LiveRole, Recorded, live_database, lock_row, own_database, own_role,
    present_database, present_role,
};
use super::sql;
use super::sqlstate::Problem;
use super::statement::{Statements, begin, commit};
use super::work::{Limit, Session, Work};

/// `CREATE DATABASE … OWNER … TEMPLATE template0`. One that is ours already is success.
pub(super) struct CreateDatabase<'a>(pub(super) &'a Claim);

impl Work for CreateDatabase<'_> {
    type Output = ();

    const LIMIT: Limit = Limit::Long;

    fn name(&self) -> String {
        format!("creating database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let (recorded, role) = prove_role(session.client, claim).await?;
        if own_database(session.client, claim, recorded, Some(&role))
            .await?
            .is_some()
        {
            return Ok(());
        }
        if recorded.database_oid.is_some() {
            let text = format!(
                "database {} was created and is gone: it is never made again silently (T5)",
                claim.database
            );
            return Err(Problem::told(Class::Conflict, text));
        }
        let create = sql::create_database(&claim.database, &claim.role);
        match session.client.run(&self.name(), &create, &[]).await {
            Ok(_) => Ok(()),
            // Someone was faster; if it was an earlier attempt of ours, its owner says so.
            Err(problem)
                if problem.is(&[SqlState::DUPLICATE_DATABASE, SqlState::UNIQUE_VIOLATION]) =>
            {
                own_database(session.client, claim, recorded, Some(&role))
                    .await
                    .map(drop)
            }
            Err(problem) if problem.is(&[SqlState::INSUFFICIENT_PRIVILEGE]) => {
                let text = format!(
                    "{}: the admin lacks CREATEDB or membership in role {}: as a superuser run ALTER ROLE <admin role> CREATEDB; {} \
                     (SQLSTATE 42501)",
                    self.name(),
                    claim.role,
                    sql::admin_remedy(&claim.role, session.major)
                );
                Err(Problem::told(Class::Privileges, text))
            }
            Err(problem) => Err(problem),
        }
    }
}

/// The row, locked for a moment, and the role that the database belongs to.
async fn prove_role(client: &mut Client, claim: &Claim) -> Result<(Recorded, LiveRole), Problem> {
    const STEP: &str = "verifying ownership";
    let transaction = begin(client, STEP).await?;
    let recorded = lock_row(&transaction, claim).await?;
    let role = present_role(&transaction, claim, recorded).await?;
    commit(transaction, STEP).await?;
    Ok((recorded, role))
}

/// Takes `CONNECT` and `TEMPORARY` from `PUBLIC`, and reads back that they are gone.
pub(super) struct CloseDatabase<'a>(pub(super) &'a Claim);

impl Work for CloseDatabase<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("shutting others out of database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = present_role(&transaction, claim, recorded).await?;
        present_database(&transaction, claim, recorded, &role).await?;
        transaction
            .run(&self.name(), &sql::close_database(&claim.database), &[])
            .await?;
        // A revocation without the right to it is only a warning to the server.
        let open = live_database(&transaction, claim)
            .await?
            .is_some_and(|database| database.public_access);
        if open {
            let text = format!(
                "{}: PUBLIC still has CONNECT or TEMPORARY, granted by another role than the owner: as a superuser revoke it",
                self.name()
            );
            return Err(Problem::Doubtful(Failure::new(Class::Blocked, text)));
        }
        commit(transaction, &self.name()).await
    }
}

/// Gives the database back to its role and lets connections in again: whatever of these differs.
pub(super) struct RepairDatabase<'a>(pub(super) &'a Claim);

impl Work for RepairDatabase<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("repairing database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = present_role(&transaction, claim, recorded).await?;
        let database = present_database(&transaction, claim, recorded, &role).await?;
        if database.connection_limit == -2 {
            let text = format!(
                "database {} is damaged: an earlier DROP DATABASE was interrupted; restore it or delete the tenant",
                claim.database
            );
            return Err(Problem::told(Class::Blocked, text));
        }
        for statement in repairs(claim, &database) {
            transaction.run(&self.name(), &statement, &[]).await?;
        }
        commit(transaction, &self.name()).await
    }
}

fn repairs(claim: &Claim, database: &LiveDatabase) -> Vec<String> {
    let name = &claim.database;
    let due = [
        (
            database.of_admin,
            sql::give_back_database(name, &claim.role),
        ),
        (!database.allows_connections, sql::allow_connections(name)),
        (
            database.connection_limit == 0,
            sql::lift_connection_limit(name),
        ),
        (
            !database.owner_may_connect,
            sql::let_owner_connect(name, &claim.role),
        ),
    ];
    due.into_iter()
        .filter_map(|(needed, statement)| needed.then_some(statement))
        .collect()
}

/// `DROP DATABASE … WITH (FORCE)`, once it is proved ours again. None of that name is success.
pub(super) struct DropDatabase<'a>(pub(super) &'a Claim);

impl Work for DropDatabase<'_> {
    type Output = ();

    const LIMIT: Limit = Limit::Long;

    fn name(&self) -> String {
        format!("dropping database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let Some(database) = self.prove(session.client).await? else {
            return Ok(());
        };
        match session
            .client
            .run(&self.name(), &sql::drop_database(&claim.database), &[])
            .await
        {
            Ok(_) => Ok(()),
            Err(problem) if problem.is(&[SqlState::UNDEFINED_DATABASE]) => Ok(()),
            Err(problem)
                if problem.is(&[
                    SqlState::OBJECT_IN_USE,
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    SqlState::INSUFFICIENT_PRIVILEGE,
                ]) =>
            {
                let blockers = blockers::of(session.client, database.oid).await?;
                Err(blockers.into_problem(&self.name()).unwrap_or(problem))
            }
            Err(problem) => Err(problem),
        }
    }
}

impl DropDatabase<'_> {
    /// Proof, and the template mark off, with which no drop succeeds and which the owner can set.
    async fn prove(&self, client: &mut Client) -> Result<Option<LiveDatabase>, Problem> {
        let claim = self.0;
        let transaction = begin(client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = own_role(&transaction, claim, recorded).await?;
        let database = own_database(&transaction, claim, recorded, role.as_ref()).await?;
        if database
            .as_ref()
            .is_some_and(|database| database.is_template)
        {
            transaction
                .run(&self.name(), &sql::unmark_template(&claim.database), &[])
                .await?;
        }
        commit(transaction, &self.name()).await?;
        Ok(database)
    }
}
