//! A registry row in the hands of a person: what contradicts it, who may release it, who may adopt it (T4).
//!
//! Decides from facts, like a round does, and refuses whenever a fact speaks against the row: what is not proved is not given
//! away. It never judges a living Tenant's own progress; that is [`super::decide`].

use super::claim::{Claim, ClaimState};
use super::facts::{EntryFact, EntryOwner, ServerFacts};
use super::names::Uid;
use super::proof::{database_is_ours, role_is_ours};
use super::registration::InstanceIdentity;
use super::tenant::{TenantDefinition, TenantIdentity};

/// What the API server says of the Tenant that a row names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Living {
    /// It lives, under the row's UID.
    Same,
    /// One of that name lives under another UID.
    Another(Uid),
    /// There is none.
    Gone,
    /// The row is of another cluster, which cannot be asked from here.
    Elsewhere,
}

/// What on the server speaks against a row: something of its names that is not what was recorded. Nothing there is no
/// contradiction: a person may have dropped it.
#[must_use]
pub fn contradictions(claim: &Claim, server: &ServerFacts) -> Vec<String> {
    let recorded = claim.recorded();
    let mut found = Vec::new();
    if let Some(role) = &server.role
        && !role_is_ours(&recorded, role)
    {
        found.push(differs("role", &claim.role, role.oid, claim.role_oid));
    }
    if let Some(database) = &server.database
        && !database_is_ours(&recorded, server.role.as_ref(), database)
        && !recorded.is_own_database_of_admin(database.oid, database.owned_by_admin)
    {
        found.push(
            if claim.database_oid.is_none_or(|oid| oid == database.oid) {
                format!(
                    "database {} (OID {}) is not owned by the row's role",
                    claim.database, database.oid
                )
            } else {
                differs(
                    "database",
                    &claim.database,
                    database.oid,
                    claim.database_oid,
                )
            },
        );
    }
    found
}

fn differs(what: &str, name: &str, oid: u32, recorded: Option<u32>) -> String {
    match recorded {
        Some(recorded) => format!(
            "{what} {name} has OID {oid}, the row records {recorded}: it is another {what} of that name"
        ),
        None => format!("{what} {name} (OID {oid}) is there, but the row records none"),
    }
}

/// True if no Tenant uses the row: it was marked so, or its Tenant is gone.
#[must_use]
pub fn is_retained(claim: &Claim, living: &Living) -> bool {
    match living {
        Living::Same => false,
        Living::Another(_) | Living::Gone => true,
        Living::Elsewhere => claim.state == ClaimState::Unmanaged,
    }
}

/// Whether a row may be forgotten. The UID that is given up is the row's Tenant.
///
/// # Errors
/// Everything that speaks against it.
pub fn release(claim: &Claim, living: &Living, server: &ServerFacts) -> Result<(), Vec<String>> {
    let mut against = contradictions(claim, server);
    if !is_retained(claim, living) {
        against.push(match living {
            Living::Elsewhere => format!(
                "the row is of another cluster ({}) and not marked as unmanaged: delete its Tenant there first",
                claim.cluster_uid
            ),
            _ => format!(
                "Tenant {}/{} lives and uses the row: delete the Tenant first",
                claim.namespace, claim.name
            ),
        });
    }
    refuse(against)
}

/// Whether an entry may be removed with its row: it is the row's, or there is none.
///
/// # Errors
/// Whose it may be instead.
pub fn release_entry(claim: &Claim, entry: &EntryFact) -> Result<(), Vec<String>> {
    match foreign_mark(entry, &[&claim.tenant_uid]) {
        None => Ok(()),
        Some(text) => Err(vec![format!("OpenBao entry {}: {text}", claim.secret_path)]),
    }
}

/// Who takes a row over.
#[derive(Clone, Copy, Debug)]
pub struct Adopter<'a> {
    /// The cluster that the command talks to.
    pub cluster_uid: &'a Uid,
    /// The Tenant as it lives now.
    pub tenant: &'a TenantIdentity,
    /// Its spec.
    pub definition: &'a TenantDefinition,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// The Instance that it names.
    pub instance: &'a InstanceIdentity,
}

/// What adopting changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// The UID that is given up: the dead Tenant's, or the re-created Instance's where the Tenant is the same.
    pub given_up: Uid,
    /// The Tenant UIDs that a part may carry before it: the row's, and the adopter's after an attempt that ended half-way.
    pub known: Vec<Uid>,
    /// Who owns everything afterwards.
    pub owner: EntryOwner,
    /// The entry has to be written anew; not so after an attempt that ended half-way. The row is always last: while it is the old
    /// owner's, the adoption is not done.
    pub entry: bool,
}

