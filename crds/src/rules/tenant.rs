//! Rules of `PostgreSQLTenant`: C1–C3, C8, D2–D4, M1–M3.

use domain::tenancy::names::{
    DERIVED_SUFFIX, REFERENCE_SUM_MAX, RESERVED_DATABASES, RESERVED_ROLE_PREFIX, RESERVED_ROLES,
};
use domain::tenancy::tenant::TenantPhase;

use super::text::{NAME, Said, of_tenant, of_tenant_change};
use super::{Placed, Why, at_field, at_root, at_transition, cel, frozen_while_deleting};

/// What stands for a recorded name while a text is asked for.
const RECORDED: &str = "stand-in";
/// The extensions that an update would take away.
const REMOVED: &str =
    "oldSelf.spec.extensions.filter(e, !has(self.spec.extensions) || !(e in self.spec.extensions))";

/// Every rule of the kind.
pub(crate) fn tenant_rules() -> Vec<Placed> {
    let mut rules = fields();
    rules.extend(names());
    rules.extend(immutable());
    rules
}

fn fields() -> Vec<Placed> {
    let instance_ref = of_tenant("spec.instanceRef", |draft| draft.instance_ref = "");
    let database = of_tenant("spec.database", |draft| draft.database = Some(""));
    let login_role = of_tenant("spec.loginRole", |draft| draft.login_role = Some(""));
    let extension = of_tenant("spec.extensions[0]", |draft| draft.extensions = vec![""]);
    let secret = of_tenant("spec.credential.secretName", |draft| {
        draft.secret_name = Some("");
    });
    vec![
        at_field(
            "spec.instanceRef",
            cel::SUBDOMAIN,
            Why::Invalid,
            instance_ref,
        ),
        at_field(
            "spec.database",
            cel::identifier("self"),
            Why::Invalid,
            database,
        ),
        at_field(
            "spec.loginRole",
            cel::identifier("self"),
            Why::Invalid,
            login_role,
        ),
        at_field(
            "spec.extensions[]",
            cel::extension(),
            Why::Invalid,
            extension,
        ),
        at_field(
            "spec.credential.secretName",
            cel::SUBDOMAIN,
            Why::Invalid,
            secret,
        ),
    ]
}

/// What joins the spec with `metadata.name`: C3, C8, and the reserved names of D2, which a default may hit too.
fn names() -> Vec<Placed> {
    let sum = "size(self.spec.instanceRef) + size(self.metadata.name)";
    let fits = format!("{sum} <= {REFERENCE_SUM_MAX}");
    let reference = "a".repeat(REFERENCE_SUM_MAX);
    let total = (reference.len() + NAME.len()).to_string();
    let too_long = of_tenant("spec.instanceRef", |draft| draft.instance_ref = &reference);
    let database = format!("!({} in {})", cel::DATABASE, cel::list(RESERVED_DATABASES));
    // metadata.name holds no underscore, so only a written value can begin with the prefix.
    let role = format!(
        "!({} in {}) && !(has(self.spec.loginRole) && self.spec.loginRole.startsWith({}))",
        cel::LOGIN_ROLE,
        cel::list(RESERVED_ROLES),
        cel::quoted(RESERVED_ROLE_PREFIX)
    );
    vec![
        at_root(
            "spec.instanceRef",
            &fits,
            Why::Invalid,
            too_long.with(&total, "too many"),
        ),
        usable_as_default(
            "database",
            of_tenant("spec.database", |draft| draft.name = "my-app"),
        ),
        usable_as_default(
            "loginRole",
            of_tenant("spec.loginRole", |draft| draft.name = "my-app"),
        ),
        at_root(
            "spec.database",
            &format!("({database})"),
            Why::Forbidden,
            reserved_database(),
        ),
        at_root(
            "spec.loginRole",
            &format!("({role})"),
            Why::Forbidden,
            reserved_role(),
        ),
    ]
}

fn usable_as_default(field: &str, said: Said) -> Placed {
    let rule = format!(
        "(has(self.spec.{field}) || {})",
        cel::identifier("self.metadata.name")
    );
    at_root(&format!("spec.{field}"), &rule, Why::Required, said)
}

fn reserved_database() -> Said {
    let name = "postgres";
    of_tenant("spec.database", |draft| draft.database = Some(name)).naming(
        name,
        cel::DATABASE,
        "the name",
    )
}

fn reserved_role() -> Said {
    let name = "postgres";
    of_tenant("spec.loginRole", |draft| draft.login_role = Some(name)).naming(
        name,
        cel::LOGIN_ROLE,
        "the name",
    )
}

/// M1–M3: what may not change once status says that external state exists (D3).
fn immutable() -> Vec<Placed> {
    let secret = format!(
        "(has(self.spec.credential) && has(self.spec.credential.secretName) ? self.spec.credential.secretName : \
         self.spec.instanceRef + '-' + self.metadata.name + '{DERIVED_SUFFIX}')"
    );
    let frozen = of_tenant_change("spec", RECORDED, TenantPhase::Deleting, |draft| {
        draft.instance_ref = "main";
    });
    let recorded_secret = "self.status.credential.secretRef.name";
    vec![
        kept(
            "spec.instanceRef",
            "",
            "self.spec.instanceRef",
            "oldSelf.spec.instanceRef",
        ),
        kept(
            "spec.database",
            "!has(self.status.database) || ",
            cel::DATABASE,
            "self.status.database",
        ),
        kept(
            "spec.loginRole",
            "!has(self.status.loginRole) || ",
            cel::LOGIN_ROLE,
            "self.status.loginRole",
        ),
        kept(
            "spec.credential.secretName",
            "!has(self.status.credential) || !has(self.status.credential.secretRef) || \
             !has(self.status.credential.secretRef.name) || ",
            &secret,
            recorded_secret,
        ),
        append_only(),
        frozen_while_deleting(frozen),
    ]
}

/// `wanted` equals `recorded`, where that is known (M1). Going back to the recorded value, or spelling a default out,
/// passes.
fn kept(field: &str, unless: &str, wanted: &str, recorded: &str) -> Placed {
    let said = of_tenant_change(field, RECORDED, TenantPhase::Ready, |draft| {
        draft.instance_ref = "main";
    });
    let rule = format!("{}{unless}{wanted} == {recorded}", cel::not_created());
    at_transition(
        field,
        rule,
        said.naming(RECORDED, recorded, "the value in status"),
    )
}

/// Extensions only grow, except while one of them is not installable (M2). It stands at the root, because a rule at the
/// list is not run when the list is removed.
fn append_only() -> Placed {
    let field = "spec.extensions";
    let said = of_tenant_change(field, RECORDED, TenantPhase::Ready, |draft| {
        draft.extensions = Vec::new();
    });
    let rule = format!(
        "{}!has(oldSelf.spec.extensions) || oldSelf.spec.extensions.all(e, has(self.spec.extensions) && e in \
         self.spec.extensions) || (has(self.status.conditions) && self.status.conditions.exists(c, c.type == 'Ready' && \
         c.reason == 'InvalidSpec'))",
        cel::not_created()
    );
    at_transition(
        field,
        rule,
        said.naming(RECORDED, &format!("{REMOVED}[0]"), "a name"),
    )
}
