//! The credentials of one registry in a docker configuration (`{"auths": {…}}`), plain or in base64.
//!
//! Decides which entry is meant. It never runs a credential helper, and never repeats a part of its input in an error.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Base64 with or without padding: both are found in such files.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The names of one public registry, whose key is its old address.
const HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// What a configuration says of a registry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Credentials; anonymous if the entry is there and empty.
    Credentials(RegistryAuth),
    /// No entry is its.
    Absent,
}

// No `Debug`: all of it is secret.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    auths: BTreeMap<String, Option<Stored>>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stored {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// The credentials for `host/path`: of entries that name the host, the one with the longest path that leads there.
///
/// # Errors
/// What cannot be used, as what follows the name of the file or field.
pub(super) fn find(config: &[u8], host: &str, path: &str) -> Result<Entry, &'static str> {
    let config = parsed(config)?;
    let whole = format!("{host}/{path}");
    let best = config
        .auths
        .into_iter()
        .filter_map(|(key, auth)| Some((reach(&key, host, &whole)?, auth)))
        .max_by_key(|(reach, _)| *reach);
    let helped = config.store.is_some_and(|store| !store.is_empty())
        || config
            .helpers
            .keys()
            .any(|key| reach(key, host, &whole).is_some());
    match best {
        // Docker leaves an empty entry where a helper holds the credentials.
        Some((_, auth)) => match credentials(auth.unwrap_or_default())? {
            RegistryAuth::Anonymous if helped => Err(HELPER),
            auth => Ok(Entry::Credentials(auth)),
        },
        None if helped => Err(HELPER),
        None => Ok(Entry::Absent),
    }
}

const HELPER: &str =
    "leaves the credentials to a helper program, which is not run: write them into auths";

fn parsed(config: &[u8]) -> Result<Config, &'static str> {
    let text = config.trim_ascii();
    let decoded;
    let json = if text.starts_with(b"{") {
        text
    } else {
        let folded: Vec<u8> = text
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        decoded = BASE64
            .decode(folded)
            .map_err(|_| "is neither JSON nor base64")?;
        decoded.as_slice()
    };
    // The parser's text is dropped: it may quote a credential.
    serde_json::from_slice(json)
        .map_err(|_| "is no docker configuration: {\"auths\": {\"HOST\": {…}}}")
}

/// How much of the repository's name a key covers; `None` if it is another's.
fn reach(key: &str, host: &str, whole: &str) -> Option<usize> {
    let bare = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key)
        .trim_end_matches('/');
    let bare = ["/v1", "/v2"]
        .into_iter()
        .find_map(|version| bare.strip_suffix(version))
        .unwrap_or(bare);
    let leads = bare == host
        || whole == bare
        || whole
            .strip_prefix(bare)
            .is_some_and(|rest| rest.starts_with('/'));
    let hub = HUB.contains(&host) && HUB.contains(&bare);
    (!bare.is_empty() && (leads || hub)).then_some(bare.len())
}

fn credentials(entry: Stored) -> Result<RegistryAuth, &'static str> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    if let Some(token) = given(entry.registrytoken) {
        return Ok(RegistryAuth::Bearer(token));
    }
    if let Some(auth) = given(entry.auth) {
        let wrong = "has an auth that is not base64 of USER:PASSWORD";
        let bytes = BASE64.decode(auth.trim()).map_err(|_| wrong)?;
        let text = String::from_utf8(bytes).map_err(|_| wrong)?;
        let (user, password) = text.split_once(':').ok_or(wrong)?;
        // Docker itself pads with zero bytes.
        let password = password.trim_end_matches('\0');
        if !password.is_empty() {
            return Ok(RegistryAuth::Basic(user.to_owned(), password.to_owned()));
        }
    }
    match (given(entry.username), given(entry.password)) {
        (Some(user), Some(password)) => Ok(RegistryAuth::Basic(user, password)),
        _ if given(entry.identitytoken).is_some() => {
            Err("has an identity token, which is not supported: give user and password")
        }
        (None, None) => Ok(RegistryAuth::Anonymous),
        _ => Err("has an entry with a user or a password alone"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn basic(user: &str) -> Entry {
        Entry::Credentials(RegistryAuth::Basic(user.to_owned(), "p:w".to_owned()))
    }

    fn encoded(text: &str) -> String {
        BASE64.encode(text)
    }

    #[test]
    fn an_entry_is_found_by_host_and_the_longest_path() {
        let auth = encoded("whole:p:w");
        let config = format!(
            r#"{{"auths": {{
                "r.example.org": {{"auth": "{auth}"}},
                "r.example.org/team": {{"username": "team", "password": "p:w"}},
                "https://other.example.org/v2/": {{"username": "other", "password": "p:w"}}
            }}}}"#
        );
        for text in [config.clone(), encoded(&config)] {
            let find = |host, path| find(text.as_bytes(), host, path).unwrap();
            assert_eq!(find("r.example.org", "packages"), basic("whole"));
            assert_eq!(find("r.example.org", "team/packages"), basic("team"));
            assert_eq!(find("r.example.org", "teams"), basic("whole"));
            assert_eq!(find("other.example.org", "a"), basic("other"));
            assert_eq!(find("r.example.org:5000", "a"), Entry::Absent);
        }
    }

    #[test]
    fn an_empty_entry_is_anonymous_unless_a_helper_holds_the_credentials() {
        let find = |config: &str| find(config.as_bytes(), "localhost", "a");
        let anonymous = Entry::Credentials(RegistryAuth::Anonymous);
        assert_eq!(find(r#"{"auths": {"localhost": {}}}"#), Ok(anonymous));
        assert_eq!(find("{}"), Ok(Entry::Absent));
        for helped in [
            r#"{"auths": {"localhost": {}}, "credsStore": "desktop"}"#,
            r#"{"credHelpers": {"localhost": "x"}}"#,
        ] {
            assert_eq!(find(helped), Err(HELPER));
        }
    }

    #[test]
    fn c5_what_cannot_be_used_is_told_without_a_part_of_it() {
        let auths = |entry: &str| format!(r#"{{"auths": {{"localhost": {entry}}}}}"#);
        for bad in [
            "hunter2!".to_owned(),
            r#"{"auths": "hunter2"}"#.to_owned(),
            auths(r#"{"auth": "hunter2!"}"#),
            auths(&format!(r#"{{"auth": "{}"}}"#, encoded("hunter2"))),
            auths(r#"{"username": "hunter2"}"#),
            auths(r#"{"identitytoken": "hunter2"}"#),
        ] {
            let said = find(bad.as_bytes(), "localhost", "a").unwrap_err();
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
