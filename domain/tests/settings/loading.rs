//! Section 3.1, step 1: YAML to JSON.

use std::fmt::Write;
use std::time::{Duration, Instant};

use domain::settings::schema::{LoadError, load};
use serde_json::{Value, json};

use crate::LIMITS;

/// H12 asks for one second; an unoptimized build on a shared machine gets more.
const SOON: Duration = Duration::from_secs(4);

fn read(text: &str) -> Value {
    load(text, &LIMITS).unwrap()
}

#[test]
fn anchors_and_merge_keys_are_resolved() {
    let text = "base: &base {type: string, minLength: 1}\na: *base\nb: {<<: *base, minLength: 2}\nc: {<<: [*base, {maxLength: 9}]}\n";
    assert_eq!(
        read(text),
        json!({
            "base": {"type": "string", "minLength": 1},
            "a": {"type": "string", "minLength": 1},
            "b": {"type": "string", "minLength": 2},
            "c": {"type": "string", "minLength": 1, "maxLength": 9},
        })
    );
}

#[test]
fn an_anchor_may_be_defined_twice_and_the_nearest_counts() {
    assert_eq!(
        read("a: &x 1\nb: *x\nc: &x 2\nd: *x\n"),
        json!({"a": 1, "b": 1, "c": 2, "d": 2})
    );
}

#[test]
fn s13_a_duplicate_key_loads_with_its_last_value() {
    assert_eq!(read("a: 1\nb: 2\na: 3\n"), json!({"a": 3, "b": 2}));
    assert_eq!(
        read("o: {k: {x: 1}, k: {y: 2}}"),
        json!({"o": {"k": {"y": 2}}})
    );
}

#[test]
fn keys_that_are_no_text_become_text() {
    assert_eq!(
        read("1: a\ntrue: b\n1.5: c\n"),
        json!({"1": "a", "true": "b", "1.5": "c"})
    );
}

#[test]
fn booleans_of_yaml_1_1_are_booleans() {
    assert_eq!(
        read("[yes, no, on, off, true]"),
        json!([true, false, true, false, true])
    );
    assert_eq!(read("['yes', \"on\"]"), json!(["yes", "on"]));
}

#[test]
fn an_empty_file_is_null() {
    for text in ["", "# nothing\n", "---\n", "null"] {
        assert_eq!(read(text), Value::Null, "{text:?}");
    }
}

#[test]
fn several_documents_are_refused() {
    assert_eq!(
        load("a: 1\n---\nb: 2\n", &LIMITS),
        Err(LoadError::SeveralDocuments)
    );
}

#[test]
fn broken_yaml_says_where() {
    for text in ["a: [1, 2", "a: b: c", "a: *unknown", "a: 1\nb", "\"open"] {
        let error = load(text, &LIMITS).unwrap_err();
        assert!(
            matches!(&error, LoadError::Syntax(message) if !message.is_empty()),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn numbers_that_json_cannot_hold_are_refused() {
    for text in [".inf", "-.inf", ".nan", "1e400"] {
        let loaded = load(text, &LIMITS);
        assert!(
            !matches!(loaded, Ok(Value::Number(_) | Value::Null)),
            "{text}: {loaded:?}"
        );
    }
}

#[test]
fn h12_an_alias_bomb_is_refused_quickly() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = level - 1;
        write!(bomb, "a{level}: &a{level} [").unwrap();
        bomb += &vec![format!("*a{below}"); 10].join(", ");
        bomb += "]\n";
    }
    let start = Instant::now();
    let error = load(&bomb, &LIMITS).unwrap_err();
    assert!(matches!(error, LoadError::TooManyNodes { .. }), "{error}");
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn h12_a_merge_key_bomb_is_refused_quickly() {
    let mut bomb = "a0: &a0 {k0: 1}\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        writeln!(
            bomb,
            "a{level}: &a{level} {{<<: [*a{below}, *a{below}, *a{below}], k{level}: 1}}"
        )
        .unwrap();
    }
    let start = Instant::now();
    assert!(load(&bomb, &LIMITS).is_err());
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn h12_depth_is_bounded_without_a_stack_overflow() {
    for deep in [
        "[".repeat(10_000),
        "{a: ".repeat(10_000),
        "- ".repeat(10_000),
    ] {
        let error = load(&deep, &LIMITS).unwrap_err();
        assert!(
            matches!(error, LoadError::TooDeep { .. } | LoadError::Syntax(_)),
            "{error}"
        );
    }
    let legal = format!(
        "{}1{}",
        "[".repeat(LIMITS.file_depth),
        "]".repeat(LIMITS.file_depth)
    );
    assert!(load(&legal, &LIMITS).is_ok());
    let one_more = format!("[{legal}]");
    assert_eq!(
        load(&one_more, &LIMITS),
        Err(LoadError::TooDeep {
            most: LIMITS.file_depth
        })
    );
}

#[test]
fn a_file_is_bounded_in_bytes_and_nodes() {
    let long = format!("a: {}", "x".repeat(LIMITS.file_bytes));
    assert!(matches!(
        load(&long, &LIMITS),
        Err(LoadError::TooLong { .. })
    ));
    let many = format!("[{}]", vec!["1"; LIMITS.file_nodes + 1].join(","));
    assert_eq!(
        load(&many, &LIMITS),
        Err(LoadError::TooManyNodes {
            most: LIMITS.file_nodes
        })
    );
}
