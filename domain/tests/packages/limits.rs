//! The table of limits is the code's (S20).

use std::collections::BTreeMap;

use domain::packages::metadata::METADATA_MAX;
use domain::packages::names::PACKAGE_NAME_MAX;
use domain::settings::admission::NAME_MAX;
use domain::settings::limits::Limits;
use domain::settings::rules::limits::RuleLimits;

#[test]
fn s20_every_limit_stands_in_the_table_with_its_value_and_no_other_does() {
    // Taken apart, so that a new limit does not compile until it is here.
    let Limits {
        file_bytes,
        file_nodes,
        file_depth,
        schema_nodes,
        schema_depth,
        reference_depth,
        pattern_bytes,
        pattern_compiled_bytes,
        patterns_compiled_bytes,
        published_bytes,
        descriptions_bytes,
        settings_bytes,
        settings_depth,
        steps,
        walk_depth,
        violations,
        rules:
            RuleLimits {
                source_bytes,
                operators,
                depth,
                rules,
            },
        rule_units,
    } = Limits::DEFAULT;
    let known: BTreeMap<String, String> = [
        ("file_bytes", file_bytes),
        ("file_nodes", file_nodes),
        ("file_depth", file_depth),
        ("schema_nodes", schema_nodes),
        ("schema_depth", schema_depth),
        ("reference_depth", reference_depth),
        ("pattern_bytes", pattern_bytes),
        ("pattern_compiled_bytes", pattern_compiled_bytes),
        ("patterns_compiled_bytes", patterns_compiled_bytes),
        ("published_bytes", published_bytes),
        ("descriptions_bytes", descriptions_bytes),
        ("metadata_bytes", METADATA_MAX),
        ("settings_bytes", settings_bytes),
        ("settings_depth", settings_depth),
        ("steps", steps),
        ("walk_depth", walk_depth),
        ("violations", violations),
        ("rules.source_bytes", source_bytes),
        ("rules.operators", operators),
        ("rules.depth", depth),
        ("rules.rules", rules),
        ("rules.request", usize::try_from(rule_units).unwrap()),
        ("name", NAME_MAX),
        ("package_name", PACKAGE_NAME_MAX),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_string()))
    .collect();
    let page = super::page("limits.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let written: BTreeMap<String, String> = rows
        .map(|row| {
            let mut cells = row.split('|').map(|cell| cell.trim().trim_end_matches('`'));
            let name = cells.next().unwrap().to_owned();
            (name, cells.next().unwrap().to_owned())
        })
        .collect();
    assert_eq!(written, known);
}
