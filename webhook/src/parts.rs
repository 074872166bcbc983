//! The fields of an object that are read, in one pass over its text.
//!
//! Decides which fields those are. Everything else is checked to be well formed and dropped ([`WellFormed`]); spec and status
//! are handed on as text. It judges nothing.

use std::fmt;

use domain::settings::switch::ACKNOWLEDGEMENT;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::ports::Route;
use crate::strict;
use crate::strict::WellFormed;
use crate::unreadable::Unreadable;

/// What is read of an object.
pub(crate) struct Parts<'a> {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) spec: &'a RawValue,
    pub(crate) status: Option<&'a RawValue>,
}

/// What is read of `metadata`.
#[derive(Default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) deletion_timestamp: Option<WellFormed>,
    /// The annotation that acknowledges destructive switches (S8).
    pub(crate) acknowledgement: Option<String>,
}

impl<'a> Parts<'a> {
    /// Reads the object that stands in `field` of a review.
    ///
    /// # Errors
    /// It is malformed anywhere but in its spec, or no object of the route's kind.
    pub(crate) fn read(
        field: &'static str,
        raw: &'a RawValue,
        route: Route,
    ) -> Result<Self, Unreadable> {
        let json = raw.get();
        let unreadable = |error: serde_json::Error| Unreadable::new(field, error.to_string());
        if !starts_as_object(json) {
            return Err(Unreadable::new(field, "must be an object"));
        }
        let parts: Self = serde_json::from_str(json).map_err(unreadable)?;
        if let Some(status) = parts.status {
            strict::check_within(status.get()).map_err(unreadable)?;
        }
        let (group, version, kind) = (route.group(), route.version(), route.kind());
        if parts.kind != kind || parts.api_version != format!("{group}/{version}") {
            let text = format!("must be a {kind} of {group}/{version}");
            return Err(Unreadable::new(field, text));
        }
        if parts.metadata.name.is_empty() {
            return Err(Unreadable::new(field, "has no metadata.name"));
        }
        Ok(parts)
    }
}

/// True if the text's first character opens a JSON object; serde would take a list for a struct as well.
pub(crate) fn starts_as_object(json: &str) -> bool {
    json.trim_start().starts_with('{')
}

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = Parts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Parts<'de>, A::Error> {
        let (mut api_version, mut kind, mut metadata) = (None, None, None);
        let (mut spec, mut status) = (None, None);
        while let Some(Key(key)) = entries.next_key()? {
            match key.as_ref() {
                "apiVersion" => once(&mut api_version, "apiVersion", &mut entries)?,
                "kind" => once(&mut kind, "kind", &mut entries)?,
                "metadata" => once(&mut metadata, "metadata", &mut entries)?,
                "spec" => once(&mut spec, "spec", &mut entries)?,
                "status" => once(&mut status, "status", &mut entries)?,
                _ => {
                    entries.next_value::<WellFormed>()?;
                }
            }
        }
        Ok(Parts {
            api_version: api_version.ok_or_else(|| Error::missing_field("apiVersion"))?,
            kind: kind.ok_or_else(|| Error::missing_field("kind"))?,
            metadata: metadata.ok_or_else(|| Error::missing_field("metadata"))?,
            spec: spec.ok_or_else(|| Error::missing_field("spec"))?,
            status: status.flatten(),
        })
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataVisitor)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Metadata, A::Error> {
        let (mut name, mut namespace, mut deletion_timestamp) = (None, None, None);
        let mut annotations: Option<Option<Annotations>> = None;
        while let Some(Key(key)) = entries.next_key()? {
            match key.as_ref() {
                "name" => once(&mut name, "name", &mut entries)?,
                "namespace" => once(&mut namespace, "namespace", &mut entries)?,
                "deletionTimestamp" => {
                    once(&mut deletion_timestamp, "deletionTimestamp", &mut entries)?;
                }
                "annotations" => once(&mut annotations, "annotations", &mut entries)?,
                _ => {
                    entries.next_value::<WellFormed>()?;
                }
            }
        }
        Ok(Metadata {
            name: name.ok_or_else(|| Error::missing_field("name"))?,
            namespace: namespace.flatten(),
            deletion_timestamp: deletion_timestamp.flatten(),
            acknowledgement: annotations.flatten().and_then(|read| read.acknowledgement),
        })
    }
}

/// What is read of `metadata.annotations`.
struct Annotations {
    acknowledgement: Option<String>,
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnnotationsVisitor)
    }
}

struct AnnotationsVisitor;

impl<'de> Visitor<'de> for AnnotationsVisitor {
    type Value = Annotations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Annotations, A::Error> {
        let mut acknowledgement = None;
        while let Some(Key(key)) = entries.next_key()? {
            if key == ACKNOWLEDGEMENT {
                once(&mut acknowledgement, "annotations", &mut entries)?;
            } else {
                entries.next_value::<WellFormed>()?;
            }
        }
        Ok(Annotations { acknowledgement })
    }
}

/// A field that may stand once: of two values nobody could say which one the API server means.
fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    place: &mut Option<T>,
    name: &'static str,
    entries: &mut A,
) -> Result<(), A::Error> {
    if place.is_some() {
        return Err(Error::duplicate_field(name));
    }
    *place = Some(entries.next_value()?);
    Ok(())
}

/// A key, borrowed where the text has no escape in it.
struct Key<'a>(std::borrow::Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(key.into()))
            }

            fn visit_str<E: Error>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(key.to_owned().into()))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
