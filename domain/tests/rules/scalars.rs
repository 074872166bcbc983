//! What expressions mean on numbers, times and other scalars.

use serde_json::json;

use crate::{all, sample};

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
fn numbers_at_the_edges_do_not_surprise() {
    let own = json!({"max": u64::MAX, "min": i64::MIN, "odd": 9_007_199_254_740_993_u64, "tiny": 1e-300, "big": 1e300, "minus": -0.0});
    all(
        "pass",
        &own,
        &[
            "self.max > 18000000000000000000u",
            "self.min < -9000000000000000000",
            "self.odd == 9007199254740992",
            "self.tiny > 0",
            "self.big * self.big > self.big",
            "self.minus == 0",
            "-9223372036854775808 < 0",
            "self.min == -9223372036854775808",
            "self.max - self.max == 0.0",
        ],
    );
    all(
        "eval",
        &own,
        &[
            "int(self.max) > 0",
            "int(self.big) > 0",
            "uint(self.min) > 0u",
            "int(self.big - self.big / self.tiny) > 0",
        ],
    );
}
