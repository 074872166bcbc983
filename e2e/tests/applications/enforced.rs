//! Stories that need a process with other flags, or a cluster without some kinds.

use std::path::Path;

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenantry::Tenantry;
use e2e::{Bed, Options};
use serde_json::json;

use super::directory::{Directory, SOON};
use super::stand::{FIRST, NAME, Stand};

const SCHEMA: &str = "
type: object
properties:
  mode: {type: string, enum: [Internal, External], default: Internal}
  class: {type: string, default: local, x-deckhouse-grantable-resource: storageclasses}
oneOf:
  - properties: {mode: {enum: [Internal]}}
    x-deckhouse-enum-switch-settings:
      - {to: [External], impact: destructive, messages: {en: Deletes the data.}}
  - properties: {mode: {enum: [External]}}
x-deckhouse-validations:
  - {expression: \"self.class != 'local'\", message: local storage is gone}
";

#[tokio::test]
async fn alone_s8_s28_switches_are_refused_when_told_so_and_grants_may_come_late() {
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let kubectl = bed.kubectl();
    let crd = "availableclusterresources.multitenancy.deckhouse.io";
    let gone = kubectl.run(&["delete", "crd", crd]).await.unwrap();
    gone.success().unwrap();
    let directory = Directory::new();
    let options = directory
        .options()
        .switch("--enforce-destructive-switch")
        .self_signed();
    let tenantry = Tenantry::start(&bed, options).await.unwrap();
    let stand = Stand::on(bed, directory.path().to_owned(), ("enforced", ""), SCHEMA).await;

    // S28: no catalogue can exist, so nothing is filled in or checked.
    Stand::refused(
        &stand.apply("{}").await,
        &["spec.settings: Invalid value: local storage is gone"],
    );
    Stand::stored(&stand.apply("{class: any}").await, &[]);
    let applied = json!({"mode": "Internal", "class": "any"});
    stand.installed(FIRST, &applied).await;

    // S8, as `--enforce-destructive-switch` has it.
    let switch = "{mode: External, class: any}";
    Stand::refused(
        &stand.apply(switch).await,
        &[
            "spec.settings.mode: Forbidden: Deletes the data. To go on, add \"mode=Internal->External\" to the annotation applications.deckhouse.io/allow-destructive-settings-switch",
        ],
    );
    let entry = "mode=Internal->External";
    let acknowledged = stand.manifest(NAME, FIRST, switch, entry);
    Stand::stored(
        &stand.apply_manifest(&acknowledged).await,
        &["the package's settings check will run when the settings are applied"],
    );

    // S28: the kind comes, and is taken up without a restart.
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crds/availableclusterresources.yaml")
        .display()
        .to_string();
    stand
        .kubectl(&["apply", "--server-side", "-f", &file])
        .await;
    until(SOON, "the kind is served", async || {
        let get = ["get", "availableclusterresources", "-A"];
        ensure!(stand.bed.kubectl().run(&get).await?.code == 0, "it is not");
        Ok(())
    })
    .await
    .unwrap();
    stand.grant("storageclasses", "fast", &["fast"]).await;
    let other = "{mode: Internal, class: other}";
    let refused = stand.eventually(other, |output| output.code != 0).await;
    assert!(
        refused.stderr.contains("choose one of [fast]"),
        "{}",
        refused.stderr
    );
    let (status, body) = tenantry.get("/readyz").await.unwrap();
    assert!(status.is_success(), "{body}");
}
