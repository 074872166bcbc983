//! Crontabs of schedules: five fields, six with leading seconds, `@hourly` and its kin, `@every 90s`.
//!
//! Times are seconds of the Unix epoch, in UTC, and the next one is a function of a given one: no clock is looked at.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Why a crontab is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrontabError {
    /// Not five or six fields.
    #[error(
        "crontab {written:?} has {found} fields: five, or six with leading seconds, are needed"
    )]
    Fields {
        /// As written.
        written: String,
        /// How many it has.
        found: usize,
    },
    /// A field that is not of the language.
    #[error("crontab {written:?}: field {field:?} is not understood")]
    Field {
        /// As written.
        written: String,
        /// The field.
        field: String,
    },
    /// A value outside its range, or an unknown `@` word.
    #[error("crontab {written:?}: {reason}")]
    Invalid {
        /// As written.
        written: String,
        /// Why.
        reason: String,
    },
    /// It can never be due, such as 30 February.
    #[error("crontab {written:?} is never due")]
    Never {
        /// As written.
        written: String,
    },
}

/// A crontab that is due at some time.
#[derive(Clone, Debug)]
pub struct Crontab {
    written: String,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    Fields(Box<Cron>),
    Every(i64),
}

/// A time for which every legal crontab has a later one: the epoch.
const SOME_TIME: i64 = 0;
/// No crontab is due less often than a leap day on a given weekday is.
const HORIZON: i64 = 41 * 366 * 86_400;

impl Crontab {
    /// Reads a crontab.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(written: &str) -> Result<Self, CrontabError> {
        let text = written.trim();
        let rule = match text.strip_prefix('@') {
            Some(word) => match word.strip_prefix("every ") {
                Some(duration) => Rule::Every(every(written, duration.trim())?),
                None => fields(written, named(written, word)?)?,
            },
            None => fields(written, text)?,
        };
        let crontab = Self {
            written: written.to_owned(),
            rule,
        };
        if crontab.next_after(SOME_TIME).is_none() {
            return Err(CrontabError::Never {
                written: written.to_owned(),
            });
        }
        Ok(crontab)
    }

    /// As the package wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The first time after `seconds` at which it is due; `None` when the calendar ends. `@every` counts from `seconds`.
    #[must_use]
    pub fn next_after(&self, seconds: i64) -> Option<i64> {
        match &self.rule {
            Rule::Every(period) => seconds.checked_add(*period),
            Rule::Fields(cron) => {
                let start = Timestamp::from_second(seconds).ok()?;
                let start: DateTime = TimeZone::UTC.to_datetime(start);
                let next = cron.find_next_occurrence(&start, false).ok()?;
                let next = TimeZone::UTC.to_timestamp(next).ok()?.as_second();
                (next.checked_sub(seconds)? <= HORIZON).then_some(next)
            }
        }
    }
}

fn named<'a>(written: &str, word: &str) -> Result<&'a str, CrontabError> {
    Ok(match word {
        "yearly" | "annually" => "0 0 1 1 *",
        "monthly" => "0 0 1 * *",
        "weekly" => "0 0 * * 0",
        "daily" | "midnight" => "0 0 * * *",
        "hourly" => "0 * * * *",
        _ => {
            return Err(CrontabError::Invalid {
                written: written.to_owned(),
                reason: format!("`@{word}` is not known"),
            });
        }
    })
}

fn fields(written: &str, text: &str) -> Result<Rule, CrontabError> {
    let text = text.replace('?', "*");
    let fields: Vec<&str> = text.split_whitespace().collect();
    if !matches!(fields.len(), 5 | 6) {
        return Err(CrontabError::Fields {
            written: written.to_owned(),
            found: fields.len(),
        });
    }
    for (from_the_right, field) in fields.iter().rev().enumerate() {
        if !field.split(',').all(|part| is_legal(part, from_the_right)) {
            return Err(CrontabError::Field {
                written: written.to_owned(),
                field: (*field).to_owned(),
            });
        }
    }
    CronParser::builder()
        .seconds(Seconds::Optional)
        .year(Year::Disallowed)
        .sloppy_ranges(true)
        .build()
        .parse(&fields.join(" "))
        .map(|cron| Rule::Fields(Box::new(cron)))
        .map_err(|error| CrontabError::Invalid {
            written: written.to_owned(),
            reason: error.to_string(),
        })
}

