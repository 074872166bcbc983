//! The Tenant of a round in the form that the domain judges: living, departing, or illegal.

use crds::PostgreSQLTenant;
use domain::tenancy::decide::{self, Step, Tenant};
use domain::tenancy::deletion::Departing;
use domain::tenancy::facts::{Facts, Wants};
use domain::tenancy::failure::Failure;
use domain::tenancy::tenant::{DeletionPolicy, TenantDefinition, TenantIdentity, TenantStatus};
use domain::violation::Violations;

use crate::adapters::kubernetes::is_held;
use crate::controllers::context::Deployment;

/// See the module text.
pub(super) enum Subject {
    /// To be provisioned or checked.
    Living(Tenant),
    /// To be removed.
    Departing(Departing),
    /// Its spec is illegal; the webhook was away when it came.
    Illegal {
        identity: TenantIdentity,
        instance_ref: String,
        revision: i64,
        saved: TenantStatus,
        violations: Violations,
    },
}

impl Subject {
    /// `None` for an object that the API server never stored.
    pub(super) fn of(object: &PostgreSQLTenant, deployment: &Deployment) -> Option<Self> {
        let (identity, revision, saved) = (
            object.identity()?,
            object.revision(),
            object.domain_status(),
        );
        let (held, layout) = (is_held(object), deployment.layout.clone());
        if object.is_deleting() {
            let policy = DeletionPolicy::parse(&object.spec.deletion_policy);
            let instance_ref = object.spec.instance_ref.clone();
            return Some(Self::Departing(Departing::reconstitute(
                identity,
                revision,
                instance_ref,
                policy,
                saved,
                held,
                layout,
            )));
        }
        Some(match TenantDefinition::parse(&object.draft()) {
            Ok(definition) => Self::Living(Tenant::reconstitute(
                identity, revision, definition, saved, held, layout,
            )),
            Err(violations) => Self::Illegal {
                identity,
                instance_ref: object.spec.instance_ref.clone(),
                revision,
                saved,
                violations,
            },
        })
    }

    pub(super) fn identity(&self) -> &TenantIdentity {
        match self {
            Self::Living(tenant) => tenant.identity(),
            Self::Departing(departing) => departing.identity(),
            Self::Illegal { identity, .. } => identity,
        }
    }

    pub(super) fn saved(&self) -> &TenantStatus {
        match self {
            Self::Living(tenant) => tenant.saved(),
            Self::Departing(departing) => departing.saved(),
            Self::Illegal { saved, .. } => saved,
        }
    }

    pub(super) fn instance_ref(&self) -> &str {
        match self {
            Self::Living(tenant) => tenant.definition().instance.as_str(),
            Self::Departing(departing) => departing.instance_ref(),
            Self::Illegal { instance_ref, .. } => instance_ref,
        }
    }

    pub(super) fn wants(&self) -> Wants {
        match self {
            Self::Living(tenant) => tenant.wants(),
            Self::Departing(departing) => departing.wants(),
            Self::Illegal { .. } => Wants::default(),
        }
    }

    /// The spec with effective values; only a living Tenant has one that is known to be legal.
    pub(super) fn definition(&self) -> Option<&TenantDefinition> {
        match self {
            Self::Living(tenant) => Some(tenant.definition()),
            Self::Departing(_) | Self::Illegal { .. } => None,
        }
    }

    pub(super) fn projection_name(&self) -> String {
        domain::tenancy::names::derived_secret_name(self.instance_ref(), &self.identity().name)
    }

    pub(super) fn decide(&self, facts: &Facts) -> Step {
        match self {
            Self::Living(tenant) => tenant.decide(facts),
            Self::Departing(departing) => departing.decide(facts),
            Self::Illegal {
                saved,
                revision,
                violations,
                ..
            } => decide::invalid_spec(saved, *revision, violations),
        }
    }

    pub(super) fn after_failure(&self, failure: &Failure) -> Step {
        match self {
            Self::Living(tenant) => tenant.after_failure(failure),
            Self::Departing(departing) => departing.after_failure(failure),
            Self::Illegal {
                saved,
                revision,
                violations,
                ..
            } => decide::invalid_spec(saved, *revision, violations),
        }
    }
}
