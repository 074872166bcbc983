//! What expressions mean on JSON values.

use serde_json::{Value, json};

use crate::{all, outcome};

fn sample() -> Value {
    json!({
        "n": 3, "half": 0.5, "zero": 0, "neg": -2, "big": 1_500_000, "s": "abc", "word": "πέντε", "empty": "", "t": true, "f": false,
        "nil": null, "l": [1, 2, 3], "names": ["a", "b"], "none": [], "m": {"a": 1, "b": 2}, "o": {"x": {"y": 7}},
        "objects": [{"s": 2}, {"s": 5}], "when": "2024-02-29T12:30:45.5Z", "span": "1h30m", "key-with-dash": 1
    })
}

#[test]
fn numbers_of_the_document_compare_and_equal_freely_with_integers() {
    all(
        "pass",
        &sample(),
        &[
            "self.n >= 1",
            "self.n == 3",
            "3 == self.n",
            "self.n != 4",
            "self.n in [1, 2, 3]",
            "self.n == 3u",
            "self.half < 1",
            "self.neg < 0u",
            "size(self.l) >= self.n",
            "self.n == 3.0",
            "self.l == [1, 2, 3]",
            "[1, 2, 3] == self.l",
            "self.l == [1.0, 2u, 3]",
            "self.m == {'a': 1, 'b': 2}",
            "{'a': 1, 'b': 2} == self.m",
            "self.n > self.half",
            "self.l.exists(x, x == 2)",
        ],
    );
    all(
        "fail",
        &sample(),
        &[
            "self.n == 4",
            "self.n in [1, 2]",
            "self.half == 0",
            "self.l == [1, 2]",
            "self.m == {'a': 1}",
        ],
    );
}

#[test]
fn arithmetic_does_not_mix_doubles_and_integers() {
    all(
        "eval",
        &sample(),
        &[
            "self.n + 1 == 4",
            "self.n - 1 == 2",
            "self.n * 2 == 6",
            "self.n / 2 == 1",
            "self.n % 2 == 1",
            "1 + self.n == 4",
            "self.n + 1u == 4u",
            "self.n + self.s == ''",
        ],
    );
    all(
        "pass",
        &sample(),
        &[
            "self.n + 1.0 == 4.0",
            "self.n + self.half == 3.5",
            "int(self.n) % 2 == 1",
            "self.n * 2.0 == 6.0",
            "-self.n == -3",
            "self.n / 2.0 == 1.5",
            "self.n + self.n == 6",
            "double(1) + self.n == 4.0",
            "int(self.n) + 1 == 4",
            "self.n - self.n == 0.0",
        ],
    );
}

#[test]
fn integer_arithmetic_stops_at_overflow_and_zero() {
    all(
        "eval",
        &sample(),
        &[
            "1 / int(self.zero) == 1",
            "1 % int(self.zero) == 1",
            "9223372036854775807 + int(self.n) > 0",
            "-9223372036854775807 - int(self.n) < 0",
            "uint(self.neg) == 1u",
            "9223372036854775807 * int(self.n) > 0",
        ],
    );
    all(
        "pass",
        &sample(),
        &[
            "self.n / self.zero > 1000",
            "null == null",
            "-7 / 2 == -3",
            "-7 % 2 == -1",
            "7u / 2u == 3u",
            "1 - 2 == -1",
        ],
    );
}

#[test]
fn a_number_of_the_document_is_a_double() {
    all(
        "pass",
        &sample(),
        &[
            "type(self.n) == double",
            "type(self.s) == string",
            "type(self.nil) == null_type",
            "type(self.l) == list",
            "type(self.m) == map",
            "type(self.t) == bool",
            "type(1) == int",
            "type(1u) == uint",
            "type(b'a') == bytes",
            "type(type(1)) == type",
            "type(timestamp(self.when)) == google.protobuf.Timestamp",
            "type(duration(self.span)) == google.protobuf.Duration",
        ],
    );
    all(
        "fail",
        &sample(),
        &["type(self.n) == int", "type(self.n) == type(1)"],
    );
}

