//! Finds known secrets in bytes, in every form in which software is wont to write them.
//!
//! Decides the forms; what is searched is the canary story's. A hit names secret, form and place, never the secret.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Shorter needles would be found by chance.
const SHORTEST: usize = 8;

/// Secrets in all their forms, ready to be searched for.
pub struct Scanner {
    needles: Vec<(String, Vec<u8>)>,
    /// Which pairs of first bytes any needle has: most places are passed over by one look.
    heads: Vec<bool>,
}

impl Scanner {
    /// For secrets with their names.
    pub fn new(secrets: &[(&str, &str)]) -> Self {
        let mut seen = BTreeSet::new();
        let mut needles = Vec::new();
        for (name, secret) in secrets {
            for (form, text) in forms(secret) {
                if text.len() >= SHORTEST && seen.insert(text.clone()) {
                    needles.push((format!("{name} ({form})"), text.into_bytes()));
                }
            }
        }
        let mut heads = vec![false; 1 << 16];
        for (_, needle) in &needles {
            heads[head(needle)] = true;
        }
        Self { needles, heads }
    }

    /// Which secrets in which forms are in the bytes.
    pub fn hits(&self, bytes: &[u8]) -> Vec<&str> {
        let mut found = BTreeSet::new();
        for at in 0..bytes.len().saturating_sub(SHORTEST - 1) {
            if self.heads[head(&bytes[at..])] {
                let here = self
                    .needles
                    .iter()
                    .filter(|(_, needle)| bytes[at..].starts_with(needle));
                found.extend(here.map(|(name, _)| name.as_str()));
            }
        }
        found.into_iter().collect()
    }
}

fn head(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

fn forms(secret: &str) -> Vec<(&'static str, String)> {
    let hex = |upper: bool| {
        secret.bytes().fold(String::new(), |mut text, byte| {
            let _infallible = if upper {
                write!(text, "{byte:02X}")
            } else {
                write!(text, "{byte:02x}")
            };
            text
        })
    };
    let json = serde_json::to_string(secret).unwrap();
    let json = json
        .trim_start_matches('"')
        .strip_suffix('"')
        .unwrap()
        .to_owned();
    let debug = format!("{secret:?}");
    let mut forms = vec![
        ("plain", secret.to_owned()),
        ("JSON", json.clone()),
        (
            "JSON in JSON",
            serde_json::to_string(&json)
                .unwrap()
                .trim_matches('"')
                .to_owned(),
        ),
        ("Rust debug", debug[1..debug.len() - 1].to_owned()),
        ("SQL", secret.replace('\'', "''")),
        ("hex", hex(false)),
        ("upper-case hex", hex(true)),
        ("URL", url(secret, true)),
        ("lower-case URL", url(secret, false)),
        ("form", url(secret, true).replace("%20", "+")),
    ];
    for engine in [&STANDARD, &URL_SAFE] {
        // Inside of a longer text, base64 looks different by where the secret begins; the ends depend on the neighbours.
        for shift in 0..3 {
            let encoded = engine.encode([vec![0; shift], secret.as_bytes().to_vec()].concat());
            let whole = (shift + secret.len()) / 3 * 4;
            let begin = if shift == 0 { 0 } else { 4 };
            forms.push((
                "base64",
                encoded.get(begin..whole).unwrap_or_default().to_owned(),
            ));
        }
    }
    forms
}

fn url(text: &str, upper: bool) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let _infallible = match (plain, upper) {
            (true, _) => write!(encoded, "{}", char::from(byte)),
            (false, true) => write!(encoded, "%{byte:02X}"),
            (false, false) => write!(encoded, "%{byte:02x}"),
        };
        encoded
    })
}

#[test]
fn the_scanner_finds_a_secret_in_every_form_wherever_it_stands() {
    let secret = "a@b:c/d?e#f%20 'x\"\\ü";
    let scanner = Scanner::new(&[("canary", secret)]);
    let hex = "6140623a632f643f652366253230202778225cc3bc";
    let mut leaks = vec![
        ("plain", format!("password={secret}!")),
        (
            "JSON",
            serde_json::json!({"deep": {"password": secret}}).to_string(),
        ),
        (
            "JSON in JSON",
            serde_json::json!({"body": serde_json::json!({"password": secret}).to_string()})
                .to_string(),
        ),
        ("Rust debug", format!("{:?}", Some(secret))),
        (
            "SQL",
            format!("ALTER ROLE x PASSWORD '{}'", secret.replace('\'', "''")),
        ),
        ("hex", format!("\\x{hex}")),
        ("upper-case hex", hex.to_uppercase()),
        (
            "URL",
            "postgres://u:a%40b%3Ac%2Fd%3Fe%23f%2520%20%27x%22%5C%C3%BC@h".to_owned(),
        ),
        (
            "lower-case URL",
            "a%40b%3ac%2fd%3fe%23f%2520%20%27x%22%5c%c3%bc".to_owned(),
        ),
        (
            "form",
            "p=a%40b%3Ac%2Fd%3Fe%23f%2520+%27x%22%5C%C3%BC&x".to_owned(),
        ),
    ];
    for before in ["", "u", "us", "usr"] {
        leaks.push((
            "base64",
            format!(
                "Basic {}",
                STANDARD.encode(format!("{before}{secret}:more"))
            ),
        ));
        leaks.push(("base64", URL_SAFE.encode(format!("{before}{secret}"))));
    }
    for (form, text) in &leaks {
        let hits = scanner.hits(text.as_bytes());
        assert!(!hits.is_empty(), "{form} is not found in {text}");
    }
    assert_eq!(scanner.hits(b"a@b:c/d?e#f%20 and nothing else"), [""; 0]);
}
