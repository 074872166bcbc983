//! Story: `tenantry crds` prints what a real API server takes.

use e2e::Bed;
use e2e::world::program::tenantry;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

#[tokio::test]
async fn the_printed_crds_are_those_of_the_repository_and_the_api_server_takes_them() {
    let print = async |arguments: &[&str]| -> Vec<serde_json::Value> {
        let printed = tenantry(arguments, "", &[]).await.unwrap();
        serde_saphyr::from_multiple(&printed.success().unwrap().stdout).unwrap()
    };
    let own = |kinds: &[CustomResourceDefinition]| -> Vec<serde_json::Value> {
        let own = kinds.iter().map(|crd| serde_json::to_value(crd).unwrap());
        own.collect()
    };
    let tenancy = crds::tenancy_kinds();
    assert_eq!(print(&["crds"]).await, own(&tenancy));
    let printed = print(&["crds", "--applications"]).await;
    let both = [tenancy, crds::application_kinds()].concat();
    assert_eq!(printed, own(&both));
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
