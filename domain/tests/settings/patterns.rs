//! Section 5.2: patterns are RE2 as Go reads it.

use domain::settings::limits::Limits;
use domain::settings::schema::pattern::{PatternError, Patterns};
use serde_json::json;

use crate::{LIMITS, is_valid, violations};

fn matches(pattern: &str, text: &str) -> bool {
    let pattern = Patterns::new(&LIMITS).compile(pattern);
    assert_eq!(pattern.broken(), None, "{}", pattern.source());
    pattern.is_match(text)
}

#[test]
fn classes_and_boundaries_are_ascii() {
    assert!(matches(r"^\d+$", "42") && !matches(r"^\d+$", "४२"));
    assert!(matches(r"^\w$", "_") && !matches(r"^\w$", "ы"));
    assert!(matches(r"^\s$", "\t") && !matches(r"^\s$", "\u{a0}") && !matches(r"^\s$", "\u{b}"));
    assert!(matches(r"\bfoo\b", "ыfooы") && !matches(r"\bfoo\b", "xfoo"));
    assert!(matches(r"^\D\W\S$", "ыыы"));
    assert!(matches(r"x\By", "xy") && !matches(r"x\B-", "x-"));
    assert!(matches(r"^[\d\s]+$", "1 2") && matches(r"^[^\w]$", "ы") && matches(r"^[\D]$", "x"));
}

#[test]
fn a_class_reads_brackets_and_dashes_as_go_does() {
    assert!(matches(r"^[\w-.]+$", "a-b.c"));
    assert!(matches(r"^[[a]+$", "[a["));
    assert!(matches(r"^[a&&b]+$", "a&b") && matches(r"^[+--]*$", "+,-"));
    assert!(matches(r"^[]a]+$", "]a") && matches(r"^[^]]$", "a"));
    assert!(matches(r"^[a-c-e]+$", "b-e"));
    assert!(matches(r"^[[:alpha:][:^space:]]+$", "a1"));
    assert!(matches(r"^[~~x]+$", "~x"));
    assert!(matches(r"^[\]\[\\^-]+$", r"]-[\^"));
}

#[test]
fn escapes_of_public_packages_compile() {
    assert!(matches(r"^[\@\.\:0-9a-z._-]+$", "a@b:c") && matches(r"\_\@\:\/\-\#", "_@:/-#"));
    assert!(matches(r"(?P<name>a)(?<other>b)", "ab"));
    assert!(matches(r"^\x41\x{42}\101\Q.*\E$", "ABA.*"));
    assert!(matches(r"^\pL\p{Greek}\P{Lu}\p{^Lu}$", "aωab"));
    assert!(matches(r"\<b\>", "<b>"));
    assert!(matches(r"^{a}{,3}$", "{a}{,3}") && matches("^a{2}b{1,}c{0,2}$", "aabbcc"));
    assert!(
        matches("(?i)^straSSe$", "STRAsse") && matches("(?i:A)b", "ab") && matches("(?s).", "\n")
    );
}

#[test]
fn what_re2_refuses_is_refused() {
    for pattern in [
        "^(?!x)",
        "(?=x)",
        "(?<=x)y",
        "(?<!x)y",
        r"(a)\1",
        "a**",
        "a+{2}",
        "a{1001}",
        "a{3,2}",
        "[z-a]",
        "[a--b]",
        "(",
        "[a",
        r"\",
        "(?x)a",
        r"\u0041",
        r"\h",
        "*a",
        "(?P<n",
        r"\p{Nope}",
        "(?P=n)",
        "(?>a)",
        "a)",
    ] {
        let compiled = Patterns::new(&LIMITS).compile(pattern);
        assert!(
            matches!(compiled.broken(), Some(PatternError::Syntax(_))),
            "{pattern}"
        );
        assert!(!compiled.is_match("x"));
    }
}

#[test]
fn a_broken_pattern_fails_the_value_and_says_why() {
    let schema = json!({"properties": {"a": {"pattern": "^(?!x)"}}});
    let found = violations(&schema, &json!({"a": "y"}));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("a: cannot be checked against '^(?!x)': "),
        "{found:?}"
    );
    assert!(is_valid(&schema, &json!({"a": 1})));
}

#[test]
fn one_text_is_compiled_once() {
    let mut patterns = Patterns::new(&Limits {
        patterns_compiled_bytes: 64 * 1024,
        ..LIMITS
    });
    assert_eq!(patterns.compile("^a$").broken(), None);
    assert_eq!(patterns.compile("^a$").broken(), None);
    assert!(matches!(
        patterns.compile("^b$").broken(),
        Some(PatternError::TooMuch { .. })
    ));
}
