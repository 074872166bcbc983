//! Whose a database, a role and a row are: what is foreign is a conflict, what is gone is not made again (T3, T5, D1).

use domain::tenancy::failure::Class;

use super::world::{Tenant, World, connect, refused, unique};

#[tokio::test]
async fn t3_a_foreign_database_role_or_claim_is_a_conflict_and_stays_as_it_is() {
    let world = World::new().await;
    let (postgres, target) = (&world.postgres, &world.target);
    let (first, second) = (world.tenant(), world.tenant());
    // CNPG#6305: a database made by hand.
    world
        .sql("postgres", &format!("CREATE DATABASE {}", first.name()))
        .await;
    let claim = first.with_role().await;
    refused(
        postgres.create_database(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres.close_database(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres.drop_database(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    let owner = format!(
        "SELECT datdba::regrole FROM pg_database WHERE datname = '{}'",
        first.name()
    );
    assert_eq!(
        world.value("postgres", &owner).await.as_deref(),
        Some("postgres")
    );

    // k8s-config-connector#548: a role made by hand keeps its password.
    world
        .sql(
            "postgres",
            &format!("CREATE ROLE {} LOGIN PASSWORD 'by hand'", second.name()),
        )
        .await;
    let secret = format!(
        "SELECT rolpassword FROM pg_authid WHERE rolname = '{}'",
        second.name()
    );
    let before = world.value("postgres", &secret).await;
    let claim = second.claimed().await;
    refused(
        postgres
            .create_role(target, &claim, &second.password, 1)
            .await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres
            .set_verifier(target, &claim, &second.password, 1)
            .await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres.repair_role(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres.forbid_login(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres.drop_role(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    assert_eq!(world.value("postgres", &secret).await, before);
    assert_eq!(second.claim().await.role_oid, None);
}

#[tokio::test]
async fn d1_a_second_tenant_for_the_same_names_is_a_conflict_by_each_of_them() {
    let world = World::new().await;
    let (postgres, target) = (&world.postgres, &world.target);
    let first = world.tenant();
    first.claimed().await;
    for (database, role, name) in [
        (true, false, false),
        (false, true, false),
        (false, false, true),
    ] {
        let mut third = Tenant::new(&world, &unique("t"));
        let taken = first.name().to_owned();
        if database {
            third.query.database.clone_from(&taken);
        }
        if role {
            third.query.role.clone_from(&taken);
        }
        if name {
            third.query.name.clone_from(&taken);
        }
        let holders = third.facts().await.holders;
        assert_eq!(holders.len(), 1);
        assert_eq!(
            (&holders[0].claim.tenant_uid, holders[0].alive),
            (&first.query.tenant_uid, None)
        );
        refused(
            postgres.claim(target, &third.new_claim()).await,
            Class::Conflict,
            "claimed by another tenant",
        );
    }
}

#[tokio::test]
async fn t3_a_role_made_anew_under_the_same_name_is_not_ours() {
    let world = World::new().await;
    let (postgres, target) = (&world.postgres, &world.target);
    let tenant = world.tenant();
    let claim = tenant.with_role().await;
    world
        .sql(
            "postgres",
            &format!(
                "DROP ROLE {0}; CREATE ROLE {0} LOGIN PASSWORD 'x'",
                tenant.name()
            ),
        )
        .await;
    refused(
        postgres
            .set_verifier(target, &claim, &tenant.password, 2)
            .await,
        Class::Conflict,
        "not this tenant's",
    );
    refused(
        postgres.drop_role(target, &claim).await,
        Class::Conflict,
        "not this tenant's",
    );
    assert_eq!(tenant.claim().await.applied_kv_version, Some(1));
}

#[tokio::test]
async fn t5_a_recorded_database_that_is_gone_is_never_made_again() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    // CNPG#10011: the owner drops its own database.
    let session = connect(&world, "postgres", tenant.name(), &tenant.plain)
        .await
        .unwrap();
    session
        .batch_execute(&format!("DROP DATABASE {}", tenant.name()))
        .await
        .unwrap();
    assert_eq!(tenant.facts().await.database, None);
    refused(
        world.postgres.create_database(&world.target, &claim).await,
        Class::Conflict,
        "never made again",
    );
}

#[tokio::test]
async fn after_a_restore_the_comment_proves_the_role_and_its_oid_is_recorded_anew() {
    let world = World::new().await;
    let tenant = world.tenant();
    let claim = tenant.created().await;
    world
        .sql(&world.management, "UPDATE tenantry.claim SET role_oid = 1")
        .await;
    world
        .postgres
        .repair_role(&world.target, &claim)
        .await
        .unwrap();
    assert_eq!(tenant.claim().await.role_oid, claim.role_oid);
}
