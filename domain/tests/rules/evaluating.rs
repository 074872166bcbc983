//! What expressions mean on objects and lists.

use crate::{all, sample};

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
fn lists_concatenate_with_lists_only() {
    all(
        "pass",
        &sample(),
        &[
            "[0] + self.l == [0, 1, 2, 3]",
            "self.l + [4] == [1, 2, 3, 4]",
            "self.l + self.l == self.l + self.l",
            "(self.l + self.names).size() == 5",
            "(self.names + [self.s]).exists(x, x == 'abc')",
            "(self.none + []).size() == 0",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            "self.l + self.m == []",
            "self.m + self.m == {}",
            "self.l + self.s == []",
            "self.nil + self.nil == null",
        ],
    );
}

#[test]
fn reserved_words_are_names_of_fields() {
    let own = serde_json::json!({"if": 1, "namespace": "a", "for": {"package": true}, "type": "x", "size": 2, "map": [1], "self": 3, "has": 4});
    all(
        "pass",
        &own,
        &[
            "self.if == 1",
            "self.namespace == 'a'",
            "self.for.package",
            "has(self.if) && !has(self.else)",
            "self.type == 'x'",
            "self.size == 2",
            "self.map[0] == 1",
            "self.self == 3",
            "self.has == 4",
            "self['in'] == 1 || true",
        ],
    );
    all(
        "compile",
        &own,
        &["self.in == 1", "self.true", "if == 1", "namespace == 'a'"],
    );
}

#[test]
fn rules_may_span_lines_and_have_comments() {
    all(
        "pass",
        &sample(),
        &[
            "!has(self.absent)\n||\n\tself.n > 5",
            "  self.n == 3  // three\r\n",
            "// first\nself.n\n==\n3",
        ],
    );
}
