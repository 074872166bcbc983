//! Stories: what a helm that was killed, or a first installation that failed, left behind is put right before the next application.

use std::time::Duration;

use domain::releases::revisions::{Recovery, Status, recovery};
use serde_json::{Value, json};

use super::stand::Stand;

/// A hook that no node ever runs, so that helm waits for it.
pub const WAITING: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: d8a-shop-wait, annotations: {helm.sh/hook: \"post-install,post-upgrade\", \
     helm.sh/hook-delete-policy: before-hook-creation}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}}\n";

/// Applies until helm waits, then ends it as a crash does.
async fn cut_off(stand: &Stand, settings: Value, pending: Status) {
    let waiting = async {
        loop {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let is_waiting = stand.get("job", "d8a-shop-wait").await != Value::Null;
            if is_waiting && stand.statuses().await.last() == Some(&pending) {
                return;
            }
        }
    };
    let applied = Box::pin(stand.apply(settings));
    tokio::select! {
        ended = applied => panic!("it did not wait: {ended:?}"),
        () = waiting => {}
    }
    // Helm is gone with the call that was dropped.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stand.statuses().await.last(), Some(&pending));
}

async fn put_right(stand: &Stand) -> Recovery {
    let identity = stand.identity().await;
    let found = recovery(&stand.revisions().await);
    match found {
        Recovery::Nothing => {}
        Recovery::Uninstall => stand
            .helm
            .uninstall(&stand.instance, &identity)
            .await
            .unwrap(),
        Recovery::RollBack(to) => stand
            .helm
            .roll_back(&stand.instance, to, &identity)
            .await
            .unwrap(),
    }
    found
}

#[tokio::test]
async fn a_change_that_was_cut_off_goes_back_and_the_next_one_is_applied() {
    let stand = Stand::new("upgrade", "edit").await;
    stand.write_printer();
    stand.apply(json!({"size": 1})).await.unwrap();
    stand.write("templates/wait.yaml", WAITING);
    stand.write(
        "templates/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d8a-shop-more}\n",
    );
    cut_off(&stand, json!({"size": 2}), Status::PendingUpgrade).await;
    stand.write("templates/wait.yaml", "");
    stand.write("templates/more.yaml", "");
    assert!(
        stand.apply(json!({"size": 3})).await.is_err(),
        "helm refuses while another seems to be under way"
    );
    assert_eq!(put_right(&stand).await, Recovery::RollBack(1));
    stand.apply(json!({"size": 3})).await.unwrap();
    assert_eq!(stand.seen().await["part"], "3");
    assert_eq!(
        stand.get("configmap", "d8a-shop-more").await,
        Value::Null,
        "what only the cut-off one made is gone"
    );
    let statuses = stand.statuses().await;
    assert_eq!(
        statuses
            .iter()
            .filter(|status| **status == Status::Deployed)
            .count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(put_right(&stand).await, Recovery::Nothing);
}

#[tokio::test]
async fn s3_a_first_installation_that_was_cut_off_or_failed_is_removed_and_made_again() {
    let stand = Stand::new("install", "edit").await;
    stand.write_printer();
    stand.write("templates/wait.yaml", WAITING);
    cut_off(&stand, json!({"size": 1}), Status::PendingInstall).await;
    stand.write("templates/wait.yaml", "");
    assert_eq!(put_right(&stand).await, Recovery::Uninstall);
    // The API server refuses this one, after others were made.
    stand.write("templates/wrong.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: d8a-shop-wrong}\nspec: {ports: [{port: 99999999}]}\n");
    stand.apply(json!({"size": 1})).await.unwrap_err();
    assert_eq!(put_right(&stand).await, Recovery::Uninstall);
    stand.write("templates/wrong.yaml", "");
    stand.apply(json!({"size": 2})).await.unwrap();
    assert_eq!(stand.statuses().await, [Status::Deployed]);
    assert_eq!(stand.seen().await["part"], "2");
}
