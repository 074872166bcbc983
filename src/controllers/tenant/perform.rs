//! Carries out one effect that the domain asked for.
//!
//! It names ports and passes data; whether and when is the domain's. A missing part (no server, no claim) is a failure, so that
//! the next round observes again.

use jiff::Timestamp;
use std::collections::BTreeSet;

use crds::PostgreSQLTenant;
use domain::tenancy::claim::Claim;
use domain::tenancy::effect::TenantEffect;
use domain::tenancy::facts::{
    EntryFact, EntryOwner, InstanceView, ProjectionFact, Seen, ServerFacts,
};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::proof::own_database;
use domain::tenancy::tenant::DeletionPolicy;
use secrecy::SecretString;

use super::observe::intent;
use super::sight::Sight;
use super::subject::Subject;
use crate::adapters::openbao::generate_password;
use crate::adapters::postgres::{NewClaim, ServerTarget};
use crate::controllers::context::Context;

/// Performs the effect. Gives the object back if the effect changed it.
pub(super) async fn perform(
    ctx: &Context,
    object: &PostgreSQLTenant,
    subject: &Subject,
    sight: &Sight,
    effect: &TenantEffect,
) -> Result<Option<PostgreSQLTenant>, Failure> {
    match effect {
        TenantEffect::AddFinalizer => return ctx.cluster.hold_tenant(object, true).await.map(Some),
        TenantEffect::RemoveFinalizer => {
            return ctx.cluster.hold_tenant(object, false).await.map(Some);
        }
        TenantEffect::ApplyProjection
        | TenantEffect::ForceSync
        | TenantEffect::DeleteProjection => {
            perform_projection(ctx, subject, sight, effect).await?;
        }
        TenantEffect::WriteEntry
        | TenantEffect::WriteEntryMetadata
        | TenantEffect::DestroyEntry => {
            perform_entry(ctx, subject, sight, effect).await?;
        }
        TenantEffect::Claim => {
            let claim = new_claim(ctx, subject, sight)?;
            ctx.postgres.claim(target(sight)?, &claim).await?;
        }
        TenantEffect::MarkUnmanaged(uid) => {
            ctx.postgres
                .mark_unmanaged(target(sight)?, &ctx.deployment.cluster_uid, uid)
                .await?;
        }
        TenantEffect::CreateRole | TenantEffect::SetVerifier => {
            perform_verifier(ctx, sight, effect).await?;
        }
        other => perform_server(ctx, subject, sight, other).await?,
    }
    Ok(None)
}

async fn perform_server(
    ctx: &Context,
    subject: &Subject,
    sight: &Sight,
    effect: &TenantEffect,
) -> Result<(), Failure> {
    let (target, claim, postgres) = (target(sight)?, claim(sight)?, &ctx.postgres);
    match effect {
        TenantEffect::RepairRole => postgres.repair_role(target, claim).await,
        TenantEffect::CreateDatabase => postgres.create_database(target, claim).await,
        TenantEffect::CloseDatabase => postgres.close_database(target, claim).await,
        TenantEffect::RepairDatabase => postgres.repair_database(target, claim).await,
        TenantEffect::CreateExtension(name) => postgres.create_extension(target, claim, name).await,
        TenantEffect::RecordDatabase => {
            let oid = own_database(server(sight)?)
                .map(|database| database.oid)
                .ok_or_else(|| missing("the database"))?;
            let extensions: BTreeSet<String> = subject
                .definition()
                .map(|definition| {
                    definition
                        .extensions
                        .iter()
                        .map(ToString::to_string)
                        .collect()
                })
                .unwrap_or_default();
            postgres
                .record_database(target, claim, oid, &extensions)
                .await
        }
        TenantEffect::FreezePolicy => {
            postgres
                .freeze_policy(target, claim, DeletionPolicy::Delete)
                .await
        }
        TenantEffect::ForbidLogin => postgres.forbid_login(target, claim).await,
        TenantEffect::EndSessions => postgres.end_sessions(target, claim).await,
        TenantEffect::DropDatabase => postgres.drop_database(target, claim).await,
        TenantEffect::DropRole => postgres.drop_role(target, claim).await,
        TenantEffect::ReleaseClaim => postgres.release_claim(target, claim).await,
        _ => Err(Failure::new(Class::Rejected, "not an effect on the server")),
    }
}

