//! Whether JSON text is well formed to the last value, without building anything from it.
//!
//! Decides that nesting stays within `serde_json`'s 128 levels, numbers fit a double and strings are whole Unicode, also in
//! fields that no type of ours names and that a typed decode would skip unread (H9). It decides nothing of what they mean.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Checks JSON text.
///
/// # Errors
/// Where it is not well formed.
pub(crate) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<WellFormed>(text).map(|_| ())
}

/// Checks JSON text that stands one level deep in an object, as deep as it stands there.
///
/// # Errors
/// Where it is not well formed.
pub(crate) fn check_within(text: &str) -> Result<(), serde_json::Error> {
    check(&format!("[{text}]"))
}

/// Any JSON value, read in full and dropped. `serde::de::IgnoredAny` would not do: the parser skips its contents.
#[derive(Debug)]
pub(crate) struct WellFormed;

impl<'de> Deserialize<'de> for WellFormed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = WellFormed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_unit<E: Error>(self) -> Result<WellFormed, E> {
        Ok(WellFormed)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<WellFormed, A::Error> {
        while items.next_element::<WellFormed>()?.is_some() {}
        Ok(WellFormed)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<WellFormed, A::Error> {
        while entries.next_entry::<WellFormed, WellFormed>()?.is_some() {}
        Ok(WellFormed)
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn h9_depth_numbers_and_strings_are_checked_wherever_they_stand() {
        let nested =
            |depth: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert!(check(&nested(126)).is_ok());
        for depth in [128, 129, 10_000] {
            assert!(check(&nested(depth)).is_err(), "{depth}");
        }
        for good in [
            r#"{"a":[1,-0,2.5,18446744073709551616,"\ud83d\ude00",null,true]}"#,
            "[]",
        ] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in [
            r#"{"a":1e400}"#,
            r#"["\ud800"]"#,
            "{\"a\":\"\0\"}",
            r#"{"a":1"#,
            "",
            "{} {}",
            r#"{"a":1,}"#,
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(check(&format!("[{}]", "9".repeat(100_000))).is_err());
    }
}
