//! jq filters: what they may name, and what comes of hostile ones.

use domain::hooks::jq::{Jq, JqError};
use domain::hooks::limits::HookLimits;
use serde_json::{Value, json};

const LIMITS: HookLimits = HookLimits::DEFAULT;

fn apply(filter: &str, object: &Value) -> Result<Value, JqError> {
    Jq::compile(filter, &LIMITS)?.apply(object, &LIMITS)
}

#[test]
fn a_filter_sees_its_object_and_nothing_else() {
    for filter in [
        "env",
        "env.HOME",
        "$ENV",
        "$ENV.PATH",
        "input",
        "[inputs]",
        "input_filename",
        "now",
        "localtime",
        "debug",
        "stderr",
        "halt",
        "halt_error",
        "0 | halt(1)",
        "\"\\(env)\"",
        "def f: env; f",
        "{a: $ENV}",
        "import \"a\" as a; .",
        "include \"/etc/passwd\"; .",
        "import \"a\" as $a; $a",
    ] {
        let refused = Jq::compile(filter, &LIMITS).map(|_| ()).expect_err(filter);
        assert!(
            matches!(refused, JqError::Forbidden { .. }),
            "{filter}: {refused}"
        );
    }
    assert_eq!(
        apply(".env | .now", &json!({"env": {"now": 1}})),
        Ok(json!(1))
    );
}

#[test]
fn what_is_not_jq_is_told_with_its_place() {
    for (filter, part) in [
        (".a |", "before"),
        ("nothing_like_it", "nothing_like_it"),
        (".a[", "before"),
        ("\"", "before"),
        ("$x", "$x"),
        ("}", "before"),
    ] {
        let refused = Jq::compile(filter, &LIMITS)
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(refused.contains(part), "{filter}: {refused}");
    }
}

#[test]
fn a_filter_that_fails_gives_no_result() {
    assert!(matches!(
        apply(".a.b", &json!({"a": "text"})),
        Err(JqError::Runtime(_))
    ));
    assert!(matches!(
        apply("1, error(\"x\")", &json!({})),
        Err(JqError::Runtime(_))
    ));
    assert!(matches!(
        apply("[limit(3; repeat(1))] | .[]", &json!({})),
        Ok(Value::Array(_))
    ));
}

#[test]
fn what_jq_knows_and_json_does_not_is_no_result() {
    assert!(matches!(
        apply("{(1): 2}", &json!({})),
        Err(JqError::Runtime(_) | JqError::NotJson)
    ));
    assert!(matches!(
        apply("nan", &json!({})),
        Ok(Value::Null) | Err(JqError::NotJson)
    ));
}

#[test]
fn numbers_and_texts_come_through_unchanged() {
    let object = json!({"n": 9_007_199_254_740_993_i64, "f": 0.1, "t": "ä\u{0}\"\\", "e": 1e300});
    assert_eq!(apply(".", &object), Ok(object));
}

#[test]
fn output_and_text_are_bounded() {
    let small = HookLimits {
        output_bytes: 1000,
        ..LIMITS
    };
    let endless = Jq::compile("repeat(\"0123456789\")", &small).unwrap();
    assert_eq!(
        endless.apply(&json!(0), &small),
        Err(JqError::TooMuch { most: 1000 })
    );
    assert!(matches!(
        Jq::compile(&" ".repeat(5000), &LIMITS),
        Err(JqError::TooLong { .. })
    ));
}

#[test]
fn the_deepest_legal_texts_need_no_more_stack_than_the_adapter_gives() {
    let deepest = [
        "(".repeat(2048) + &")".repeat(2048),
        "[".repeat(4096),
        "-".repeat(4095) + "1",
        ".|".repeat(2047) + ".",
        "{a:".repeat(1000),
        "if 1 then ".repeat(400),
        "def f: ".repeat(580),
        "\"\\(".repeat(1300),
        ". as [".repeat(600),
    ];
    let compiling = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            for text in deepest {
                let _ = Jq::compile(&text, &LIMITS);
            }
        });
    compiling.unwrap().join().unwrap();
}
