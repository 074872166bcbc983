//! Rules of `PostgreSQLInstance`: C1, C2, D4, D11, D17.

use domain::tenancy::endpoint::DENIED_RANGES;

use super::text::{of_deleting_instance, of_instance};
use super::{Placed, Why, at_field, cel, frozen_while_deleting};

/// A key of a Secret's data; its length is the schema's.
const DATA_KEY: &str = "self.matches('^[-._a-zA-Z0-9]+$') && self != '.' && !self.startsWith('..')";

/// Every rule of the kind.
pub(crate) fn instance_rules() -> Vec<Placed> {
    let host = of_instance("spec.endpoint.host", |draft| draft.endpoint.host = "");
    let hostaddr = of_instance("spec.endpoint.hostaddr", |draft| {
        draft.endpoint.hostaddr = "";
    });
    let database = of_instance("spec.endpoint.database", |draft| {
        draft.endpoint.database = "";
    });
    let secret = of_instance("spec.adminCredentialRef.name", |draft| {
        draft.secret_name = "";
    });
    let username_key = of_instance("spec.adminCredentialRef.usernameKey", |draft| {
        draft.username_key = "";
    });
    let password_key = of_instance("spec.adminCredentialRef.passwordKey", |draft| {
        draft.password_key = "";
    });
    let mut rules = vec![
        at_field(
            "spec.endpoint.host",
            format!("{} && !isIP(self)", cel::SUBDOMAIN),
            Why::Invalid,
            host,
        ),
        at_field(
            "spec.endpoint.hostaddr",
            "isIP(self)",
            Why::Invalid,
            hostaddr,
        ),
        at_field(
            "spec.endpoint.database",
            cel::identifier("self"),
            Why::Invalid,
            database,
        ),
        at_field(
            "spec.adminCredentialRef.name",
            cel::SUBDOMAIN,
            Why::Invalid,
            secret,
        ),
        at_field(
            "spec.adminCredentialRef.usernameKey",
            DATA_KEY,
            Why::Invalid,
            username_key,
        ),
        at_field(
            "spec.adminCredentialRef.passwordKey",
            DATA_KEY,
            Why::Invalid,
            password_key,
        ),
        frozen_while_deleting(of_deleting_instance()),
    ];
    rules.extend(DENIED_RANGES.iter().map(|range| outside(range)));
    rules
}

/// The address is not in a range that no deployment allows (D17).
fn outside(range: &'static str) -> Placed {
    let network = range.split('/').next().unwrap_or(range);
    let said = of_instance("spec.endpoint.hostaddr", |draft| {
        draft.endpoint.hostaddr = network;
    });
    let rule = format!(
        "!isIP(self) || !cidr({}).containsIP(ip(self))",
        cel::quoted(range)
    );
    at_field(
        "spec.endpoint.hostaddr",
        rule,
        Why::Forbidden,
        said.naming(network, "self", "the address"),
    )
}
