//! What the domain may ask of the world, as data. Each effect has a stable id.
//!
//! The interpreter in the process's adapters is the only place that turns one into SQL, an OpenBao call or a Kubernetes verb.
//! Deadlines, metrics, traces, failpoints and the crash tests hang on the ids, and a test compares this list with the crash
//! tests, so an effect without one fails the build (reliability, section 1).

use super::names::ExtensionName;
use super::tenant::TenantPhase;

/// One external write for a Tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantEffect {
    /// Add our finalizer (policy `Delete` only).
    AddFinalizer,
    /// Insert the registry row; the names are unique there.
    Claim,
    /// Write a new password with check-and-set 0: the only place where one is born (T1).
    WriteEntry,
    /// Write the owner into the entry's custom metadata.
    WriteEntryMetadata,
    /// One transaction: role with verifier, comment, grant to ourselves, role OID and KV version in the row.
    CreateRole,
    /// `CREATE DATABASE … OWNER … TEMPLATE template0`.
    CreateDatabase,
    /// Take `CONNECT` and `TEMPORARY` from `PUBLIC`.
    CloseDatabase,
    /// Allow connections again, give the database back to its role.
    RepairDatabase,
    /// `CREATE EXTENSION`.
    CreateExtension(ExtensionName),
    /// Record database OID and extension list in the row.
    RecordDatabase,
    /// Server-side apply of the ExternalSecret, the KV version pinned.
    ApplyProjection,
    /// Ask ESO to sync now.
    ForceSync,
    /// Send the stored password's verifier again and record its KV version (D13).
    SetVerifier,
    /// `LOGIN`, self-grant, and the role OID in the row after a restore.
    RepairRole,
    /// Freeze the deletion policy in the row.
    FreezePolicy,
    /// Delete the ExternalSecret; its Secret goes by garbage collection (D5).
    DeleteProjection,
    /// `NOLOGIN`.
    ForbidLogin,
    /// End the sessions in the database.
    EndSessions,
    /// `DROP DATABASE`.
    DropDatabase,
    /// `DROP ROLE`.
    DropRole,
    /// Remove the entry with all versions and metadata.
    DestroyEntry,
    /// Delete the registry row.
    ReleaseClaim,
    /// Remove our finalizer.
    RemoveFinalizer,
    /// Mark the row of a Tenant that is gone as unmanaged; holds that Tenant's UID.
    MarkUnmanaged(super::names::Uid),
}

impl TenantEffect {
    /// Every id, in the order of a Tenant's life.
    pub const IDS: &'static [&'static str] = &[
        "tenant.finalizer",
        "tenant.claim",
        "tenant.bao.data",
        "tenant.bao.metadata",
        "tenant.role",
        "tenant.database",
        "tenant.database.privileges",
        "tenant.database.attributes",
        "tenant.extension",
        "tenant.row.database",
        "tenant.external-secret",
        "tenant.external-secret.force-sync",
        "tenant.role.verifier",
        "tenant.role.attributes",
        "tenant.row.freeze",
        "tenant.external-secret.delete",
        "tenant.role.nologin",
        "tenant.sessions.end",
        "tenant.database.drop",
        "tenant.role.drop",
        "tenant.bao.destroy",
        "tenant.claim.release",
        "tenant.finalizer.remove",
        "tenant.row.unmanaged",
    ];

    /// The stable id.
    #[must_use]
    pub fn id(&self) -> &'static str {
        match self {
            Self::AddFinalizer => "tenant.finalizer",
            Self::Claim => "tenant.claim",
            Self::WriteEntry => "tenant.bao.data",
            Self::WriteEntryMetadata => "tenant.bao.metadata",
            Self::CreateRole => "tenant.role",
            Self::CreateDatabase => "tenant.database",
            Self::CloseDatabase => "tenant.database.privileges",
            Self::RepairDatabase => "tenant.database.attributes",
            Self::CreateExtension(_) => "tenant.extension",
            Self::RecordDatabase => "tenant.row.database",
            Self::ApplyProjection => "tenant.external-secret",
            Self::ForceSync => "tenant.external-secret.force-sync",
            Self::SetVerifier => "tenant.role.verifier",
            Self::RepairRole => "tenant.role.attributes",
            Self::FreezePolicy => "tenant.row.freeze",
            Self::DeleteProjection => "tenant.external-secret.delete",
            Self::ForbidLogin => "tenant.role.nologin",
            Self::EndSessions => "tenant.sessions.end",
            Self::DropDatabase => "tenant.database.drop",
            Self::DropRole => "tenant.role.drop",
            Self::DestroyEntry => "tenant.bao.destroy",
            Self::ReleaseClaim => "tenant.claim.release",
            Self::RemoveFinalizer => "tenant.finalizer.remove",
            Self::MarkUnmanaged(_) => "tenant.row.unmanaged",
        }
    }

    /// True for an effect that removes something a person may miss.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        matches!(
            self,
            Self::DeleteProjection
                | Self::ForbidLogin
                | Self::EndSessions
                | Self::DropDatabase
                | Self::DropRole
                | Self::DestroyEntry
                | Self::ReleaseClaim
        )
    }
}

/// The id of saving a Tenant's status with this phase.
#[must_use]
pub fn tenant_status_id(phase: TenantPhase) -> &'static str {
    match phase {
        TenantPhase::Pending => "tenant.status.pending",
        TenantPhase::Planned => "tenant.status.planned",
        TenantPhase::CredentialCreated => "tenant.status.credential-created",
        TenantPhase::RoleCreated => "tenant.status.role-created",
        TenantPhase::DatabaseCreated => "tenant.status.database-created",
        TenantPhase::ExternalSecretCreated => "tenant.status.external-secret-created",
        TenantPhase::CredentialProjected => "tenant.status.projected",
        TenantPhase::Ready => "tenant.status.ready",
        TenantPhase::Deleting => "tenant.status.deleting",
    }
}

/// One external write for an Instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceEffect {
    /// Add our finalizer, as soon as the Instance is managed (I8).
    AddFinalizer,
    /// The rolled-back probe of the admin's rights.
    ProbeRights,
    /// Create or migrate the registry, one transaction a step.
    MigrateRegistry,
    /// Remove our finalizer.
    RemoveFinalizer,
}

impl InstanceEffect {
    /// Every id.
    pub const IDS: &'static [&'static str] = &[
        "instance.finalizer",
        "instance.probe",
        "instance.registry.migrate",
        "instance.finalizer.remove",
    ];

    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::AddFinalizer => "instance.finalizer",
            Self::ProbeRights => "instance.probe",
            Self::MigrateRegistry => "instance.registry.migrate",
            Self::RemoveFinalizer => "instance.finalizer.remove",
        }
    }
}

/// The id of saving an Instance's status with this checkpoint.
#[must_use]
pub fn instance_status_id(checkpoint: super::instance::Checkpoint) -> &'static str {
    use super::instance::Checkpoint;
    match checkpoint {
        Checkpoint::Pending => "instance.status.pending",
        Checkpoint::Validating => "instance.status.validating",
        Checkpoint::InitializingRegistry => "instance.status.initializing",
        Checkpoint::Ready => "instance.status.ready",
        Checkpoint::Deleting => "instance.status.deleting",
    }
}
