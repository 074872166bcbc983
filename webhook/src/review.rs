//! From bytes to a question: which object, which operation, and whether this webhook is asked about it at all.
//!
//! Decoded in two steps: the envelope first, in which every field is raw JSON, so that the request's uid survives whatever
//! else is wrong; then each part. What a spec means is not decided here (see [`crate::tenant`] and [`crate::instance`]).

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::object::Object;
use crate::parts::{Metadata, Parts, starts_as_object};
use crate::ports::{Operation, Route};
use crate::unreadable::{OBJECT, OLD_OBJECT, Unreadable};

/// The version of the review that is spoken.
pub const REVIEW_VERSION: &str = "admission.k8s.io/v1";
/// The kind of the review.
pub const REVIEW_KIND: &str = "AdmissionReview";
/// The longest uid that is echoed, in bytes; the API server's have 36.
pub const UID_MAX: usize = 253;

/// Why there is no review to answer: the request gets HTTP 400 (H6).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAReview {
    /// The body is not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// The body is not JSON of the review's shape.
    #[error("the body is not an AdmissionReview: {0}")]
    Malformed(String),
    /// Another version or kind than is served.
    #[error("the body must be an AdmissionReview of admission.k8s.io/v1")]
    WrongVersion,
    /// The review has an answer already.
    #[error("the review already has a response")]
    Answered,
    /// There is no request.
    #[error("the review has no request")]
    NoRequest,
    /// The uid is missing, empty, too long or no string.
    #[error("request.uid must be a string of 1 to {UID_MAX} bytes")]
    NoUid,
}

/// `request.kind` or `request.resource`.
#[derive(Deserialize)]
struct Registered {
    group: String,
    version: String,
    #[serde(alias = "resource")]
    kind: String,
}

/// One question of the API server.
#[derive(Debug)]
pub struct Review<'a> {
    /// Echoed in the answer.
    pub uid: String,
    /// The object's namespace; empty if it has none.
    pub namespace: String,
    /// The object's name; empty for a create whose name is generated.
    pub name: String,
    /// What is to be done.
    pub operation: Operation,
    /// Nothing will be stored. The verdict is the same (H42).
    pub dry_run: bool,
    raw: Request<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    request: Option<ObjectOnly<Request<'a>>>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    uid: Option<&'a RawValue>,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(borrow)]
    sub_resource: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    namespace: Option<&'a RawValue>,
    #[serde(borrow)]
    operation: Option<&'a RawValue>,
    #[serde(borrow)]
    dry_run: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

impl<'a> Review<'a> {
    /// The review in a request's body. Optional texts that are unreadable are empty here and named by [`Self::asked_of`].
    ///
    /// # Errors
    /// [`NotAReview`] if there is no uid to answer to, or the envelope is not one of version 1 (H6).
    pub fn decode(body: &'a [u8]) -> Result<Self, NotAReview> {
        let body = std::str::from_utf8(body).map_err(|_| NotAReview::NotUtf8)?;
        let envelope: Envelope<'a> = parse_object(body).map_err(NotAReview::Malformed)?;
        if text(envelope.api_version).as_deref() != Some(REVIEW_VERSION)
            || text(envelope.kind).as_deref() != Some(REVIEW_KIND)
        {
            return Err(NotAReview::WrongVersion);
        }
        if envelope.response.is_some() {
            return Err(NotAReview::Answered);
        }
        let ObjectOnly(raw) = envelope.request.ok_or(NotAReview::NoRequest)?;
        let uid = text(raw.uid)
            .filter(|uid| (1..=UID_MAX).contains(&uid.len()))
            .ok_or(NotAReview::NoUid)?;
        Ok(Self {
            uid,
            namespace: text(raw.namespace).unwrap_or_default(),
            name: text(raw.name).unwrap_or_default(),
            operation: text(raw.operation)
                .as_deref()
                .map_or(Operation::Unknown, Operation::parse),
            dry_run: raw.dry_run.is_some_and(|flag| flag.get() == "true"),
            raw,
        })
    }

