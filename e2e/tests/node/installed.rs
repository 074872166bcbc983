//! Story: `helm install --wait`, a Tenant in use, a wrong edit, a restarted API server, `helm uninstall`.

use e2e::bed::process::{Process, Spawn};
use e2e::bed::{SYSTEM_NAMESPACE, wait};
use e2e::world::chart::helm_in;

use crate::scene::{SOON, Scene};

#[tokio::test]
async fn alone_the_chart_runs_as_pods_and_goes_without_a_trace_but_the_crds() {
    let scene = Scene::prepared().await;
    scene.install(&[]).await;
    assert_eq!(scene.ready_pods().await.len(), 2);
    scene.registered().await;
    scene.ready_tenant("first").await;
    scene.thief_is_refused().await.unwrap();

    restart_api_server(&scene).await;
    wait::until(SOON, "the webhook refuses again", async || {
        scene.thief_is_refused().await
    })
    .await
    .unwrap();
    scene.ready_tenant("second").await;
    scene
        .kubectl(&["-n", "team", "delete", "pgtenant", "--all"])
        .await;

    let arguments = [
        "uninstall",
        "tenantry",
        "--namespace",
        SYSTEM_NAMESPACE,
        "--wait",
    ];
    helm_in(&scene.bed, &arguments)
        .await
        .unwrap()
        .success()
        .unwrap();
    // helm waits for what it made itself; the pods are the Deployment's and leave by their own grace.
    wait::until(SOON, "nothing is left", async || {
        let left = left_behind(&scene).await;
        anyhow::ensure!(left.is_empty(), "{left:?}");
        Ok(())
    })
    .await
    .unwrap();
    let crds = scene.kubectl(&["get", "crds", "-o", "name"]).await;
    assert_eq!(crds.matches("database.ddupan.top").count(), 2, "{crds}");
}

/// Everything that has a release's name, of the kinds that the chart or the process makes, and all pods.
async fn left_behind(scene: &Scene) -> Vec<String> {
    let kinds = "pods,deployments,services,serviceaccounts,roles,rolebindings,leases,poddisruptionbudgets,secrets,\
                 clusterroles,clusterrolebindings,validatingwebhookconfigurations";
    let found = scene
        .kubectl(&["-n", SYSTEM_NAMESPACE, "get", kinds, "-o", "name"])
        .await;
    found
        .lines()
        .filter(|name| name.contains("/tenantry"))
        .map(str::to_owned)
        .collect()
}

/// Kills the API server and starts it with the same command line.
async fn restart_api_server(scene: &Scene) {
    let running = scene.bed.process("kube-apiserver").unwrap();
    let line = std::fs::read(format!("/proc/{}/cmdline", running.pid)).unwrap();
    let words: Vec<String> = line
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8(word.to_vec()).unwrap())
        .collect();
    running.kill9(scene.bed.folder());
    let started: Process = Spawn::new("kube-apiserver", &words[0])
        .args(&words[1..])
        .start(scene.bed.folder())
        .unwrap();
    wait::until(SOON, "the API server is back", async || {
        started.check(scene.bed.folder())?;
        let ready = scene
            .bed
            .kubectl()
            .run(&["get", "--raw", "/readyz"])
            .await?;
        ready.success().map(drop)
    })
    .await
    .unwrap();
}
