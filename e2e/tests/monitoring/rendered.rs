//! The rules and the dashboard as the chart renders them for the release `tenantry` in `tenantry-system`.

use e2e::world::chart::{chart_folder, helm};
use serde_json::Value;

async fn object(template: &str, opt_in: &str) -> Value {
    let chart = chart_folder().display().to_string();
    let mut arguments = vec!["template", "tenantry", &chart];
    arguments.extend(["--namespace", "tenantry-system"]);
    arguments.extend(["--show-only", template, "--set", opt_in]);
    let output = helm(&arguments).await.unwrap().success().unwrap();
    serde_saphyr::from_str(&output.stdout).unwrap()
}

/// The `spec` of the `PrometheusRule`, which is a rule file of Prometheus.
pub async fn rules() -> Value {
    let opt_in = "metrics.prometheusRule.enabled=true";
    object("templates/prometheusrule.yaml", opt_in).await["spec"].clone()
}

/// The dashboard.
pub async fn dashboard() -> Value {
    let opt_in = "metrics.dashboard.enabled=true";
    let map = object("templates/dashboard.yaml", opt_in).await;
    serde_json::from_str(map["data"]["tenantry.json"].as_str().unwrap()).unwrap()
}

/// Names and expressions of the alerts.
pub fn alerts(rules: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rules = rules["groups"][0]["rules"].as_array().unwrap();
    let alerts = rules
        .iter()
        .map(|rule| (text(&rule["alert"]), text(&rule["expr"])));
    alerts.collect()
}
