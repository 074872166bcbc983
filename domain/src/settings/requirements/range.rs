//! Version ranges as packages write them: the syntax of Go's `Masterminds/semver` (S23).
//!
//! `=` (or nothing), `!=`, `>`, `<`, `>=`, `<=`, `~`, `^`, `x` and `*` as parts, `a - b`; a comma or a space means "and", `||` means
//! "or". `semver`'s own ranges read `1.2` as `^1.2` and know neither `||` nor `!=`, so only its versions are used here.

use std::fmt;

use semver::{BuildMetadata, Prerelease, Version};

/// The text is no version range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no version range, such as \">= 1.28, < 2\": {problem}")]
pub struct RangeError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// A version range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    text: String,
    /// One of these groups must hold, with all its bounds.
    any_of: Vec<Vec<Bound>>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    operator: Operator,
    version: Version,
    /// How much of the version is written.
    written: Written,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// Parts of a version that are written and no wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Written {
    Nothing,
    Major,
    Minor,
    Patch,
}

const OPERATORS: [(&str, Operator); 12] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    ("", Operator::Equal),
];

impl Range {
    /// Reads a range; an empty text allows every version that is no pre-release.
    ///
    /// # Errors
    /// The text is none.
    pub fn parse(text: &str) -> Result<Self, RangeError> {
        let any_of = text.split("||").map(group).collect::<Result<_, _>>();
        let any_of = any_of.map_err(|problem| RangeError {
            text: text.chars().take(100).collect(),
            problem,
        })?;
        Ok(Self {
            text: text.trim().to_owned(),
            any_of,
        })
    }

    /// True if the version is in the range. A pre-release is only if a bound of the same group names one too.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.any_of.iter().any(|group| {
            let with_pre = group.iter().any(|bound| !bound.version.pre.is_empty());
            (version.pre.is_empty() || with_pre) && group.iter().all(|bound| bound.holds(version))
        })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads a version as loosely as ranges do: a leading `v`, missing parts are zero.
#[must_use]
pub fn parse_version(text: &str) -> Option<Version> {
    let (version, written, rest) = partial(text.trim()).ok()?;
    (rest.is_empty() && written > Written::Nothing && !text.contains(['x', 'X', '*']))
        .then_some(version)
}

/// Bounds that must hold together.
fn group(text: &str) -> Result<Vec<Bound>, &'static str> {
    let mut rest = text.trim();
    let mut bounds = Vec::new();
    if rest.is_empty() {
        bounds.push(Bound {
            operator: Operator::Equal,
            version: Version::new(0, 0, 0),
            written: Written::Nothing,
        });
    }
    while !rest.is_empty() {
        let (operator, after) = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((*operator, rest.strip_prefix(sign)?)))
            .unwrap_or((Operator::Equal, rest));
        let is_plain = after.len() == rest.len();
        let (version, written, after) = partial(after.trim_start())?;
        let bound = |operator, version, written| Bound {
            operator,
            version,
            written,
        };
        match after.trim_start().strip_prefix("- ") {
            Some(upper) if is_plain && after.starts_with(char::is_whitespace) => {
                let (highest, highest_written, after) = partial(upper.trim_start())?;
                bounds.push(bound(Operator::GreaterOrEqual, version, written));
                bounds.push(bound(Operator::LessOrEqual, highest, highest_written));
                rest = after;
            }
            _ => {
                bounds.push(bound(operator, version, written));
                rest = after;
            }
        }
        rest = separator(rest)?;
    }
    Ok(bounds)
}

/// A comma or spaces between bounds; nothing at the end.
fn separator(text: &str) -> Result<&str, &'static str> {
    let rest = text.trim_start();
    match rest.strip_prefix(',') {
        Some(rest) if rest.trim().is_empty() => Err("nothing follows the last comma"),
        Some(rest) => Ok(rest.trim_start()),
        None if rest.is_empty() || rest.len() < text.len() => Ok(rest),
        None => Err("a comma or a space is missing between two bounds"),
    }
}

