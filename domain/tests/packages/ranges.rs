//! Version ranges in the syntax of Masterminds/semver (S23).

use domain::settings::requirements::range::{Range, parse_version};
use proptest::prelude::*;
use semver::Version;

/// `range version`, one pair a line.
fn all(expected: bool, pairs: &str) {
    for line in pairs.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (range, version) = line.split_once(" : ").unwrap();
        let range = Range::parse(range.trim()).unwrap_or_else(|error| panic!("{error}"));
        let version = Version::parse(version.trim()).unwrap();
        assert_eq!(range.contains(&version), expected, "{line}");
    }
}

#[test]
fn every_operator_compares_as_the_original_does() {
    all(
        true,
        "
        1.2.3 : 1.2.3
        = 1.2.3 : 1.2.3
        =1.2.3 : 1.2.3+build
        v1.2.3 : 1.2.3
        != 1.2.3 : 1.2.4
        > 1.2.3 : 1.2.4
        >= 1.2.3 : 1.2.3
        => 1.2.3 : 1.2.3
        < 1.2.3 : 1.2.2
        <= 1.2.3 : 1.2.3
        =< 1.2.3 : 1.2.3
        ~1.2.3 : 1.2.9
        ~>1.2.3 : 1.2.9
        ^1.2.3 : 1.9.0
    ",
    );
    all(
        false,
        "
        1.2.3 : 1.2.4
        != 1.2.3 : 1.2.3
        > 1.2.3 : 1.2.3
        >= 1.2.3 : 1.2.2
        < 1.2.3 : 1.2.3
        <= 1.2.3 : 1.2.4
        ~1.2.3 : 1.3.0
        ~1.2.3 : 1.2.2
        ^1.2.3 : 2.0.0
        ^1.2.3 : 1.2.2
    ",
    );
}

#[test]
fn missing_parts_and_wildcards_stand_for_all() {
    all(
        true,
        "
        1 : 1.9.9
        1.x : 1.0.0
        1.2 : 1.2.7
        1.2.x : 1.2.0
        1.2.* : 1.2.9
        1.X.X : 1.5.0
        * : 0.0.1
        x : 7.0.0
        >=1.28 : 1.28.0
        >1 : 2.0.0
        >1.1 : 1.2.0
        <=1 : 1.9.9
        <=1.1 : 1.1.9
        <1.1 : 1.0.9
        !=1.2.x : 1.3.0
        !=2 : 3.0.0
        ~1 : 1.9.0
        ~1.2 : 1.2.9
        ~1.x : 1.7.0
        ~* : 3.0.0
        ~0.0.0 : 5.0.0
        ^1 : 1.9.0
        ^1.2 : 1.9.0
        ^0 : 0.9.0
        ^0.2 : 0.2.9
        ^0.0 : 0.0.9
    ",
    );
    all(
        false,
        "
        1 : 2.0.0
        1.2 : 1.3.0
        1.2.x : 1.3.0
        >1 : 1.9.9
        >1.1 : 1.1.9
        <=1 : 2.0.0
        <=1.1 : 1.2.0
        <1.1 : 1.1.0
        !=1.2.x : 1.2.3
        !=2 : 2.1.0
        !=* : 1.0.0
        ~1 : 2.0.0
        ~1.2 : 1.3.0
        ^1.2 : 1.1.0
        ^0 : 1.0.0
        ^0.2 : 0.3.0
        ^0.0 : 0.1.0
        ^0.0.3 : 0.0.4
        ^0.2.3 : 0.3.0
        ^0.2.3 : 0.2.2
    ",
    );
}

#[test]
fn commas_and_spaces_mean_and_bars_mean_or_dashes_mean_between() {
    all(
        true,
        "
        >= 1.2, < 2 : 1.9.0
        >=1.2 <2 : 1.2.0
        >= 1.2 , < 2.0.0 , != 1.5.0 : 1.6.0
        < 1 || >= 2 : 2.5.0
        < 1 || >= 2 : 0.5.0
        1.2 - 1.4.5 : 1.4.5
        1.2 - 1.4 : 1.4.9
        1.2.3 - 2.3.4 : 2.0.0
        1.1 - 1.2 || 3 - 4 : 3.5.0
        ~1.2.3 || ^2 : 2.9.0
    ",
    );
    all(
        false,
        "
        >= 1.2, < 2 : 2.0.0
        >=1.2 <2 : 1.1.0
        >= 1.2 , < 2.0.0 , != 1.5.0 : 1.5.0
        < 1 || >= 2 : 1.5.0
        1.2 - 1.4.5 : 1.4.6
        1.2 - 1.4 : 1.5.0
        1.1 - 1.2 || 3 - 4 : 2.0.0
    ",
    );
}

