//! JSON as the interpreter sees it: every number a double, strings borrowed from the document (section 5.3).
//!
//! A document is converted once, and the rules of its inner nodes see parts of the same conversion. This file evaluates nothing.

use std::collections::HashMap;

use cel_interpreter::common::types::{
    CelBool, CelDouble, CelList, CelMap, CelMapKey, CelNull, CelString,
};
use cel_interpreter::common::value::Val;
use serde_json::Value;

/// A converted value that borrows its strings from the document.
pub type Converted<'d> = Box<dyn Val + 'd>;

/// Converts a value and everything below it.
#[must_use]
pub fn convert(value: &Value) -> Converted<'_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        // A number beyond the doubles cannot occur: the documents are read without arbitrary precision.
        Value::Number(number) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            Box::new(CelList::from(items.iter().map(convert).collect::<Vec<_>>()))
        }
        Value::Object(fields) => {
            let mut map = HashMap::with_capacity(fields.len());
            for (key, value) in fields {
                map.insert(CelMapKey::from(key.as_str()), convert(value));
            }
            Box::new(CelMap::from(map))
        }
    }
}

/// The part of a converted object under a key.
#[must_use]
pub fn field<'b, 'd>(object: &'b (dyn Val + 'd), key: &'b str) -> Option<&'b (dyn Val + 'd)> {
    let map = object.downcast_ref::<CelMap>()?;
    map.inner().get(&CelMapKey::from(key)).map(AsRef::as_ref)
}

/// The part of a converted array at a position.
#[must_use]
pub fn item<'b, 'd>(array: &'b (dyn Val + 'd), position: usize) -> Option<&'b (dyn Val + 'd)> {
    let list = array.downcast_ref::<CelList>()?;
    list.inner().get(position).map(AsRef::as_ref)
}
