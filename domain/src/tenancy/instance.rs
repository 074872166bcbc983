//! The Instance aggregate of seed 003: a registered PostgreSQL server and whether it may be provisioned on.
//!
//! Decides the transitions of the checkpoint, what counts as ready, and what may be prepared (I1–I12). It is rebuilt from the
//! object in every round and receives facts only: there is no way to set a conclusion from outside. It never connects.

use std::collections::BTreeSet;

use super::capability::{
    CapabilityObservation, Check, RefusedExtension, RegistryState, TargetBinding,
};
use super::failure::{Class, Failure};
use super::names::ExtensionName;
use super::reason::{Ready, Reason};
use super::registration::{InstanceDefinition, InstanceIdentity};

/// `status.phase` of an Instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checkpoint {
    /// Nothing done.
    #[default]
    Pending,
    /// The configuration is to be validated.
    Validating,
    /// The registry is to be made or migrated.
    InitializingRegistry,
    /// Usable when last looked at.
    Ready,
    /// Being deleted.
    Deleting,
}

impl Checkpoint {
    /// Every checkpoint.
    pub const ALL: &'static [Self] = &[
        Self::Pending,
        Self::Validating,
        Self::InitializingRegistry,
        Self::Ready,
        Self::Deleting,
    ];

    /// The name in status.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Validating => "Validating",
            Self::InitializingRegistry => "InitializingRegistry",
            Self::Ready => "Ready",
            Self::Deleting => "Deleting",
        }
    }

    /// The checkpoint with this name; a missing or unknown one counts as `Pending`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::ALL
            .iter()
            .copied()
            .find(|checkpoint| checkpoint.as_str() == text)
            .unwrap_or_default()
    }
}

/// What is persisted of an Instance; evidence is not, so it cannot be forged from a stored object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceSnapshot {
    /// `status.phase`.
    pub checkpoint: Checkpoint,
    /// `status.observedGeneration`: the generation of the last round with a conclusion.
    pub observed_revision: Option<i64>,
    /// The `Ready` condition.
    pub ready: Option<Ready>,
    /// `status.postgresqlVersion`, for display only.
    pub reported_version: Option<String>,
}

/// What a domain operation did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The state moved on, or was confirmed.
    Advanced,
    /// A known failure, now in the snapshot.
    Failed(Failure),
    /// The operation does not apply here; nothing changed.
    Refused(Refusal),
}

/// Why an operation did not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The Instance is being deleted (I7).
    Deleting,
    /// The Instance is not being deleted.
    NotDeleting,
    /// Another checkpoint is needed.
    WrongCheckpoint,
    /// The observation is of another Instance, revision, endpoint or credential reference.
    TargetMismatch,
}

/// What may be done about the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryPlan {
    /// Nothing to write.
    AlreadyUsable,
    /// It may be made or migrated now.
    PreparationAllowed,
    /// It may not; the snapshot says why.
    PreparationDenied(Failure),
    /// The operation does not apply here; nothing changed.
    Refused(Refusal),
}

/// The aggregate; see the module text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    identity: InstanceIdentity,
    revision: i64,
    definition: InstanceDefinition,
    snapshot: InstanceSnapshot,
    deleting: bool,
    evidence: Option<CapabilityObservation>,
}

impl Instance {
    /// The Instance of this round; evidence is empty, whatever the stored condition says.
    #[must_use]
    pub fn reconstitute(
        identity: InstanceIdentity,
        revision: i64,
        definition: InstanceDefinition,
        snapshot: InstanceSnapshot,
        deleting: bool,
    ) -> Self {
        Self {
            identity,
            revision,
            definition,
            snapshot,
            deleting,
            evidence: None,
        }
    }

    /// Identity, revision and configuration that an observation must be bound to.
    #[must_use]
    pub fn target(&self) -> TargetBinding {
        TargetBinding {
            uid: self.identity.uid.clone(),
            revision: self.revision,
            endpoint: self.definition.endpoint.clone(),
            credential: self.definition.credential.clone(),
        }
    }

    /// The validated spec.
    #[must_use]
    pub fn definition(&self) -> &InstanceDefinition {
        &self.definition
    }

