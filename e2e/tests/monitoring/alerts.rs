//! Each alert has a test of its rule and a section in the runbooks, and Prometheus takes them all.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use e2e::bed::program_folder;
use e2e::world::command::output;

use crate::rendered::{alerts, rules};

const TESTS: &str = include_str!("alerts_test.yaml");

async fn promtool(folder: &Path, arguments: &[&str]) {
    let program = program_folder("prometheus", "PROMETHEUS").unwrap();
    let mut command = Command::new(program.join("usr/bin/promtool"));
    command.args(arguments).current_dir(folder);
    let said = output(command, "").await.unwrap().success().unwrap();
    assert!(said.stdout.contains("SUCCESS"), "{}", said.stdout);
}

#[tokio::test]
async fn promtool_takes_the_alert_rules_and_their_tests_pass() {
    let folder = tempfile::tempdir().unwrap();
    let rules = serde_json::to_string(&rules().await).unwrap();
    // JSON is YAML.
    std::fs::write(folder.path().join("rules.yaml"), rules).unwrap();
    std::fs::write(folder.path().join("alerts_test.yaml"), TESTS).unwrap();
    promtool(
        folder.path(),
        &["check", "rules", "--lint-fatal", "rules.yaml"],
    )
    .await;
    promtool(folder.path(), &["test", "rules", "alerts_test.yaml"]).await;
}

#[tokio::test]
async fn every_alert_has_a_test_in_which_it_fires_and_a_runbook_section() {
    let runbooks =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/runbooks.md"))
            .unwrap();
    let sections: BTreeSet<&str> = runbooks
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let tests: serde_json::Value = serde_saphyr::from_str(TESTS).unwrap();
    let fires = |alert: &str| {
        let cases = tests["tests"].as_array().unwrap().iter();
        cases
            .flat_map(|case| case["alert_rule_test"].as_array().unwrap())
            .any(|test| {
                test["alertname"] == alert
                    && test["exp_alerts"]
                        .as_array()
                        .is_some_and(|expected| !expected.is_empty())
            })
    };
    let rules = rules().await;
    let alerts = alerts(&rules);
    assert!(alerts.len() > 5);
    for (alert, _) in &alerts {
        assert!(
            sections.contains(alert.as_str()),
            "docs/runbooks.md has no {alert}"
        );
        assert!(fires(alert), "alerts_test.yaml has no case for {alert}");
    }
    let named: BTreeSet<&str> = alerts.iter().map(|(alert, _)| alert.as_str()).collect();
    assert_eq!(sections, named, "a section without an alert");
}