#[test]
fn a_double_prints_without_needless_digits() {
    all(
        "pass",
        &sample(),
        &[
            "string(self.n) == '3'",
            "string(self.half) == '0.5'",
            "string(self.big) == '1.5e+06'",
            "string(2.0) == '2'",
            "string(100000.0) == '100000'",
            "string(1000000.0) == '1e+06'",
            "string(0.0001) == '0.0001'",
            "string(0.00001) == '1e-05'",
            "string(1e21) == '1e+21'",
            "string(-0.0) == '-0'",
            "string(1000000) == '1000000'",
        ],
    );
}

#[test]
fn conversions_follow_the_standard_library() {
    all(
        "pass",
        &sample(),
        &[
            "int(self.n) == 3",
            "int('42') == 42",
            "int(3.9) == 3",
            "int(-3.9) == -3",
            "uint('7') == 7u",
            "double('1.5') == 1.5",
            "string(true) == 'true'",
            "string(1u) == '1'",
            "bytes('abc') == b'abc'",
            "string(b'abc') == 'abc'",
            "bool('true')",
            "bool('1')",
            "int(timestamp('1970-01-01T00:01:00Z')) == 60",
            "timestamp(60) == timestamp('1970-01-01T00:01:00Z')",
            "dyn(1) == 1.0",
            "string(duration('90m')) == '5400s'",
            "string(timestamp('2024-01-01T00:00:00Z')) == '2024-01-01T00:00:00Z'",
            "double(self.n) == self.n",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "int('x') == 1",
            "int(1e30) == 1",
            "uint(-1) == 1u",
            "double('x') == 1.0",
            "bool('maybe')",
            "int(self.s) == 1",
            "duration('1 hour') > duration('1s')",
            "duration('') > duration('1s')",
            "duration('1d') > duration('1s')",
            "timestamp('2024-13-01T00:00:00Z') > timestamp(0)",
            "timestamp('yesterday') > timestamp(0)",
            "string(b'\\xff') == ''",
            "bool(self.n)",
            "int(self.nil) == 0",
            "timestamp(self.n) > timestamp(0)",
        ],
    );
}

#[test]
fn strings_count_and_compare_code_points() {
    all(
        "pass",
        &sample(),
        &[
            "size(self.word) == 5",
            "self.word.size() == 5",
            "size(bytes(self.word)) == 10",
            "self.s < 'abd'",
            "'a' < 'b'",
            "self.s.startsWith('ab')",
            "self.s.endsWith('bc')",
            "self.s.contains('b')",
            "self.s.matches('^[a-c]+$')",
            "matches(self.s, 'b')",
            "self.s + 'd' == 'abcd'",
            "'' + self.empty == ''",
            "self.empty == ''",
            "!self.s.matches('^b')",
            "self.s.matches('')",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.n.startsWith('3')",
            "self.s.matches('(')",
            "self.s.matches('a(?=b)')",
            "size(self.n) == 1",
            "self.s.matches(self.n)",
            "self.n.size() == 1",
            "self.s.size() == 3 && self.n.matches('3')",
        ],
    );
}

#[test]
fn literals_and_escapes_mean_what_the_language_says() {
    all(
        "pass",
        &sample(),
        &[
            r"'\x41\u0042\U00000043\103' == 'ABCC'",
            r"r'\d' == '\\d'",
            r#""a'b" == 'a\'b'"#,
            "'''a'b''' == 'a\\'b'",
            "\"\"\"x\ny\"\"\" == 'x\\ny'",
            "0x1F == 31",
            "1e3 == 1000.0",
            ".5 == 0.5",
            "10u == 0xAu",
            "b'\\xff' != b'\\xfe'",
            "[1, 2,].size() == 2",
            "{'a': 1,}.size() == 1",
            "1 == 1 // a comment",
            "true || // first\n false",
            r"'\n'.size() == 1",
            r"'\a\b\f\r\t\v\?\`'.size() == 8",
            "R'\\n'.size() == 2",
            "bR'\\n'.size() == 2",
        ],
    );
    all(
        "compile",
        &sample(),
        &[
            r"'\q' == ''",
            r"'\400' == ''",
            r"'\u00' == ''",
            "'a\nb' == ''",
            "'abc",
            "\"abc",
            "'''abc",
            "9223372036854775808 == 0",
            "1.e3 == 1.0",
            "0xg == 1",
            r"'\ud800' == ''",
            r"b'\u0041' == b''",
        ],
    );
}

