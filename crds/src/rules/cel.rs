//! Pieces of CEL that several rules share. Decides how values are quoted; says nothing of its own.

use domain::tenancy::names::{EXTENSION_PATTERN, IDENTIFIER_PATTERN};
use domain::tenancy::tenant::TenantPhase;

/// Guard of the rules at the root (D4): an update that leaves the spec as it was passes.
pub(super) const UNCHANGED: &str = "(oldSelf.hasValue() && self.spec == oldSelf.value().spec) || ";

/// Once the controller deletes, the spec stays as it is.
pub(super) const FROZEN_WHILE_DELETING: &str = "!has(self.status) || !has(self.status.phase) || self.status.phase != 'Deleting' || self.spec == oldSelf.spec";

/// The database in effect.
pub(super) const DATABASE: &str =
    "(has(self.spec.database) ? self.spec.database : self.metadata.name)";
/// The login role in effect.
pub(super) const LOGIN_ROLE: &str =
    "(has(self.spec.loginRole) ? self.spec.loginRole : self.metadata.name)";

/// A DNS subdomain (C2).
pub(super) const SUBDOMAIN: &str = "!format.dns1123Subdomain().validate(self).hasValue()";

/// Guard of the immutability rules: by status nothing is created yet (D3), or the spec stays as it was (D4).
pub(super) fn not_created() -> String {
    let early: Vec<&str> = TenantPhase::ALL
        .iter()
        .filter(|phase| !phase.says_created())
        .map(|phase| phase.as_str())
        .collect();
    format!(
        "!has(self.status) || !has(self.status.phase) || self.status.phase in {} || self.spec == oldSelf.spec || ",
        list(&early)
    )
}

/// A PostgreSQL identifier (C1).
pub(super) fn identifier(value: &str) -> String {
    format!("{value}.matches({})", quoted(IDENTIFIER_PATTERN))
}

/// An extension's name.
pub(super) fn extension() -> String {
    format!("self.matches({})", quoted(EXTENSION_PATTERN))
}

/// A CEL string literal.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A CEL list of string literals.
pub(super) fn list(items: &[&str]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}