    /// The present checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        self.snapshot.checkpoint
    }

    /// What may be persisted.
    #[must_use]
    pub fn snapshot(&self) -> InstanceSnapshot {
        self.snapshot.clone()
    }

    /// To `Validating`: at first registration, after a configuration change, or when the checkpoint is to be rebuilt.
    pub fn begin_validation(&mut self) -> Outcome {
        if self.deleting {
            return Outcome::Refused(Refusal::Deleting);
        }
        self.snapshot.checkpoint = Checkpoint::Validating;
        self.snapshot.ready = Some(Ready::new(
            Reason::Reconciling,
            "validating the connection and the admin's rights",
        ));
        self.evidence = None;
        Outcome::Advanced
    }

    /// Judges access, metadata, privileges and registry; to `InitializingRegistry` if all allow it.
    pub fn assess_management(&mut self, observation: &CapabilityObservation) -> Outcome {
        if let Some(refusal) = self.refusal(Checkpoint::Validating, observation) {
            return Outcome::Refused(refusal);
        }
        // The registry before the rights: beside one that is not ours nothing is tried out, and that is no missing right.
        let failure = observation
            .management_failure()
            .or_else(|| observation.registry_failure())
            .or_else(|| match &observation.rights_probe {
                Check::Passed => None,
                Check::Failed(failure) => Some(failure.clone()),
                Check::NotObserved => Some(Failure::not_observed("the admin's rights")),
            });
        if let Some(failure) = failure {
            return self.conclude_failure(Checkpoint::Validating, failure);
        }
        self.snapshot.checkpoint = Checkpoint::InitializingRegistry;
        self.snapshot.ready = Some(Ready::new(Reason::Reconciling, "preparing the registry"));
        Outcome::Advanced
    }

    /// Whether the registry may be prepared; runs nothing.
    pub fn plan_registry_preparation(
        &mut self,
        observation: &CapabilityObservation,
    ) -> RegistryPlan {
        if let Some(refusal) = self.refusal(Checkpoint::InitializingRegistry, observation) {
            return RegistryPlan::Refused(refusal);
        }
        if let Some(failure) = observation
            .management_failure()
            .or_else(|| observation.registry_failure())
        {
            let _concluded =
                self.conclude_failure(Checkpoint::InitializingRegistry, failure.clone());
            return RegistryPlan::PreparationDenied(failure);
        }
        match observation.registry {
            RegistryState::Usable => RegistryPlan::AlreadyUsable,
            _ => RegistryPlan::PreparationAllowed,
        }
    }

    /// The migration itself failed; says so and stays.
    pub fn registry_preparation_failed(&mut self, failure: Failure) -> Outcome {
        if self.deleting {
            return Outcome::Refused(Refusal::Deleting);
        }
        if self.snapshot.checkpoint != Checkpoint::InitializingRegistry {
            return Outcome::Refused(Refusal::WrongCheckpoint);
        }
        self.conclude_failure(Checkpoint::InitializingRegistry, failure)
    }

    /// Judges a full read-back after the preparation: `Ready` only if every condition is met. "The migration returned" is
    /// no evidence.
    pub fn assess_registry_result(&mut self, read_back: &CapabilityObservation) -> Outcome {
        if let Some(refusal) = self.refusal(Checkpoint::InitializingRegistry, read_back) {
            return Outcome::Refused(refusal);
        }
        self.conclude(Checkpoint::InitializingRegistry, read_back)
    }

    /// Judges a `Ready` Instance again. A changed revision only begins validation.
    pub fn assess_readiness(&mut self, observation: &CapabilityObservation) -> Outcome {
        if let Some(refusal) = self.refusal(Checkpoint::Ready, observation) {
            return Outcome::Refused(refusal);
        }
        if self.snapshot.observed_revision != Some(self.revision) {
            return self.begin_validation();
        }
        if let Some(failure) = observation
            .management_failure()
            .or_else(|| observation.registry_failure())
        {
            return self.conclude_failure(Checkpoint::Validating, failure);
        }
        if !matches!(observation.registry, RegistryState::Usable) {
            self.snapshot.checkpoint = Checkpoint::InitializingRegistry;
            self.snapshot.ready = Some(Ready::new(
                Reason::Reconciling,
                "the registry is to be prepared again",
            ));
            self.evidence = None;
            return Outcome::Advanced;
        }
        self.conclude(Checkpoint::Validating, observation)
    }

    /// The extensions among `requested` that the server cannot install; needs the evidence of this round (I10).
    #[must_use]
    pub fn check_extensions(&self, requested: &BTreeSet<ExtensionName>) -> Vec<RefusedExtension> {
        let Some(evidence) = &self.evidence else {
            return requested
                .iter()
                .map(|name| RefusedExtension {
                    name: name.clone(),
                    because: None,
                })
                .collect();
        };
        requested
            .iter()
            .filter_map(|name| evidence.refusal(name))
            .collect()
    }

    /// `Ok` only if not deleting, `Ready` for this revision, and proved by evidence of this call chain (I2). A stored
    /// condition alone is no permission.
    ///
    /// # Errors
    /// Why nothing may be provisioned.
    pub fn require_provisioning_ready(&self) -> Result<(), Failure> {
        let refused = |text: &str| {
            Err(Failure::new(
                Class::Unavailable,
                format!("Instance {} {text}", self.identity.name),
            ))
        };
        if self.deleting {
            return refused("is being deleted");
        }
        if self.snapshot.checkpoint != Checkpoint::Ready
            || self.snapshot.observed_revision != Some(self.revision)
        {
            return refused("is not ready");
        }
        match &self.evidence {
            Some(evidence) if evidence.target == self.target() => Ok(()),
            _ => refused("was not verified in this round"),
        }
    }

    /// To `Deleting`: no more provisioning. Deletes nothing.
    pub fn begin_deletion(&mut self) -> Outcome {
        if !self.deleting {
            return Outcome::Refused(Refusal::NotDeleting);
        }
        self.snapshot.checkpoint = Checkpoint::Deleting;
        self.snapshot.ready = Some(Ready::new(Reason::Reconciling, "being deleted"));
        self.evidence = None;
        Outcome::Advanced
    }

    /// While Tenants refer to a deleting Instance, its condition says how many, and names one.
    pub fn held_by(&mut self, count: usize, example: &str) -> Outcome {
        if !self.deleting {
            return Outcome::Refused(Refusal::NotDeleting);
        }
        let text = held_message(count, example);
        self.snapshot.ready = Some(Ready::new(Reason::Reconciling, text));
        Outcome::Advanced
    }

    fn refusal(&self, needed: Checkpoint, observation: &CapabilityObservation) -> Option<Refusal> {
        if self.deleting {
            Some(Refusal::Deleting)
        } else if self.snapshot.checkpoint != needed {
            Some(Refusal::WrongCheckpoint)
        } else if observation.target != self.target() {
            Some(Refusal::TargetMismatch)
        } else {
            None
        }
    }

    fn conclude(&mut self, on_failure: Checkpoint, observation: &CapabilityObservation) -> Outcome {
        if let Some(failure) = observation
            .management_failure()
            .or_else(|| observation.registry_unusable())
        {
            return self.conclude_failure(on_failure, failure);
        }
        self.snapshot.checkpoint = Checkpoint::Ready;
        self.snapshot.observed_revision = Some(self.revision);
        self.snapshot
            .reported_version
            .clone_from(&observation.server_version);
        self.snapshot.ready = Some(Ready::new(Reason::Ready, observation.ready_message()));
        self.evidence = Some(observation.clone());
        Outcome::Advanced
    }

    fn conclude_failure(&mut self, checkpoint: Checkpoint, failure: Failure) -> Outcome {
        self.snapshot.checkpoint = checkpoint;
        self.snapshot.observed_revision = Some(self.revision);
        self.snapshot.ready = Some(Ready::new(
            Reason::of_instance_failure(failure.class),
            failure.text.clone(),
        ));
        self.evidence = None;
        Outcome::Failed(failure)
    }
}

/// What a deleting Instance's condition says while Tenants name it.
#[must_use]
pub fn held_message(count: usize, example: &str) -> String {
    let tenants = if count == 1 { "tenant" } else { "tenants" };
    format!(
        "deletion waits for {count} {tenants}, e.g. {example}; delete them or move them to another Instance"
    )
}
