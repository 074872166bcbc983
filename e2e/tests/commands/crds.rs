//! Story: `tenantry crds` prints what a real API server takes.

use e2e::Bed;
use e2e::world::program::tenantry;

#[tokio::test]
async fn the_printed_crds_are_those_of_the_repository_and_the_api_server_takes_them() {
    let printed = tenantry(&["crds"], "", &[])
        .await
        .unwrap()
        .success()
        .unwrap();
    let printed: Vec<serde_json::Value> = serde_saphyr::from_multiple(&printed.stdout).unwrap();
    let own: Vec<serde_json::Value> = crds::tenancy_kinds()
        .iter()
        .map(|crd| serde_json::to_value(crd).unwrap())
        .collect();
    assert_eq!(printed, own);
    let bed = Bed::shared().unwrap();
    for crd in printed {
        let arguments = [
            "apply",
            "--dry-run=server",
            "--server-side",
            "--force-conflicts",
            "-f",
            "-",
        ];
        let said = bed
            .kubectl()
            .run_with_input(&arguments, &crd.to_string())
            .await
            .unwrap();
        assert!(
            said.success()
                .unwrap()
                .stdout
                .contains("serverside-applied")
        );
    }
}