#[test]
fn lists_are_indexed_by_whole_numbers() {
    all(
        "pass",
        &sample(),
        &[
            "self.l[0] == 1",
            "self.l[self.zero] == 1",
            "self.l[size(self.l) - 1] == 3",
            "self.l[1u] == 2",
            "[1, 2][1] == 2",
            "self.l[2.0] == 3",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.l[3] == 1",
            "self.l[-1] == 1",
            "self.l[self.half] == 1",
            "self.l[self.neg] == 1",
            "self.l['a'] == 1",
            "self.l[self.nil] == 1",
            "[1][1] == 1",
        ],
    );
}

#[test]
fn a_missing_key_makes_the_rule_inapplicable_s10() {
    all(
        "skip",
        &sample(),
        &[
            "self.absent == 1",
            "self.o.absent == 1",
            "self.absent.deep.er == 1",
            "self['absent'] == 1",
            "self.m['c'] == 1",
            "{'a': 1}['b'] == 1",
            "self.objects.all(o, o.absent > 1)",
            "self.objects.exists(o, o.absent > 10)",
            "self.objects[0].absent == 1",
            "has(self.absent.x)",
            "!self.absent",
            "self.m[1] == 1",
            "self.objects.map(o, o.absent).size() == 2",
            "self.absent in [1]",
            "1 in self.absent",
            "self.absent ? true : false",
            "size(self.absent) > 0",
            "self.absent + 1 == 2",
            "duration(self.absent) > duration('1s')",
            "[self.absent].size() == 1",
            "self.objects.exists_one(o, o.absent == 1)",
        ],
    );
}

#[test]
fn selecting_or_indexing_below_null_or_a_scalar_is_a_missing_key_s10() {
    all(
        "skip",
        &sample(),
        &[
            "self.nil.x == 1",
            "self.n.x == 1",
            "self.s.x == 1",
            "self.t.x == 1",
            "self.nil['x'] == 1",
            "self.s[0] == 'a'",
            "self.n[0] == 1",
            "dyn('a').x == 1",
        ],
    );
    all(
        "eval",
        &sample(),
        &["self.l.x == 1", "self.objects.s == 1", "has(self.l.x)"],
    );
}

#[test]
fn has_is_false_below_null_or_a_scalar_and_true_for_null() {
    all(
        "pass",
        &sample(),
        &[
            "has(self.n)",
            "has(self.nil)",
            "has(self.o.x.y)",
            "!has(self.absent)",
            "!has(self.o.z)",
            "!has(self.nil.x)",
            "!has(self.s.x)",
            "!has(self.n.x)",
            "has(self.objects[0].s)",
            "has({'a': 1}.a)",
            "!has({'a': 1}.b)",
            "has(self.m.a) && has(self.empty)",
        ],
    );
    all(
        "fail",
        &sample(),
        &[
            "has(self.absent)",
            "has(self.nil.x)",
            "has(self.s.x) && true",
        ],
    );
}

