//! The ExternalSecret that a Tenant wants, as a pure function of its intent.

use domain::tenancy::endpoint::Endpoint;
use domain::tenancy::names::Uid;
use serde_json::{Value, json};

use super::template;
use super::{TENANT_UID, resource};

/// Which kind of store ESO reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// In the Tenant's namespace.
    SecretStore,
    /// For the whole cluster.
    ClusterSecretStore,
}

impl StoreKind {
    /// The kind's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SecretStore => "SecretStore",
            Self::ClusterSecretStore => "ClusterSecretStore",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::SecretStore, Self::ClusterSecretStore]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// The store that ESO reads from; of the deployment, never of a Tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Its kind.
    pub kind: StoreKind,
    /// Its name.
    pub name: String,
}

/// What a Tenant wants delivered. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The Tenant's namespace.
    pub namespace: String,
    /// The ExternalSecret's name.
    pub name: String,
    /// The Tenant's UID.
    pub owner: Uid,
    /// The target Secret.
    pub secret_name: String,
    /// The store.
    pub store: Store,
    /// The entry's path under the store's mount.
    pub entry_path: String,
    /// The KV version that is delivered (D8).
    pub kv_version: u64,
    /// Where the database is.
    pub endpoint: Endpoint,
    /// The database.
    pub database: String,
    /// The login role.
    pub role: String,
    /// The CA bundle that clients verify the server with, if the deployment has one.
    pub ca_pem: Option<String>,
}

/// The whole ExternalSecret for server-side apply.
///
/// Values that the API server would fill in are written out, and in the form in which it stores them, so that a later comparison
/// finds no difference. The empty lists are ours too, so that nobody can add a source to the Secret (H29).
#[must_use]
pub fn body(intent: &Intent) -> Value {
    let resource = resource();
    json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": intent.name,
            "namespace": intent.namespace,
            "labels": { "app.kubernetes.io/managed-by": "tenantry", TENANT_UID: intent.owner.as_str() },
            "annotations": { TENANT_UID: intent.owner.as_str() },
        },
        "spec": {
            "secretStoreRef": { "kind": intent.store.kind.as_str(), "name": intent.store.name },
            "refreshPolicy": "Periodic",
            "refreshInterval": "1h0m0s",
            "target": {
                "name": intent.secret_name,
                "creationPolicy": "Owner",
                "deletionPolicy": "Retain",
                "template": {
                    "engineVersion": "v2",
                    "mergePolicy": "Replace",
                    // A type that differs from a foreign Secret's makes ESO fail instead of taking that Secret over (D6).
                    "type": "servicebinding.io/postgresql",
                    "data": template::data(intent),
                    "templateFrom": [],
                },
            },
            "data": [{
                "secretKey": template::PASSWORD,
                "remoteRef": {
                    "key": intent.entry_path,
                    "property": "password",
                    "version": intent.kv_version.to_string(),
                    "conversionStrategy": "Default",
                    "decodingStrategy": "None",
                    "metadataPolicy": "None",
                },
            }],
            "dataFrom": [],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::example::intent;
    use super::*;

    #[test]
    fn d7_d8_the_external_secret_is_this_and_nothing_else() {
        let mut body = body(&intent());
        let data = body
            .pointer_mut("/spec/target/template/data")
            .map(Value::take);
        assert!(data.is_some_and(|data| data.is_object()));
        assert_eq!(
            body,
            json!({
                "apiVersion": "external-secrets.io/v1",
                "kind": "ExternalSecret",
                "metadata": {
                    "name": "shared-netbox-postgresql",
                    "namespace": "team-a",
                    "labels": { "app.kubernetes.io/managed-by": "tenantry", "database.ddupan.top/tenant-uid": "t-1" },
                    "annotations": { "database.ddupan.top/tenant-uid": "t-1" },
                },
                "spec": {
                    "secretStoreRef": { "kind": "ClusterSecretStore", "name": "openbao" },
                    "refreshPolicy": "Periodic",
                    "refreshInterval": "1h0m0s",
                    "target": {
                        "name": "netbox-db",
                        "creationPolicy": "Owner",
                        "deletionPolicy": "Retain",
                        "template": {
                            "engineVersion": "v2",
                            "mergePolicy": "Replace",
                            "type": "servicebinding.io/postgresql",
                            "data": null,
                            "templateFrom": [],
                        },
                    },
                    "data": [{
                        "secretKey": "password",
                        "remoteRef": {
                            "key": "tenantry/postgresql/team-a/netbox",
                            "property": "password",
                            "version": "7",
                            "conversionStrategy": "Default",
                            "decodingStrategy": "None",
                            "metadataPolicy": "None",
                        },
                    }],
                    "dataFrom": [],
                },
            })
        );
    }
}
