//! One object of a review: what is read of it before its kind's types are.
//!
//! Decides how much of an object is read at all: the names, the deletion mark, a spec of bounded size, the status. Labels,
//! managed fields and everything else are checked for form and skipped. It judges no field of a spec.

use domain::violation::{FieldPath, Kind, Violation};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parts::Parts;
use crate::ports::Route;
use crate::unreadable::{OLD_OBJECT, Unreadable};

/// The most bytes of a spec. The largest legal one, with 64 extensions, has below 6 kB; decoded JSON takes up to 14 times
/// its text, which this keeps small (H9).
pub const SPEC_MAX: usize = 64 << 10;

/// The most bytes of an Application's spec: settings at their limit ([`domain::settings::limits::Limits::settings_bytes`]), in
/// which the API server may have escaped some characters, and the rest. Decoded it takes up to 20 times as much.
pub const APPLICATION_SPEC_MAX: usize = 512 << 10;

/// An object as far as it is read.
#[derive(Debug)]
pub struct Object<'a> {
    /// `metadata.name`.
    pub name: String,
    /// There is a deletion timestamp.
    pub deleting: bool,
    spec: Spec<'a>,
    status: Option<&'a RawValue>,
}

#[derive(Debug)]
enum Spec<'a> {
    Read { text: &'a str, value: Value },
    TooLong(usize, usize),
}

impl<'a> Object<'a> {
    /// Reads the spec of an object whose parts are known.
    ///
    /// # Errors
    /// The spec is malformed.
    pub(crate) fn read(
        field: &'static str,
        parts: Parts<'a>,
        route: Route,
    ) -> Result<Self, Unreadable> {
        let most = route.spec_max();
        let spec = match parts.spec.get() {
            // Refused as it is, so nobody reads it.
            spec if spec.len() > most => Spec::TooLong(spec.len(), most),
            text => Spec::Read {
                text,
                value: serde_json::from_str(text)
                    .map_err(|error| Unreadable::new(field, error.to_string()))?,
            },
        };
        Ok(Self {
            name: parts.metadata.name,
            deleting: parts.metadata.deletion_timestamp.is_some(),
            spec,
            status: parts.status,
        })
    }

    /// True if the specs are the same JSON, whatever the kind's types make of it (D4).
    #[must_use]
    pub(crate) fn has_spec_of(&self, other: &Self) -> bool {
        matches!(
            (&self.spec, &other.spec),
            (Spec::Read { value: mine, .. }, Spec::Read { value: theirs, .. }) if mine == theirs
        )
    }

    /// The spec as its kind's type.
    ///
    /// # Errors
    /// A violation at the field that is too long, of a wrong type or missing.
    pub(crate) fn spec<T: DeserializeOwned>(&self) -> Result<T, Violation> {
        let (text, value) = match &self.spec {
            Spec::Read { text, value } if value.is_object() => (*text, value),
            Spec::Read { .. } => {
                return Err(Violation::new("spec", Kind::Invalid, "must be an object"));
            }
            Spec::TooLong(length, most) => return Err(too_long(*length, *most)),
        };
        // Only a spec that is refused needs its path, which costs as much again.
        serde_json::from_str(text).or_else(|_| {
            serde_path_to_error::deserialize(value.clone()).map_err(|error| wrong_type(&error))
        })
    }

    /// The spec of the object that is stored already.
    ///
    /// # Errors
    /// It is not of the type: the edit cannot be judged.
    pub(crate) fn stored_spec<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        self.spec()
            .map_err(|violation| Unreadable::new(OLD_OBJECT, violation.to_string()))
    }

    /// The status of the object that is stored already; the default if there is none.
    ///
    /// # Errors
    /// It is not of the type: the edit cannot be judged.
    pub(crate) fn stored_status<T: DeserializeOwned + Default>(&self) -> Result<T, Unreadable> {
        let Some(raw) = self.status else {
            return Ok(T::default());
        };
        serde_json::from_str(raw.get())
            .map_err(|error| Unreadable::new(OLD_OBJECT, format!("status: {error}")))
    }
}

/// A spec that is refused for its length alone.
pub(crate) fn too_long(length: usize, most: usize) -> Violation {
    let text = format!("has {length} bytes; at most {most} are allowed");
    Violation::new("spec", Kind::TooLong, text)
}

fn wrong_type(error: &serde_path_to_error::Error<serde_json::Error>) -> Violation {
    let path = FieldPath::new("spec");
    let inner = error.path().to_string();
    let path = if inner == "." {
        path
    } else {
        path.child(&inner)
    };
    Violation::new(
        path,
        Kind::Invalid,
        format!("cannot be read: {}", error.inner()),
    )
}