#[test]
fn a_deciding_side_absorbs_the_error_of_the_other() {
    all(
        "pass",
        &sample(),
        &[
            "self.n == 3 || self.absent == 1",
            "self.absent == 1 || self.n == 3",
            "self.n + 1 == 4 || true",
            "!(self.absent == 1 && false)",
            "!(false && self.n % 2 == 0)",
            "true || 1 / int(self.zero) > 0",
            "self.objects.exists(o, o.s == 5 || o.absent)",
            "[1, 2].exists(x, x == 2 || self.absent)",
            "self.n == 3 ? true : self.absent",
        ],
    );
    all(
        "fail",
        &sample(),
        &[
            "self.n == 4 && self.absent == 1",
            "self.absent == 1 && self.n == 4",
            "self.objects.all(o, o.s == 5 && o.absent == 1)",
            "[1, 2].all(x, x == 1 && self.absent)",
        ],
    );
    all(
        "skip",
        &sample(),
        &[
            "self.n == 3 && self.absent == 1",
            "self.absent == 1 && self.n == 3",
            "self.n == 4 || self.absent == 1",
            "self.objects.all(o, o.s == 2 || o.absent == 1)",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.n == 3 && self.n",
            "self.n || self.n == 4",
            "self.s && true",
            "!self.n",
            "self.n ? true : false",
            "self.nil || false",
        ],
    );
}

#[test]
fn of_two_errors_the_first_one_counts() {
    all(
        "skip",
        &sample(),
        &[
            "self.absent == 1 && self.n % 2 == 0",
            "self.absent == 1 || self.n % 2 == 0",
            "[self.o, self.n].all(x, x.absent > 1 || self.n % 2 == 0)",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.n % 2 == 0 && self.absent == 1",
            "self.n % 2 == 0 || self.absent == 1",
        ],
    );
    let mixed = json!({"l": [{"p": "x"}, {}], "r": [{}, {"p": "x"}], "m": {"a": {}, "b": {"p": "x"}}, "w": {"a": {"p": "x"}, "b": {}}});
    for _ in 0..20 {
        assert_eq!(outcome("self.l.all(i, i.p > 1)", &mixed, None), "eval");
        assert_eq!(outcome("self.r.all(i, i.p > 1)", &mixed, None), "skip");
        assert_eq!(
            outcome("self.m.all(k, self.m[k].p > 1)", &mixed, None),
            "skip"
        );
        assert_eq!(
            outcome("self.w.exists(k, self.w[k].p > 1)", &mixed, None),
            "eval"
        );
    }
}

#[test]
fn macros_go_through_lists_and_the_keys_of_maps() {
    all(
        "pass",
        &sample(),
        &[
            "self.l.all(x, x > 0)",
            "self.l.exists(x, x > 2)",
            "self.l.exists_one(x, x > 2)",
            "self.l.map(x, x * 2.0) == [2, 4, 6]",
            "self.l.filter(x, x > 1) == [2, 3]",
            "self.l.map(x, x > 1, x) == [2, 3]",
            "self.m.all(k, self.m[k] > 0)",
            "self.m.map(k, k) == ['a', 'b']",
            "self.m.filter(k, self.m[k] > 1) == ['b']",
            "self.none.all(x, false)",
            "!self.none.exists(x, true)",
            "self.m.exists(k, k == 'b')",
            "self.objects.map(o, o.s) == [2, 5]",
            "self.l.all(x, self.names.exists(n, n == 'a'))",
            "{'z': 1, 'a': 2}.map(k, k) == ['a', 'z']",
            "self.names.map(n, n + '!') == ['a!', 'b!']",
            "self.l.filter(x, x > 1).map(x, x + 1.0).exists(x, x == 4)",
        ],
    );
    all(
        "fail",
        &sample(),
        &[
            "self.l.all(x, x > 1)",
            "self.l.exists_one(x, x > 1)",
            "self.l.exists(x, x > 3)",
            "self.m.all(k, self.m[k] > 1)",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.s.all(c, true)",
            "self.n.exists(x, true)",
            "self.l.all(x, x)",
            "self.nil.map(x, x) == []",
            "self.l.exists_one(x, x + 1 == 2)",
        ],
    );
}

