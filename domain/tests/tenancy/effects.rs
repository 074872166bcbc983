//! What a correct adapter does for each effect, on the model; refuses what a real store would refuse.

// Every effect answers in one form, also one that cannot fail here.
#![allow(clippy::unnecessary_wraps)]

use std::collections::BTreeSet;
use std::time::Duration;

use domain::tenancy::claim::{Claim, ClaimState};
use domain::tenancy::effect::TenantEffect;
use domain::tenancy::facts::{EntryOwner, RoleFact};
use domain::tenancy::failure::{Class, Failure};
use domain::tenancy::names::{ExtensionName, Uid};
use domain::tenancy::tenant::DeletionPolicy;

use crate::world::{ADMIN, Database, Entry, Projected, Role, Version, World, layout, uid};

type Done = Result<(), Failure>;

fn failed(class: Class, text: &str) -> Done {
    Err(Failure::new(class, text))
}

impl World {
    pub fn apply(&mut self, effect: &TenantEffect) -> Done {
        use TenantEffect as E;
        let (server, bao) = (self.server_down, self.bao_down);
        match effect {
            E::AddFinalizer => self.finalizer(true),
            E::RemoveFinalizer => self.finalizer(false),
            E::ApplyProjection => self.apply_projection(),
            E::ForceSync => self.force_sync(),
            E::DeleteProjection => self.delete_projection(),
            E::WriteEntry | E::WriteEntryMetadata | E::DestroyEntry if bao => {
                failed(Class::Unavailable, "OpenBao does not answer")
            }
            E::WriteEntry => self.write_entry(),
            E::WriteEntryMetadata => {
                self.entry_mut().metadata = Some(self.object.identity.uid.clone());
                Ok(())
            }
            E::DestroyEntry => {
                self.entries.remove(&self.path());
                Ok(())
            }
            _ if server => failed(Class::Unavailable, "the server does not answer"),
            E::CreateRole | E::SetVerifier if bao => {
                failed(Class::Unavailable, "OpenBao does not answer")
            }
            E::Claim => self.claim(),
            E::CreateRole => self.create_role(),
            E::SetVerifier => self.set_verifier(),
            E::CreateExtension(name) => self.create_extension(name),
            E::MarkUnmanaged(uid) => self.mark_unmanaged(uid),
            E::DropRole => self.drop_role(),
            _ => self.apply_to_server(effect),
        }
    }

    fn apply_to_server(&mut self, effect: &TenantEffect) -> Done {
        use TenantEffect as E;
        match effect {
            E::CreateDatabase => {
                let owner = self.role_mut().oid;
                assert!(!self.databases.contains_key(&self.database_name()));
                self.plant_database(owner);
                self.created_databases += 1;
            }
            E::CloseDatabase => self.database_mut().public_access = false,
            E::RepairDatabase => {
                let owner = self.role_mut().oid;
                let database = self.database_mut();
                database.owner = owner;
                database.connectable = true;
            }
            E::RecordDatabase => {
                let Database {
                    oid, extensions, ..
                } = self.database_mut().clone();
                let row = self.row_mut().unwrap();
                row.database_oid = Some(oid);
                row.extensions = extensions.into_iter().collect();
            }
            E::RepairRole => {
                let role = self.role_mut();
                role.can_login = true;
                role.admin_is_member = true;
                let oid = role.oid;
                self.row_mut().unwrap().role_oid = Some(oid);
            }
            E::FreezePolicy => {
                let row = self.row_mut().unwrap();
                row.state = ClaimState::Deleting;
                row.frozen_policy = Some(DeletionPolicy::Delete);
            }
            E::ForbidLogin => {
                let role = self.role_mut();
                role.can_login = false;
                role.admin_is_member = true;
            }
            E::EndSessions => self.database_mut().sessions = 0,
            E::DropDatabase => {
                self.databases.remove(&self.database_name());
            }
            E::ReleaseClaim => {
                let uid = self.object.identity.uid.clone();
                self.rows.retain(|row| row.tenant_uid != uid);
            }
            other => panic!("{other:?} is none of the server's"),
        }
        Ok(())
    }

    fn finalizer(&mut self, on: bool) -> Done {
        assert_ne!(self.object.finalizer, on, "a write that changes nothing");
        self.api_writes += 1;
        self.object.finalizer = on;
        Ok(())
    }

    fn claim(&mut self) -> Done {
        if !self.holders().is_empty() {
            return failed(Class::Conflict, "another tenant claimed the name");
        }
        let definition = self.object.definition();
        let identity = self.object.identity.clone();
        assert!(self.row().is_none(), "a second claim");
        self.rows.push(Claim {
            cluster_uid: uid("cluster"),
            secret_path: layout().path(&identity),
            tenant_uid: identity.uid,
            instance_uid: self.instance_uid.clone(),
            namespace: identity.namespace,
            name: identity.name,
            database: definition.database.to_string(),
            role: definition.role.to_string(),
            secret_name: definition.secret_name.to_string(),
            role_oid: None,
            database_oid: None,
            extensions: Vec::new(),
            applied_kv_version: None,
            resent_age: None,
            state: ClaimState::Managed,
            frozen_policy: None,
        });
        Ok(())
    }

