//! What a rule may cost is known before it runs (S24, H14).

use std::time::{Duration, Instant};

use domain::settings::rules::compile::Rule;
use domain::settings::rules::cost::{Budget, REQUEST, charge};
use domain::settings::rules::evaluate::evaluate;
use domain::settings::rules::limits::RuleLimits;
use serde_json::{Value, json};

fn parse(expression: &str) -> Rule {
    Rule::parse(expression, "message", &RuleLimits::DEFAULT).unwrap()
}

/// Units of one rule, or nothing if it is over the budget of a request.
fn units(expression: &str, own: &Value) -> Option<u64> {
    let mut budget = Budget::default();
    charge(&parse(expression), own, None, &mut budget).ok()?;
    Some(REQUEST - budget.left())
}

fn numbers(count: usize) -> Value {
    json!({"l": (0..count).collect::<Vec<_>>()})
}

fn hosts(count: usize) -> Value {
    let host = |i: usize| json!({"name": format!("host-{i}"), "port": 1000 + i, "labels": {"tier": "web", "zone": "a"}});
    json!({"hosts": (0..count).map(host).collect::<Vec<_>>(), "names": (0..count).map(|i| format!("host-{i}")).collect::<Vec<_>>()})
}

/// Rules that cost without bound, each on a document that makes it hurt.
fn hostile() -> Vec<(String, Value)> {
    let mut all = vec![
        ("self.l.all(x, self.l.all(y, x + y >= 0.0))".to_owned(), numbers(1000)),
        ("self.l.all(x, self.l.all(y, self.l.all(z, true)))".to_owned(), numbers(1000)),
        ("self.l.map(x, self.l.map(y, self.l)).size() > 0".to_owned(), numbers(400)),
        ("self.l.all(x, self.s.matches('[ab]*a[ab]{300}[c-e]'))".to_owned(), json!({"l": [1, 2, 3], "s": "ab".repeat(10_000)})),
        ("self.l.all(x, self.l.all(y, self.s.contains('z')))".to_owned(), json!({"l": vec![1; 300], "s": "ab".repeat(10_000)})),
        ("self.l.all(x, self == self)".to_owned(), json!({"l": vec![1; 300], "o": hosts(300)})),
        ("self.l.all(x, self.l in [self.l, [self.l]])".to_owned(), numbers(3000)),
        ("self.l.all(x, x.matches(self.l[0]))".to_owned(), json!({"l": vec!["a"; 2000]})),
        ("self.l.all(x, duration('1h') > duration('1m') && timestamp('2024-01-01T00:00:00Z').getHours('Europe/Paris') == 1)".to_owned(), numbers(60_000)),
    ];
    let grow = |start: &str, step: &str, times: usize| {
        format!(
            "[{start}]{}.size() == 1",
            format!(".map(a, {step})").repeat(times)
        )
    };
    all.push((grow("'aaaaaaaaaa'", "a + a", 30), json!({})));
    all.push((grow("[1]", "[a, a]", 30), json!({})));
    all.push((grow("[1]", "a + a", 30), json!({})));
    all.push((grow("{'k': 1}", "{'k': a, 'l': a}", 30), json!({})));
    all.push((grow("'a'", "string(a + a)", 25), json!({})));
    all.push((grow("'a'", "string(bytes(a + a))", 25), json!({})));
    all.push((grow("self.l", "a.filter(x, true) + a", 12), numbers(1000)));
    all
}

