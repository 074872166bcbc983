//! One object of a review: what is read of it before its kind's types are.
//!
//! Decides how much of an object is read at all: the names, the deletion mark, a spec of bounded size, the status. Labels,
//! managed fields and everything else are checked for form and skipped. It judges no field of a spec.

use crds::{GROUP, VERSION};
use domain::violation::{FieldPath, Kind, Violation};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::parts::Parts;
use crate::ports::Route;
use crate::strict;
use crate::unreadable::{OLD_OBJECT, Unreadable};

/// The most bytes of a spec. The largest legal one, with 64 extensions, has below 6 kB; decoded JSON takes up to 14 times
/// its text, which this keeps small (H9).
pub const SPEC_MAX: usize = 64 << 10;

/// An object as far as it is read.
#[derive(Debug)]
pub struct Object<'a> {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`; empty if there is none.
    pub namespace: String,
    /// There is a deletion timestamp.
    pub deleting: bool,
    spec: Spec<'a>,
    status: Option<&'a RawValue>,
}

#[derive(Debug)]
enum Spec<'a> {
    Read { text: &'a str, value: Value },
    TooLong(usize),
}

impl<'a> Object<'a> {
    /// Reads the object that stands in `field` of a review.
    ///
    /// # Errors
    /// It is malformed anywhere, or no object of the route's kind.
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
        let parts: Parts<'a> = serde_json::from_str(json).map_err(unreadable)?;
        if let Some(status) = parts.status {
            // As deep as it stands in the object.
            strict::check(&format!("[{}]", status.get())).map_err(unreadable)?;
        }
        if parts.kind != route.kind() || parts.api_version != format!("{GROUP}/{VERSION}") {
            return Err(Unreadable::new(
                field,
                format!("must be a {} of {GROUP}/{VERSION}", route.kind()),
            ));
        }
        if parts.metadata.name.is_empty() {
            return Err(Unreadable::new(field, "has no metadata.name"));
        }
        let spec = match parts.spec.get() {
            // Refused as it is, so nobody reads it.
            spec if spec.len() > SPEC_MAX => Spec::TooLong(spec.len()),
            text => Spec::Read {
                text,
                value: serde_json::from_str(text).map_err(unreadable)?,
            },
        };
        Ok(Self {
            name: parts.metadata.name,
            namespace: parts.metadata.namespace.unwrap_or_default(),
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
            Spec::TooLong(length) => {
                let text = format!("has {length} bytes; at most {SPEC_MAX} are allowed");
                return Err(Violation::new("spec", Kind::TooLong, text));
            }
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

/// True if the text's first character opens a JSON object; serde would take a list for a struct as well.
pub(crate) fn starts_as_object(json: &str) -> bool {
    json.trim_start().starts_with('{')
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
