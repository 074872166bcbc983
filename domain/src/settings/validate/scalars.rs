//! Keywords about strings and numbers (section 5.2).

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::Validator;
use super::format;
use super::report::Report;
use crate::settings::document::{Path, compare_numbers, real};
use crate::settings::schema::node::{NumberRules, TextRules};
use crate::violation::Kind;

/// Beyond this a double no longer holds every whole number.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// A number without a fraction within ±2^53.
pub(super) fn is_integer(number: &Number) -> bool {
    let real = real(number);
    real.fract() == 0.0 && real.abs() <= INTEGER_MAX
}

/// A value as an error shows it: texts bare, everything else as JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Validator<'_> {
    pub(super) fn check_text<R: Report>(
        &mut self,
        rules: &TextRules,
        text: &str,
        path: &Path<'_>,
        report: &mut R,
    ) {
        if rules.min_length.is_some() || rules.max_length.is_some() {
            check_length(rules, text, path, report);
        }
        if let Some(pattern) = &rules.pattern
            && self.charge(1 + text.len() / 64)
            && !pattern.is_match(text)
        {
            report.add(path, Kind::Invalid, || match pattern.broken() {
                None => format!("should match '{}'", pattern.source()),
                Some(error) => format!("cannot be checked against '{}': {error}", pattern.source()),
            });
        }
        if let Some(name) = &rules.format
            && !format::matches(name, text)
        {
            report.add(path, Kind::Invalid, || format!("must be of type {name}"));
        }
    }
}

fn check_length<R: Report>(rules: &TextRules, text: &str, path: &Path<'_>, report: &mut R) {
    let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    if let Some(least) = rules.min_length.filter(|least| length < *least) {
        report.add(path, Kind::Invalid, || {
            format!("should be at least {least} chars long")
        });
    }
    if let Some(most) = rules.max_length.filter(|most| length > *most) {
        report.add(path, Kind::TooLong, || {
            format!("should be at most {most} chars long")
        });
    }
}

pub(super) fn check_number<R: Report>(
    rules: &NumberRules,
    number: &Number,
    path: &Path<'_>,
    report: &mut R,
) {
    if let Some(least) = &rules.minimum {
        let order = compare_numbers(number, least);
        if order == Ordering::Less || (rules.exclusive_minimum && order == Ordering::Equal) {
            let or_equal = if rules.exclusive_minimum {
                ""
            } else {
                " or equal to"
            };
            report.add(path, Kind::Invalid, || {
                format!("should be greater than{or_equal} {least}")
            });
        }
    }
    if let Some(most) = &rules.maximum {
        let order = compare_numbers(number, most);
        if order == Ordering::Greater || (rules.exclusive_maximum && order == Ordering::Equal) {
            let or_equal = if rules.exclusive_maximum {
                ""
            } else {
                " or equal to"
            };
            report.add(path, Kind::Invalid, || {
                format!("should be less than{or_equal} {most}")
            });
        }
    }
    if let Some(factor) = &rules.multiple_of
        && !is_multiple(real(number), real(factor))
    {
        report.add(path, Kind::Invalid, || {
            format!("should be a multiple of {factor}")
        });
    }
}

/// Decimal fractions have no exact double, so `0.3` counts as a multiple of `0.1`. Nothing is a multiple of 0 or less.
fn is_multiple(number: f64, factor: f64) -> bool {
    if factor <= 0.0 {
        return false;
    }
    let quotient = number / factor;
    (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}
