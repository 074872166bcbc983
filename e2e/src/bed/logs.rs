//! Keeping the logs of a failed test: what its bed wrote while it ran, copied to `e2e/logs/TEST/`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::folder::RunFolder;

/// Length of each log when a test began, in bytes.
#[derive(Default)]
pub struct Marks(HashMap<OsString, u64>);

impl Marks {
    /// The present lengths.
    pub fn now(run: &RunFolder) -> Self {
        let Ok(entries) = fs::read_dir(run.logs()) else {
            return Self::default();
        };
        let length = |entry: fs::DirEntry| Some((entry.file_name(), entry.metadata().ok()?.len()));
        Self(entries.flatten().filter_map(length).collect())
    }
}

/// Copies what was written since `marks` and says where; a failure to do so is reported, never raised.
pub fn keep(run: &RunFolder, marks: &Marks) {
    let folder = folder();
    match copy(run, marks, &folder) {
        Ok(()) => eprintln!("the bed's logs of this test: {}", folder.display()),
        Err(error) => eprintln!(
            "could not keep the bed's logs in {}: {error}",
            folder.display()
        ),
    }
}

fn copy(run: &RunFolder, marks: &Marks, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(run.logs())? {
        let entry = entry?;
        let mut log = File::open(entry.path())?;
        log.seek(SeekFrom::Start(
            marks.0.get(&entry.file_name()).copied().unwrap_or_default(),
        ))?;
        io::copy(&mut log, &mut File::create(to.join(entry.file_name()))?)?;
    }
    Ok(())
}

/// `e2e/logs/` and the test's name: nextest gives it in the environment, the test harness in the thread's name.
fn folder() -> PathBuf {
    let thread = || {
        std::thread::current()
            .name()
            .unwrap_or("unnamed")
            .to_owned()
    };
    let name = std::env::var("NEXTEST_TEST_NAME").unwrap_or_else(|_| thread());
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("logs")
        .join(name.replace("::", "."))
}
