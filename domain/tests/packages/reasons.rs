//! Every reason of publication is explained to people.

use domain::packages::names::VersionId;
use domain::packages::publication::LoadReason;
use domain::packages::repository::{Problem, RepositoryStatus, SUCCEEDED};

fn explained(page: &str, reason: &str) -> bool {
    page.lines()
        .any(|line| line.starts_with(&format!("| `{reason}` | ")))
}

#[test]
fn every_reason_of_metadata_loaded_and_of_a_scan_stands_in_the_documentation() {
    let page = super::page("publishing.md");
    for reason in LoadReason::ALL {
        assert!(explained(&page, reason.as_str()), "{}", reason.as_str());
    }
    let id = VersionId {
        repository: String::new(),
        package: String::new(),
        version: String::new(),
    };
    let unreadable = Problem::Unreadable {
        place: String::new(),
        why: String::new(),
    };
    for problem in [
        unreadable,
        Problem::NameTaken(id),
        Problem::PackageName(String::new()),
    ] {
        let status = RepositoryStatus::of(std::collections::BTreeMap::new(), vec![problem]);
        assert!(explained(&page, &status.reason), "{}", status.reason);
    }
    assert!(explained(&page, SUCCEEDED));
}
