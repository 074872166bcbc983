//! Files, directories and standard input as objects: what is read, how much of it at most, and what is told of the rest.
//!
//! Decides that a file is read whole or not at all. It knows no kind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The most bytes of one file. The API server takes objects of 3 MB.
pub(in crate::commands) const FILE_MAX: u64 = 8 << 20;
/// The most files that a call reads.
const FILES_MAX: usize = 10_000;
/// The deepest directory that is looked into.
const DEPTH_MAX: usize = 32;
/// The most documents of a file.
const DOCUMENTS_MAX: usize = 10_000;
/// What the name `-` is shown as.
const STANDARD_INPUT: &str = "standard input";

/// An object and the file that it stands in.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::commands) struct Source {
    pub(in crate::commands) file: String,
    pub(in crate::commands) object: Value,
}

/// Why a file is left out.
#[derive(Debug, thiserror::Error)]
pub(in crate::commands) enum Unread {
    /// It is not there, not ours to read, or its device failed.
    #[error("cannot be read: {0}")]
    Io(#[source] io::Error),
    /// It is longer than [`FILE_MAX`].
    #[error("is longer than {} MiB", FILE_MAX >> 20)]
    TooLong,
    /// It is not text.
    #[error("is not UTF-8 text")]
    NotText,
    /// It is neither YAML nor JSON, or over a limit of the parser.
    #[error("cannot be parsed: {0}")]
    Parse(String),
    /// A document is a list or a scalar.
    #[error("document {0} is not an object")]
    NotAnObject(usize),
    /// A directory without a manifest: surely a mistake in CI.
    #[error("has no file that ends in .yaml, .yml or .json")]
    NothingThere,
    /// Too many files, or directories too deep.
    #[error("has more than {FILES_MAX} files or {DEPTH_MAX} levels")]
    TooMuch,
}

/// Everything that was read, and what could not be.
#[derive(Default)]
pub(in crate::commands) struct Input {
    pub(in crate::commands) objects: Vec<Source>,
    pub(in crate::commands) unread: Vec<(String, Unread)>,
}

impl Input {
    /// Reads all of them; what cannot be read does not stop the rest. A file that is named twice is read once.
    pub(in crate::commands) fn read(paths: &[PathBuf], recursive: bool) -> Self {
        let mut input = Self::default();
        let mut files = Vec::new();
        for path in paths {
            if path.as_os_str() == "-" {
                files.push(path.clone());
            } else if path.is_dir() {
                let mut found = Vec::new();
                match walk(path, recursive, DEPTH_MAX, &mut found) {
                    Ok(()) if found.is_empty() => input.leave(path, Unread::NothingThere),
                    Ok(()) => files.extend(found),
                    Err(why) => input.leave(path, why),
                }
            } else {
                files.push(path.clone());
            }
        }
        let mut seen = BTreeSet::new();
        for file in files.into_iter().filter(|file| seen.insert(file.clone())) {
            match read(&file).and_then(|text| parse(&text)) {
                Ok(objects) => {
                    let file = shown(&file);
                    input
                        .objects
                        .extend(objects.into_iter().map(|object| Source {
                            file: file.clone(),
                            object,
                        }));
                }
                Err(why) => input.leave(&file, why),
            }
        }
        input
    }

    fn leave(&mut self, path: &Path, why: Unread) {
        self.unread.push((shown(path), why));
    }
}

fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return STANDARD_INPUT.to_owned();
    }
    webhook::for_terminal(&path.display().to_string())
}

/// The manifests of a directory in the order of their names. Links to directories are not followed, so no walk is endless.
fn walk(
    folder: &Path,
    recursive: bool,
    levels: usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), Unread> {
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(Unread::Io)?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && recursive {
            let left = levels.checked_sub(1).ok_or(Unread::TooMuch)?;
            walk(&path, recursive, left, found)?;
        } else if !is_folder && is_manifest(&path) {
            found.push(path);
        }
        if found.len() > FILES_MAX {
            return Err(Unread::TooMuch);
        }
    }
    Ok(())
}

fn is_manifest(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
}

fn read(path: &Path) -> Result<String, Unread> {
    let bytes = if path.as_os_str() == "-" {
        bounded(io::stdin().lock())?
    } else {
        bounded(File::open(path).map_err(Unread::Io)?)?
    };
    String::from_utf8(bytes).map_err(|_| Unread::NotText)
}

/// At most [`FILE_MAX`] bytes, also of a pipe or a device that has no length.
fn bounded(source: impl Read) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    source
        .take(FILE_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(Unread::Io)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(Unread::TooLong);
    }
    Ok(bytes)
}

/// The objects of a file; those of a `List` one by one, as kubectl takes them.
fn parse(text: &str) -> Result<Vec<Value>, Unread> {
    let documents: Vec<Value> = match serde_json::from_str(text) {
        Ok(document) => vec![document],
        Err(_) => yaml(text)?,
    };
    let mut objects = Vec::new();
    for (position, document) in documents.into_iter().enumerate() {
        if !document.is_object() {
            return Err(Unread::NotAnObject(position + 1));
        }
        match document {
            Value::Object(mut list)
                if list.get("kind").is_some_and(|kind| kind == "List")
                    && list.get("items").is_some_and(Value::is_array) =>
            {
                if let Some(Value::Array(items)) = list.remove("items") {
                    objects.extend(items);
                }
            }
            object => objects.push(object),
        }
    }
    Ok(objects)
}

fn yaml(text: &str) -> Result<Vec<Value>, Unread> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_documents: DOCUMENTS_MAX },
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::Reject,
    };
    serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| Unread::Parse(webhook::for_terminal(&error.to_string())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn documents_lists_and_json_become_objects_and_empty_documents_none() {
        let yaml = "---\n---\n# nothing\n---\na: 1\n---\nkind: List\nitems: [{b: 2}, {c: 3}]\n";
        assert_eq!(parse(yaml).unwrap().len(), 3);
        assert_eq!(parse("{\n\t\"a\": 1}").unwrap().len(), 1);
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn what_is_no_manifest_is_told_and_never_a_panic() {
        for bad in [
            "a: [",
            "- a\n- b",
            "just text",
            "a: 1\na: 2",
            "a: .inf",
            "a: *nowhere",
            "a: 1\n---\n5",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let deep = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(parse(&deep).is_err());
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                    d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n";
        assert!(parse(bomb).is_err());
    }

    #[test]
    fn an_endless_file_is_read_up_to_the_limit_only() {
        assert!(matches!(bounded(io::repeat(b' ')), Err(Unread::TooLong)));
        assert_eq!(bounded(&b"abc"[..]).unwrap(), b"abc");
    }
}
