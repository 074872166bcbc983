//! `format` of strings (section 5.2): what the upstream platform checks. An unknown format is ignored.

use std::net::{Ipv4Addr, Ipv6Addr};

/// True if the text has the format, or if the format is unknown.
#[must_use]
pub fn matches(format: &str, text: &str) -> bool {
    match format {
        "date" => is_date(text),
        "date-time" | "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => text.parse::<ipnet::IpNet>().is_ok(),
        "mac" => is_mac(text),
        "uri" => is_uri(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "byte" => is_base64(text),
        "hexcolor" => is_hex_color(text),
        "bsonobjectid" => text.len() == 24 && all_hex(text),
        _ => true,
    }
}

fn all_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A part of fixed length that is a decimal number.
fn decimal(text: &str, length: usize) -> Option<u32> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// `2006-01-02`, a day that exists.
fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) =
        (decimal(year, 4), decimal(month, 2), decimal(day, 2))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// RFC 3339: a date, `T`, a time of day with optional fraction, `Z` or an offset.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    if !is_date(date) {
        return false;
    }
    let (clock, zoned) = match time.find(['Z', 'z', '+', '-']) {
        Some(position) => time.split_at(position),
        None => return false,
    };
    let zone_ok = matches!(zoned, "Z" | "z")
        || zoned
            .get(1..)
            .and_then(|offset| offset.split_once(':'))
            .is_some_and(|(hours, minutes)| {
                decimal(hours, 2).is_some_and(|hours| hours < 24)
                    && decimal(minutes, 2).is_some_and(|minutes| minutes < 60)
            });
    let (clock, fraction) = clock
        .split_once('.')
        .map_or((clock, "0"), |(clock, fraction)| (clock, fraction));
    let parts: Vec<Option<u32>> = clock.split(':').map(|part| decimal(part, 2)).collect();
    let clock_ok = matches!(parts.as_slice(), [Some(0..=23), Some(0..=59), Some(0..=59)]);
    zone_ok
        && clock_ok
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// Numbers with units, such as `1h30m` or `2 weeks`.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 31] = [
        "ns",
        "nano",
        "nanosecond",
        "nanoseconds",
        "us",
        "µs",
        "μs",
        "micro",
        "microsecond",
        "microseconds",
        "ms",
        "milli",
        "millisecond",
        "milliseconds",
        "s",
        "sec",
        "second",
        "seconds",
        "m",
        "min",
        "minute",
        "minutes",
        "h",
        "hr",
        "hour",
        "hours",
        "d",
        "day",
        "days",
        "w",
        "week",
    ];
    let mut rest = text.trim_start_matches(['+', '-']).trim();
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
                .len();
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let letters = tail.len()
            - tail
                .trim_start_matches(|c: char| c.is_alphabetic() || c == 'µ')
                .len();
        let (unit, tail) = tail.split_at(letters);
        let known = UNITS.contains(&unit) || unit == "weeks";
        if number.parse::<f64>().is_err() || !known {
            return false;
        }
        rest = tail.trim_start();
    }
    true
}

/// `local@domain`, also as `Name <local@domain>`; the empty text is no address.
fn is_email(text: &str) -> bool {
    let address = match text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'))
    {
        Some((_, address)) => address,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let plain = !local.is_empty()
        && local.split('.').all(|atom| {
            !atom.is_empty()
                && atom.chars().all(|c| {
                    c.is_alphanumeric()
                        || (!c.is_ascii() && !c.is_control())
                        || "!#$%&'*+-/=?^_`{|}~".contains(c)
                })
        });
    let literal = domain.starts_with('[') && domain.ends_with(']') && domain.len() > 2;
    let named = !domain.is_empty()
        && domain.split('.').all(|label| {
            !label.is_empty()
                && label.chars().all(|c| {
                    c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii()
                })
        });
    (quoted || plain) && (literal || named)
}

/// RFC 1123: labels of letters, digits and dashes, 63 bytes each, 253 in all; a closing dot is allowed.
fn is_hostname(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    !name.is_empty()
        && name.len() <= 253
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
        })
}

/// 6, 8 or 20 bytes in hexadecimal, joined with `:`, `-`, or `.` by pairs of bytes.
fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len())
            && parts
                .iter()
                .all(|part| part.len() == width && all_hex(part))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

/// An absolute URI, or an absolute path.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_control() || c == ' ') {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let scheme_ok = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    scheme_ok && !rest.is_empty() && percent_escapes_are_whole(rest)
}

fn percent_escapes_are_whole(text: &str) -> bool {
    text.split('%')
        .skip(1)
        .all(|escaped| escaped.get(..2).is_some_and(all_hex))
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let dashed = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]);
    let bare = parts.len() == 1 && text.len() == 32;
    let digits: String = parts.concat();
    (dashed || bare)
        && all_hex(&digits)
        && version.is_none_or(|version| digits.chars().nth(12) == Some(version))
}

/// Standard base64 with padding; the empty text is no value.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && all_hex(digits)
}
