//! From an Instance's name to its registry: the cluster by kubeconfig, the admin's login by its Secret.
//!
//! Decides how a row and its Tenant are looked up. It writes nothing.

use std::sync::Arc;

use domain::tenancy::capability::TargetBinding;
use domain::tenancy::claim::Claim;
use domain::tenancy::endpoint::AddressPolicy;
use domain::tenancy::facts::ServerFacts;
use domain::tenancy::names::Uid;
use domain::tenancy::record::Living;
use domain::tenancy::registration::{InstanceDefinition, InstanceIdentity};
use kube::{Client, ResourceExt};

use super::RegistryError;
use crate::adapters::kubernetes::{Cluster, DEADLINE};
use crate::adapters::openbao::OpenBao;
use crate::adapters::postgres::{Postgres, PostgresSettings, ServerTarget};
use crate::cli::{InstanceOptions, OpenBaoOptions};
use crate::run::openbao_settings;

/// A registry that can be read.
pub(super) struct Registry {
    pub(super) client: Client,
    pub(super) cluster: Cluster,
    pub(super) cluster_uid: Uid,
    pub(super) instance: InstanceIdentity,
    pub(super) postgres: Postgres,
    pub(super) target: ServerTarget,
}

/// A row with what the server and the API say of it.
pub(super) struct Record {
    pub(super) claim: Claim,
    pub(super) server: ServerFacts,
    pub(super) living: Living,
}

impl Registry {
    pub(super) async fn of(options: &InstanceOptions) -> Result<Self, RegistryError> {
        let trust = certs::Trust::load(options.postgres_ca_file.as_deref())
            .map_err(RegistryError::Roots)?;
        let config = kube::Config::infer().await.map_err(RegistryError::Config)?;
        let namespace = options
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(RegistryError::Client)?;
        let cluster = Cluster::new(client.clone(), namespace, DEADLINE);
        let cluster_uid = cluster.uid().await.map_err(RegistryError::Cluster)?;
        let name = &options.instance;
        let object = cluster
            .instance(name)
            .await
            .map_err(RegistryError::Cluster)?;
        let missing = || RegistryError::NoInstance(name.clone());
        let object = object.ok_or_else(missing)?;
        let instance = object.identity().ok_or_else(missing)?;
        // Addresses that `run` is told to refuse were a rule for tenants; a person who runs this chose the Instance.
        let definition = InstanceDefinition::parse(&object.spec.draft(), &AddressPolicy::default())
            .map_err(|violations| RegistryError::IllegalInstance {
                name: name.clone(),
                why: violations.to_string(),
            })?;
        let credential = cluster
            .admin_credential(&definition.credential)
            .await
            .map_err(RegistryError::Credential)?;
        Ok(Self {
            client,
            cluster,
            cluster_uid,
            target: ServerTarget {
                binding: TargetBinding {
                    uid: instance.uid.clone(),
                    revision: object.revision(),
                    endpoint: definition.endpoint,
                    credential: definition.credential,
                },
                credential: Arc::new(credential),
            },
            instance,
            postgres: Postgres::new(PostgresSettings::new(Arc::new(trust))),
        })
    }

    /// Every row.
    pub(super) async fn records(&self) -> Result<Vec<Record>, RegistryError> {
        let rows = self
            .postgres
            .survey(&self.target)
            .await
            .map_err(RegistryError::Server)?;
        let mut records = Vec::with_capacity(rows.len());
        for (claim, server) in rows {
            let living = self.living(&claim).await?;
            records.push(Record {
                claim,
                server,
                living,
            });
        }
        Ok(records)
    }

    /// The row of `NAMESPACE/NAME`, of this cluster unless another is named.
    pub(super) async fn record(
        &self,
        tenant: &str,
        of_cluster: Option<&str>,
    ) -> Result<Record, RegistryError> {
        let (namespace, name) = split(tenant)?;
        let cluster_uid = of_cluster.unwrap_or(self.cluster_uid.as_str());
        let rows = self
            .postgres
            .survey(&self.target)
            .await
            .map_err(RegistryError::Server)?;
        let found = rows.into_iter().find(|(claim, _)| {
            claim.namespace == namespace
                && claim.name == name
                && claim.cluster_uid.as_str() == cluster_uid
        });
        let (claim, server) =
            found.ok_or_else(|| RegistryError::NoRow(tenant.to_owned(), cluster_uid.to_owned()))?;
        let living = self.living(&claim).await?;
        Ok(Record {
            claim,
            server,
            living,
        })
    }

    async fn living(&self, claim: &Claim) -> Result<Living, RegistryError> {
        if claim.cluster_uid != self.cluster_uid {
            return Ok(Living::Elsewhere);
        }
        let found = self
            .cluster
            .tenant(&claim.namespace, &claim.name)
            .await
            .map_err(RegistryError::Cluster)?;
        Ok(match found.and_then(|tenant| tenant.uid()) {
            Some(uid) if uid == claim.tenant_uid.as_str() => Living::Same,
            Some(uid) => Living::Another(Uid::new(uid)),
            None => Living::Gone,
        })
    }
}

/// `NAMESPACE/NAME`.
pub(super) fn split(tenant: &str) -> Result<(&str, &str), RegistryError> {
    tenant
        .split_once('/')
        .filter(|(namespace, name)| {
            !namespace.is_empty() && !name.is_empty() && !name.contains('/')
        })
        .ok_or_else(|| RegistryError::NotAName(tenant.to_owned()))
}

/// OpenBao as `tenantry run` reaches it.
pub(super) fn openbao(options: &OpenBaoOptions) -> Result<OpenBao, RegistryError> {
    OpenBao::new(openbao_settings(options)).map_err(RegistryError::OpenBaoSettings)
}
