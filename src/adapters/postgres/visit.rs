//! Work inside a tenant's database, over a connection that lives as long as the work (D14).
//!
//! Decides what a login proves and how it failed. A connection here ends before the call returns, so it never holds a database
//! that is to be dropped.

use std::collections::BTreeSet;

use domain::tenancy::claim::Claim;
use domain::tenancy::facts::LoginFact;
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::ExtensionName;
use secrecy::SecretString;
use tokio_postgres::{Client, Error};

use super::connect::{Login, is_refused_login};
use super::extensions::{self, raced};
use super::guard::Refusal;
use super::ownership::{lock_row, present_database, present_role};
use super::pool::{Server, Visit, VisitError};
use super::registry::flag;
use super::sqlstate::{Problem, meaning};
use super::statement::{Statements as _, begin, commit};
use super::target::PostgresSettings;
use super::work::{Limit, Session, Work, late};

/// Proves that the claimed database is there and ours, from the management database; gives its OID.
struct ProveDatabase<'a>(&'a Claim);

impl Work for ProveDatabase<'_> {
    type Output = u32;

    fn name(&self) -> String {
        format!("verifying database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<u32, Problem> {
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, self.0).await?;
        let role = present_role(&transaction, self.0, recorded).await?;
        let database = present_database(&transaction, self.0, recorded, &role).await?;
        commit(transaction, &self.name()).await?;
        Ok(database.oid)
    }
}

impl Server {
    /// The names of the extensions in a database.
    pub(super) async fn installed(
        &self,
        settings: &PostgresSettings,
        database: &str,
    ) -> Result<BTreeSet<String>, Failure> {
        let visit = self.visit_as_admin(database).await?;
        let name = format!("reading the extensions of database {database}");
        self.during(visit, Limit::Short, settings, &name, async |client| {
            extensions::installed(client, database).await
        })
        .await
    }

    /// Installs an extension in the claimed database.
    pub(super) async fn install(
        &self,
        settings: &PostgresSettings,
        claim: &Claim,
        name: &ExtensionName,
    ) -> Result<(), Failure> {
        let oid = self.perform(settings, &ProveDatabase(claim)).await?;
        let database = claim.database.as_str();
        let visit = self.visit_as_admin(database).await?;
        let step = format!("creating extension {name} in database {database}");
        let work =
            async |client: &Client| match extensions::install(client, database, oid, name).await {
                Err(problem) if problem.is_passing() || raced(&problem) => {
                    extensions::install(client, database, oid, name).await
                }
                outcome => outcome,
            };
        self.during(visit, Limit::Long, settings, &step, work).await
    }

    /// Logs in as the tenant.
    pub(super) async fn login(
        &self,
        settings: &PostgresSettings,
        database: &str,
        role: &SecretString,
        password: &SecretString,
    ) -> Result<LoginFact, Failure> {
        let login = Login {
            database,
            username: role,
            password,
        };
        let visit = match self.visit(&login).await {
            Ok(visit) => visit,
            Err(VisitError::Login(error)) if is_refused_login(&error) => {
                return Ok(refused(&error));
            }
            Err(error) => return Err(self.login_failure(error)),
        };
        let step = format!("looking at database {database} as its tenant");
        self.during(visit, Limit::Short, settings, &step, async |client| {
            owns(client).await
        })
        .await
    }

    fn login_failure(&self, error: VisitError) -> Failure {
        match error {
            // The admin's remedies do not fit a tenant; the refusal is the server's all the same.
            VisitError::Login(error) if Refusal::of(&error).is_some() => {
                let refusal = Refusal::of(&error)
                    .map(|refusal| refusal.to_string())
                    .unwrap_or_default();
                Failure::new(
                    Class::Authentication,
                    format!("login as the tenant: {refusal}: use scram-sha-256 in pg_hba.conf"),
                )
            }
            error => error.into_failure(self.dialer.endpoint()),
        }
    }

    async fn visit_as_admin(&self, database: &str) -> Result<Visit, Failure> {
        let login = Login {
            database,
            username: self.credential.username(),
            password: self.credential.password(),
        };
        self.visit(&login).await.map_err(|error| match error {
            VisitError::Login(error) if is_refused_login(&error) => {
                let (class, words) = meaning(error.code());
                let code = error.code().map_or("", |code| code.code());
                Failure::new(
                    class,
                    format!(
                        "database {database} does not let the admin in: {words} (SQLSTATE {code})"
                    ),
                )
            }
            error => error.into_failure(self.dialer.endpoint()),
        })
    }

    /// Work with a deadline, then goodbye. Past the deadline the visit is dropped, which cancels its statement.
    async fn during<T>(
        &self,
        visit: Visit,
        limit: Limit,
        settings: &PostgresSettings,
        name: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T, Problem>,
    ) -> Result<T, Failure> {
        let Some(client) = visit.client() else {
            return Err(late(name));
        };
        let Ok(outcome) = tokio::time::timeout(limit.duration(settings), work(client)).await else {
            return Err(late(name));
        };
        visit.end().await;
        outcome.map_err(Problem::into_failure)
    }
}

/// What a refused login says about a tenant's role.
fn refused(error: &Error) -> LoginFact {
    let Some(code) = error.code() else {
        return LoginFact::NotPermitted("the login was refused".to_owned());
    };
    if code.code() == "28P01" {
        return LoginFact::WrongPassword;
    }
    let words = match code.code() {
        "3D000" => "the database does not exist",
        "42501" => "the role has no CONNECT on the database",
        "53300" => "a connection limit (of the role, the database or the server) is reached",
        "55000" => "the database takes no connections",
        _ => meaning(Some(code)).1,
    };
    LoginFact::NotPermitted(format!("{words} (SQLSTATE {})", code.code()))
}

/// A login proves the credential; this proves that it leads to the tenant's own database.
async fn owns(client: &Client) -> Result<LoginFact, Problem> {
    const STEP: &str = "looking at the database as its tenant";
    let sql = "SELECT r.rolname = CURRENT_USER AS owned FROM pg_catalog.pg_database d
                 JOIN pg_catalog.pg_roles r ON r.oid = d.datdba WHERE d.datname = pg_catalog.current_database()";
    let row = client.one(STEP, sql, &[]).await?;
    if flag(&row, "owned")? {
        return Ok(LoginFact::Accepted);
    }
    Ok(LoginFact::NotPermitted(
        "the login works, but the database belongs to another role".to_owned(),
    ))
}
