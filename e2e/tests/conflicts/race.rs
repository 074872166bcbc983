//! Story: two Tenants in two namespaces want one name at the same moment; the registry decides, once.

use e2e::bed::wait::until;
use e2e::world::condition::condition;
use e2e::world::tenancy::{SOON, World};
use serde_json::json;

use super::scene::{application_says, corrected, hold_claims, neighbour, phase};

#[tokio::test]
async fn d1_of_two_tenants_that_race_for_one_name_exactly_one_wins_and_there_is_one_row() {
    let world = World::shared("race").await.unwrap();
    let other = neighbour(&world, "race-other").await;
    // Both have found everything free before either may claim.
    let claims = hold_claims(&world, "SHARE").await;
    for rival in [&world, &other] {
        rival
            .apply(&rival.tenant_manifest("app", ""))
            .await
            .unwrap()
            .success()
            .unwrap();
    }
    for rival in [&world, &other] {
        phase(rival, "app", "Planned").await;
    }
    drop(claims);

    let reasons = until(SOON, "one is Ready and one is Conflict", async || {
        let mut reasons = Vec::new();
        for rival in [&world, &other] {
            let tenant = rival.tenants().get("app").await?;
            reasons.push(condition(&tenant, "Ready").unwrap_or_default().reason);
        }
        let mut sorted = reasons.clone();
        sorted.sort();
        anyhow::ensure!(sorted == ["Conflict", "Ready"], "{reasons:?}");
        Ok(reasons)
    })
    .await
    .unwrap();
    let (winner, loser) = if reasons[0] == "Ready" {
        (&world, &other)
    } else {
        (&other, &world)
    };
    let row = "SELECT string_agg(namespace, ',') FROM tenantry.claim";
    assert_eq!(
        world.registry(row).await.unwrap().as_deref(),
        Some(winner.namespace.name.as_str())
    );
    assert!(
        loser.entry("app").await.is_err(),
        "the loser stored a password"
    );
    assert!(
        loser
            .external_secrets()
            .get_opt(&loser.secret_name("app"))
            .await
            .unwrap()
            .is_none()
    );
    application_says(winner, "app", "SELECT 1").await;

    let free = loser.identifier("loser");
    corrected(loser, "app", json!({"database": free, "loginRole": free})).await;
}