    /// The owner as the entry's data name it.
    pub fn owner(&self) -> EntryOwner {
        EntryOwner {
            tenant_uid: self.object.identity.uid.clone(),
            instance_uid: self.instance_uid.clone(),
            instance_name: self.instance_name.clone(),
            database: self.database_name(),
            role: self.role_name(),
        }
    }

    fn write_entry(&mut self) -> Done {
        let path = self.path();
        if self.entries.contains_key(&path) {
            return failed(Class::Stale, "check-and-set 0 refused");
        }
        self.passwords += 1;
        let version = Version {
            password: self.passwords,
            owner: Some(self.owner()),
            deleted: false,
        };
        let entry = Entry {
            versions: vec![version],
            metadata: None,
        };
        self.entries.insert(path, entry);
        Ok(())
    }

    /// The latest version and its password.
    fn latest(&mut self) -> (u64, u32) {
        let versions = &self.entry_mut().versions;
        (versions.len() as u64, versions.last().unwrap().password)
    }

    fn create_role(&mut self) -> Done {
        let name = self.role_name();
        if self.roles.contains_key(&name) {
            return failed(Class::Conflict, "the role exists");
        }
        let (version, verifier) = self.latest();
        let oid = self.fresh();
        let fact = RoleFact {
            oid,
            can_login: true,
            expired: false,
            superuser: false,
            comment_uid: Some(self.object.identity.uid.clone()),
            admin_is_member: true,
        };
        self.roles.insert(name, Role { fact, verifier });
        let row = self.row_mut().unwrap();
        row.role_oid = Some(oid);
        row.applied_kv_version = Some(version);
        row.resent_age = None;
        Ok(())
    }

    fn set_verifier(&mut self) -> Done {
        let (version, verifier) = self.latest();
        let name = self.role_name();
        self.roles.get_mut(&name).unwrap().verifier = verifier;
        let row = self.row_mut().unwrap();
        let again = row.applied_kv_version == Some(version);
        row.resent_age = again.then_some(Duration::ZERO);
        row.applied_kv_version = Some(version);
        Ok(())
    }

    fn create_extension(&mut self, name: &ExtensionName) -> Done {
        if self.refused.iter().any(|refused| refused.name == *name) {
            return failed(Class::NotInstallable, "not available on this server");
        }
        let database = self.database_mut();
        assert!(database.connectable, "entered though it is closed");
        let new = database.extensions.insert(name.to_string());
        assert!(new, "a write that changes nothing");
        Ok(())
    }

    fn mark_unmanaged(&mut self, uid: &Uid) -> Done {
        let row = self.rows.iter_mut().find(|row| row.tenant_uid == *uid);
        row.unwrap().state = ClaimState::Unmanaged;
        Ok(())
    }

    fn drop_role(&mut self) -> Done {
        let oid = self.role_mut().oid;
        if self
            .databases
            .values()
            .any(|database| database.owner == oid)
        {
            return failed(Class::Blocked, "the role still owns a database");
        }
        self.roles.remove(&self.role_name());
        Ok(())
    }

    fn apply_projection(&mut self) -> Done {
        if self.terminating {
            return failed(Class::NamespaceTerminating, "being terminated");
        }
        self.api_writes += 1;
        let pinned = self.row().and_then(|row| row.applied_kv_version);
        let owner = Some(self.object.identity.uid.clone());
        let number = self.fresh();
        let made = Projected {
            uid: uid(&format!("es-{number}")),
            owner: owner.clone(),
            deleting: false,
            pinned,
            tampered: false,
            synced: false,
            ready: None,
            failing: 0,
            owned_by_another: false,
            written: 0,
            force_sync: None,
        };
        let name = self.projection_name();
        let projection = self.projections.entry(name).or_insert(made);
        assert_eq!(projection.owner, owner, "a foreign ExternalSecret");
        projection.pinned = pinned;
        projection.tampered = false;
        projection.synced = false;
        projection.written = 0;
        Ok(())
    }

    fn force_sync(&mut self) -> Done {
        self.api_writes += 1;
        self.projection_mut().force_sync = Some(0);
        Ok(())
    }

    fn delete_projection(&mut self) -> Done {
        self.api_writes += 1;
        self.projections.remove(&self.projection_name());
        Ok(())
    }

    /// Gives the database to the admin, as a person might.
    pub fn give_database_to_admin(&mut self) {
        self.database_mut().owner = ADMIN;
    }

    /// Someone rotates the password by hand: a new version with only the password in its data.
    pub fn rotate_by_hand(&mut self) {
        let password = 1000 + self.fresh();
        self.entry_mut().versions.push(Version {
            password,
            owner: None,
            deleted: false,
        });
    }

    /// Every name on the server, in OpenBao and in Kubernetes that is left.
    pub fn leftovers(&self) -> BTreeSet<String> {
        let mut left = BTreeSet::new();
        left.extend(self.rows.iter().map(|row| format!("row {}", row.name)));
        left.extend(self.roles.keys().map(|name| format!("role {name}")));
        left.extend(self.databases.keys().map(|name| format!("database {name}")));
        left.extend(self.entries.keys().map(|name| format!("entry {name}")));
        left.extend(self.projections.keys().map(|name| format!("es {name}")));
        left.extend(self.secrets.keys().map(|name| format!("secret {name}")));
        left
    }
}
