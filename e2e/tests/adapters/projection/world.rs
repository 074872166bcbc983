//! What the tests of projections stand on: a namespace of the bed with an entry and an ExternalSecret. Asserts nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::tenancy::endpoint::{AddressPolicy, Endpoint, EndpointDraft};
use domain::tenancy::facts::{Projection, ProjectionFact, ProjectionReady, SecretFact};
use domain::tenancy::names::Uid;
use domain::violation::FieldPath;
use e2e::Bed;
use e2e::world::objects::Namespace;
use jiff::Timestamp;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::Value;
use tenantry::adapters::projection::{Intent, Projections, Store, StoreKind};

pub(super) const DEADLINE: Duration = Duration::from_secs(10);
/// What a person may write by hand: everything that a format could trip over.
pub(super) const HOSTILE: &str = r#"p@ss w:o\rd/?#%+&='"é"#;

pub(super) struct World {
    pub(super) bed: Bed,
    pub(super) namespace: Namespace,
    pub(super) projections: Projections,
}

impl World {
    pub(super) async fn new(story: &str) -> Self {
        let bed = Bed::shared().unwrap();
        let namespace = Namespace::create(&bed, story).await.unwrap();
        let projections = Projections::new(namespace.client().clone(), DEADLINE);
        Self {
            bed,
            namespace,
            projections,
        }
    }

    pub(super) fn intent(&self) -> Intent {
        Intent {
            namespace: self.namespace.name.clone(),
            name: "shared-app-postgresql".to_owned(),
            owner: Uid::new("0e3b6c0e-0000-4000-8000-000000000001"),
            secret_name: "app-db".to_owned(),
            store: Store {
                kind: StoreKind::ClusterSecretStore,
                name: "openbao".to_owned(),
            },
            entry_path: format!("tenantry/postgresql/{}/app", self.namespace.name),
            kv_version: 1,
            endpoint: endpoint(),
            database: "app".to_owned(),
            role: "app_role".to_owned(),
            ca_pem: None,
        }
    }

    /// Writes a new version of the entry.
    pub(super) async fn password(&self, password: &str) {
        let data = BTreeMap::from([("password", password)]);
        let root = self.bed.openbao().root().unwrap();
        vaultrs::kv2::set(&root, "secret", &self.intent().entry_path, &data)
            .await
            .unwrap();
    }

    pub(super) async fn observe(&self, wanted: &Intent) -> Option<Projection> {
        let seen = self
            .projections
            .observe(
                &wanted.namespace,
                &wanted.name,
                Some(wanted),
                Timestamp::now(),
            )
            .await;
        match seen.unwrap().fact {
            ProjectionFact::Absent => None,
            ProjectionFact::Present(projection) => Some(projection),
        }
    }

    /// Waits until ESO has said something of the present generation.
    pub(super) async fn until(
        &self,
        wanted: &Intent,
        holds: impl Fn(&Projection) -> bool,
    ) -> Projection {
        let start = Instant::now();
        loop {
            let projection = self.observe(wanted).await.unwrap();
            if holds(&projection) {
                return projection;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{projection:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) async fn delivered(&self, wanted: &Intent) -> Projection {
        self.until(wanted, |projection| {
            projection.synced && projection.ready == ProjectionReady::True
        })
        .await
    }

    pub(super) fn objects(&self) -> Api<DynamicObject> {
        self.namespace
            .objects("external-secrets.io/v1", "ExternalSecret")
    }

    pub(super) async fn edit(&self, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        self.objects()
            .patch(&self.intent().name, &params, &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    pub(super) async fn secret(&self) -> SecretFact {
        let intent = self.intent();
        self.projections
            .secret(&intent.namespace, &intent.secret_name, &intent.name)
            .await
            .unwrap()
    }
}

pub(super) fn endpoint() -> Endpoint {
    let draft = EndpointDraft {
        host: "postgresql.bed.test",
        hostaddr: "127.0.0.1",
        port: 5432,
        database: "tenantry",
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