/// Whether a Tenant may take a row over (T4), and what that changes.
///
/// # Errors
/// Everything that speaks against it.
pub fn adopt(
    claim: &Claim,
    living: &Living,
    server: &ServerFacts,
    entry: &EntryFact,
    adopter: &Adopter<'_>,
) -> Result<Adoption, Vec<String>> {
    let same_tenant = claim.tenant_uid == adopter.tenant.uid;
    let settled = same_tenant
        && claim.instance_uid == adopter.instance.uid
        && claim.cluster_uid == *adopter.cluster_uid;
    if settled {
        return Err(vec![
            "the record is this Tenant's already: there is nothing to adopt".to_owned(),
        ]);
    }
    let mut against = contradictions(claim, server);
    against.extend(missing(claim, server));
    if !same_tenant && !is_retained(claim, living) {
        against.push(format!(
            "the row is in use by a Tenant with UID {}: only a retained one can be adopted",
            claim.tenant_uid
        ));
    }
    if claim.state == ClaimState::Deleting {
        against.push(
            "the row's Tenant was being deleted: what is left of it is to be released, not adopted"
                .to_owned(),
        );
    }
    against.extend(unlike(claim, adopter));
    let known = vec![claim.tenant_uid.clone(), adopter.tenant.uid.clone()];
    let marks: Vec<&Uid> = known.iter().collect();
    match entry {
        EntryFact::Present { .. } => against.extend(
            foreign_mark(entry, &marks)
                .map(|text| format!("OpenBao entry {}: {text}", claim.secret_path)),
        ),
        EntryFact::Absent | EntryFact::Deleted { .. } => against.push(format!(
            "OpenBao entry {} is gone, and the password with it: write it back first",
            claim.secret_path
        )),
    }
    let owner = EntryOwner {
        tenant_uid: adopter.tenant.uid.clone(),
        instance_uid: adopter.instance.uid.clone(),
        instance_name: adopter.instance.name.clone(),
        database: claim.database.clone(),
        role: claim.role.clone(),
    };
    refuse(against)?;
    let entry = !matches!(entry, EntryFact::Present { data: Some(data), metadata: Some(metadata), .. }
        if *data == owner && *metadata == owner.tenant_uid);
    Ok(Adoption {
        given_up: given_up(claim, adopter),
        known,
        owner,
        entry,
    })
}

fn given_up(claim: &Claim, adopter: &Adopter<'_>) -> Uid {
    if claim.tenant_uid == adopter.tenant.uid && claim.instance_uid != adopter.instance.uid {
        claim.instance_uid.clone()
    } else {
        claim.tenant_uid.clone()
    }
}

/// A record without its role or database is nothing that a Tenant could go on with.
fn missing(claim: &Claim, server: &ServerFacts) -> Vec<String> {
    let mut found = Vec::new();
    if server.role.is_none() {
        found.push(format!("role {} is gone", claim.role));
    }
    if server.database.is_none() {
        found.push(format!("database {} is gone", claim.database));
    }
    found
}

/// What the new Tenant's spec must share with the row, because it cannot be changed any more (M1, M2).
fn unlike(claim: &Claim, adopter: &Adopter<'_>) -> Vec<String> {
    let spec = adopter.definition;
    let mut found = Vec::new();
    if adopter.deleting {
        found.push("the new Tenant is being deleted".to_owned());
    }
    let fields = [
        (
            "instanceRef",
            adopter.instance.name.as_str(),
            spec.instance.as_str(),
        ),
        ("database", claim.database.as_str(), spec.database.as_str()),
        ("loginRole", claim.role.as_str(), spec.role.as_str()),
        (
            "credential.secretName",
            claim.secret_name.as_str(),
            spec.secret_name.as_str(),
        ),
    ];
    for (field, recorded, wanted) in fields {
        if recorded != wanted {
            found.push(format!(
                "spec.{field} of the new Tenant is {wanted}, the record has {recorded}: set it to {recorded} first"
            ));
        }
    }
    for name in &claim.extensions {
        if !spec.extensions.iter().any(|wanted| wanted.as_str() == name) {
            found.push(format!(
                "spec.extensions of the new Tenant lacks {name}, which is installed: add it first"
            ));
        }
    }
    found
}

/// A mark on an entry that is none of the known UIDs, or that there is no mark at all.
fn foreign_mark(entry: &EntryFact, known: &[&Uid]) -> Option<String> {
    let (data, metadata) = match entry {
        EntryFact::Absent => return None,
        EntryFact::Deleted { metadata } => (None, metadata.as_ref()),
        EntryFact::Present { data, metadata, .. } => (
            data.as_ref().map(|owner| &owner.tenant_uid),
            metadata.as_ref(),
        ),
    };
    let marks: Vec<&Uid> = data.into_iter().chain(metadata).collect();
    if marks.is_empty() {
        return Some("it carries no Tenant's UID".to_owned());
    }
    marks
        .iter()
        .find(|mark| !known.contains(mark))
        .map(|mark| format!("it carries the UID {mark}, which is not the row's"))
}

fn refuse(against: Vec<String>) -> Result<(), Vec<String>> {
    if against.is_empty() {
        Ok(())
    } else {
        Err(against)
    }
}
