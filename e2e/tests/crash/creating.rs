//! Crashes on the way from `kubectl apply` to `Ready`.

use std::collections::BTreeMap;

use e2e::world::tenancy::World;
use e2e::{Bed, Options};
use kube::api::DeleteParams;

use super::plan::{Fact, Plan, Step, Traces, both, effect, left};
use super::traces::{EXTENSION, identifier};
use super::{census, doomed, proof, traces};

/// The way of a Tenant with the policy `Delete` and an extension.
pub const PATH: &[Step] = &[
    effect("tenant.status.planned")
        .saves("Planned")
        .makes(&[Fact::Condition]),
    effect("tenant.finalizer").makes(&[Fact::Finalizer]),
    effect("tenant.claim").makes(&[Fact::Claim]),
    effect("tenant.bao.data").makes(&[Fact::Entry]),
    effect("tenant.bao.metadata").makes(&[Fact::Mark]),
    effect("tenant.status.credential-created").saves("CredentialCreated"),
    effect("tenant.role").makes(&[Fact::Role, Fact::Login]),
    effect("tenant.status.role-created").saves("RoleCreated"),
    effect("tenant.database").makes(&[Fact::Database]),
    effect("tenant.database.privileges").makes(&[Fact::Closed]),
    effect("tenant.extension").makes(&[Fact::Extension]),
    effect("tenant.row.database").makes(&[Fact::Record]),
    effect("tenant.status.database-created").saves("DatabaseCreated"),
    effect("tenant.external-secret").makes(&[Fact::ExternalSecret]),
    effect("tenant.status.external-secret-created").saves("ExternalSecretCreated"),
    effect("tenant.status.projected").saves("CredentialProjected"),
    effect("tenant.status.ready").saves("Ready"),
];

/// The way of one whose role's name is taken.
const REFUSED: &[Step] = &[effect("tenant.status.pending")
    .saves("Pending")
    .makes(&[Fact::Condition])];

/// Every failpoint of this story.
pub fn plans() -> Vec<Plan> {
    both(REFUSED.iter().chain(PATH).map(|step| step.id))
}

#[tokio::test]
async fn alone_t2_a_crash_at_any_effect_of_creation_leaves_one_password_one_role_and_one_database()
{
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let mut world = World::private(bed, doomed::options(), "create")
        .await
        .unwrap();
    let plans = plans();

    crash(&mut world, &plans).await;

    let (mut wrong, mut passwords) = (Vec::new(), BTreeMap::new());
    for plan in &plans {
        let (start, path) = start(*plan);
        let expected = left(&start, path, *plan);
        wrong.extend(traces::unlike(&world, *plan, &plan.name(), &expected).await);
        if expected.facts.contains(&Fact::Entry) {
            passwords.insert(plan, password(&world, *plan).await);
        }
        if is_refused(*plan) {
            foreign_role(&world, *plan, "DROP").await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    doomed::restart(&mut world).await;
    for plan in &plans {
        wrong.extend(proof::converged(&world, *plan, &plan.name(), 1).await);
        let before = passwords.get(plan);
        if before.is_some() && before != Some(&password(&world, *plan).await) {
            wrong.push(format!("{plan}: the password is another one"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let names: Vec<String> = plans.iter().map(|plan| plan.name()).collect();
    census::only(&world, &names).await;

    let (tenants, now) = (world.tenants(), DeleteParams::default());
    for name in &names {
        tenants.delete(name, &now).await.unwrap();
    }
    census::only(&world, &[]).await;
}

/// One Tenant after the other is applied and caught, then all are killed.
async fn crash(world: &mut World, plans: &[Plan]) {
    let mut doomed = doomed::Doomed::start(world, plans).await;
    for plan in plans {
        if is_refused(*plan) {
            foreign_role(world, *plan, "CREATE").await;
        }
        let spec = format!("deletionPolicy: Delete, extensions: [{EXTENSION}]");
        let manifest = world.tenant_manifest(&plan.name(), &spec);
        world.apply(&manifest).await.unwrap().success().unwrap();
        doomed.caught(world, *plan).await;
    }
    doomed.kill(world);
}

/// What is there before the Tenant is applied, and the way from there.
fn start(plan: Plan) -> (Traces, &'static [Step]) {
    if is_refused(plan) {
        return (Traces::new("", [Fact::Role]), REFUSED);
    }
    (Traces::default(), PATH)
}

fn is_refused(plan: Plan) -> bool {
    REFUSED.iter().any(|step| step.id == plan.id)
}

/// Creates or drops a role of the Tenant's name, as someone else would.
async fn foreign_role(world: &World, plan: Plan, verb: &str) {
    let sql = format!("{verb} ROLE {}", identifier(world, &plan.name()));
    world.superuser("postgres", &sql).await.unwrap();
}

async fn password(world: &World, plan: Plan) -> String {
    world.entry(&plan.name()).await.unwrap().1["password"].clone()
}
