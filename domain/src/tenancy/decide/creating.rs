//! From nothing to a database of one's own: one function a phase.
//!
//! Each verifies what it builds on, asks for the first effect that is missing, or saves the next phase. `Err` is a step too:
//! the conclusion that stopped the phase.

use super::{Step, Tenant, Then, rest};
use crate::tenancy::capability::RefusedExtension;
use crate::tenancy::claim::Claim;
use crate::tenancy::effect::TenantEffect;
use crate::tenancy::facts::{EntryFact, Facts, Holder, InstanceFact, Seen, ServerFacts};
use crate::tenancy::names::ExtensionName;
use crate::tenancy::proof::{EntryOwnership, entry_ownership};
use crate::tenancy::reason::{Ready, Reason, Retry};
use crate::tenancy::tenant::{TenantPhase, TenantStatus};

type Progress = Result<Step, Step>;

impl Tenant {
    /// Reads everything; a clash is found here, with nothing written and the fields still editable.
    pub(super) fn pending(&self, facts: &Facts) -> Progress {
        let server = self.server(facts)?;
        let refused_extensions = self.provisioning(facts)?;
        if let Some(claim) = self.claim_of_ours(server) {
            self.check_claim(claim, facts)?;
            return Ok(self.plan());
        }
        self.check_reserved(facts)?;
        self.check_entry_is_not_ours(facts)?;
        // Before the entry: a retained record of a dead UID explains an entry of that UID (T4), not the other way round.
        self.check_holders(server)?;
        self.check_entry_is_free(facts)?;
        if server.role.is_some() {
            return Err(self.conflict(format!(
                "role {} exists on the server and was not made for this tenant: choose another spec.loginRole",
                self.definition.role
            )));
        }
        if server.database.is_some() {
            return Err(self.conflict(format!(
                "database {} exists on the server and was not made for this tenant: choose another spec.database",
                self.definition.database
            )));
        }
        self.own_projection(facts)?;
        self.check_secret(facts)?;
        self.check_extensions(refused_extensions)?;
        Ok(self.plan())
    }

    fn plan(&self) -> Step {
        let status = TenantStatus {
            phase: TenantPhase::Planned,
            ready: Some(Ready::new(
                Reason::Reconciling,
                "names are free; claiming them",
            )),
            ..self.named()
        };
        self.save(status, Then::Continue)
    }

