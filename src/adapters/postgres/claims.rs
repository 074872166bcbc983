//! Writes to the registry's rows that touch nothing else on the server.
//!
//! Decides nothing about whether a row may change; it only refuses to write to one that is not what the caller read. Names are
//! unique by the database's own constraints.

use std::collections::BTreeSet;

use domain::tenancy::claim::Claim;
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use domain::tenancy::tenant::DeletionPolicy;
use tokio_postgres::error::SqlState;

use super::ownership::{lock_row, lock_row_if_there, own_role, present_database, present_role};
use super::registry::{COLUMNS, claim_of, registry_missing};
use super::sqlstate::Problem;
use super::statement::{Statements as _, begin, commit};
use super::target::NewClaim;
use super::work::{Session, Work};

/// Inserts a row. One that is there already with the same content is success: an earlier attempt made it.
pub(super) struct InsertClaim<'a>(pub(super) &'a NewClaim);

impl Work for InsertClaim<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!(
            "claiming database {} and role {}",
            self.0.database, self.0.role
        )
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let new = self.0;
        let texts = [
            new.tenant_uid.as_str(),
            new.cluster_uid.as_str(),
            new.instance_uid.as_str(),
            &new.namespace,
            &new.name,
            &new.database,
            &new.role,
            &new.secret_name,
            &new.secret_path,
        ];
        let [
            tenant,
            cluster,
            instance,
            namespace,
            name,
            database,
            role,
            secret_name,
            secret_path,
        ] = &texts;
        let inserted = session
            .client
            .run(
                &self.name(),
                "INSERT INTO tenantry.claim (tenant_uid, cluster_uid, instance_uid, namespace, name, database, role, secret_name,
                                             secret_path)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (tenant_uid) DO NOTHING",
                &[tenant, cluster, instance, namespace, name, database, role, secret_name, secret_path],
            )
            .await;
        match inserted {
            Ok(1..) => Ok(()),
            Ok(0) => self.check_present(session).await,
            Err(problem) if problem.is(&[SqlState::UNIQUE_VIOLATION]) => Err(self.taken(&problem)),
            Err(problem) => Err(registry_missing(problem)),
        }
    }
}

impl InsertClaim<'_> {
    async fn check_present(&self, session: Session<'_>) -> Result<(), Problem> {
        let new = self.0;
        let sql = format!("SELECT {COLUMNS} FROM tenantry.claim c WHERE c.tenant_uid = $1");
        let row = session
            .client
            .maybe(&self.name(), &sql, &[&new.tenant_uid.as_str()])
            .await?;
        let Some(row) = row else {
            return Err(Problem::told(
                Class::Stale,
                format!("{}: the row went away in the meantime", self.name()),
            ));
        };
        let old = claim_of(&row)?;
        let same = (
            &old.cluster_uid,
            &old.instance_uid,
            &old.database,
            &old.role,
        ) == (
            &new.cluster_uid,
            &new.instance_uid,
            &new.database,
            &new.role,
        );
        if same {
            return Ok(());
        }
        let text = format!(
            "{}: this tenant already holds database {} and role {}",
            self.name(),
            old.database,
            old.role
        );
        Err(Problem::told(Class::Conflict, text))
    }

    fn taken(&self, problem: &Problem) -> Problem {
        let constraint = match problem {
            Problem::Server { source, .. } => {
                source.as_db_error().and_then(|error| error.constraint())
            }
            Problem::Told(_) | Problem::Doubtful(_) => None,
        };
        let what = match constraint {
            Some("claim_database") => format!("database {} is claimed", self.0.database),
            Some("claim_role") => format!("role {} is claimed", self.0.role),
            _ => format!("{}/{} is claimed", self.0.namespace, self.0.name),
        };
        Problem::told(Class::Conflict, format!("{what} by another tenant"))
    }
}

/// Records the database that was verified, and adds extensions to the recorded ones (M2: the list never shrinks).
pub(super) struct RecordDatabase<'a> {
    pub(super) claim: &'a Claim,
    pub(super) oid: u32,
    pub(super) extensions: &'a BTreeSet<String>,
}

