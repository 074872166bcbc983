//! Story: a Secret that appears after the plan and before the ExternalSecret (D6).
//!
//! The window between the second check and External Secrets Operator's own write cannot be closed by us; there the Secret's
//! type makes that write fail instead of overwriting, which the second story shows.

use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use kube::api::DeleteParams;

use super::outside::{Names, outside};
use super::scene::{application_says, hold_claims, phase, ready_again};

#[tokio::test]
async fn d6_a_secret_that_appears_after_the_plan_is_a_conflict_before_the_external_secret_is_made()
{
    let world = World::shared("between").await.unwrap();
    let names = Names::of(&world, "app");
    // Everything was read and found free; the claim cannot be written yet.
    let claims = hold_claims(&world, "SHARE").await;
    world
        .apply(&world.tenant_manifest("app", ""))
        .await
        .unwrap()
        .success()
        .unwrap();
    phase(&world, "app", "Planned").await;
    world
        .namespace
        .create_secret(&names.secret, &[("password", "theirs")])
        .await
        .unwrap();
    let theirs = outside(&world, &names).await;
    drop(claims);

    let said = world.tenant_reason("app", "Conflict").await.unwrap();
    assert!(said.message.contains(&names.secret), "{said:?}");
    // The name is claimed by now, so it may not be edited any more: the message must not ask for that (M1).
    assert!(
        !said.message.contains("set spec.credential.secretName"),
        "{said:?}"
    );
    let now = outside(&world, &names).await;
    assert_eq!(
        (&now["secret"], &now["external secret"]),
        (&theirs["secret"], &theirs["external secret"])
    );

    let secrets = world.namespace.objects("v1", "Secret");
    secrets
        .delete(&names.secret, &DeleteParams::default())
        .await
        .unwrap();
    ready_again(&world, "app").await;
    assert_eq!(
        application_says(&world, "app", "SELECT current_user").await,
        names.role
    );
    assert_eq!(world.entry("app").await.unwrap().0, 1);
}

#[tokio::test]
async fn d6_a_secret_of_another_type_that_takes_the_name_later_is_not_overwritten_and_is_reported()
{
    let world = World::shared("taken").await.unwrap();
    let names = Names::of(&world, "app");
    world.ready_tenant("app", "").await.unwrap();
    let secrets = world.namespace.objects("v1", "Secret");
    // External Secrets Operator puts a lost Secret back at once: try until a person is quicker.
    until(SOON, "a person's Secret is there", async || {
        secrets
            .delete(&names.secret, &DeleteParams::default())
            .await?;
        world
            .namespace
            .create_secret(&names.secret, &[("password", "theirs")])
            .await
    })
    .await
    .unwrap();
    let before = outside(&world, &names).await;

    let said = world
        .tenant_reason("app", "CredentialProjectionFailed")
        .await
        .unwrap();
    assert!(said.message.contains(&names.projection), "{said:?}");
    // External Secrets Operator puts a label of its own on it; type and content it cannot change.
    let taken = secrets.get(&names.secret).await.unwrap();
    assert_eq!(taken.data["type"], "Opaque");
    let values = world.namespace.secret(&names.secret).await.unwrap();
    assert_eq!(
        values.into_iter().collect::<Vec<_>>(),
        [("password".to_owned(), "theirs".to_owned())]
    );
    let now = outside(&world, &names).await;
    for part in ["database", "role", "registry", "entry"] {
        assert_eq!(now[part], before[part], "{part}");
    }
    secrets
        .delete(&names.secret, &DeleteParams::default())
        .await
        .unwrap();
    ready_again(&world, "app").await;
    assert_eq!(
        application_says(&world, "app", "SELECT current_user").await,
        names.role
    );
}
