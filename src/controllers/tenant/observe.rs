//! What a Tenant's round sees: only the parts that its phase asks for, read anew from their stores.
//!
//! It gathers; it concludes nothing. A part that could not be read is a failure, never an absence.

use std::collections::BTreeSet;

use jiff::Timestamp;

use domain::tenancy::facts::{
    DatabaseFact, EntryFact, Facts, Holder, InstanceFact, LoginFact, SecretFact, Seen, ServerFacts,
    Wants,
};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::instance::Instance;
use domain::tenancy::proof::own_database;
use domain::tenancy::registration::InstanceDefinition;

use super::sight::Sight;
use super::subject::Subject;
use crate::adapters::openbao::Entry;
use crate::adapters::postgres::{Depth, ServerQuery, ServerTarget};
use crate::adapters::projection::{Intent, Observed};
use crate::controllers::context::Context;

/// Reads what the subject wants, and what the sight of the round before does not hold already.
pub(super) async fn observe(ctx: &Context, subject: &Subject, earlier: Option<Sight>) -> Sight {
    let (instance, aggregate) = instance_fact(ctx, subject);
    // Without a ready Instance a living Tenant's round ends at once; a server that is away must not hold it up (D14).
    let idle = subject.definition().is_some() && !matches!(instance, InstanceFact::Ready { .. });
    if idle {
        return Sight::blank(instance);
    }
    let mut sight = Sight::continued(earlier, instance);
    let wants = sight.still_wanted(subject.wants());
    let target = match &aggregate {
        Some(aggregate) if needs_server(wants) => Some(server_target(ctx, aggregate).await),
        _ => None,
    };
    let named = observe_names(ctx, subject, wants, aggregate, target.as_ref(), &mut sight);
    Box::pin(named).await;
    if let Some(target) = target {
        sight.target = target.ok();
    }
    let (projection, inside, login) = tokio::join!(
        observe_projection(ctx, subject, wants, &sight.facts),
        observe_inside(ctx, wants, &sight),
        observe_login(ctx, wants, &sight),
    );
    if let Seen::Known(Observed { fact, version }) = projection {
        sight.facts.projection = Seen::Known(fact);
        sight.projection_version = version;
    } else if let Seen::Failed(failure) = projection {
        sight.facts.projection = Seen::Failed(failure);
    }
    keep(&mut sight.facts.inside, inside);
    keep(&mut sight.facts.login, login);
    sight
}

/// The parts that are found by the Tenant's names alone, all at once.
async fn observe_names(
    ctx: &Context,
    subject: &Subject,
    wants: Wants,
    aggregate: Option<Instance>,
    target: Target<'_>,
    sight: &mut Sight,
) {
    let (server, proof, entry, secret) = tokio::join!(
        observe_server(ctx, subject, wants, target),
        observe_provisioning(ctx, subject, wants, aggregate, target),
        observe_entry(ctx, subject, wants, None),
        observe_secret(ctx, subject, wants),
    );
    if let Seen::Failed(failure) = &server {
        doubt(ctx, subject, failure);
    }
    keep(&mut sight.facts.server, server);
    keep(&mut sight.facts.secret, secret);
    if let InstanceFact::Ready { provisioning, .. } = &mut sight.facts.instance {
        keep(provisioning, proof);
    }
    let entry = match claimed_elsewhere(ctx, subject, &sight.facts) {
        Some(path) => observe_entry(ctx, subject, wants, Some(&path)).await,
        None => entry,
    };
    match entry {
        Seen::Known(Entry { fact, password }) => {
            sight.facts.entry = Seen::Known(fact);
            sight.password = password;
        }
        Seen::Failed(failure) => sight.facts.entry = Seen::Failed(failure),
        Seen::NotAsked => {}
    }
}

/// What was asked for takes the place of what was known.
fn keep<T: PartialEq>(known: &mut Seen<T>, seen: Seen<T>) {
    if seen != Seen::NotAsked {
        *known = seen;
    }
}

/// A server that a Tenant cannot reach is looked at by its Instance's own round, before its slow timer.
fn doubt(ctx: &Context, subject: &Subject, failure: &Failure) {
    if matches!(failure.class, Class::Unavailable | Class::Authentication) {
        // A closed channel means that the process is ending.
        let _sent = ctx
            .instances_to_check
            .send(subject.instance_ref().to_owned());
    }
}

fn needs_server(wants: Wants) -> bool {
    wants.server || wants.inside || wants.login || wants.provisioning
}