impl Work for RecordDatabase<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("recording database {}", self.claim.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let transaction = begin(session.client, &self.name()).await?;
        let recorded = lock_row(&transaction, self.claim).await?;
        let role = present_role(&transaction, self.claim, recorded).await?;
        let database = present_database(&transaction, self.claim, recorded, &role).await?;
        if database.oid != self.oid {
            let text = format!("{}: it is another database than a moment ago", self.name());
            return Err(Problem::told(Class::Stale, text));
        }
        let extensions: Vec<&str> = self.extensions.iter().map(String::as_str).collect();
        transaction
            .run(
                &self.name(),
                "UPDATE tenantry.claim SET database_oid = $2, updated_at = pg_catalog.now(),
                        extensions = ARRAY(SELECT DISTINCT e FROM pg_catalog.unnest(extensions || $3) AS e ORDER BY e)
                  WHERE tenant_uid = $1",
                &[&self.claim.tenant_uid.as_str(), &self.oid, &extensions],
            )
            .await?;
        commit(transaction, &self.name()).await
    }
}

/// Freezes the deletion policy at first contact; a policy that is frozen already stays (M3).
pub(super) struct FreezePolicy<'a> {
    pub(super) claim: &'a Claim,
    pub(super) policy: DeletionPolicy,
}

impl Work for FreezePolicy<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!(
            "freezing the deletion policy of database {}",
            self.claim.database
        )
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let transaction = begin(session.client, &self.name()).await?;
        lock_row(&transaction, self.claim).await?;
        transaction
            .run(
                &self.name(),
                "UPDATE tenantry.claim SET updated_at = pg_catalog.now(), frozen_policy = COALESCE(frozen_policy, $2),
                        state = CASE COALESCE(frozen_policy, $2) WHEN 'Delete' THEN 'deleting' ELSE state END
                  WHERE tenant_uid = $1",
                &[&self.claim.tenant_uid.as_str(), &self.policy.as_str()],
            )
            .await?;
        commit(transaction, &self.name()).await
    }
}

/// Deletes the row of a Tenant whose policy is frozen as `Delete`, once its role is gone.
pub(super) struct ReleaseClaim<'a>(pub(super) &'a Claim);

impl Work for ReleaseClaim<'_> {
    type Output = ();

    fn name(&self) -> String {
        format!("releasing the claim of database {}", self.0.database)
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let tenant = self.0.tenant_uid.as_str();
        let transaction = begin(session.client, &self.name()).await?;
        let Some(recorded) = lock_row_if_there(&transaction, self.0).await? else {
            return Ok(());
        };
        match own_role(&transaction, self.0, recorded).await {
            Ok(Some(_)) => {
                let text = format!("{}: role {} is still there", self.name(), self.0.role);
                return Err(Problem::told(Class::Stale, text));
            }
            // A role of that name that is not ours is none of our business any more.
            Ok(None) | Err(Problem::Told(_)) => {}
            Err(problem) => return Err(problem),
        }
        let delete =
            "DELETE FROM tenantry.claim WHERE tenant_uid = $1 AND frozen_policy = 'Delete'";
        if transaction.run(&self.name(), delete, &[&tenant]).await? == 0 {
            let text = format!(
                "{}: its deletion policy is not frozen as Delete",
                self.name()
            );
            return Err(Problem::told(Class::Conflict, text));
        }
        commit(transaction, &self.name()).await
    }
}

/// Marks the row of a Tenant that is gone; its data stay under the original UID (T4). A row that is being deleted keeps its state.
pub(super) struct MarkUnmanaged<'a> {
    pub(super) cluster_uid: &'a Uid,
    pub(super) tenant_uid: &'a Uid,
}

impl Work for MarkUnmanaged<'_> {
    type Output = ();

    fn name(&self) -> String {
        "marking a retained tenant as unmanaged".to_owned()
    }

    async fn run(&self, session: Session<'_>) -> Result<(), Problem> {
        let sql = "UPDATE tenantry.claim SET state = 'unmanaged', updated_at = pg_catalog.now()
                    WHERE cluster_uid = $1 AND tenant_uid = $2 AND state <> 'unmanaged' AND frozen_policy IS DISTINCT FROM 'Delete'";
        let parameters: super::statement::Parameters<'_> =
            &[&self.cluster_uid.as_str(), &self.tenant_uid.as_str()];
        session
            .client
            .run(&self.name(), sql, parameters)
            .await
            .map_err(registry_missing)?;
        Ok(())
    }
}
