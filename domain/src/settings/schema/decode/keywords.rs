//! Keywords by the shape of their value: the right shape, nothing, or an error at their place.

use serde_json::{Map, Number, Value};

use super::{COUNT, DecodeProblem, Decoded, Decoder};

impl Decoder {
    pub(super) fn wrong<T>(&mut self, keyword: &str, shape: &'static str) -> Decoded<T> {
        self.below(keyword, |me| me.error(DecodeProblem::Shape(shape)))
    }

    pub(super) fn map<'v>(
        &mut self,
        keywords: &'v Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Option<&'v Map<String, Value>>> {
        match present(keywords, keyword) {
            None => Ok(None),
            Some(Value::Object(entries)) => Ok(Some(entries)),
            Some(_) => self.wrong(keyword, "a map"),
        }
    }

    pub(super) fn text(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Option<Box<str>>> {
        match present(keywords, keyword) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str().into())),
            Some(_) => self.wrong(keyword, "a text"),
        }
    }

    pub(super) fn flag(&mut self, keywords: &Map<String, Value>, keyword: &str) -> Decoded<bool> {
        match present(keywords, keyword) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => self.wrong(keyword, "true or false"),
        }
    }

    /// The numeric form of later drafts is ignored (section 5.2).
    pub(super) fn modifier(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<bool> {
        match keywords.get(keyword) {
            Some(Value::Number(_)) => Ok(false),
            _ => self.flag(keywords, keyword),
        }
    }

    pub(super) fn number(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Option<Number>> {
        match present(keywords, keyword) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.clone())),
            Some(_) => self.wrong(keyword, "a number"),
        }
    }

    pub(super) fn count(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Option<u64>> {
        let Some(value) = present(keywords, keyword) else {
            return Ok(None);
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // Checked to be whole and in range.
        let whole = value.as_u64().or_else(|| {
            value
                .as_f64()
                .filter(|real| real.fract() == 0.0 && (0.0..9e15).contains(real))
                .map(|real| real as u64)
        });
        match whole {
            Some(whole) => Ok(Some(whole)),
            None => self.wrong(keyword, COUNT),
        }
    }

    pub(super) fn values(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Option<Vec<Value>>> {
        match present(keywords, keyword) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values.clone())),
            Some(_) => self.wrong(keyword, "a list"),
        }
    }

    pub(super) fn strings(
        &mut self,
        keywords: &Map<String, Value>,
        keyword: &str,
    ) -> Decoded<Vec<String>> {
        let listed = match present(keywords, keyword) {
            None => return Ok(Vec::new()),
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| value.as_str().map(ToOwned::to_owned))
                .collect(),
            Some(_) => None,
        };
        match listed {
            Some(strings) => Ok(strings),
            None => self.wrong(keyword, "a list of texts"),
        }
    }
}

/// A keyword's value; `null` is the same as absent.
pub(super) fn present<'v>(keywords: &'v Map<String, Value>, keyword: &str) -> Option<&'v Value> {
    keywords.get(keyword).filter(|value| !value.is_null())
}

/// True if one of the keywords is written.
pub(super) fn any(keywords: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| keywords.contains_key(*name))
}
