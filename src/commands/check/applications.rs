//! Applications against the packages that are given: the webhook's own review, as of a create.
//!
//! Decides which of the given packages is meant. What is not given is told and not judged; what a project was granted, and what was
//! applied before, only a cluster knows.

use std::path::{Path, PathBuf};

use domain::packages::files::{PACKAGE_FILE, Scope};
use domain::packages::metadata::PackageFile;
use domain::packages::publication::{Publication, publication};
use domain::settings::admission::{
    Answer, Bundle, Facts, HookAnswer, Outcome, Request, VersionFacts, review,
};
use domain::settings::grants::Catalogs;
use domain::settings::limits::Limits;
use domain::settings::package::PackageSchemas;
use domain::settings::requirements::check::{Platform, judge as judge_requirements};
use domain::violation::Verdict;
use serde_json::Value;

use crate::commands::manifests::Unread;
use crate::packages;

/// The packages that are given.
#[derive(Debug, Default)]
pub(super) struct Packages(Vec<Package>);

#[derive(Debug)]
struct Package {
    name: String,
    /// As package.yaml says it; a source that is not built yet says none, and is meant by every version.
    version: Option<String>,
    /// What an API server would have of it, or why it would be a draft.
    schemas: Result<PackageSchemas, String>,
    requirements: Verdict,
}

impl Packages {
    /// Reads each; what cannot be read is told by path.
    pub(super) fn read(paths: &[PathBuf]) -> (Self, Vec<(String, Unread)>) {
        let (mut found, mut unread) = (Vec::new(), Vec::new());
        for path in paths {
            match package(path) {
                Ok(package) => found.push(package),
                Err(why) => {
                    let path = webhook::for_terminal(&path.display().to_string());
                    unread.push((path, Unread::Package(why)));
                }
            }
        }
        (Self(found), unread)
    }

    /// What the webhook would say of a new Application.
    pub(super) fn judge(&self, application: &Value) -> Verdict {
        let text = |pointer| application.pointer(pointer).and_then(Value::as_str);
        let (name, version) = (text("/spec/packageName"), text("/spec/packageVersion"));
        let mut of_name = self.0.iter().filter(|package| Some(&*package.name) == name);
        let meant = of_name.clone().find(|package| {
            let own = package.version.as_deref();
            own.is_none_or(|own| Some(own) == version)
        });
        let (Some(package), catalogs) = (meant, Catalogs::default()) else {
            let text = match of_name.next() {
                Some(_) => "no --package is of this version: the settings are not judged",
                None => "no --package is of this package: the settings are not judged",
            };
            return Verdict {
                violations: Vec::new(),
                warnings: vec![text.to_owned()],
            };
        };
        let facts = Facts {
            default_repository: "",
            package_exists: true,
            version: Some(VersionFacts {
                draft: false,
                schemas: package.schemas.as_ref().map_err(String::as_str),
                requirements: &package.requirements,
            }),
            catalogs: &catalogs,
            bundle: Bundle::WithoutCheck,
            enforce_destructive_switch: false,
        };
        answered(review(
            Request::Create(application),
            &facts,
            &Limits::DEFAULT,
        ))
        .verdict
    }
}

/// A create never asks the package's own check: nothing is installed yet.
fn answered(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Done(answer) => answer,
        Outcome::AskHook(pending) => pending.finish(Ok(HookAnswer {
            valid: true,
            message: String::new(),
            warnings: Vec::new(),
        })),
    }
}

fn package(path: &Path) -> Result<Package, String> {
    let limits = &Limits::DEFAULT;
    let files = packages::read(path, Scope::Publication).map_err(|error| error.to_string())?;
    let text = files
        .text(PACKAGE_FILE)
        .map_err(|error| error.to_string())?;
    let file = PackageFile::read(text, limits).map_err(|error| error.to_string())?;
    let Some(name) = file.name.filter(|name| !name.is_empty()) else {
        return Err(format!(
            "{PACKAGE_FILE} has no name: which Applications are meant?"
        ));
    };
    let published = publication(&files, &name, limits);
    let requirements = match &published {
        Ok(noted) => noted.publication.metadata.get("requirements"),
        Err(_) => None,
    };
    Ok(Package {
        requirements: judge_requirements(
            requirements.unwrap_or(&Value::Null),
            &Platform::default(),
        ),
        schemas: published
            .map_err(|refusal| refusal.text)
            .and_then(|noted| schemas(noted.publication)),
        version: file.version.filter(|version| !version.is_empty()),
        name,
    })
}

/// From the published copies, as a webhook has them; values are not judged at admission.
fn schemas(publication: Publication) -> Result<PackageSchemas, String> {
    let settings = publication.settings.map_or(Value::Null, Value::Object);
    PackageSchemas::from_documents(&settings, &Value::Null, &Limits::DEFAULT)
        .map_err(|error| error.to_string())
}