#[test]
fn rules_without_bound_are_refused_before_they_run_h14() {
    for (expression, document) in hostile() {
        let start = Instant::now();
        assert_eq!(units(&expression, &document), None, "{expression}");
        // Generous, because the machine may be busy and the build slow.
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{expression}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn rules_that_people_write_are_far_from_the_budget() {
    let document = hosts(300);
    for expression in [
        "self.hosts.all(h, h.port > 0 && h.port < 65536)",
        "self.hosts.all(h, h.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",
        "self.names.all(n, n in self.names)",
        "self.hosts.map(h, h.name) == self.names",
        "self.hosts.exists_one(h, h.name == 'host-7')",
        "self.hosts.all(h, h.labels.all(k, k.size() < 64 && h.labels[k].size() < 64))",
        "self.hosts.filter(h, h.port > 1100).size() > 0",
        "self == self",
    ] {
        let units = units(expression, &document).unwrap_or(u64::MAX);
        assert!(units < REQUEST / 2, "{expression}: {units}");
    }
    // Every name is different: pairs of a hundred.
    let pairs = "self.hosts.all(a, self.hosts.exists_one(b, a.name == b.name))";
    assert!(units(pairs, &hosts(100)).is_some());
}

#[test]
fn a_bound_follows_the_lists_that_are_there() {
    let rule = "self.groups.all(g, g.members.all(m, m.tags.all(t, t.size() > 0)))";
    let member = json!({"tags": ["a", "b"]});
    let group = json!({"members": vec![member; 10]});
    let mut document = json!({"groups": vec![group; 100], "unrelated": vec![1; 10_000]});
    let small = units(rule, &document).unwrap();
    document["unrelated"] = json!([]);
    assert_eq!(
        units(rule, &document),
        Some(small),
        "a list that no macro goes through costs nothing"
    );
    document["groups"] = json!([]);
    assert!(units(rule, &document).unwrap() < 200);
}

#[test]
fn what_is_accepted_at_the_edge_of_the_budget_takes_no_time_to_speak_of_h14() {
    type Document = fn(usize) -> Value;
    let shapes: [(&str, Document); 7] = [
        ("self.l.all(x, self.l.all(y, x + y >= 0.0))", numbers),
        ("self.l.map(x, self.l.map(y, [x, y])).size() > 0", numbers),
        (
            "self.hosts.all(a, self.hosts.all(b, a.name != b.name || a == b))",
            hosts,
        ),
        ("self.hosts.all(a, a in self.hosts)", hosts),
        (
            "self.l.all(x, self.l.map(y, string(y)).size() > 0)",
            numbers,
        ),
        (
            "self.l.all(x, self.l.all(y, 'ababababababababab'.matches('[ab]*a[ab]{10}[c-e]') || true))",
            numbers,
        ),
        (
            "self.l.all(x, self.l.exists(y, self.m == y) || true)",
            numbers,
        ),
    ];
    for (expression, document) in shapes {
        let accepted = |count: usize| units(expression, &document(count)).is_some();
        let (mut fits, mut refused) = (1, 100_000);
        assert!(accepted(fits) && !accepted(refused), "{expression}");
        while refused - fits > 1 {
            let middle = fits.midpoint(refused);
            if accepted(middle) {
                fits = middle;
            } else {
                refused = middle;
            }
        }
        assert!(fits < 5_000, "{expression} is accepted on {fits}");
        let (rule, document) = (parse(expression), document(fits));
        let start = Instant::now();
        let _ = evaluate(&rule, &document, None);
        let took = start.elapsed();
        // 100 ms is the promise of a release build on an idle machine; tests run neither.
        assert!(
            took < Duration::from_secs(1),
            "{expression} on {fits}: {took:?}"
        );
    }
}

#[test]
fn the_rules_of_a_request_share_one_budget_s24() {
    let rule = parse("self.l.all(x, self.l.all(y, true))");
    let document = numbers(150);
    let mut budget = Budget::default();
    let mut runs = 0;
    while charge(&rule, &document, None, &mut budget).is_ok() {
        runs += 1;
    }
    assert!((1..100).contains(&runs), "{runs}");
    assert_eq!(
        budget.left(),
        0,
        "a rule over the budget leaves nothing for the next"
    );
    let error = charge(&parse("true"), &document, None, &mut budget).unwrap_err();
    assert!(error.to_string().contains("make the lists smaller"));
}

#[test]
fn a_bound_counts_old_values_too() {
    let rule = parse("oldSelf.all(x, oldSelf.all(y, true))");
    let mut budget = Budget::default();
    let old = json!(vec![1; 5000]);
    assert!(charge(&rule, &json!([]), Some(&old), &mut budget).is_err());
}