    /// The proof of this round that the Instance may be provisioned on; not observed is no proof (I2).
    fn provisioning<'f>(&self, facts: &'f Facts) -> Result<&'f [RefusedExtension], Step> {
        match &facts.instance {
            InstanceFact::Ready { provisioning, .. } => {
                self.known(provisioning, "the Instance").map(Vec::as_slice)
            }
            _ => Err(rest(Retry::Slow)),
        }
    }

    fn check_reserved(&self, facts: &Facts) -> Result<(), Step> {
        let invalid = |text: String| Err(self.conclude(Reason::InvalidSpec, text, Retry::Slow));
        if let Seen::Known(server) = &facts.server
            && server.role_is_admin
        {
            return invalid(
                "spec.loginRole is reserved on this Instance: choose another".to_owned(),
            );
        }
        if let Some(view) = facts.instance.view()
            && view.endpoint.database() == &self.definition.database
        {
            return invalid(format!(
                "spec.database {} is the management database of Instance {}: choose another",
                self.definition.database, view.name
            ));
        }
        Ok(())
    }

    fn check_extensions(&self, refused: &[RefusedExtension]) -> Result<(), Step> {
        if refused.is_empty() {
            return Ok(());
        }
        let clauses: Vec<String> = refused.iter().map(RefusedExtension::describe).collect();
        let text = format!(
            "spec.extensions: {}; remove it, or ask the administrator",
            clauses.join("; ")
        );
        Err(self.conclude(Reason::InvalidSpec, text, Retry::Slow))
    }

    /// Without a claim, an entry of our UID means that another registry made this Tenant (T5), or another Instance (D9).
    fn check_entry_is_not_ours(&self, facts: &Facts) -> Result<(), Step> {
        let entry = self.known(&facts.entry, "the OpenBao entry")?;
        if entry_ownership(&self.identity.uid, entry) != EntryOwnership::Ours {
            return Ok(());
        }
        if let (
            EntryFact::Present {
                data: Some(owner), ..
            },
            Some(view),
        ) = (entry, facts.instance.view())
            && owner.instance_name != view.name
        {
            return Err(self.other_instance(owner));
        }
        let place = facts.instance.view().map_or_else(String::new, |view| {
            format!(
                "{}:{}/{}",
                view.endpoint.hostaddr(),
                view.endpoint.port(),
                view.endpoint.database()
            )
        });
        Err(self.failed(format!(
            "this tenant has a password in OpenBao but no claim in the registry at {place}: the endpoint of Instance {} leads to \
             another server or database than the one that made it; point it back, or restore the registry",
            self.definition.instance
        )))
    }

    fn check_entry_is_free(&self, facts: &Facts) -> Result<(), Step> {
        self.check_entry_is_not_ours(facts)?;
        match self.known(&facts.entry, "the OpenBao entry")? {
            EntryFact::Absent => Ok(()),
            _ => Err(self.conflict(format!(
                "the OpenBao entry {} exists and is not this tenant's: an administrator must move it away",
                self.derived_path()
            ))),
        }
    }

    /// A row of another UID is in the way. One of a Tenant that is gone may be marked so, and nothing else (section 7).
    fn check_holders(&self, server: &ServerFacts) -> Result<(), Step> {
        if let Some(holder) = server.holders.iter().find(|holder| holder.is_left_behind()) {
            return Err(Step::Effect(TenantEffect::MarkUnmanaged(
                holder.claim.tenant_uid.clone(),
            )));
        }
        server
            .holders
            .first()
            .map_or(Ok(()), |holder| Err(self.held(holder)))
    }

    fn held(&self, holder: &Holder) -> Step {
        let Claim {
            namespace,
            name,
            database,
            role,
            ..
        } = &holder.claim;
        let other_names = "choose another spec.database and spec.loginRole";
        let (what, remedy) = match holder.alive {
            Some(true) => ("belongs to", other_names),
            Some(false) => (
                "was retained from",
                "choose other names, or ask an administrator to adopt or release the record",
            ),
            // Another cluster's row: whether its Tenant lives cannot be seen from here.
            None => ("is claimed by another cluster's", other_names),
        };
        self.conflict(format!(
            "database {database} with role {role} {what} tenant {namespace}/{name}: {remedy}"
        ))
    }

    /// Claim, then the password with its owner.
    pub(super) fn planned(&self, facts: &Facts) -> Progress {
        let server = self.server(facts)?;
        let Some(claim) = self.claim_of_ours(server) else {
            return self.planned_without_claim(facts);
        };
        self.check_claim(claim, facts)?;
        let entry = self.known(&facts.entry, "the OpenBao entry")?;
        if *entry == EntryFact::Absent && claim.applied_kv_version.is_none() {
            return Ok(Step::Effect(TenantEffect::WriteEntry));
        }
        if !self.own_entry(claim, facts)?.marked {
            return Ok(Step::Effect(TenantEffect::WriteEntryMetadata));
        }
        let path = claim.secret_path.as_str();
        let status = TenantStatus {
            phase: TenantPhase::CredentialCreated,
            openbao_url: Some(self.layout.url(path)),
            ready: Some(Ready::new(
                Reason::Reconciling,
                "password stored; making the role",
            )),
            ..self.named()
        };
        Ok(self.save(status, Then::Continue))
    }

    fn planned_without_claim(&self, facts: &Facts) -> Progress {
        // The spec was corrected since the plan: plan anew, with everything read again.
        if self.names_differ() {
            return self.pending(facts);
        }
        let server = self.server(facts)?;
        if !server.holders.is_empty() || server.role.is_some() || server.database.is_some() {
            // Something took a name in the meantime; `Pending` reads all of it and says what.
            return Ok(self.advance(
                TenantPhase::Pending,
                "a name was taken in the meantime: reading everything again",
            ));
        }
        self.check_reserved(facts)?;
        self.check_entry_is_free(facts)?;
        Ok(Step::Effect(TenantEffect::Claim))
    }

    /// The role, its verifier and its attributes.
    pub(super) fn credential_created(&self, facts: &Facts) -> Progress {
        let (claim, server) = self.own_claim(facts)?;
        let entry = self.own_entry(claim, facts)?;
        if !entry.marked {
            // A version without our mark is not applied (D13).
            return Ok(self.advance(
                TenantPhase::Planned,
                "the OpenBao entry lacks its owner's mark; writing it",
            ));
        }
        let Some(role) = self.own_role(claim, server)? else {
            self.own_database(claim, server)?;
            return Ok(Step::Effect(TenantEffect::CreateRole));
        };
        if claim.role_oid != Some(role.oid) || !role.can_login || !role.admin_is_member {
            return Ok(Step::Effect(TenantEffect::RepairRole));
        }
        if claim.applied_kv_version != Some(entry.version) {
            return Ok(Step::Effect(TenantEffect::SetVerifier));
        }
        Ok(self.advance(TenantPhase::RoleCreated, "role made; making the database"))
    }

    /// The database, shut to others, with its extensions, recorded.
    pub(super) fn role_created(&self, facts: &Facts) -> Progress {
        let (claim, server) = self.own_claim(facts)?;
        if self.own_role(claim, server)?.is_none() {
            return Ok(self.advance(
                TenantPhase::CredentialCreated,
                "the role is gone; making it again",
            ));
        }
        let Some(database) = self.own_database(claim, server)? else {
            return Ok(Step::Effect(TenantEffect::CreateDatabase));
        };
        if database.owned_by_admin || !database.connectable {
            return Ok(Step::Effect(TenantEffect::RepairDatabase));
        }
        if database.public_access {
            return Ok(Step::Effect(TenantEffect::CloseDatabase));
        }
        if let Some(missing) = self.missing_extension(facts)? {
            return Ok(Step::Effect(TenantEffect::CreateExtension(missing.clone())));
        }
        if !self.database_is_recorded(claim, database.oid) {
            return Ok(Step::Effect(TenantEffect::RecordDatabase));
        }
        let status = TenantStatus {
            phase: TenantPhase::DatabaseCreated,
            database_oid: Some(database.oid),
            ready: Some(Ready::new(
                Reason::Reconciling,
                "database made; projecting the password",
            )),
            ..self.named()
        };
        Ok(self.save(status, Then::Continue))
    }

    /// The first extension that the spec asks for and the database lacks. A Tenant that asks for none is not entered at all.
    pub(super) fn missing_extension(&self, facts: &Facts) -> Result<Option<&ExtensionName>, Step> {
        let asked = &self.definition.extensions;
        if asked.is_empty() {
            return Ok(None);
        }
        let installed = self.known(&facts.inside, "the tenant database")?;
        Ok(asked.iter().find(|name| !installed.contains(name.as_str())))
    }

    pub(super) fn database_is_recorded(&self, claim: &Claim, oid: u32) -> bool {
        let recorded = |name: &str| claim.extensions.iter().any(|extension| extension == name);
        claim.database_oid == Some(oid)
            && self
                .definition
                .extensions
                .iter()
                .all(|name| recorded(name.as_str()))
    }
}
