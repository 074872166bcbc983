//! One intent for the tests of this module.
#![allow(clippy::unwrap_used)]

use domain::tenancy::endpoint::{AddressPolicy, Endpoint, EndpointDraft};
use domain::tenancy::names::Uid;
use domain::violation::FieldPath;

use super::{Intent, Store, StoreKind};

pub(super) fn endpoint(hostaddr: &str) -> Endpoint {
    let draft = EndpointDraft {
        host: "pg.home.arpa",
        hostaddr,
        port: 5432,
        database: "postgres",
        ssl_mode: "verify-full",
    };
    draft
        .parse(
            &FieldPath::new("spec.endpoint"),
            &AddressPolicy::default(),
            &mut Vec::new(),
        )
        .unwrap()
}

pub(super) fn intent() -> Intent {
    Intent {
        namespace: "team-a".to_owned(),
        name: "shared-netbox-postgresql".to_owned(),
        owner: Uid::new("t-1"),
        secret_name: "netbox-db".to_owned(),
        store: Store {
            kind: StoreKind::ClusterSecretStore,
            name: "openbao".to_owned(),
        },
        entry_path: "tenantry/postgresql/team-a/netbox".to_owned(),
        kv_version: 7,
        endpoint: endpoint("192.0.2.10"),
        database: "netbox".to_owned(),
        role: "netbox_app".to_owned(),
        ca_pem: None,
    }
}
