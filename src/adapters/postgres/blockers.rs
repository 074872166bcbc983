//! What holds a tenant database, and the ending of the sessions in it.
//!
//! Decides which sessions the admin may end, and names what remains: a deletion that waits says for whom. Names that others chose
//! are shown short and printable, the admin's own never (C5).

use std::time::Duration;

use domain::tenancy::claim::Claim;
use domain::tenancy::failure::Class;

use super::observe::SESSIONS;
use super::ownership::{lock_row, own_database, own_role};
use super::sqlstate::{Problem, quoted};
use super::statement::{Statements, begin, commit};
use super::work::{Session, Work};

const STEP: &str = "finding what holds the database";
/// How often the server is asked whether ended sessions are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How many times: together well within the limit of the work.
const LOOKS: u32 = 40;

/// What keeps a database from being dropped, one clause each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Blockers(Vec<String>);

impl Blockers {
    /// The failure that names them, if there are any.
    pub(super) fn into_problem(self, step: &str) -> Option<Problem> {
        let (first, more) = self.0.split_first()?;
        let more = if more.is_empty() {
            String::new()
        } else {
            format!(" and {} more", more.len())
        };
        Some(Problem::told(
            Class::Blocked,
            format!("{step}: {first}{more}: end it, then this goes on by itself"),
        ))
    }
}

/// Sessions first, then what no `FORCE` removes.
pub(super) async fn of(client: &impl Statements, database_oid: u32) -> Result<Blockers, Problem> {
    let sql = format!(
        "SELECT 1 AS rank, a.pid AS number, CASE WHEN a.usename = CURRENT_USER THEN NULL ELSE a.usename::pg_catalog.text END AS who,
                a.application_name AS what
           FROM pg_catalog.pg_database d JOIN pg_catalog.pg_stat_activity a ON {SESSIONS} WHERE d.oid = $1
         UNION ALL SELECT 2, 0, x.owner::pg_catalog.text, x.gid
           FROM pg_catalog.pg_database d JOIN pg_catalog.pg_prepared_xacts x ON x.database = d.datname WHERE d.oid = $1
         UNION ALL SELECT 3, 0, NULL, s.subname::pg_catalog.text FROM pg_catalog.pg_subscription s WHERE s.subdbid = $1
         UNION ALL SELECT 4, r.active_pid, NULL, r.slot_name::pg_catalog.text
           FROM pg_catalog.pg_database d JOIN pg_catalog.pg_replication_slots r ON r.database = d.datname
          WHERE d.oid = $1 AND r.active
         ORDER BY 1, 2"
    );
    let rows = client.all(STEP, &sql, &[&database_oid]).await?;
    let unreadable = |source| Problem::Server {
        step: STEP.to_owned(),
        source,
    };
    let mut clauses = Vec::new();
    for row in &rows {
        let rank: i32 = row.try_get("rank").map_err(unreadable)?;
        let number: Option<i32> = row.try_get("number").map_err(unreadable)?;
        let who: Option<String> = row.try_get("who").map_err(unreadable)?;
        let what: Option<String> = row.try_get("what").map_err(unreadable)?;
        clauses.push(clause(
            rank,
            number.unwrap_or_default(),
            who.as_deref(),
            what.as_deref().unwrap_or_default(),
        ));
    }
    Ok(Blockers(clauses))
}

fn clause(rank: i32, number: i32, who: Option<&str>, what: &str) -> String {
    let what = quoted(what);
    let who = who.map_or_else(
        || "the admin".to_owned(),
        |who| format!("user {}", quoted(who)),
    );
    match rank {
        1 => format!("session {number} of {who} (application \"{what}\") is connected"),
        2 => format!("prepared transaction \"{what}\" of {who} is open"),
        3 => format!("subscription \"{what}\" is in it"),
        _ => format!("replication slot \"{what}\" is active"),
    }
}

/// Ends the sessions in the tenant's database and waits until they are gone. No database is success.
pub(super) struct EndSessions<'a>(pub(super) &'a Claim);

impl Work for EndSessions<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("ending the sessions in database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let claim = self.0;
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, claim).await?;
        let role = own_role(&transaction, claim, recorded).await?;
        let database = own_database(&transaction, claim, recorded, role.as_ref()).await?;
        commit(transaction, &self.name()).await?;
        let Some(database) = database else {
            return Ok(());
        };
        // Signalling a session without the right to would fail the statement for all of them.
        let end = format!(
            "SELECT pg_catalog.pg_terminate_backend(a.pid)
               FROM pg_catalog.pg_database d JOIN pg_catalog.pg_stat_activity a ON {SESSIONS}
               JOIN pg_catalog.pg_roles u ON u.oid = a.usesysid
               JOIN pg_catalog.pg_roles me ON me.rolname = CURRENT_USER
              WHERE d.oid = $1 AND (me.rolsuper OR NOT u.rolsuper)
                AND (u.rolname = $2 OR pg_catalog.pg_has_role(u.oid, 'USAGE')
                     OR pg_catalog.pg_has_role('pg_signal_backend', 'USAGE'))"
        );
        for _ in 0..LOOKS {
            if of(session.client, database.oid).await?.sessions() == 0 {
                return Ok(());
            }
            session
                .client
                .all(&self.name(), &end, &[&database.oid, &claim.role.as_str()])
                .await?;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let remaining = of(session.client, database.oid).await?;
        if remaining.sessions() == 0 {
            return Ok(());
        }
        remaining.into_problem(&self.name()).map_or(Ok(()), Err)
    }
}

impl Blockers {
    fn sessions(&self) -> usize {
        self.0
            .iter()
            .filter(|clause| clause.starts_with("session "))
            .count()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_deletion_that_waits_says_for_whom() {
        let text = |clauses: Vec<String>| match Blockers(clauses)
            .into_problem("dropping database d")
            .unwrap()
        {
            Problem::Told(failure) => failure,
            other => panic!("{other}"),
        };
        let failure = text(vec![
            clause(1, 4711, Some("postgres"), "psql"),
            clause(2, 0, Some("app"), "tx\n1"),
        ]);
        assert_eq!(failure.class, Class::Blocked);
        assert_eq!(
            failure.text,
            "dropping database d: session 4711 of user postgres (application \"psql\") is connected and 1 more: end it, then this \
             goes on by itself"
        );
        assert!(clause(2, 0, Some("app"), "tx\n1").contains("tx?1"));
        assert_eq!(Blockers::default().into_problem("x").map(|_| ()), None);
    }

    #[test]
    fn c5_the_admin_s_own_sessions_are_named_without_its_name() {
        assert!(clause(1, 1, None, "tenantry").contains("of the admin "));
    }
}