async fn perform_verifier(
    ctx: &Context,
    sight: &Sight,
    effect: &TenantEffect,
) -> Result<(), Failure> {
    let (target, claim) = (target(sight)?, claim(sight)?);
    let password: &SecretString = sight
        .password
        .as_ref()
        .ok_or_else(|| missing("the password"))?;
    let Seen::Known(EntryFact::Present { version, .. }) = &sight.facts.entry else {
        return Err(missing("the password's version"));
    };
    if *effect == TenantEffect::CreateRole {
        return ctx
            .postgres
            .create_role(target, claim, password, *version)
            .await;
    }
    ctx.postgres
        .set_verifier(target, claim, password, *version)
        .await
}

async fn perform_entry(
    ctx: &Context,
    subject: &Subject,
    sight: &Sight,
    effect: &TenantEffect,
) -> Result<(), Failure> {
    let path = claim(sight)?.secret_path.as_str();
    match effect {
        // A new password is born here and nowhere else: together with a check-and-set 0 write (T1).
        TenantEffect::WriteEntry => {
            ctx.openbao
                .create(path, &owner(subject, sight)?, &generate_password())
                .await
        }
        TenantEffect::WriteEntryMetadata => ctx.openbao.mark(path, &owner(subject, sight)?).await,
        _ => ctx.openbao.destroy(path).await,
    }
}

async fn perform_projection(
    ctx: &Context,
    subject: &Subject,
    sight: &Sight,
    effect: &TenantEffect,
) -> Result<(), Failure> {
    if *effect == TenantEffect::ApplyProjection {
        let intent =
            intent(ctx, subject, &sight.facts).ok_or_else(|| missing("the password's version"))?;
        return ctx.projections.apply(&intent).await;
    }
    let Seen::Known(ProjectionFact::Present(projection)) = &sight.facts.projection else {
        return Err(missing("the ExternalSecret"));
    };
    let (namespace, name) = (&subject.identity().namespace, subject.projection_name());
    match effect {
        TenantEffect::ForceSync => {
            ctx.projections
                .force_sync(namespace, &name, &projection.uid, Timestamp::now())
                .await
        }
        _ => {
            ctx.projections
                .delete(namespace, &name, &projection.uid)
                .await
        }
    }
}

fn new_claim(ctx: &Context, subject: &Subject, sight: &Sight) -> Result<NewClaim, Failure> {
    let (identity, view) = (subject.identity(), instance(sight)?);
    let definition = subject.definition().ok_or_else(|| missing("the spec"))?;
    Ok(NewClaim {
        cluster_uid: ctx.deployment.cluster_uid.clone(),
        tenant_uid: identity.uid.clone(),
        instance_uid: view.uid.clone(),
        namespace: identity.namespace.clone(),
        name: identity.name.clone(),
        database: definition.database.to_string(),
        role: definition.role.to_string(),
        secret_name: definition.secret_name.to_string(),
        secret_path: ctx.deployment.layout.path(identity),
    })
}

fn owner(subject: &Subject, sight: &Sight) -> Result<EntryOwner, Failure> {
    let (claim, view) = (claim(sight)?, instance(sight)?);
    Ok(EntryOwner {
        tenant_uid: subject.identity().uid.clone(),
        instance_uid: view.uid.clone(),
        instance_name: view.name.clone(),
        database: claim.database.clone(),
        role: claim.role.clone(),
    })
}

fn target(sight: &Sight) -> Result<&ServerTarget, Failure> {
    sight.target.as_ref().ok_or_else(|| missing("the server"))
}

fn server(sight: &Sight) -> Result<&ServerFacts, Failure> {
    match &sight.facts.server {
        Seen::Known(server) => Ok(server),
        Seen::Failed(failure) => Err(failure.clone()),
        Seen::NotAsked => Err(missing("the server")),
    }
}

fn claim(sight: &Sight) -> Result<&Claim, Failure> {
    server(sight)?
        .claim
        .as_ref()
        .ok_or_else(|| missing("the claim"))
}

fn instance(sight: &Sight) -> Result<&InstanceView, Failure> {
    sight
        .facts
        .instance
        .view()
        .ok_or_else(|| missing("the Instance"))
}

fn missing(what: &str) -> Failure {
    Failure::new(Class::Stale, format!("{what} was not seen in this round"))
}
