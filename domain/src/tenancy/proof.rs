//! Proofs of ownership: by UID and OID, never by name (D1, T3).
//!
//! The rules that rounds and the SQL adapter's own re-checks share. It concludes nothing about a Tenant; that is in
//! [`super::decide`] and [`super::deletion`].

use super::claim::Recorded;
use super::facts::{DatabaseFact, EntryFact, RoleFact, ServerFacts};
use super::names::Uid;

/// [`Recorded::is_own_role`] of a fact.
pub(super) fn role_is_ours(recorded: &Recorded<'_>, role: &RoleFact) -> bool {
    recorded.is_own_role(role.oid, role.comment_uid.as_ref())
}

/// [`Recorded::is_own_database`] of facts.
pub(super) fn database_is_ours(
    recorded: &Recorded<'_>,
    role: Option<&RoleFact>,
    database: &DatabaseFact,
) -> bool {
    let own_role = role.filter(|role| role_is_ours(recorded, role));
    recorded.is_own_database(
        database.oid,
        database.owner_oid,
        own_role.map(|role| role.oid),
    )
}

/// The database, if it is proved to be the claim's: only such a one is entered.
#[must_use]
pub fn own_database(server: &ServerFacts) -> Option<&DatabaseFact> {
    let recorded = server.claim.as_ref()?.recorded();
    let database = server.database.as_ref();
    database.filter(|database| database_is_ours(&recorded, server.role.as_ref(), database))
}

/// Whose entry this is, as far as data and custom metadata agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryOwnership {
    /// Nothing there.
    Nobodys,
    /// Ours by data or custom metadata, and neither says otherwise.
    Ours,
    /// Someone else's, or unmarked.
    Foreign,
}

/// Judges an entry by the UID that owns this Tenant.
pub(super) fn entry_ownership(uid: &Uid, entry: &EntryFact) -> EntryOwnership {
    let (data, metadata) = match entry {
        EntryFact::Absent => return EntryOwnership::Nobodys,
        EntryFact::Deleted { metadata } => (None, metadata.as_ref()),
        EntryFact::Present { data, metadata, .. } => (
            data.as_ref().map(|owner| &owner.tenant_uid),
            metadata.as_ref(),
        ),
    };
    let marks: Vec<&Uid> = data.into_iter().chain(metadata).collect();
    if !marks.is_empty() && marks.iter().all(|mark| *mark == uid) {
        EntryOwnership::Ours
    } else {
        EntryOwnership::Foreign
    }
}