    /// Whether this review asks what the route is registered for (H41).
    ///
    /// # Errors
    /// The first part of the review that says otherwise or cannot be read.
    pub fn asked_of(&self, route: Route) -> Result<(), Unreadable> {
        let raw = &self.raw;
        for (field, part) in [
            ("request.name", raw.name),
            ("request.namespace", raw.namespace),
        ] {
            if part.is_some() && text(part).is_none() {
                return Err(Unreadable::new(field, "must be a string"));
            }
        }
        if raw
            .dry_run
            .is_some_and(|flag| !matches!(flag.get(), "true" | "false"))
        {
            return Err(Unreadable::new("request.dryRun", "must be a boolean"));
        }
        let kinds = [
            ("request.kind", raw.kind, route.kind()),
            ("request.resource", raw.resource, route.resource()),
        ];
        let (group, version) = (route.group(), route.version());
        for (field, part, wanted) in kinds {
            let asked = part.and_then(|part| parse_object::<Registered>(part.get()).ok());
            if !asked.is_some_and(|asked| {
                asked.group == group && asked.version == version && asked.kind == wanted
            }) {
                return Err(Unreadable::new(
                    field,
                    format!("this webhook judges {wanted} of {group}/{version} only"),
                ));
            }
        }
        if raw.sub_resource.is_some_and(|part| part.get() != "\"\"") {
            return Err(Unreadable::new(
                "request.subResource",
                "this webhook judges no subresource",
            ));
        }
        if !matches!(self.operation, Operation::Create | Operation::Update) {
            return Err(Unreadable::new(
                "request.operation",
                "this webhook judges CREATE and UPDATE only",
            ));
        }
        if self.namespace.is_empty() == route.is_namespaced() {
            let text = if route.is_namespaced() {
                "must name a namespace"
            } else {
                "must be empty: the kind is cluster-scoped"
            };
            return Err(Unreadable::new("request.namespace", text));
        }
        Ok(())
    }

    /// The object as it is wanted.
    ///
    /// # Errors
    /// It is missing, malformed, of another kind, or not the object that the review names.
    pub fn object(&self, route: Route) -> Result<Object<'a>, Unreadable> {
        Object::read(OBJECT, self.parts(route)?, route)
    }

    /// The object as it is stored; `None` on a create.
    ///
    /// # Errors
    /// It is missing, malformed, of another kind, or not the object that the review names.
    pub fn old_object(&self, route: Route) -> Result<Option<Object<'a>>, Unreadable> {
        self.old_parts(route)?
            .map(|parts| Object::read(OLD_OBJECT, parts, route))
            .transpose()
    }

    /// The parts of the object as it is wanted.
    ///
    /// # Errors
    /// As [`Self::object`], but for the spec, which is not read.
    pub(crate) fn parts(&self, route: Route) -> Result<Parts<'a>, Unreadable> {
        self.read(OBJECT, self.raw.object, route)
    }

    /// The parts of the object as it is stored; `None` on a create.
    ///
    /// # Errors
    /// As [`Self::old_object`], but for the spec, which is not read.
    pub(crate) fn old_parts(&self, route: Route) -> Result<Option<Parts<'a>>, Unreadable> {
        match self.operation {
            Operation::Update => self.read(OLD_OBJECT, self.raw.old_object, route).map(Some),
            _ => Ok(None),
        }
    }

    fn read(
        &self,
        field: &'static str,
        raw: Option<&'a RawValue>,
        route: Route,
    ) -> Result<Parts<'a>, Unreadable> {
        let parts = Parts::read(
            field,
            raw.ok_or_else(|| Unreadable::new(field, "is missing"))?,
            route,
        )?;
        let Metadata {
            name, namespace, ..
        } = &parts.metadata;
        let generated = self.name.is_empty() && self.operation == Operation::Create;
        if namespace.as_deref().unwrap_or_default() != self.namespace
            || (*name != self.name && !generated)
        {
            return Err(Unreadable::new(
                field,
                "is not the object that the request names",
            ));
        }
        Ok(parts)
    }
}

/// A JSON object as `T`; serde would take a list for a struct as well.
struct ObjectOnly<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOnly<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MapVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
            type Value = ObjectOnly<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(entries)).map(ObjectOnly)
            }
        }
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

fn parse_object<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, String> {
    if !starts_as_object(json) {
        return Err("it is no JSON object".to_owned());
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}
