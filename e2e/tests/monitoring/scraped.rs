//! `promtool` finds nothing wrong with what a running process exports.

use std::process::Command;

use e2e::Bed;
use e2e::bed::program_folder;
use e2e::world::command::output;
use e2e::world::tenantry::Tenantry;

#[tokio::test]
async fn promtool_accepts_the_metrics() {
    let tenantry = Tenantry::shared(&Bed::shared().unwrap()).await.unwrap();
    let (_, scrape) = tenantry.get("/metrics").await.unwrap();
    let program = program_folder("prometheus", "PROMETHEUS").unwrap();
    let mut command = Command::new(program.join("usr/bin/promtool"));
    command.args(["check", "metrics"]);
    let said = output(command, &scrape).await.unwrap();
    assert!(
        said.code == 0 && said.stdout.is_empty() && said.stderr.is_empty(),
        "{}{}",
        said.stdout,
        said.stderr
    );
}
