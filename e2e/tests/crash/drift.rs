//! What people and accidents do to a Tenant that is `Ready`, one way each.
//!
//! It provokes; what Tenantry does about it is in `repairing`.

use std::collections::HashMap;

use e2e::bed::openbao::MOUNT;
use e2e::bed::postgres::ADMIN;
use e2e::world::tenancy::World;
use kube::api::{DeleteParams, Patch, PatchParams};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use vaultrs::api::kv2::requests::SetSecretMetadataRequest;

use super::traces::{EXTENSION, identifier};

/// One kind of drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// `ALTER ROLE … NOLOGIN`.
    NoLogin,
    /// A person writes a new version of the password into OpenBao (D13).
    RotatedInOpenBao,
    /// A person gives the role another password.
    PasswordChanged,
    /// The role is dropped, its database given to the admin.
    RoleGone,
    /// `GRANT CONNECT … TO PUBLIC`.
    OpenToPublic,
    /// `ALTER DATABASE … ALLOW_CONNECTIONS false`.
    NoConnections,
    /// The database belongs to the admin.
    GivenAway,
    /// `DROP EXTENSION`.
    ExtensionDropped,
    /// An extension more in the spec.
    ExtensionAppended,
    /// `kubectl delete externalsecret`.
    ProjectionDeleted,
    /// External Secrets Operator has been failing for long.
    SyncFailing,
    /// The entry's custom metadata are gone.
    MarkLost,
    /// Status is gone.
    StatusWiped,
    /// The policy becomes `Delete`.
    PolicyToDelete,
    /// The policy becomes `Retain`.
    PolicyToRetain,
}

impl Drift {
    /// The spec of a Tenant that this is going to happen to.
    pub fn spec(self) -> String {
        let policy = if self == Self::PolicyToRetain {
            "Delete"
        } else {
            "Retain"
        };
        let extensions = if self == Self::ExtensionAppended {
            ""
        } else {
            EXTENSION
        };
        format!("deletionPolicy: {policy}, extensions: [{extensions}]")
    }

    /// Lets it happen, and wakes Tenantry if nothing else does.
    pub async fn happen(self, world: &World, tenant: &str) {
        if let Some((inside, sql)) = self.sql(world, tenant) {
            let database = if inside {
                identifier(world, tenant)
            } else {
                "postgres".to_owned()
            };
            world.superuser(&database, &sql).await.unwrap();
            return touch(world, tenant).await;
        }
        match self {
            Self::RotatedInOpenBao => {
                rotate(world, tenant).await;
                touch(world, tenant).await;
            }
            Self::MarkLost => {
                forget_owner(world, tenant).await;
                touch(world, tenant).await;
            }
            Self::ProjectionDeleted => {
                let name = world.secret_name(tenant);
                world
                    .external_secrets()
                    .delete(&name, &DeleteParams::default())
                    .await
                    .unwrap();
            }
            Self::SyncFailing => fail_to_sync(world, tenant).await,
            Self::StatusWiped => {
                world
                    .merge_tenant_status(tenant, &Value::Null)
                    .await
                    .unwrap()
                    .success()
                    .unwrap();
            }
            Self::ExtensionAppended => edit(world, tenant, "extensions", &json!([EXTENSION])).await,
            Self::PolicyToDelete => edit(world, tenant, "deletionPolicy", &json!("Delete")).await,
            Self::PolicyToRetain => edit(world, tenant, "deletionPolicy", &json!("Retain")).await,
            _ => unreachable!("{self:?} is SQL"),
        }
    }

    /// The statement, and whether it runs inside the Tenant's database.
    fn sql(self, world: &World, tenant: &str) -> Option<(bool, String)> {
        let name = identifier(world, tenant);
        Some(match self {
            Self::NoLogin => (false, format!("ALTER ROLE {name} NOLOGIN")),
            Self::PasswordChanged => (
                false,
                format!("ALTER ROLE {name} PASSWORD 'changed by hand'"),
            ),
            Self::RoleGone => {
                let sql = format!(
                    "REASSIGN OWNED BY {name} TO {ADMIN}; DROP OWNED BY {name}; DROP ROLE {name}"
                );
                (true, sql)
            }
            Self::OpenToPublic => (false, format!("GRANT CONNECT ON DATABASE {name} TO PUBLIC")),
            Self::NoConnections => (
                false,
                format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
            ),
            Self::GivenAway => (false, format!("ALTER DATABASE {name} OWNER TO {ADMIN}")),
            Self::ExtensionDropped => (true, format!("DROP EXTENSION {EXTENSION}")),
            _ => return None,
        })
    }
}

/// External Secrets Operator goes on.
pub fn resume_external_secrets(world: &World) {
    world
        .bed
        .process("external-secrets")
        .unwrap()
        .signal(Signal::SIGCONT);
}

/// A change of the object that asks for nothing: PostgreSQL and OpenBao cannot be watched.
async fn touch(world: &World, tenant: &str) {
    let label = Patch::Merge(json!({"metadata": {"labels": {"story.example/touched": "yes"}}}));
    world
        .tenants()
        .patch(tenant, &PatchParams::default(), &label)
        .await
        .unwrap();
}

async fn edit(world: &World, tenant: &str, field: &str, value: &serde_json::Value) {
    world
        .patch_tenant(tenant, &json!({"spec": {field: value}}))
        .await
        .unwrap()
        .success()
        .unwrap();
}

/// The owner's fields stay, as the contract asks of a person.
async fn rotate(world: &World, tenant: &str) {
    let (_, mut entry) = world.entry(tenant).await.unwrap();
    entry.insert(
        "password".to_owned(),
        format!("rotated-{:032x}", rand::random::<u128>()),
    );
    let root = world.bed.openbao().root().unwrap();
    vaultrs::kv2::set(&root, MOUNT, &world.entry_path(tenant), &entry)
        .await
        .unwrap();
}

async fn forget_owner(world: &World, tenant: &str) {
    let root = world.bed.openbao().root().unwrap();
    let mut request = SetSecretMetadataRequest::builder();
    request.custom_metadata(HashMap::<String, String>::new());
    vaultrs::kv2::set_metadata(&root, MOUNT, &world.entry_path(tenant), Some(&mut request))
        .await
        .unwrap();
}

/// The operator stands still, or it would correct what it never said.
async fn fail_to_sync(world: &World, tenant: &str) {
    world
        .bed
        .process("external-secrets")
        .unwrap()
        .signal(Signal::SIGSTOP);
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": "could not get secret data from provider",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    let name = world.secret_name(tenant);
    world
        .external_secrets()
        .patch_status(&name, &PatchParams::default(), &status)
        .await
        .unwrap();
}
