//! `tenantry registry release`: forgets a retained record, so that its names are free, and says what a person may drop.
//!
//! Order: entry, then row: the row is the authority, and a release that ended half-way can be repeated. It drops no database and
//! no role.

use domain::tenancy::claim::Claim;
use domain::tenancy::facts::EntryFact;
use domain::tenancy::record;

use super::RegistryError;
use super::confirm::confirm;
use super::connect::{Registry, openbao};
use crate::cli::ReleaseOptions;
use crate::commands::print;

pub(super) async fn release(options: &ReleaseOptions) -> Result<(), RegistryError> {
    let registry = Registry::of(&options.instance).await?;
    let record = registry
        .record(&options.tenant, options.of_cluster.as_deref())
        .await?;
    let claim = &record.claim;
    record::release(claim, &record.living, &record.server).map_err(RegistryError::Refused)?;
    let openbao = openbao(&options.openbao)?;
    let entry = if options.row_only {
        EntryFact::Absent
    } else {
        let entry = openbao.read(&claim.secret_path).await;
        let entry = entry.map_err(RegistryError::OpenBao)?.fact;
        record::release_entry(claim, &entry).map_err(RegistryError::Refused)?;
        entry
    };
    let gone = entry == EntryFact::Absent;
    let plan = plan(claim, options.row_only, gone);
    confirm(&plan, &claim.tenant_uid, options.confirm.as_deref())?;
    if !gone {
        openbao
            .destroy(&claim.secret_path)
            .await
            .map_err(RegistryError::OpenBao)?;
    }
    registry
        .postgres
        .forget_claim(&registry.target, claim)
        .await
        .map_err(RegistryError::Server)?;
    let said = format!("released {}\n", options.tenant);
    print(&said).map_err(RegistryError::Terminal)
}

fn plan(claim: &Claim, row_only: bool, gone: bool) -> Vec<String> {
    let mut plan = vec![
        format!(
            "Release of {}/{} (UID {}):",
            claim.namespace, claim.name, claim.tenant_uid
        ),
        "  - delete the registry's row".to_owned(),
    ];
    plan.push(match (row_only, gone) {
        (true, _) => format!("  - OpenBao entry {} stays (--row-only)", claim.secret_path),
        (false, true) => format!("  - OpenBao entry {} is gone already", claim.secret_path),
        (false, false) => format!(
            "  - remove OpenBao entry {} with all its versions: the password is lost",
            claim.secret_path
        ),
    });
    plan.push("Left to you, where they still exist:".to_owned());
    plan.push(format!("  - DROP DATABASE \"{}\"", claim.database));
    plan.push(format!("  - DROP ROLE \"{}\"", claim.role));
    plan.push(format!(
        "  - the ExternalSecret in namespace {} that delivers Secret {}",
        claim.namespace, claim.secret_name
    ));
    plan
}
