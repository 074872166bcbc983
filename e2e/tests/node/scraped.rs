//! Story: a Prometheus scrapes both pods over HTTPS as the chart's ServiceMonitor says, and evaluates the chart's alerts.
//!
//! The operator of Prometheus is not here: what it would make of the two rendered objects is written out below.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use e2e::bed::ports::free_port;
use e2e::bed::process::Spawn;
use e2e::bed::{SYSTEM_NAMESPACE, program_folder, wait};
use e2e::world::chart::{chart_folder, helm};
use e2e::world::command::output;
use serde_json::{Value, json};

use crate::scene::{SOON, Scene};

#[tokio::test]
async fn alone_prometheus_scrapes_every_pod_over_https_with_the_settings_of_the_chart() {
    let scene = Scene::prepared().await;
    scene.install(&[]).await;
    scene.registered().await;
    scene.ready_tenant("first").await;

    let address = start_prometheus(&scene).await;
    let of_this_release = format!(r#"job="tenantry",namespace="{SYSTEM_NAMESPACE}""#);
    for (query, expected) in [
        (format!("sum(up{{{of_this_release}}})"), "2"),
        (
            format!(r#"max(tenantry_tenants{{phase="Ready",{of_this_release}}})"#),
            "1",
        ),
        (
            format!("sum(leader_election_master_status{{{of_this_release}}})"),
            "1",
        ),
    ] {
        wait::until(SOON, &query, async || {
            let seen = value_of(&address, &query).await?;
            anyhow::ensure!(seen.as_deref() == Some(expected), "{seen:?}");
            Ok(())
        })
        .await
        .unwrap();
    }
    // Every alert is evaluated, and the two pods give none of them a reason to fire.
    let evaluated = "sum(prometheus_rule_group_rules)";
    let alerts = rendered("templates/prometheusrule.yaml", "prometheusRule").await;
    let count = alerts["spec"]["groups"][0]["rules"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(
        value_of(&address, evaluated).await.unwrap(),
        Some(count.to_string())
    );
    let failures = "sum(prometheus_rule_evaluation_failures_total)";
    assert_eq!(
        value_of(&address, failures).await.unwrap().as_deref(),
        Some("0")
    );
    let firing = r#"ALERTS{alertstate="firing"}"#;
    assert_eq!(results(&address, firing).await.unwrap(), json!([]));
}

/// Starts Prometheus beside the node and answers with its address.
async fn start_prometheus(scene: &Scene) -> String {
    let folder = scene.bed.folder().join("prometheus");
    std::fs::create_dir_all(&folder).unwrap();
    let monitor = rendered("templates/servicemonitor.yaml", "serviceMonitor").await;
    let rules = rendered("templates/prometheusrule.yaml", "prometheusRule").await;
    let port = free_port().unwrap();
    let address = format!("127.0.0.1:{port}");
    // JSON is YAML.
    std::fs::write(folder.join("rules.yaml"), rules["spec"].to_string()).unwrap();
    let config = json!({
        "global": {"evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            scrape_config(scene, &folder, &monitor).await,
            {"job_name": "prometheus", "scrape_interval": "1s", "static_configs": [{"targets": [address]}]},
        ],
    });
    std::fs::write(folder.join("prometheus.yaml"), config.to_string()).unwrap();
    let programs = program_folder("prometheus", "PROMETHEUS").unwrap();
    let started = Spawn::new("prometheus", programs.join("usr/bin/prometheus"))
        .args([
            format!("--config.file={}", folder.join("prometheus.yaml").display()),
            format!("--storage.tsdb.path={}", folder.join("data").display()),
            format!("--web.listen-address={address}"),
        ])
        .start(scene.bed.folder())
        .unwrap();
    wait::until(SOON, "Prometheus answers", async || {
        started.check(scene.bed.folder())?;
        value_of(&address, "vector(1)").await.map(drop)
    })
    .await
    .unwrap();
    address
}

/// What the operator makes of the one endpoint of a ServiceMonitor.
async fn scrape_config(scene: &Scene, folder: &Path, monitor: &Value) -> Value {
    let endpoint = &monitor["spec"]["endpoints"][0];
    let tls = &endpoint["tlsConfig"];
    let secret = &tls["ca"]["secret"];
    let path = format!(
        "jsonpath={{.data.{}}}",
        secret["key"].as_str().unwrap().replace('.', r"\.")
    );
    let name = secret["name"].as_str().unwrap();
    let authority = scene
        .kubectl(&["-n", SYSTEM_NAMESPACE, "get", "secret", name, "-o", &path])
        .await;
    std::fs::write(
        folder.join("ca.crt"),
        STANDARD.decode(authority.trim()).unwrap(),
    )
    .unwrap();
    json!({
        "job_name": "servicemonitor",
        "scheme": endpoint["scheme"],
        "metrics_path": endpoint["path"],
        "scrape_interval": "1s",
        "scrape_timeout": "1s",
        "tls_config": {"ca_file": folder.join("ca.crt"), "server_name": tls["serverName"]},
        "static_configs": targets(scene, monitor).await,
    })
}

/// The endpoints of the Services that a ServiceMonitor selects, with the labels that the operator gives them. Debian's Prometheus
/// cannot ask Kubernetes itself.
async fn targets(scene: &Scene, monitor: &Value) -> Vec<Value> {
    let selector: Vec<String> = monitor["spec"]["selector"]["matchLabels"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(label, value)| format!("{label}={}", value.as_str().unwrap()))
        .collect();
    let slices = [
        "get",
        "endpointslices",
        "-o",
        "json",
        "-l",
        &selector.join(","),
    ];
    let namespace = &monitor["metadata"]["namespace"];
    let found = scene
        .kubectl(&[&["-n", namespace.as_str().unwrap()], &slices[..]].concat())
        .await;
    let found: Value = serde_json::from_str(&found).unwrap();
    let wanted = &monitor["spec"]["endpoints"][0]["port"];
    let mut targets = Vec::new();
    for slice in found["items"].as_array().unwrap() {
        let ports = slice["ports"].as_array().unwrap();
        let port = ports.iter().find(|port| port["name"] == *wanted).unwrap();
        for endpoint in slice["endpoints"].as_array().unwrap() {
            let address = endpoint["addresses"][0].as_str().unwrap();
            targets.push(json!({
                "targets": [format!("{address}:{}", port["port"])],
                "labels": {
                    "namespace": namespace,
                    "job": slice["metadata"]["labels"]["kubernetes.io/service-name"],
                    "pod": endpoint["targetRef"]["name"],
                },
            }));
        }
    }
    targets
}

/// One object of the chart that is opted in to.
async fn rendered(template: &str, opt_in: &str) -> Value {
    let chart = chart_folder().display().to_string();
    let mut arguments = vec!["template", "tenantry", &chart];
    arguments.extend(["--namespace", SYSTEM_NAMESPACE, "--show-only", template]);
    let opt_in = format!("metrics.{opt_in}.enabled=true");
    arguments.extend(["--set", &opt_in]);
    let output = helm(&arguments).await.unwrap().success().unwrap();
    serde_saphyr::from_str(&output.stdout).unwrap()
}

/// The value of a query with one result; `None`: the query has no result.
async fn value_of(address: &str, query: &str) -> anyhow::Result<Option<String>> {
    let results = results(address, query).await?;
    Ok(results[0]["value"][1].as_str().map(str::to_owned))
}

async fn results(address: &str, query: &str) -> anyhow::Result<Value> {
    let programs = program_folder("prometheus", "PROMETHEUS")?;
    let mut command = Command::new(programs.join("usr/bin/promtool"));
    command.args(["query", "instant", "--format", "json"]);
    command.args([&format!("http://{address}"), query]);
    let said = output(command, "").await?.success()?.stdout;
    Ok(serde_json::from_str(&said)?)
}
