//! What expressions mean on texts, literals and regular expressions.

use crate::{all, sample};

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
fn regular_expressions_are_those_of_re2() {
    all(
        "pass",
        &sample(),
        &[
            r"'5'.matches('^\\d$')",
            r"!'٣'.matches(r'^\d$')",
            r"!'é'.matches(r'^\w$')",
            r"'a@b'.matches(r'^a\@b$')",
            r"'ab'.matches('^(?P<x>a)b$')",
            r"'AB'.matches('(?i)^ab$')",
            r"'πέντε'.matches(r'^\p{Greek}+$')",
            r"'a{b'.matches('a{b')",
            "self.s.matches(self.s)",
        ],
    );
    all(
        "eval",
        &sample(),
        &[
            r"self.s.matches('(?=a)')",
            r"self.s.matches(r'(a)\1')",
            "self.s.matches('a**')",
            "self.s.matches('[z-a]')",
            "self.s.matches('a{2,1}')",
            "self.s.matches('a{1001}')",
            "self.s.matches(self.s + '(')",
        ],
    );
}
