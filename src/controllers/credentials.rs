//! Admin logins by Instance, as last read from their Secrets.
//!
//! The same effective login keeps its identity, so metadata or unrelated keys of the Secret rebuild no pool; a changed one is a
//! new identity. It never writes a Secret.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use domain::tenancy::failure::Failure;
use domain::tenancy::names::Uid;
use domain::tenancy::registration::CredentialReference;

use crate::adapters::kubernetes::Cluster;
use crate::adapters::postgres::AdminCredential;

/// See the module text.
#[derive(Default)]
pub struct Credentials {
    known: Mutex<HashMap<Uid, (CredentialReference, Arc<AdminCredential>)>>,
}

impl Credentials {
    /// Reads the Secret now.
    ///
    /// # Errors
    /// The Secret or a key is missing, or the API server failed.
    pub async fn read(
        &self,
        cluster: &Cluster,
        instance: &Uid,
        reference: &CredentialReference,
    ) -> Result<Arc<AdminCredential>, Failure> {
        let fresh = cluster.admin_credential(reference).await;
        let Ok(mut known) = self.known.lock() else {
            return fresh.map(Arc::new);
        };
        let fresh = match fresh {
            Ok(fresh) => fresh,
            Err(failure) => {
                known.remove(instance);
                return Err(failure);
            }
        };
        let kept = known
            .get(instance)
            .filter(|(_, held)| held.fingerprint() == fresh.fingerprint())
            .map(|(_, held)| Arc::clone(held));
        let credential = kept.unwrap_or_else(|| Arc::new(fresh));
        known.insert(
            instance.clone(),
            (reference.clone(), Arc::clone(&credential)),
        );
        Ok(credential)
    }

    /// What was last read for this Instance and reference, or what the Secret holds now.
    ///
    /// # Errors
    /// As [`Credentials::read`].
    pub async fn get(
        &self,
        cluster: &Cluster,
        instance: &Uid,
        reference: &CredentialReference,
    ) -> Result<Arc<AdminCredential>, Failure> {
        let held = self.known.lock().ok().and_then(|known| {
            known
                .get(instance)
                .filter(|(held, _)| held == reference)
                .map(|(_, credential)| Arc::clone(credential))
        });
        match held {
            Some(credential) => Ok(credential),
            None => self.read(cluster, instance, reference).await,
        }
    }

    /// True while a login of this Instance is held.
    #[cfg(test)]
    pub(super) fn knows(&self, instance: &Uid) -> bool {
        self.known
            .lock()
            .is_ok_and(|known| known.contains_key(instance))
    }

    /// Drops the login of an Instance that is gone.
    pub fn forget(&self, instance: &Uid) {
        if let Ok(mut known) = self.known.lock() {
            known.remove(instance);
        }
    }
}
