//! `tenantry registry adopt`: gives a retained record, with its data and its password, to the Tenant that lives under its name
//! now; or to the same Tenant under a re-created Instance.
//!
//! Order: entry, ExternalSecret, then the row with the role's comment: while the row is the old owner's, the adoption is not
//! done, and one that ended half-way is completed by the same command.

use domain::tenancy::facts::EntryFact;
use domain::tenancy::names::derived_secret_name;
use domain::tenancy::record::{self, Adopter, Adoption};
use domain::tenancy::tenant::TenantDefinition;

use super::RegistryError;
use super::confirm::confirm;
use super::connect::{Record, Registry, openbao, split};
use crate::adapters::kubernetes::DEADLINE;
use crate::adapters::openbao::{Entry, OpenBao};
use crate::adapters::projection::Projections;
use crate::cli::AdoptOptions;
use crate::commands::print;

pub(super) async fn adopt(options: &AdoptOptions) -> Result<(), RegistryError> {
    let registry = Registry::of(&options.instance).await?;
    let record = registry
        .record(&options.tenant, options.of_cluster.as_deref())
        .await?;
    let openbao = openbao(&options.openbao)?;
    let entry = openbao
        .read(&record.claim.secret_path)
        .await
        .map_err(RegistryError::OpenBao)?;
    let adoption = judge(&registry, &record, &entry.fact, &options.tenant).await?;
    confirm(
        &plan(&record, &adoption, &options.tenant),
        &adoption.given_up,
        options.confirm.as_deref(),
    )?;
    carry_out(&registry, &openbao, &record, &entry, &adoption).await?;
    let said = format!(
        "adopted {} by UID {}\n",
        options.tenant, adoption.owner.tenant_uid
    );
    print(&said).map_err(RegistryError::Terminal)
}

async fn judge(
    registry: &Registry,
    record: &Record,
    entry: &EntryFact,
    tenant: &str,
) -> Result<Adoption, RegistryError> {
    let (namespace, name) = split(tenant)?;
    let missing = || RegistryError::NoTenant(tenant.to_owned());
    let object = registry
        .cluster
        .tenant(namespace, name)
        .await
        .map_err(RegistryError::Cluster)?
        .ok_or_else(missing)?;
    let identity = object.identity().ok_or_else(missing)?;
    let definition = TenantDefinition::parse(&object.draft()).map_err(|violations| {
        RegistryError::IllegalTenant {
            name: tenant.to_owned(),
            why: violations.to_string(),
        }
    })?;
    let adopter = Adopter {
        cluster_uid: &registry.cluster_uid,
        tenant: &identity,
        definition: &definition,
        deleting: object.is_deleting(),
        instance: &registry.instance,
    };
    record::adopt(
        &record.claim,
        &record.living,
        &record.server,
        entry,
        &adopter,
    )
    .map_err(RegistryError::Refused)
}

async fn carry_out(
    registry: &Registry,
    openbao: &OpenBao,
    record: &Record,
    entry: &Entry,
    adoption: &Adoption,
) -> Result<(), RegistryError> {
    let claim = &record.claim;
    let EntryFact::Present { version, .. } = entry.fact else {
        return Ok(());
    };
    let mut latest = version;
    if adoption.entry {
        let Some(password) = &entry.password else {
            return Err(RegistryError::Refused(vec![format!(
                "OpenBao entry {} holds no password",
                claim.secret_path
            )]));
        };
        latest = openbao
            .hand_over(
                &claim.secret_path,
                &claim.tenant_uid,
                &adoption.owner,
                password,
                version,
            )
            .await
            .map_err(RegistryError::OpenBao)?;
    }
    let projections = Projections::new(registry.client.clone(), DEADLINE);
    let name = derived_secret_name(&registry.instance.name, &claim.name);
    projections
        .hand_over(
            &claim.namespace,
            &name,
            &adoption.known,
            &adoption.owner.tenant_uid,
        )
        .await
        .map_err(RegistryError::Projection)?;
    // The new version holds the password of the old one: the role's verifier is of it if it was of that.
    let applied = claim.applied_kv_version == Some(version);
    registry
        .postgres
        .hand_over(
            &registry.target,
            claim,
            &adoption.owner,
            &registry.cluster_uid,
            applied.then_some(latest),
        )
        .await
        .map_err(RegistryError::Server)
}

fn plan(record: &Record, adoption: &Adoption, tenant: &str) -> Vec<String> {
    let claim = &record.claim;
    let mut plan = vec![format!(
        "Adoption of {tenant} by UID {} under Instance {}; UID {} is given up:",
        adoption.owner.tenant_uid, adoption.owner.instance_name, adoption.given_up
    )];
    plan.push(if adoption.entry {
        format!(
            "  - OpenBao entry {}: a new version with the same password, marked with the new UID",
            claim.secret_path
        )
    } else {
        format!("  - OpenBao entry {}: done already", claim.secret_path)
    });
    plan.push("  - the ExternalSecret: annotated with the new UID, where it is there".to_owned());
    plan.push(format!(
        "  - the registry's row and the comment of role {}: the new UID",
        claim.role
    ));
    plan.push(format!(
        "Database {} and its data, role and password stay as they are.",
        claim.database
    ));
    plan
}
