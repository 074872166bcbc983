//! The wire form of an entry: what stands in its data and in its custom metadata (D9), and the fact that follows from both.

use std::collections::HashMap;

use domain::tenancy::facts::{EntryFact, EntryOwner};
use domain::tenancy::names::Uid;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// Keys in an entry's data; all but the password are keys of its custom metadata too.
pub mod field {
    /// The password, in the data alone.
    pub const PASSWORD: &str = "password";
    /// The Tenant's UID: whose the entry is.
    pub const TENANT_UID: &str = "tenant-uid";
    /// The Instance's UID.
    pub const INSTANCE_UID: &str = "instance-uid";
    /// The Instance's name.
    pub const INSTANCE: &str = "instance";
    /// The database.
    pub const DATABASE: &str = "database";
    /// The login role.
    pub const ROLE: &str = "role";
}

/// What was read at a path. It has no `Debug`.
pub struct Entry {
    /// What rules read.
    pub fact: EntryFact,
    /// The password; only with [`EntryFact::Present`], and only if the data hold a non-empty one.
    pub password: Option<SecretString>,
}

/// The owner's fields with their keys.
fn owner_fields(owner: &EntryOwner) -> [(&'static str, &str); 5] {
    [
        (field::TENANT_UID, owner.tenant_uid.as_str()),
        (field::INSTANCE_UID, owner.instance_uid.as_str()),
        (field::INSTANCE, &owner.instance_name),
        (field::DATABASE, &owner.database),
        (field::ROLE, &owner.role),
    ]
}

/// The data of a first version.
pub(super) fn data(owner: &EntryOwner, password: &SecretString) -> Value {
    let mut data: Map<String, Value> = owner_fields(owner)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    data.insert(
        field::PASSWORD.to_owned(),
        Value::from(password.expose_secret()),
    );
    Value::Object(data)
}

/// The custom metadata with the owner's fields set; whatever else stands there stays.
pub(super) fn marked(
    present: HashMap<String, String>,
    owner: &EntryOwner,
) -> HashMap<String, String> {
    let mut metadata = present;
    metadata.extend(
        owner_fields(owner)
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    metadata
}

/// The owner's UID in custom metadata; an empty one is none.
pub(super) fn metadata_uid(metadata: Option<&HashMap<String, String>>) -> Option<Uid> {
    metadata?
        .get(field::TENANT_UID)
        .filter(|uid| !uid.is_empty())
        .map(Uid::new)
}

/// The owner in the data of a version. A version written by hand may hold the password alone: it has no owner then.
fn data_owner(
    data: &Map<String, Value>,
    metadata: Option<&HashMap<String, String>>,
) -> Option<EntryOwner> {
    let written = |key: &str| {
        data.get(key)
            .and_then(Value::as_str)
            .filter(|value| !value.is_empty())
    };
    let tenant_uid = Uid::new(written(field::TENANT_UID)?);
    // A field that a person left out is what the metadata say; the UID above is never taken from there.
    let value = |key: &str| {
        let recorded = || {
            metadata
                .and_then(|metadata| metadata.get(key))
                .map(String::as_str)
        };
        written(key)
            .or_else(recorded)
            .unwrap_or_default()
            .to_owned()
    };
    Some(EntryOwner {
        tenant_uid,
        instance_uid: Uid::new(value(field::INSTANCE_UID)),
        instance_name: value(field::INSTANCE),
        database: value(field::DATABASE),
        role: value(field::ROLE),
    })
}

/// A readable version.
pub(super) fn present(
    version: u64,
    data: &Value,
    metadata: Option<&HashMap<String, String>>,
) -> Entry {
    let none = Map::new();
    let data = data.as_object().unwrap_or(&none);
    let password = data
        .get(field::PASSWORD)
        .and_then(Value::as_str)
        .filter(|password| !password.is_empty());
    Entry {
        password: password.map(SecretString::from),
        fact: EntryFact::Present {
            version,
            data: data_owner(data, metadata),
            metadata: metadata_uid(metadata),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use serde_json::json;

    use super::*;

    fn owner() -> EntryOwner {
        EntryOwner {
            tenant_uid: Uid::new("t-1"),
            instance_uid: Uid::new("i-1"),
            instance_name: "shared".to_owned(),
            database: "netbox".to_owned(),
            role: "netbox_app".to_owned(),
        }
    }

    #[test]
    fn d9_data_hold_the_password_and_the_owner_and_metadata_hold_the_owner_alone() {
        let data = data(&owner(), &SecretString::from("pw"));
        assert_eq!(
            data,
            json!({
                "password": "pw", "tenant-uid": "t-1", "instance-uid": "i-1", "instance": "shared",
                "database": "netbox", "role": "netbox_app",
            })
        );
        let metadata = marked(
            HashMap::from([("team".to_owned(), "net".to_owned())]),
            &owner(),
        );
        assert_eq!(metadata.len(), 6, "a key of someone else stays");
        assert!(!metadata.contains_key("password"));
        let entry = present(3, &data, Some(&metadata));
        let expected = EntryFact::Present {
            version: 3,
            data: Some(owner()),
            metadata: Some(Uid::new("t-1")),
        };
        assert_eq!(entry.fact, expected);
        assert_eq!(entry.password.unwrap().expose_secret(), "pw");
    }

    #[test]
    fn d13_a_version_rotated_by_hand_may_hold_the_password_alone() {
        let metadata = marked(HashMap::new(), &owner());
        let entry = present(2, &json!({"password": "by hand"}), Some(&metadata));
        assert_eq!(
            entry.fact,
            EntryFact::Present {
                version: 2,
                data: None,
                metadata: Some(Uid::new("t-1"))
            }
        );
        assert_eq!(entry.password.unwrap().expose_secret(), "by hand");
    }

    #[test]
    fn d9_another_uid_in_the_data_is_never_hidden_by_what_is_missing_beside_it() {
        let metadata = marked(HashMap::new(), &owner());
        let entry = present(
            2,
            &json!({"password": "x", "tenant-uid": "t-2"}),
            Some(&metadata),
        );
        let EntryFact::Present {
            data: Some(found),
            metadata,
            ..
        } = entry.fact
        else {
            panic!("present with an owner")
        };
        assert_eq!(found.tenant_uid, Uid::new("t-2"));
        assert_eq!(found.instance_uid, Uid::new("i-1"));
        assert_eq!(metadata, Some(Uid::new("t-1")));
    }

    #[test]
    fn h34_data_of_a_wrong_form_have_no_password_and_no_owner() {
        for data in [
            json!(null),
            json!([]),
            json!("x"),
            json!({}),
            json!({"password": 7, "tenant-uid": 8}),
            json!({"password": ""}),
        ] {
            let entry = present(1, &data, None);
            assert!(entry.password.is_none(), "{data}");
            assert_eq!(
                entry.fact,
                EntryFact::Present {
                    version: 1,
                    data: None,
                    metadata: None
                }
            );
        }
    }
}
