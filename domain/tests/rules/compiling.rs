//! What is no rule at all (section 5.3, `compile`; H13).

use serde_json::json;

use crate::{all, outcome};

#[test]
fn text_that_is_no_expression_is_refused() {
    all(
        "compile",
        &json!({}),
        &[
            "",
            " ",
            "// only a comment",
            "self.",
            "self.a ==",
            "self.a = 1",
            "self.a & true",
            "self.a | true",
            "(self.a",
            "self.a)",
            "[1, 2",
            "{'a': }",
            "self.a self.b",
            "1 +",
            "if true",
            "self.a;",
            "self.a @ 1",
            "self['a'",
            "self.a == 'x",
            "return true",
            "self..a",
            "#",
            "self.a ? true",
            "self.a : true",
            "true,false",
            "é == 1",
            "for == 1",
            "self.all(x)",
            "self.all(1, true)",
            "has(self)",
            "has(1)",
            "has(self['a'])",
            "has()",
            "self.a.all(x.y, true)",
            "!-1 == 1",
            "-!true",
            "\u{b}true",
            "self.`a` == 1",
        ],
    );
}

#[test]
fn unknown_names_are_refused() {
    all(
        "compile",
        &json!({}),
        &[
            "other == 1",
            "x == 1",
            "self.l.all(x, y > 1)",
            "old_self.x == 1",
            "Self.x == 1",
            "oldself == 1",
            "self.l.all(x, true) && x == 1",
            "foo.bar == 1",
            "self.l.exists(x, x == self.l.map(y, y)) || y == 1",
            "[z].size() == 1",
            "{'a': z}.size() == 1",
            "has(z.a)",
            "google.protobuf.Any == 1",
            ".x == 1",
            "dyn == 1",
            "@result",
            "optional_type == 1",
        ],
    );
}

#[test]
fn functions_outside_the_standard_library_are_refused_h13() {
    all(
        "compile",
        &json!({"a": "x"}),
        &[
            "foo()",
            "self.a.foo()",
            "self.a.lowerAscii() == 'x'",
            "self.a.split(',').size() == 1",
            "self.a.replace('x', 'y') == 'y'",
            "self.a.trim() == 'x'",
            "self.a.substring(1) == ''",
            "self.a.charAt(0) == 'x'",
            "self.a.indexOf('x') == 0",
            "['a'].join() == 'a'",
            "'%s'.format([1]) == '1'",
            "optional.of(1).hasValue()",
            "optional.none() == 1",
            "self.?a.orValue('') == ''",
            "self[?'a'] == 1",
            "[?self.a] == []",
            "{?'a': self.a} == {}",
            "cel.bind(x, 1, x == 1)",
            "math.greatest(1, 2) == 2",
            "base64.encode(b'a') == ''",
            "isURL(self.a)",
            "url(self.a) == 1",
            "quantity('1') == 1",
            "ip(self.a) == 1",
            "self.l.sum() == 1",
            "self.l.isSorted()",
            "self.a.find('x') == ''",
            "sets.contains([1], [1])",
            "max(1, 2) == 2",
            "min(1) == 1",
            "self.l.existsOne(x, x == 1)",
            "self.l.sortBy(x, x) == []",
            "self.l.all(k, v, true)",
            "self.l.transformList(k, v, v) == []",
            "open('/etc/passwd') == ''",
            "env('HOME') == ''",
            "now() == 1",
            "exec('ls')",
            "_+_(1, 2) == 3",
            "getHours(timestamp(self.a)) == 1",
            "type.of(1) == 1",
            "format.dns1123Label() == 1",
        ],
    );
}

