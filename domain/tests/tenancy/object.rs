//! The Tenant object as the API server stores it.

use domain::tenancy::decide::Tenant;
use domain::tenancy::deletion::Departing;
use domain::tenancy::tenant::{
    DeletionPolicy, SecretLayout, TenantDefinition, TenantDraft, TenantIdentity, TenantStatus,
};

/// The Tenant object as stored.
#[derive(Clone, Debug)]
pub struct Object {
    pub identity: TenantIdentity,
    pub generation: i64,
    pub instance_ref: String,
    pub database: Option<String>,
    pub role: Option<String>,
    pub secret_name: Option<String>,
    pub extensions: Vec<String>,
    pub policy: DeletionPolicy,
    pub status: TenantStatus,
    pub finalizer: bool,
    pub deleting: bool,
}

impl Object {
    pub fn draft(&self) -> TenantDraft<'_> {
        TenantDraft {
            name: &self.identity.name,
            instance_ref: &self.instance_ref,
            database: self.database.as_deref(),
            login_role: self.role.as_deref(),
            extensions: self.extensions.iter().map(String::as_str).collect(),
            secret_name: self.secret_name.as_deref(),
            deletion_policy: self.policy.as_str(),
        }
    }

    pub fn definition(&self) -> TenantDefinition {
        TenantDefinition::parse(&self.draft()).unwrap()
    }

    pub fn tenant(&self) -> Tenant {
        Tenant::reconstitute(
            self.identity.clone(),
            self.generation,
            self.definition(),
            self.status.clone(),
            self.finalizer,
            layout(),
        )
    }

    pub fn departing(&self) -> Departing {
        Departing::reconstitute(
            self.identity.clone(),
            self.generation,
            self.instance_ref.clone(),
            Some(self.policy),
            self.status.clone(),
            self.finalizer,
            layout(),
        )
    }

    /// An edit of the spec: the API server counts the generation up.
    pub fn edit(&mut self, change: impl FnOnce(&mut Self)) {
        change(self);
        self.generation += 1;
    }

    /// True once the API server has removed it.
    pub fn gone(&self) -> bool {
        self.deleting && !self.finalizer
    }
}

pub fn layout() -> SecretLayout {
    SecretLayout {
        consumer_address: "https://bao.home.arpa:8200".to_owned(),
        mount: "secret".to_owned(),
        base_path: "tenants".to_owned(),
    }
}
