//! Which files of a package are hook programs: the file rule, the answer to `hook list`, and how a program is named.
//!
//! It looks at names, modes and answers; walking the folder and asking are not done here.

use std::sync::LazyLock;

use regex::Regex;

/// The folder of a package that is searched.
pub const FOLDER: &str = "hooks";

static FOUND: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("Found ([1-9][0-9]{0,3}) items").ok());

/// Whether a folder below [`FOLDER`] is searched: hidden ones, `venv` and `lib` are not, at any depth.
#[must_use]
pub fn is_searched(folder: &str) -> bool {
    !folder.starts_with('.') && folder != "venv" && folder != "lib"
}

/// Whether a file is asked at all: some execute bit, and no extension (the text from the last dot).
#[must_use]
pub fn is_candidate(file: &str, mode: u32) -> bool {
    mode & 0o111 != 0 && !file.contains('.')
}

/// Whether a file at this path of the package (`hooks/…`) is asked; the folders on the way count.
#[must_use]
pub fn is_candidate_path(path: &str, mode: u32) -> bool {
    let mut parts = path.split('/');
    if parts.next() != Some(FOLDER) {
        return false;
    }
    let Some(file) = parts.next_back() else {
        return false;
    };
    parts.all(is_searched) && is_candidate(file, mode)
}

/// How many hooks a successful `hook list` announces; `None` for a program that is no hook program, or has no hooks.
#[must_use]
pub fn announced(stdout: &str) -> Option<u16> {
    let found = FOUND.as_ref()?.captures(stdout)?;
    found.get(1)?.as_str().parse().ok()
}

/// The part of a path that starts at the first `/hooks/`: how a program is named in names of hooks and in messages.
#[must_use]
pub fn display_path(path: &str) -> &str {
    if path.starts_with("hooks/") {
        return path;
    }
    path.find("/hooks/")
        .and_then(|at| path.get(at + 1..))
        .unwrap_or(path)
}

/// Two programs of one package claim what only one may have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{first} and {second} both have a {what}: a package may have one")]
pub struct Twice {
    /// `settings check` or `readiness hook`.
    pub what: &'static str,
    /// The first program, by path.
    pub first: String,
    /// The other one.
    pub second: String,
}

/// The one program that has something; none if no program does.
///
/// # Errors
/// More than one has it.
pub fn only_one<'a>(
    what: &'static str,
    mut having: impl Iterator<Item = &'a str>,
) -> Result<Option<&'a str>, Twice> {
    let first = having.next();
    match (first, having.next()) {
        (Some(first), Some(second)) => Err(Twice {
            what,
            first: first.to_owned(),
            second: second.to_owned(),
        }),
        _ => Ok(first),
    }
}