/// Whether a part of a list uses only the language of the SDK's programs: no `L`, `W`, `#`, `+`, no 7 for Sunday.
fn is_legal(part: &str, from_the_right: usize) -> bool {
    const WEEKDAY: usize = 0;
    const MONTH: usize = 1;
    let is_named = from_the_right <= MONTH;
    let range = part.split('/').next().unwrap_or_default();
    let bounds_are_legal = range.split('-').all(|bound| {
        let is_number = !bound.is_empty() && bound.bytes().all(|byte| byte.is_ascii_digit());
        let is_name = bound.len() == 3 && bound.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_sunday_as_seven = from_the_right == WEEKDAY && bound.parse() == Ok(7_u8);
        (is_number && !is_sunday_as_seven) || (is_named && is_name)
    });
    range == "*" || bounds_are_legal
}

/// A duration as Go writes it, in whole seconds, at least one.
fn every(written: &str, duration: &str) -> Result<i64, CrontabError> {
    let refused = || CrontabError::Invalid {
        written: written.to_owned(),
        reason: format!("{duration:?} is no duration such as 90s or 1h30m"),
    };
    let mut rest = duration;
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(refused)?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return Err(refused()),
        };
        total += number.parse::<f64>().map_err(|_| refused())? * seconds;
        rest = tail;
    }
    if duration.is_empty() || total > 1e10 {
        return Err(refused());
    }
    #[allow(clippy::cast_possible_truncation)] // bounded above, and not negative
    let whole = total as i64;
    Ok(whole.max(1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Monday, 2024-01-01T00:00:00Z.
    const MONDAY: i64 = 1_704_067_200;

    fn after(crontab: &str, seconds: i64) -> i64 {
        Crontab::parse(crontab)
            .unwrap()
            .next_after(seconds)
            .unwrap()
            - MONDAY
    }

    #[test]
    fn the_next_time_is_strictly_later() {
        assert_eq!(after("*/5 * * * *", MONDAY), 300);
        assert_eq!(after("*/5 * * * *", MONDAY - 1), 0);
        assert_eq!(after("10 * * * * *", MONDAY), 10);
        assert_eq!(after("0 12 * * *", MONDAY), 12 * 3600);
    }

    #[test]
    fn days_of_month_and_week_are_alternatives_when_both_are_given() {
        assert_eq!(after("0 0 1 * 3", MONDAY), 2 * 86_400);
        assert_eq!(after("0 0 * * wed", MONDAY), 2 * 86_400);
        assert_eq!(after("0 0 ? * WED-FRI", MONDAY), 2 * 86_400);
    }

    #[test]
    fn words_and_periods_are_understood() {
        assert_eq!(after("@hourly", MONDAY), 3600);
        assert_eq!(after("@weekly", MONDAY), 6 * 86_400);
        assert_eq!(after("@every 1h30m", MONDAY), 5400);
        assert_eq!(after("@every 100ms", MONDAY), 1);
        assert_eq!(after("5/10 * * * *", MONDAY), 300);
    }

    #[test]
    fn what_other_dialects_allow_is_refused() {
        for crontab in [
            "",
            "* * * *",
            "* * * * * * *",
            "61 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * L * *",
            "* * 1W * *",
            "* * * * 1#2",
            "* * * * 7",
            "* * * * +1",
            "/5 * * * *",
            "*/0 * * * *",
            "5-1 * * * *",
            "mon * * * *",
            "a b c d e",
            "@reboot",
            "@every",
            "@every x",
            "@every -1s",
            "@every 1",
            "1,,2 * * * *",
        ] {
            assert!(Crontab::parse(crontab).is_err(), "{crontab:?}");
        }
    }

    #[test]
    fn what_is_never_due_is_refused_and_a_leap_day_is_not() {
        assert!(matches!(
            Crontab::parse("0 0 30 2 *"),
            Err(CrontabError::Never { .. })
        ));
        assert_eq!(after("0 0 29 2 *", MONDAY), 59 * 86_400);
    }
}