#[test]
fn a_macro_variable_shadows_what_is_outside() {
    all(
        "pass",
        &sample(),
        &[
            "self.l.all(self, self > 0)",
            "self.names.all(l, self.l.all(l, l > 0))",
            "[[1, 2], [3]].all(x, x.all(x, x > 0))",
            "self.l.exists(int, int == 2)",
            "self.l.map(x, self.names.map(x, x)).size() == 3",
            "self.l.all(self, self > 0) && self.n == 3",
            "self.l.all(x, .self.n == 3)",
        ],
    );
}

#[test]
fn membership_looks_at_elements_and_keys() {
    all(
        "pass",
        &sample(),
        &[
            "'a' in self.names",
            "!('c' in self.names)",
            "'n' in self",
            "!('absent' in self)",
            "2 in self.l",
            "2.0 in self.l",
            "'a' in self.m",
            "!(1 in self.m)",
            "1 in {1: 'x'}",
            "dyn(1.0) in {1: 'x'}",
            "[1] in [[1], [2]]",
            "null in [self.nil]",
            "self.n in [3]",
            "'key-with-dash' in self",
            "self['key-with-dash'] == 1",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "'a' in self.s",
            "1 in self.n",
            "self.l in self.m",
            "1 in self.nil",
        ],
    );
}

#[test]
fn different_types_are_unequal_and_have_no_order() {
    all(
        "fail",
        &sample(),
        &[
            "self.s == 1",
            "self.n == 'x'",
            "self.nil == false",
            "self.l == self.m",
            "self.t == 1",
            "self.nil == 0",
        ],
    );
    all(
        "pass",
        &sample(),
        &[
            "self.s != 1",
            "self.nil == null",
            "null == self.nil",
            "self.n != null",
            "self.l != null",
            "self.o != self.m",
            "self.o == {'x': {'y': 7}}",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.s < 1",
            "self.n < 'x'",
            "self.nil < 1",
            "null < null",
            "self.l < self.l",
            "self.m < self.m",
            "self.t < 1",
            "double('NaN') < self.n",
        ],
    );
}

#[test]
fn times_and_durations_calculate_and_compare() {
    all(
        "pass",
        &sample(),
        &[
            "timestamp(self.when) > timestamp('2024-01-01T00:00:00Z')",
            "duration(self.span) == duration('90m')",
            "duration(self.span) >= duration('1h')",
            "timestamp(self.when) + duration('1h') > timestamp(self.when)",
            "timestamp(self.when) - timestamp(self.when) == duration('0s')",
            "timestamp(self.when).getFullYear() == 2024",
            "timestamp(self.when).getMonth() == 1",
            "timestamp(self.when).getDate() == 29",
            "timestamp(self.when).getDayOfMonth() == 28",
            "timestamp(self.when).getDayOfWeek() == 4",
            "timestamp(self.when).getDayOfYear() == 59",
            "timestamp(self.when).getHours() == 12",
            "timestamp(self.when).getHours('+02:00') == 14",
            "timestamp(self.when).getMinutes() == 30",
            "timestamp(self.when).getSeconds() == 45",
            "timestamp(self.when).getMilliseconds() == 500",
            "timestamp(self.when).getHours('America/New_York') == 7",
            "duration(self.span).getHours() == 1",
            "duration(self.span).getMinutes() == 90",
            "duration('1.5s').getMilliseconds() == 1500",
            "duration('-1h') < duration('0s')",
            "duration('1h') + duration('1m') == duration('61m')",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "timestamp(self.when).getHours('Nowhere/City') == 1",
            "timestamp('9999-12-31T23:59:59Z') + duration('1h') > timestamp(0)",
            "self.when.getHours() == 12",
            "duration(self.span) > self.n",
        ],
    );
}

#[test]
fn conditionals_evaluate_one_side() {
    all(
        "pass",
        &sample(),
        &[
            "self.n == 3 ? self.s == 'abc' : self.absent",
            "(self.t ? 1 : 2) == 1",
            "self.f ? self.absent : true",
            "self.t ? true : 1 / int(self.zero) == 1",
        ],
    );
    all("skip", &sample(), &["self.absent ? true : true"]);
}

