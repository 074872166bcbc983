//! Every reason that `Ready` may have is explained to people.

use std::fs;
use std::path::Path;

use domain::tenancy::reason::Reason;

#[test]
fn c6_every_reason_stands_in_the_documentation_with_what_to_do() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reasons.md");
    let page = fs::read_to_string(page).unwrap();
    for reason in Reason::ALL {
        let start = format!("| `{}` |", reason.as_str());
        let row = page.lines().find(|line| line.starts_with(&start));
        let cells = row.map(|row| row.matches(" | ").count());
        assert_eq!(cells, Some(4), "{}", reason.as_str());
    }
}
