//! JSON documents: when two are equal, how a place in one is written, and how one is laid over another.
//!
//! Equality is that of JSON numbers: `1` and `1.0` are one value, at every depth (sections 5.2 and 6). This file knows no schema.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Number, Value};

/// A place in a document, as a list of steps on the stack: nothing is allocated until it is written out.
///
/// Written with dots between keys and attached indices, such as `pools[0].disk`; the root is the empty text (section 6).
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The document itself.
    Root,
    /// A key of the object at the parent.
    Key(&'a Self, &'a str),
    /// An element of the list at the parent.
    Index(&'a Self, usize),
}

impl<'a> Path<'a> {
    /// The place of a key below this one.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The place of an element below this one.
    #[must_use]
    pub fn index(&'a self, position: usize) -> Self {
        Self::Index(self, position)
    }

    /// The place as a JSON pointer, which tells a key with a dot from two keys.
    #[must_use]
    pub fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, key) => format!("{}/{}", parent.pointer(), token(key)),
            Self::Index(parent, position) => format!("{}/{position}", parent.pointer()),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Path::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, position) => write!(f, "{parent}[{position}]"),
        }
    }
}

/// A key as a step of a JSON pointer.
#[must_use]
pub fn token(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The value at a list of keys; `None` where a key is missing or its parent is no object.
#[must_use]
pub fn at<'v, K: AsRef<str>>(document: &'v Value, keys: &[K]) -> Option<&'v Value> {
    keys.iter().try_fold(document, |value, key| {
        value
            .as_object()
            .and_then(|object| object.get(key.as_ref()))
    })
}

/// True if both are the same JSON value; numbers are compared by value, so `1` equals `1.0`.
#[must_use]
pub fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            compare_numbers(left, right) == Ordering::Equal
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => left == right,
    }
}

/// A total order of JSON values that agrees with [`equal`]; it serves to find duplicates without comparing all pairs.
#[must_use]
pub fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            compare_all(left.iter(), right.iter(), compare)
        }
        (Value::Object(left), Value::Object(right)) => compare_all(
            sorted(left).into_iter(),
            sorted(right).into_iter(),
            |left, right| left.0.cmp(right.0).then_with(|| compare(left.1, right.1)),
        ),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_all<T>(
    mut left: impl Iterator<Item = T>,
    mut right: impl Iterator<Item = T>,
    compare: impl Fn(T, T) -> Ordering,
) -> Ordering {
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(left), Some(right)) => match compare(left, right) {
                Ordering::Equal => {}
                decided => return decided,
            },
        }
    }
}

fn sorted(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = object.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Compares by value, exactly, also a whole number with a fraction beyond 2^53.
#[must_use]
pub fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => compare_whole(left, real(right)),
        (None, Some(right)) => compare_whole(right, real(left)).reverse(),
        (None, None) => real(left).total_cmp(&real(right)),
    }
}

/// A whole number of any spelling (`2`, `2.0`), if it fits into 128 bits.
fn whole(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(value.into());
    }
    if let Some(value) = number.as_u64() {
        return Some(value.into());
    }
    let value = real(number);
    #[allow(clippy::cast_possible_truncation)]
    // Checked to be whole and far below the bound of i128.
    (value.fract() == 0.0 && value.abs() < 1e30).then_some(value as i128)
}

/// Only called with a `real` that is no whole number below 1e30, so rounding `whole` decides nothing wrongly.
fn compare_whole(whole: i128, real: f64) -> Ordering {
    #[allow(clippy::cast_precision_loss)]
    (whole as f64).total_cmp(&real)
}

/// The number as a double; every JSON number that was read has one.
#[must_use]
pub fn real(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Lays `over` on `base`: objects merge key by key, everything else, `null` included, is replaced (section 4.2).
pub fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(present) => merge(present, value),
                    None => {
                        base.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// Bytes of the document as compact JSON, up to a bound: `None` if it is longer.
#[must_use]
pub fn size_within(document: &Value, most: usize) -> Option<usize> {
    struct Counter {
        written: usize,
        most: usize,
    }
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.written += bytes.len();
            if self.written > self.most {
                return Err(std::io::ErrorKind::FileTooLarge.into());
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter { written: 0, most };
    serde_json::to_writer(&mut counter, document).ok()?;
    Some(counter.written)
}

/// True if objects and lists nest no deeper than `most`; a scalar has depth 0, `{}` and `[]` have depth 1.
#[must_use]
pub fn depth_within(document: &Value, most: usize) -> bool {
    let within = |inside: &Value| depth_within(inside, most.saturating_sub(1));
    match document {
        Value::Array(list) => most > 0 && list.iter().all(within),
        Value::Object(object) => most > 0 && object.values().all(within),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_equal_by_value_at_every_depth() {
        assert!(equal(&json!(1), &json!(1.0)));
        assert!(equal(
            &json!({"a": [1, {"b": 2.0}]}),
            &json!({"a": [1.0, {"b": 2}]})
        ));
        assert!(equal(&json!(-0.0), &json!(0)));
        assert!(!equal(&json!(1), &json!(true)));
        assert!(!equal(&json!(1), &json!("1")));
        assert!(!equal(&json!({"a": null}), &json!({})));
        assert!(!equal(
            &json!(9_007_199_254_740_993_i64),
            &json!(9_007_199_254_740_992.0)
        ));
        assert!(equal(&json!(u64::MAX), &json!(u64::MAX)));
    }

    #[test]
    fn the_order_agrees_with_equality() {
        let values = [
            json!(null),
            json!(false),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(1e40),
            json!("a"),
            json!([1, 2]),
            json!([1]),
            json!({"a": 1}),
            json!({"a": 1.0, "b": 2}),
            json!({"b": 2, "a": 1}),
        ];
        for left in &values {
            for right in &values {
                assert_eq!(
                    equal(left, right),
                    compare(left, right) == Ordering::Equal,
                    "{left} {right}"
                );
                assert_eq!(
                    compare(left, right),
                    compare(right, left).reverse(),
                    "{left} {right}"
                );
            }
        }
    }

    #[test]
    fn a_path_is_written_with_dots_and_attached_indices() {
        let (root, list);
        root = Path::Root;
        let pools = root.key("pools");
        list = pools.index(0);
        assert_eq!(list.key("disk").to_string(), "pools[0].disk");
        assert_eq!(Path::Root.to_string(), "");
        assert_eq!(root.index(2).to_string(), "[2]");
        assert_eq!(list.key("a/b").pointer(), "/pools/0/a~1b");
        assert_eq!(Path::Root.pointer(), "");
    }

    #[test]
    fn merging_goes_key_by_key_and_replaces_everything_else() {
        let mut base = json!({"a": {"x": 1, "y": [1, 2]}, "b": 1});
        merge(
            &mut base,
            &json!({"a": {"y": [3], "z": null}, "b": {"c": 1}}),
        );
        assert_eq!(
            base,
            json!({"a": {"x": 1, "y": [3], "z": null}, "b": {"c": 1}})
        );
    }

    #[test]
    fn size_and_depth_are_measured_against_a_bound() {
        assert_eq!(size_within(&json!({"a": "é"}), 100), Some(10));
        assert_eq!(size_within(&json!({"a": "é"}), 9), None);
        assert!(depth_within(&json!({"a": [1]}), 2));
        assert!(!depth_within(&json!({"a": [1]}), 1));
        assert!(depth_within(&json!(1), 0));
    }
}