/// What stands before a sign, and what behind it, which may not be nothing.
fn suffix(word: &str, sign: char) -> Result<(&str, &str), &'static str> {
    match word.split_once(sign) {
        Some((_, "")) => Err("nothing follows the `-` or `+` of a version"),
        Some(parts) => Ok(parts),
        None => Ok((word, "")),
    }
}

/// A version with missing parts or wildcards at the start of a text, and what follows it.
fn partial(text: &str) -> Result<(Version, Written, &str), &'static str> {
    let end = text
        .find(|c: char| c.is_whitespace() || c == ',')
        .unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let word = word.strip_prefix('v').unwrap_or(word);
    let (word, build) = suffix(word, '+')?;
    let (numbers, pre) = suffix(word, '-')?;
    let mut parts = numbers.split('.');
    let mut values = [0, 0, 0];
    let mut written = Written::Nothing;
    let mut wild = false;
    for (value, level) in values
        .iter_mut()
        .zip([Written::Major, Written::Minor, Written::Patch])
    {
        match parts.next() {
            None if level > Written::Major => wild = true,
            Some("x" | "X" | "*") => wild = true,
            Some(digits)
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                *value = if wild {
                    0
                } else {
                    digits.parse().map_err(|_| "a number is too big")?
                };
                if !wild {
                    written = level;
                }
            }
            _ => return Err("a version has up to three numbers, each a number, `x` or `*`"),
        }
    }
    if parts.next().is_some() {
        return Err("a version has up to three numbers");
    }
    let [major, minor, patch] = values;
    let version = Version {
        major,
        minor,
        patch,
        pre: Prerelease::new(pre).map_err(|_| "the pre-release part is not valid")?,
        build: BuildMetadata::new(build).map_err(|_| "the build part is not valid")?,
    };
    Ok((version, written, rest))
}

impl Bound {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp_precedence(&self.version);
        match self.operator {
            Operator::Equal if self.written == Written::Patch => order.is_eq(),
            Operator::Equal | Operator::Tilde => order.is_ge() && self.within_tilde(version),
            Operator::NotEqual if self.written == Written::Patch => !order.is_eq(),
            Operator::NotEqual => !self.shares_written(version),
            Operator::Greater if self.written == Written::Patch => order.is_gt(),
            // `>1.2` begins with 1.3, `>1` with 2.
            Operator::Greater => order.is_gt() && !self.shares_written(version),
            Operator::Less => order.is_lt(),
            Operator::GreaterOrEqual => order.is_ge(),
            // `<=1.2` ends with the last 1.2.x.
            Operator::LessOrEqual => {
                order.is_le() || (self.written < Written::Patch && self.shares_written(version))
            }
            Operator::Caret => order.is_ge() && self.within_caret(version),
        }
    }

    /// The written parts are the same.
    fn shares_written(&self, version: &Version) -> bool {
        let own = &self.version;
        (self.written < Written::Major || own.major == version.major)
            && (self.written < Written::Minor || own.minor == version.minor)
            && (self.written < Written::Patch || own.patch == version.patch)
    }

    /// `~1.2.3` and `~1.2` stay within 1.2, `~1` within 1; `~0.0.0` allows everything above, as the original does.
    fn within_tilde(&self, version: &Version) -> bool {
        let own = &self.version;
        let is_zero =
            self.written == Written::Patch && (own.major, own.minor, own.patch) == (0, 0, 0);
        is_zero
            || ((self.written < Written::Major || own.major == version.major)
                && (self.written < Written::Minor || own.minor == version.minor))
    }

    /// `^` keeps the first number that is not zero, among those written.
    fn within_caret(&self, version: &Version) -> bool {
        let own = &self.version;
        if self.written < Written::Major {
            return true;
        }
        if own.major != version.major {
            return false;
        }
        if own.major > 0 || self.written < Written::Minor {
            return true;
        }
        if own.minor != version.minor {
            return false;
        }
        own.minor > 0 || self.written < Written::Patch || own.patch == version.patch
    }
}