#[test]
fn wrong_numbers_and_types_of_arguments_are_refused() {
    all(
        "compile",
        &json!({"a": "x"}),
        &[
            "size() == 1",
            "size(1) == 1",
            "size('a', 'b') == 1",
            "'a'.size(1) == 1",
            "'a'.startsWith() ",
            "'a'.startsWith('b', 'c')",
            "'a'.startsWith(1)",
            "1.5.startsWith('1')",
            "startsWith('a', 'b')",
            "contains('a', 'b')",
            "'a'.matches()",
            "matches('a')",
            "int() == 1",
            "int(1, 2) == 1",
            "int(true) == 1",
            "int([1]) == 1",
            "bool(1)",
            "duration(true) == duration('1s')",
            "timestamp(1.5) == timestamp(0)",
            "'a'.int() == 1",
            "1 + 'a' == 1",
            "1 + 1.0 == 2.0",
            "1 + 1u == 2",
            "true + false",
            "'a' - 'b' == ''",
            "[1] - [2] == []",
            "1.5 % 2.0 == 1.0",
            "-'a' == ''",
            "-1u == 1u",
            "!1",
            "!'a'",
            "1 && true",
            "true || 'a'",
            "1 ? true : false",
            "true ? 1 : 'a'",
            "1 == 'a'",
            "1 == 1.0",
            "1u == 1",
            "'a' < 1",
            "[1] < [2]",
            "1 < 1.0",
            "double('1') > 1",
            "size('a') >= 1.0",
            "1 in 2",
            "'a' in 'abc'",
            "1 in ['a']",
            "1 in {'a': 1}",
            "1['a'] == 1",
            "[1]['a'] == 1",
            "{'a': 1}[1] == 1",
            "'abc'[0] == 'a'",
            "'a'.b == 1",
            "1.a == 1",
            "[1].a == 1",
            "true.a",
            "1.all(x, true)",
            "'abc'.all(c, true)",
            "[1].all(x, x == 'a')",
            "[1].all(x, 1)",
            "[1].filter(x, x) == [1]",
            "{'a': 1}.all(k, k == 1)",
            "null.x == 1",
            "null == 1",
            "'a' == null",
            "type(1) == 1",
            "duration('1h').getFullYear() == 1",
            "timestamp('2024-01-01T00:00:00Z').getHours(1) == 1",
            "duration('1h').getHours('UTC') == 1",
        ],
    );
}

#[test]
fn a_message_literal_is_refused() {
    all(
        "compile",
        &json!({}),
        &[
            "Foo{a: 1} == 1",
            "google.protobuf.Timestamp{seconds: 1} == timestamp(1)",
            "self{a: 1}",
            "self.a{} == 1",
        ],
    );
}

#[test]
fn a_self_that_is_an_object_is_a_map_of_strings() {
    all(
        "compile",
        &json!({"a": 1}),
        &[
            "self[0] == 1",
            "self == null",
            "self == 1",
            "self == 'x'",
            "self == [1]",
            "self.all(k, k > 1)",
            "1 in self",
            "self + self == self",
            "self > 1",
            "!self",
            "self && true",
            "self.startsWith('a')",
            "size(self) == 'a'",
            "int(self) == 1",
            "self == {1: 1}",
            "self ? true : false",
            "null != self",
        ],
    );
    all(
        "pass",
        &json!({"a": 1}),
        &[
            "self == {'a': 1}",
            "size(self) == 1",
            "self != {}",
            "dyn(self) != null",
            "self['a'] == 1",
            "self.all(k, k == 'a')",
        ],
    );
    all("non_bool", &json!({"a": 1}), &["self"]);
}

#[test]
fn a_self_that_is_an_array_is_a_list() {
    all(
        "compile",
        &json!([1]),
        &[
            "self.a == 1",
            "self['a'] == 1",
            "has(self.a)",
            "self == null",
            "self == {}",
            "self == {'a': 1}",
            "self == 1",
            "self[1.0] == 1",
            "self[0.0] == 1",
            "self < self",
            "self.x.y == 1",
        ],
    );
    all(
        "pass",
        &json!([1]),
        &[
            "self == [1]",
            "self[0] == 1",
            "self + [2] == [1, 2]",
            "1 in self",
            "self != []",
            "dyn(self) != null",
            "self.map(x, x) == self",
        ],
    );
}

#[test]
fn a_self_of_another_kind_is_dynamic() {
    all(
        "eval",
        &json!(3),
        &[
            "self + 1 == 4",
            "self.startsWith('a')",
            "self.all(x, true)",
            "size(self) == 1",
        ],
    );
    all(
        "fail",
        &json!(3),
        &["self == null", "self == 'x'", "self == []", "self == {}"],
    );
}

#[test]
fn containers_of_different_kinds_do_not_compare() {
    let (object, array) = (json!({"a": 1}), json!([1]));
    for operator in ["==", "!="] {
        let rule = format!("self {operator} oldSelf");
        assert_eq!(outcome(&rule, &object, Some(&array)), "compile");
        assert_eq!(outcome(&rule, &array, Some(&object)), "compile");
    }
    assert_eq!(outcome("self == oldSelf", &object, Some(&json!(1))), "fail");
    assert_eq!(outcome("self == oldSelf", &json!(1), Some(&array)), "fail");
    assert_eq!(
        outcome("self in oldSelf", &object, Some(&json!([{"a": 1}]))),
        "pass"
    );
}

#[test]
fn a_transition_rule_is_compiled_before_it_is_skipped() {
    let own = json!({"a": 1});
    assert_eq!(outcome("oldSelf.a == other", &own, None), "compile");
    assert_eq!(outcome("oldSelf.a == foo(1)", &own, None), "compile");
    assert_eq!(outcome("oldSelf.a == 1 && 1 == 'a'", &own, None), "compile");
}
