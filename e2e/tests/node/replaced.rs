//! Story: pods are replaced under load, by `helm upgrade` and by hand, and no call notices.

use std::time::Duration;

use e2e::bed::SYSTEM_NAMESPACE;

use crate::load;
use crate::scene::Scene;

#[tokio::test]
async fn alone_replaced_pods_fail_no_call() {
    let scene = Scene::prepared().await;
    scene.install(&[]).await;
    scene.registered().await;
    scene.ready_tenant("first").await;
    let before = scene.ready_pods().await;

    let load = load::applies(&scene).await;
    scene.install(&["podAnnotations.round=second"]).await;
    // The old pods leave after the new ones are ready.
    for pod in &before {
        let pod = format!("pod/{pod}");
        let gone = ["wait", "--for=delete", "--timeout=60s", &pod];
        scene
            .kubectl(&[&["-n", SYSTEM_NAMESPACE], &gone[..]].concat())
            .await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (calls, failures) = load.end().await.unwrap();
    eprintln!("helm upgrade: {calls} calls, {} failed", failures.len());
    assert!(calls > 100, "{calls}");
    assert_eq!(failures, Vec::<String>::new());
    let after = scene.ready_pods().await;
    assert!(after.iter().all(|pod| !before.contains(pod)), "{after:?}");

    let load = load::applies(&scene).await;
    scene
        .kubectl(&["-n", SYSTEM_NAMESPACE, "delete", "pod", &after[0]])
        .await;
    let ready = ["rollout", "status", "deployment/tenantry", "--timeout=60s"];
    scene
        .kubectl(&[&["-n", SYSTEM_NAMESPACE], &ready[..]].concat())
        .await;
    let (calls, failures) = load.end().await.unwrap();
    eprintln!("a deleted pod: {calls} calls, {} failed", failures.len());
    assert!(calls > 100, "{calls}");
    assert_eq!(failures, Vec::<String>::new());
    scene.ready_tenant("second").await;
    scene.thief_is_refused().await.unwrap();
}