fn instance_fact(ctx: &Context, subject: &Subject) -> (InstanceFact, Option<Instance>) {
    let Ok(object) = ctx.view.instance(subject.instance_ref()) else {
        return (InstanceFact::Unreadable, None);
    };
    let Some((object, identity)) =
        object.and_then(|object| object.identity().map(|identity| (object, identity)))
    else {
        return (InstanceFact::Absent, None);
    };
    let definition =
        InstanceDefinition::parse(&object.spec.draft(), &ctx.deployment.addresses).ok();
    let (snapshot, revision, deleting) =
        (object.snapshot(), object.revision(), object.is_deleting());
    let fact = InstanceFact::of(
        identity.clone(),
        revision,
        definition.as_ref(),
        &snapshot,
        deleting,
    );
    (
        fact,
        definition.map(|definition| {
            Instance::reconstitute(identity, revision, definition, snapshot, deleting)
        }),
    )
}

pub(super) async fn server_target(
    ctx: &Context,
    instance: &Instance,
) -> Result<ServerTarget, Failure> {
    let binding = instance.target();
    let credential = ctx
        .credentials
        .get(&ctx.cluster, &binding.uid, &binding.credential)
        .await?;
    Ok(ServerTarget {
        binding,
        credential,
    })
}

type Target<'t> = Option<&'t Result<ServerTarget, Failure>>;

async fn observe_server(
    ctx: &Context,
    subject: &Subject,
    wants: Wants,
    target: Target<'_>,
) -> Seen<ServerFacts> {
    let target = match target {
        Some(Ok(target)) if wants.server => target,
        Some(Err(failure)) if wants.server => return Seen::Failed(failure.clone()),
        _ => return Seen::NotAsked,
    };
    let identity = subject.identity();
    let name = |of: fn(&domain::tenancy::tenant::TenantDefinition) -> String,
                saved: &Option<String>| {
        subject
            .definition()
            .map(of)
            .or_else(|| saved.clone())
            .unwrap_or_default()
    };
    let query = ServerQuery {
        cluster_uid: ctx.deployment.cluster_uid.clone(),
        tenant_uid: identity.uid.clone(),
        namespace: identity.namespace.clone(),
        name: identity.name.clone(),
        database: name(
            |definition| definition.database.to_string(),
            &subject.saved().database,
        ),
        role: name(
            |definition| definition.role.to_string(),
            &subject.saved().login_role,
        ),
        sessions: matches!(subject, Subject::Departing(_)),
    };
    match ctx.postgres.observe(target, &query).await {
        Ok(mut facts) => match ask_who_lives(ctx, &mut facts.holders).await {
            Ok(()) => Seen::Known(facts),
            Err(failure) => Seen::Failed(failure),
        },
        Err(failure) => Seen::Failed(failure),
    }
}

/// A row of this cluster whose Tenant no longer exists is told apart by asking the API server, not a cache.
pub(super) async fn ask_who_lives(ctx: &Context, holders: &mut [Holder]) -> Result<(), Failure> {
    for holder in holders {
        let claim = &holder.claim;
        if claim.cluster_uid == ctx.deployment.cluster_uid {
            let alive = ctx
                .cluster
                .tenant_is_alive(&claim.namespace, &claim.name, &claim.tenant_uid)
                .await?;
            holder.alive = Some(alive);
        }
    }
    Ok(())
}

async fn observe_provisioning(
    ctx: &Context,
    subject: &Subject,
    wants: Wants,
    aggregate: Option<Instance>,
    target: Target<'_>,
) -> Seen<Vec<domain::tenancy::capability::RefusedExtension>> {
    let (Some(mut instance), Some(definition)) = (aggregate, subject.definition()) else {
        return Seen::NotAsked;
    };
    let target = match target {
        Some(Ok(target)) if wants.provisioning => target,
        Some(Err(failure)) if wants.provisioning => return Seen::Failed(failure.clone()),
        _ => return Seen::NotAsked,
    };
    let depth = if definition.extensions.is_empty() {
        Depth::Essentials
    } else {
        Depth::Extensions
    };
    let observation = ctx.postgres.inspect(target, depth).await;
    // The aggregate says itself why it may not be provisioned on.
    let _judged = instance.assess_readiness(&observation);
    match instance.require_provisioning_ready() {
        Ok(()) => Seen::Known(instance.check_extensions(&definition.extensions)),
        Err(failure) => Seen::Failed(failure),
    }
}

async fn observe_entry(
    ctx: &Context,
    subject: &Subject,
    wants: Wants,
    path: Option<&str>,
) -> Seen<Entry> {
    if !wants.entry {
        return Seen::NotAsked;
    }
    let derived = ctx.deployment.layout.path(subject.identity());
    seen(ctx.openbao.read(path.unwrap_or(&derived)).await)
}

