//! A login as a real service account: OpenBao asks the bed's API server who it is.

use std::time::Duration;

use domain::tenancy::facts::{EntryFact, EntryOwner};
use domain::tenancy::failure::Class;
use domain::tenancy::names::Uid;
use e2e::Bed;
use e2e::bed::service_account_token;
use e2e::world::objects::Namespace;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, ObjectMeta, PostParams};
use tenantry::adapters::openbao::{Auth, OpenBao, OpenBaoSettings, generate_password};

#[tokio::test]
async fn case_41_a_service_account_logs_in_with_the_token_that_its_file_holds_then() {
    let bed = Bed::shared().unwrap();
    let namespace = Namespace::create(&bed, "openbao-login").await.unwrap();
    let accounts: Api<ServiceAccount> =
        Api::namespaced(namespace.client().clone(), &namespace.name);
    for name in ["tenantry", "other"] {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        accounts
            .create(
                &PostParams::default(),
                &ServiceAccount {
                    metadata,
                    ..ServiceAccount::default()
                },
            )
            .await
            .unwrap();
    }
    let role = namespace.name.as_str();
    bed.openbao()
        .allow_service_account(role, &namespace.name, "tenantry", "tenantry")
        .await
        .unwrap();
    let folder = tempfile_folder(&namespace.name);
    let token_file = folder.join("token");
    let write = async |account: &str| {
        let token = service_account_token(namespace.client(), &namespace.name, account, 600)
            .await
            .unwrap();
        std::fs::write(&token_file, token).unwrap();
    };
    write("other").await;
    let bao = OpenBao::new(OpenBaoSettings {
        address: bed.description().openbao.address.clone(),
        namespace: None,
        ca_file: None,
        mount: "secret".to_owned(),
        auth: Auth::Kubernetes {
            mount: "kubernetes".to_owned(),
            role: role.to_owned(),
            token_file: token_file.clone(),
        },
        timeout: Duration::from_secs(5),
    })
    .unwrap();
    let path = format!("tenantry/postgresql/{}/app", namespace.name);
    let refused = bao.read(&path).await.err().unwrap();
    assert_eq!(refused.class, Class::Authentication);
    assert!(refused.text.contains(&format!("role {role}")), "{refused}");

    write("tenantry").await;
    // A failed login is not tried again within a second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let owner = EntryOwner {
        tenant_uid: Uid::new("t"),
        instance_uid: Uid::new("i"),
        instance_name: "shared".to_owned(),
        database: "app".to_owned(),
        role: "app".to_owned(),
    };
    // The policy that the documentation asks for is enough for a whole life.
    bao.create(&path, &owner, &generate_password())
        .await
        .unwrap();
    bao.mark(&path, &owner).await.unwrap();
    assert!(bao.read(&path).await.ok().unwrap().password.is_some());
    bao.destroy(&path).await.unwrap();
    assert_eq!(bao.read(&path).await.ok().unwrap().fact, EntryFact::Absent);
    assert!(bao.token_expiry().is_some());
    std::fs::remove_dir_all(folder).ok();
}

fn tempfile_folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
