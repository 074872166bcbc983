//! How one piece of work on a management database is carried out: a connection, a deadline, another attempt if it was bad luck.
//!
//! Decides what is tried again (a concurrent change of the same catalog row, a deadlock, a right that this session may not have
//! heard of, a pooled connection that was dead) and what happens at a deadline: the
//! statement is cancelled, its connection dropped, and the caller reads the state again (D14). It knows no SQL.

use std::time::Duration;

use domain::tenancy::failure::{Class, Failure};
use tokio_postgres::Client;

use super::pool::{Lease, Server};
use super::sqlstate::Problem;
use super::target::PostgresSettings;

/// How often work is tried in all.
const ATTEMPTS: u32 = 3;
/// The pause before another attempt, times the attempt's number.
const PAUSE: Duration = Duration::from_millis(25);

/// How long work may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Reads or changes catalog rows.
    Short,
    /// Copies or removes files.
    Long,
}

impl Limit {
    pub(super) fn duration(self, settings: &PostgresSettings) -> Duration {
        match self {
            Self::Short => settings.statement_timeout,
            Self::Long => settings.ddl_timeout,
        }
    }
}

/// A connection as work sees it.
pub(super) struct Session<'a> {
    pub(super) client: &'a mut Client,
    /// The server's major version.
    pub(super) major: u16,
}

/// One piece of work; may run more than once, so it is idempotent.
pub(super) trait Work: Sync {
    type Output: Send;

    /// How long it may take.
    const LIMIT: Limit = Limit::Short;

    /// What it does, for the text of a failure.
    fn name(&self) -> String;

    fn run(
        &self,
        session: Session<'_>,
    ) -> impl Future<Output = Result<Self::Output, Problem>> + Send;
}

impl Server {
    /// Carries out work within its limit.
    pub(super) async fn perform<W: Work>(
        &self,
        settings: &PostgresSettings,
        work: &W,
    ) -> Result<W::Output, Failure> {
        let _permit = match W::LIMIT {
            Limit::Long => Some(self.long_permit().await?),
            Limit::Short => None,
        };
        let mut attempt = 1;
        loop {
            let lease = self.lease().await?;
            match self.perform_on(lease, settings, work).await? {
                Ok(output) => return Ok(output),
                Err(problem) if problem.is_passing() && attempt < ATTEMPTS => {
                    tokio::time::sleep(PAUSE * attempt).await;
                    attempt += 1;
                }
                Err(problem)
                    if attempt == 1 && (problem.doubts_session() || problem.lost_connection()) =>
                {
                    attempt = ATTEMPTS;
                }
                Err(problem) => return Err(problem.into_failure()),
            }
        }
    }

    /// One attempt on this connection; the outer error is a deadline.
    pub(super) async fn perform_on<W: Work>(
        &self,
        mut lease: Lease,
        settings: &PostgresSettings,
        work: &W,
    ) -> Result<Result<W::Output, Problem>, Failure> {
        let major = self.dialer.major().unwrap_or_default();
        let Some(client) = lease.client() else {
            return Err(late(&work.name()));
        };
        let run = work.run(Session { client, major });
        let Ok(outcome) = tokio::time::timeout(W::LIMIT.duration(settings), run).await else {
            // The others that idle may be as dead as this one.
            self.forget_idle();
            return Err(late(&work.name()));
        };
        match &outcome {
            Err(problem) if problem.lost_connection() || problem.doubts_session() => {
                lease.discard();
                self.forget_idle();
            }
            _ => lease.give_back(),
        }
        Ok(outcome)
    }
}

pub(super) fn late(name: &str) -> Failure {
    Failure::new(Class::Unavailable, format!("{name}: no answer in time"))
}