/// The path in the row counts, not the derived one (T1); it differs only after the deployment's base path was changed.
fn claimed_elsewhere(ctx: &Context, subject: &Subject, facts: &Facts) -> Option<String> {
    let Seen::Known(ServerFacts {
        claim: Some(claim), ..
    }) = &facts.server
    else {
        return None;
    };
    (claim.secret_path != ctx.deployment.layout.path(subject.identity()))
        .then(|| claim.secret_path.clone())
}

async fn observe_secret(ctx: &Context, subject: &Subject, wants: Wants) -> Seen<SecretFact> {
    match subject.definition() {
        Some(definition) if wants.secret => {
            let namespace = &subject.identity().namespace;
            let secret = definition.secret_name.as_str();
            seen(
                ctx.projections
                    .secret(namespace, secret, &subject.projection_name())
                    .await,
            )
        }
        _ => Seen::NotAsked,
    }
}

async fn observe_projection(
    ctx: &Context,
    subject: &Subject,
    wants: Wants,
    facts: &Facts,
) -> Seen<Observed> {
    if !wants.projection {
        return Seen::NotAsked;
    }
    let intent = intent(ctx, subject, facts);
    let namespace = &subject.identity().namespace;
    seen(
        ctx.projections
            .observe(
                namespace,
                &subject.projection_name(),
                intent.as_ref(),
                Timestamp::now(),
            )
            .await,
    )
}

/// What the ExternalSecret should be now; unknown while the password's version or the Instance is.
pub(super) fn intent(ctx: &Context, subject: &Subject, facts: &Facts) -> Option<Intent> {
    let (definition, view) = (subject.definition()?, facts.instance.view()?);
    let Seen::Known(EntryFact::Present { version, .. }) = &facts.entry else {
        return None;
    };
    let entry_path = match &facts.server {
        Seen::Known(ServerFacts {
            claim: Some(claim), ..
        }) => claim.secret_path.clone(),
        _ => ctx.deployment.layout.path(subject.identity()),
    };
    Some(Intent {
        namespace: subject.identity().namespace.clone(),
        name: definition.projection_name.to_string(),
        owner: subject.identity().uid.clone(),
        secret_name: definition.secret_name.to_string(),
        store: ctx.deployment.store.clone(),
        entry_path,
        kv_version: *version,
        endpoint: view.endpoint.clone(),
        database: definition.database.to_string(),
        role: definition.role.to_string(),
        ca_pem: ctx.deployment.trust.current().bundle().map(str::to_owned),
    })
}

async fn observe_inside(ctx: &Context, wants: Wants, sight: &Sight) -> Seen<BTreeSet<String>> {
    let (Some(target), Seen::Known(server)) = (&sight.target, &sight.facts.server) else {
        return Seen::NotAsked;
    };
    match (&server.claim, own_database(server)) {
        (Some(claim), Some(database)) if wants.inside && is_shut_and_open_to_us(database) => seen(
            ctx.postgres
                .installed_extensions(target, &claim.database)
                .await,
        ),
        _ => Seen::NotAsked,
    }
}

/// A database that is still to be shut or given back is entered once that is done: a visit costs a login.
fn is_shut_and_open_to_us(database: &DatabaseFact) -> bool {
    database.connectable && !database.public_access && !database.owned_by_admin
}

async fn observe_login(ctx: &Context, wants: Wants, sight: &Sight) -> Seen<LoginFact> {
    let (Some(target), Some(password), Seen::Known(server)) =
        (&sight.target, &sight.password, &sight.facts.server)
    else {
        return Seen::NotAsked;
    };
    match &server.claim {
        Some(claim) if wants.login && own_database(server).is_some() => seen(
            ctx.postgres
                .login(target, &claim.database, &claim.role, password)
                .await,
        ),
        _ => Seen::NotAsked,
    }
}

fn seen<T>(result: Result<T, Failure>) -> Seen<T> {
    match result {
        Ok(value) => Seen::Known(value),
        Err(failure) => Seen::Failed(failure),
    }
}

/// The server of an Instance as it is cached, for work that no round does (a Tenant that left without a finalizer).
pub(super) async fn target_of(ctx: &Context, instance: &str) -> Option<ServerTarget> {
    let object = ctx.view.instance(instance).ok().flatten()?;
    let definition =
        InstanceDefinition::parse(&object.spec.draft(), &ctx.deployment.addresses).ok()?;
    let aggregate = Instance::reconstitute(
        object.identity()?,
        object.revision(),
        definition,
        object.snapshot(),
        object.is_deleting(),
    );
    let target = server_target(ctx, &aggregate).await;
    target
        .inspect_err(|failure| tracing::debug!(%failure, "no admin login"))
        .ok()
}