#[test]
fn what_is_no_boolean_is_reported() {
    all(
        "non_bool",
        &sample(),
        &[
            "self.n",
            "'yes'",
            "self.l",
            "1",
            "null",
            "self.m",
            "size(self.l)",
            "self.l.map(x, x)",
            "type(self.n)",
            "self.s + ''",
            "self.n == 3 ? 1 : 2",
            "self.nil",
            "{}",
            "b'a'",
            "duration('1s')",
        ],
    );
}

#[test]
fn rules_stand_on_values_of_every_kind() {
    assert_eq!(outcome("self > 3", &json!(4), None), "pass");
    assert_eq!(
        outcome("self.matches('^[a-z.]+$')", &json!("A_B"), None),
        "fail"
    );
    assert_eq!(outcome("self", &json!(true), None), "pass");
    assert_eq!(outcome("self == null", &json!(null), None), "pass");
    assert_eq!(
        outcome(
            "self.size() == 2 && self[1] == 'b'",
            &json!(["a", "b"]),
            None
        ),
        "pass"
    );
    assert_eq!(outcome("self.x == 1", &json!(5), None), "skip");
    assert_eq!(outcome("self.x == 1", &json!(null), None), "skip");
}

#[test]
fn a_transition_rule_needs_an_old_value() {
    let new = json!({"zone": "b", "tags": ["a", "c"]});
    assert_eq!(outcome("self.zone == oldSelf.zone", &new, None), "skip");
    assert_eq!(
        outcome(
            "self.zone == oldSelf.zone",
            &new,
            Some(&json!({"zone": "a"}))
        ),
        "fail"
    );
    assert_eq!(
        outcome(
            "self.zone == oldSelf.zone",
            &new,
            Some(&json!({"zone": "b"}))
        ),
        "pass"
    );
    assert_eq!(
        outcome("self.zone == oldSelf.zone", &new, Some(&json!({}))),
        "skip"
    );
    assert_eq!(
        outcome(
            "self.tags.all(t, t in oldSelf.tags)",
            &new,
            Some(&json!({"tags": ["a", "b"]}))
        ),
        "fail"
    );
    assert_eq!(
        outcome("self.tags.all(t, has(oldSelf.tags))", &new, None),
        "skip"
    );
    assert_eq!(outcome("self == oldSelf", &new, Some(&new)), "pass");
    assert_eq!(
        outcome("self >= oldSelf", &json!(2), Some(&json!(3))),
        "fail"
    );
    assert_eq!(outcome("true || oldSelf.x", &new, None), "skip");
}

#[test]
fn an_error_names_types_and_never_quotes_the_document() {
    use domain::settings::rules::compile::Rule;
    use domain::settings::rules::evaluate::evaluate;
    use domain::settings::rules::limits::RuleLimits;
    let own = json!({"s": "CANARY", "l": ["CANARY"], "n": 1, "m": {"CANARY": "CANARY"}});
    for (expression, text) in [
        (
            "self.s + self.n == ''",
            "`add` does not take (string, double)",
        ),
        ("self.l[4] == 1", "index out of range"),
        ("self.l < self.l", "`<` does not take (list, list)"),
        (
            "duration(self.s) > duration('1s')",
            "`duration` cannot read its argument",
        ),
        ("int(self.s) > 1", "`int` cannot read its argument"),
        ("self.s", "the result is a string, not a boolean"),
        (
            "self.s.all(x, true)",
            "a string stands where iterable is needed",
        ),
        ("{self.l: 1}.size() == 1", "such a value cannot be a key"),
        (
            "self.n.matches('a')",
            "`matches` does not take (double, pattern)",
        ),
    ] {
        let rule = Rule::parse(expression, "m", &RuleLimits::DEFAULT).unwrap();
        let error = evaluate(&rule, &own, None).unwrap_err().to_string();
        assert_eq!(error, text, "{expression}");
        assert!(!error.contains("CANARY"));
    }
}