#[test]
fn a_pre_release_is_in_range_only_where_the_range_names_one() {
    all(
        true,
        "
        >= 1.2.3-0 : 1.2.3-beta
        >=1.2.3-beta.1 : 1.2.3-beta.2
        >= 1.0.0-0, < 2.0.0 : 1.5.0-rc.1
        1.2.3-beta : 1.2.3-beta
        ~1.2.3-beta.2 : 1.2.3-beta.4
        ^1.1.2-alpha : 1.2.1-beta1
        < 1.0.0 || >= 2.0.0-0 : 2.0.0-rc.1
        >1.0.0-rc.1 : 1.0.0
    ",
    );
    all(
        false,
        "
        >= 1.2.3 : 1.3.0-beta
        * : 1.0.0-beta
        1.x : 1.1.0-alpha
        != 1.0.0 : 1.1.0-alpha
        < 2.0.0 : 2.0.0-rc.1
        ^1.0.0 : 1.1.0-rc.1
        >=1.2.3-beta.2 : 1.2.3-beta.1
        < 1.0.0-0 || >= 2.0.0 : 2.1.0-rc.1
    ",
    );
}

#[test]
fn what_is_no_range_says_why() {
    for text in [
        "abc",
        ">=",
        "1.2.3.4",
        "1..2",
        ">= 1.2,",
        ", 1.2",
        "1.2 ||| 3",
        "=> =1",
        "1.2.3-",
        "1.2.3-a..b",
        "99999999999999999999",
        ">>1",
        "1.2,,3",
        "1.2 - ",
        "- 1.2",
        "1.2 -3",
        "a.b.c",
        "~",
        "^",
        "1.2.3foo",
        "@1",
        "1;2",
        ">=1.2.3<2",
    ] {
        let error = Range::parse(text).expect_err(text);
        assert!(
            error
                .to_string()
                .starts_with(&format!("{text:?} is no version range")),
            "{error}"
        );
    }
}

#[test]
fn versions_are_read_as_loosely_as_in_ranges() {
    for (text, version) in [
        ("v1.2.3", "1.2.3"),
        ("1.2", "1.2.0"),
        ("v1", "1.0.0"),
        (" 1.2.3-rc.1 ", "1.2.3-rc.1"),
        ("1.2.3+k3s1", "1.2.3+k3s1"),
    ] {
        assert_eq!(
            parse_version(text),
            Some(Version::parse(version).unwrap()),
            "{text}"
        );
    }
    for text in ["", "abc", "1.2.3.4", "1.x", "*", "v", "1.2.3 4", "dev"] {
        assert_eq!(parse_version(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn random_texts_never_panic(text in "[0-9xvX*.,|<>=!~^ a-c+-]{0,20}", version in "[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{1,2}(-[a-z]{1,3})?") {
        if let (Ok(range), Some(version)) = (Range::parse(&text), parse_version(&version)) {
            let _ = range.contains(&version);
        }
    }

    #[test]
    fn tilde_is_within_caret(major in 0..3_u64, minor in 0..3_u64, patch in 0..3_u64, other in (0..4_u64, 0..4_u64, 0..4_u64)) {
        let version = Version::new(other.0, other.1, other.2);
        let text = format!("{major}.{minor}.{patch}");
        let contains = |sign: &str| Range::parse(&format!("{sign}{text}")).unwrap().contains(&version);
        if major > 0 && contains("~") {
            prop_assert!(contains("^"), "{text} {version}");
        }
        prop_assert_eq!(contains("="), !contains("!="));
        prop_assert_eq!(contains("<"), !contains(">="));
        prop_assert_eq!(contains(">"), !contains("<="));
    }
}
