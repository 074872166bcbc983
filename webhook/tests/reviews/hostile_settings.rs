//! Hostile settings and hostile packages: a clear denial in bounded time, and other requests go on (H9, H13, H14, H24, H25).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};
use webhook::APPLICATION_SPEC_MAX;

use crate::packages::{Packages, application, review};
use crate::world::World;

/// Longer than anything here may take in a build that is not optimised, on a busy machine.
const SOON: Duration = Duration::from_secs(2);

fn open() -> Value {
    json!({"additionalProperties": true})
}

/// A schema whose one rule stands at its root.
fn ruled(expression: &str) -> Value {
    json!({
        "properties": {
            "list": {"type": "array", "items": {"type": "integer"}},
            "text": {"type": "string"},
        },
        "x-deckhouse-validations": [{"expression": expression, "message": "it is so"}],
    })
}

fn raw(settings: &str) -> String {
    let text = review(&application("open", &json!("HERE")), None).to_string();
    text.replace("\"HERE\"", settings)
}

async fn refused_soon(world: &World, body: String) -> String {
    let begun = Instant::now();
    let reply = world.raw(body).await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(
        !reply.allows(),
        "{}",
        &reply.text[..reply.text.len().min(300)]
    );
    assert!(
        [StatusCode::OK, StatusCode::BAD_REQUEST].contains(&reply.status),
        "{}",
        reply.text
    );
    reply.text
}

#[tokio::test]
async fn h9_depth_numbers_and_broken_strings_in_settings_are_denied() {
    let world = Packages::of(&[("open", open())]).world();
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    for settings in [
        nested(70),
        nested(128),
        nested(10_000),
        "{\"a\":".repeat(5_000) + "1" + &"}".repeat(5_000),
        "{\"a\":1e400}".to_owned(),
        format!("{{\"a\":{}}}", "9".repeat(100_000)),
        "{\"a\":\"\\ud800\"}".to_owned(),
        "{\"a\":\"\\uZZZZ\"}".to_owned(),
        format!("{{\"a\":[{}\"a\"]}}", "\"a\",".repeat(1_000_000)),
    ] {
        refused_soon(&world, raw(&settings)).await;
    }
    for settings in [
        nested(50),
        "{\"a\":-0,\"b\":18446744073709551616}".to_owned(),
    ] {
        assert!(world.raw(raw(&settings)).await.allows(), "{settings}");
    }
}

#[tokio::test]
async fn h9_an_old_object_is_as_strict_and_its_settings_cost_nothing() {
    let world = Packages::of(&[("open", open())]).world();
    let new = application("open", &json!({}));
    let old = application("open", &json!("HERE"));
    let text = review(&new, Some(&old)).to_string();
    let at = |inner: &str| text.replace("\"HERE\"", inner);
    refused_soon(&world, at("{\"a\":1e400}")).await;
    refused_soon(&world, at(&("[".repeat(10_000) + &"]".repeat(10_000)))).await;
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(2 * APPLICATION_SPEC_MAX));
    assert!(world.raw(at(&long)).await.allows());
}

#[tokio::test]
async fn h24_settings_over_their_limit_get_a_clear_denial_and_large_ones_below_it_are_judged() {
    let world = Packages::of(&[("open", open())]).world();
    let of_bytes = |bytes: usize| json!({"text": "x".repeat(bytes)});
    let megabyte = world.create("open", &of_bytes(1_000_000)).await;
    let status = megabyte.assert_invalid(&["spec"]);
    assert!(
        status
            .to_string()
            .contains("bytes; at most 524288 are allowed"),
        "{status}"
    );
    let over = world.create("open", &of_bytes(400 << 10)).await;
    let status = over.assert_invalid(&["spec.settings"]);
    assert!(
        status
            .to_string()
            .contains("settings with defaults have more than 393216 bytes"),
        "{status}"
    );
    world
        .create("open", &of_bytes(380 << 10))
        .await
        .assert_allowed();
}

#[tokio::test]
async fn h24_many_keys_unknown_keys_and_null_get_the_verdicts_of_the_schema() {
    let closed = json!({
        "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": "wrong"}},
        "oneOf": [{"properties": {"extra": {"type": "string"}}}],
    });
    let world = Packages::of(&[("open", open()), ("closed", closed)]).world();
    let keys: serde_json::Map<String, Value> =
        (0..10_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let begun = Instant::now();
    world
        .create("open", &Value::Object(keys.clone()))
        .await
        .assert_allowed();
    let reply = world.create("closed", &Value::Object(keys)).await;
    assert!(!reply.allows());
    assert!(reply.text.len() < 300_000, "{}", reply.text.len());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    for (settings, field) in [
        (json!({"size": 1, "unknown": 1}), "spec.settings.unknown"),
        (json!({"size": 1, "extra": "x"}), "spec.settings.extra"),
        (json!({"size": 1, "name": null}), "spec.settings.name"),
        (json!({}), "spec.settings.size"),
    ] {
        world
            .create("closed", &settings)
            .await
            .assert_invalid(&[field]);
    }
}

#[tokio::test]
async fn h13_a_rule_with_a_function_outside_the_list_denies_its_package_alone() {
    let world = Packages::of(&[
        ("open", open()),
        ("reads", ruled("readFile('/etc/passwd') == ''")),
        ("fetches", ruled("http.get('http://192.0.2.1') == ''")),
        ("optional", ruled("optional.of(1).hasValue()")),
        ("clock", ruled("now() > timestamp('2020-01-01T00:00:00Z')")),
    ])
    .world();
    for package in ["reads", "fetches", "optional", "clock"] {
        let reply = world.create(package, &json!({})).await;
        assert!(!reply.allows(), "{package}: {}", reply.text);
        let fields = reply.response()["status"]["details"]["causes"][0]["field"].clone();
        assert!(
            fields == "spec.settings" || fields == "spec.packageVersion",
            "{package}: {}",
            reply.text
        );
    }
    world.create("open", &json!({})).await.assert_allowed();
}

