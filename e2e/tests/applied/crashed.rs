//! Story: the process is killed before and after every effect of the pipeline; the next one finishes what it left.

use anyhow::ensure;
use domain::applications::effect::ApplicationEffect as Effect;
use e2e::bed::wait::until;
use e2e::world::failpoint::Armed;
use e2e::world::tenantry::{Tenantry, TenantryOptions};
use e2e::{Bed, Options};
use serde_json::{Value, json};

use super::stand::{SOON, Stand};

/// What leads to the effect.
async fn provoke(stand: &Stand, effect: Effect, size: usize) {
    match effect {
        Effect::Hold | Effect::Download | Effect::Apply | Effect::Record => {
            stand
                .apply("v1.0.0", &format!("{{size: {size}}}"), "")
                .await;
        }
        // The last revision looks as one that a killed helm left.
        Effect::Recover => {
            let mut names = stand.revisions().await;
            names.sort();
            let pending = [
                "-n",
                &stand.namespace.name,
                "label",
                &names[0],
                "status=pending-install",
                "--overwrite",
            ];
            stand.kubectl(&pending).await.success().unwrap();
            stand
                .apply("v1.0.0", &format!("{{size: {size}}}"), "")
                .await;
        }
        Effect::Uninstall | Effect::Purge | Effect::Release => {
            let delete = [
                "-n",
                &stand.namespace.name,
                "delete",
                "application",
                "shop",
                "--wait=false",
            ];
            stand.kubectl(&delete).await.success().unwrap();
        }
    }
}

#[tokio::test]
async fn alone_t2_a_crash_at_any_effect_of_the_pipeline_is_made_good_by_the_next_process() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = || {
        TenantryOptions::default()
            .switch("--applications")
            .flag("--package-dir", folder.path().display().to_string())
    };
    let mut tenantry = Tenantry::start(&bed, options()).await.unwrap();
    let mut stands = Vec::new();
    for effect in Effect::ALL {
        for point in ["before", "after"] {
            let name = format!("{}-{point}", effect.id().replace('.', "-"));
            let short = name.trim_start_matches("application-").to_owned();
            let stand = Stand::on(
                Bed::open(bed.description().clone()).unwrap(),
                folder.path().to_owned(),
                &short,
            )
            .await;
            stand.make_account().await;
            let is_first = matches!(effect, Effect::Hold | Effect::Download);
            if !is_first {
                stand.apply("v1.0.0", "{size: 1}", "").await;
                stand.ready(&json!({"size": 1})).await;
            }
            let failpoint = format!("{}.{point}", effect.id());
            let armed = Armed::start(&mut tenantry, options(), &failpoint).unwrap();
            tenantry.ready(SOON).await.unwrap();
            provoke(&stand, effect, 2).await;
            armed.reached(SOON).await.unwrap();
            tenantry.kill9();
            tenantry.options = options();
            tenantry.restart().await.unwrap();
            finished(&stand, effect).await;
            stands.push(stand);
        }
    }
}

/// What must be so in the end: all of it, once, and nothing lost.
async fn finished(stand: &Stand, effect: Effect) {
    if matches!(effect, Effect::Uninstall | Effect::Purge | Effect::Release) {
        until(SOON, "the Application is gone", async || {
            ensure!(stand.application().await == Value::Null, "it is there");
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(stand.revisions().await, [] as [String; 0]);
        assert_eq!(stand.get("configmap", "d8a-shop-seen").await, Value::Null);
        return;
    }
    stand.ready(&json!({"size": 2})).await;
    assert_eq!(stand.seen().await.unwrap()["settings"], "{\"size\":2}");
    let deployed = [
        "-n",
        &stand.namespace.name,
        "get",
        "secret",
        "-l",
        "owner=helm,status=deployed",
        "-o",
        "name",
    ];
    let deployed = stand.kubectl(&deployed).await.success().unwrap();
    assert_eq!(
        deployed.stdout.lines().count(),
        1,
        "{effect:?}: {}",
        deployed.stdout
    );
}
