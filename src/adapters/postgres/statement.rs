//! The few ways in which a statement is sent, each with the name of its step for the error.
//!
//! Decides that nothing is prepared on the server first (one round trip a statement) and that a failed statement says what it was
//! for. The path taken here is also the one on which the client library logs no statement text.

use domain::tenancy::failure::Class;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Transaction};

use super::sqlstate::Problem;

/// A parameter that knows its own type.
pub(super) trait Parameter: ToSql + Sync {
    fn kind(&self) -> Type;
}

macro_rules! parameter {
    ($($rust:ty => $kind:ident),+ $(,)?) => {
        $(impl Parameter for $rust {
            fn kind(&self) -> Type {
                Type::$kind
            }
        })+
    };
}

parameter! {
    bool => BOOL,
    i32 => INT4,
    i64 => INT8,
    u32 => OID,
    String => TEXT,
    &str => TEXT,
    Vec<&str> => TEXT_ARRAY,
    Option<i64> => INT8,
}

/// Parameters of one statement.
pub(super) type Parameters<'a> = &'a [&'a dyn Parameter];

fn failed(step: &str) -> impl FnOnce(Error) -> Problem {
    move |source| Problem::Server {
        step: step.to_owned(),
        source,
    }
}

/// Statements on a client or in a transaction. A step is what the statement is for, as its failure is told.
pub(super) trait Statements: Sync {
    fn connection(&self) -> &Client;

    /// All rows.
    fn all(
        &self,
        step: &str,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> impl Future<Output = Result<Vec<Row>, Problem>> + Send {
        async move {
            self.connection()
                .query_typed(sql, &typed(parameters))
                .await
                .map_err(failed(step))
        }
    }

    /// At most the first row.
    fn maybe(
        &self,
        step: &str,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> impl Future<Output = Result<Option<Row>, Problem>> + Send {
        async move { Ok(self.all(step, sql, parameters).await?.into_iter().next()) }
    }

    /// The first row of a statement that always has one.
    fn one(
        &self,
        step: &str,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> impl Future<Output = Result<Row, Problem>> + Send {
        async move {
            let row = self.maybe(step, sql, parameters).await?;
            row.ok_or_else(|| {
                Problem::told(
                    Class::Unavailable,
                    format!("{step}: the server gave no answer"),
                )
            })
        }
    }

    /// The number of rows that it touched.
    fn run(
        &self,
        step: &str,
        sql: &str,
        parameters: Parameters<'_>,
    ) -> impl Future<Output = Result<u64, Problem>> + Send {
        async move {
            self.connection()
                .execute_typed(sql, &typed(parameters))
                .await
                .map_err(failed(step))
        }
    }

    /// Several statements without parameters and without secrets: the library logs their text.
    fn batch(&self, step: &str, sql: &str) -> impl Future<Output = Result<(), Problem>> + Send {
        async move {
            self.connection()
                .batch_execute(sql)
                .await
                .map_err(failed(step))
        }
    }
}

impl Statements for Client {
    fn connection(&self) -> &Client {
        self
    }
}

impl Statements for Transaction<'_> {
    fn connection(&self) -> &Client {
        self.client()
    }
}

fn typed(parameters: Parameters<'_>) -> Vec<(&(dyn ToSql + Sync), Type)> {
    parameters
        .iter()
        .map(|parameter| (*parameter as &(dyn ToSql + Sync), parameter.kind()))
        .collect()
}

/// Begins a transaction; dropped before [`commit`], it is rolled back.
pub(super) async fn begin<'a>(
    client: &'a mut Client,
    step: &str,
) -> Result<Transaction<'a>, Problem> {
    client.transaction().await.map_err(failed(step))
}

pub(super) async fn commit(transaction: Transaction<'_>, step: &str) -> Result<(), Problem> {
    transaction.commit().await.map_err(failed(step))
}