#[tokio::test]
async fn h14_a_rule_without_bound_is_denied_in_time_and_others_are_answered_meanwhile() {
    let cubed = "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0.0)))";
    let squared = "self.list.all(a, self.list.all(b, a + b >= 0.0))";
    let grown = "self.list.map(a, self.list.map(b, self.list.map(c, self.list))).size() > 0";
    let double = (0..12).fold("self.text".to_owned(), |text, _| {
        format!("({text} + {text})")
    });
    let world = Arc::new(
        Packages::of(&[
            ("open", open()),
            ("cubed", ruled(cubed)),
            ("squared", ruled(squared)),
            ("grown", ruled(grown)),
            ("doubled", ruled(&format!("{double} != ''"))),
            (
                "nested",
                ruled(&("(".repeat(2_000) + "true" + &")".repeat(2_000))),
            ),
            ("chained", ruled(&vec!["true"; 100_000].join("||"))),
            ("linear", ruled("!self.text.matches('(a+)+$')")),
        ])
        .world(),
    );
    let settings =
        json!({"list": (0..1_000).collect::<Vec<u32>>(), "text": "a".repeat(10_000) + "b"});
    // Compiled and warm, so that only what a rule costs is looked at.
    world.create("linear", &settings).await.assert_allowed();
    for package in ["cubed", "grown", "doubled", "nested", "chained", "squared"] {
        let asking = {
            let (world, settings) = (Arc::clone(&world), settings.clone());
            tokio::spawn(async move { world.create(package, &settings).await })
        };
        let begun = Instant::now();
        world.create("open", &json!({})).await.assert_allowed();
        assert!(begun.elapsed() < SOON, "{package}: {:?}", begun.elapsed());
        let reply = asking.await.unwrap();
        assert!(begun.elapsed() < SOON, "{package}: {:?}", begun.elapsed());
        assert_eq!(reply.status, StatusCode::OK, "{package}: {}", reply.text);
        assert!(
            package == "squared" || !reply.allows(),
            "{package}: {}",
            reply.text
        );
    }
}

#[tokio::test]
async fn h14_where_requests_are_read_only_cheap_rules_of_a_version_that_was_judged_before_run() {
    let squared = "self.list.all(a, self.list.all(b, a + b >= 0.0))";
    let packages = Packages::of(&[("squares", ruled(squared))]);
    let judged_on = Arc::clone(&packages.judged_on);
    let world = packages.world();
    let places = async |elements: usize, text: usize| {
        let list: Vec<usize> = (0..elements).collect();
        let settings = json!({"list": list, "text": "a".repeat(text)});
        world.create("squares", &settings).await.assert_allowed();
        let threads = std::mem::take(&mut *judged_on.lock().unwrap());
        let here = std::thread::current().id();
        threads
            .into_iter()
            .map(|thread| thread == here)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        places(3, 1).await,
        [false],
        "its rules are not compiled yet"
    );
    assert_eq!(places(3, 1).await, [true]);
    assert_eq!(
        places(80, 1).await,
        [true, false],
        "too dear, so once more apart"
    );
    assert_eq!(places(3, 20_000).await, [false], "too large");
}

#[tokio::test]
async fn h25_schemas_that_cannot_be_used_deny_their_package_alone() {
    // 5,000 of them come no further than the parser of the file, or of the API server's answer.
    let nested = (0..50).fold(json!({}), |inner, _| json!({"allOf": [inner]}));
    let packages = Packages::of(&[
        ("open", open()),
        (
            "cycle",
            json!({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}}),
        ),
        (
            "http",
            json!({"properties": {"a": {"$ref": "http://192.0.2.1/schema.json"}}}),
        ),
        (
            "file",
            json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        ),
        (
            "pattern",
            json!({"properties": {"a": {"type": "string", "pattern": "x".repeat(100_000)}}}),
        ),
        (
            "quantified",
            json!({"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}),
        ),
        ("nested", nested),
        (
            "recursive",
            json!({"$ref": "#/definitions/tree", "definitions": {"tree": {"properties": {"next": {"$ref": "#/definitions/tree"}}}}}),
        ),
    ]);
    let world = packages.world();
    for package in ["cycle", "http", "file", "pattern", "nested"] {
        let reply = world.create(package, &json!({})).await;
        let status = reply.assert_invalid(&["spec.packageVersion"]);
        let text = status["details"]["causes"][0]["message"].as_str().unwrap();
        assert!(
            text.contains("the published settings schema cannot be used: "),
            "{package}: {text}"
        );
    }
    let begun = Instant::now();
    let long = json!({"a": "a".repeat(100_000) + "b"});
    assert!(!world.create("quantified", &long).await.allows());
    let tree = (0..30).fold(json!({}), |inner, _| json!({"next": inner}));
    world.create("recursive", &tree).await.assert_allowed();
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    world.create("open", &json!({})).await.assert_allowed();
}

#[tokio::test]
async fn the_deepest_rule_that_is_let_through_fits_the_stack() {
    let deep = "(".repeat(60) + "true" + &")".repeat(60);
    let world = Packages::of(&[("deep", ruled(&deep))]).world();
    world.create("deep", &json!({})).await.assert_allowed();
}
