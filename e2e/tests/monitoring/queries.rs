//! Every query of the alerts and of the dashboard names only series that a running process exports.

use std::collections::BTreeSet;

use e2e::bed::wait;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};
use serde_json::Value;

use crate::rendered::{alerts, dashboard, rules};

/// The names of the metric families in a scrape, by their `# TYPE` lines: families without a sample yet have one too.
fn exported(scrape: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in scrape.lines() {
        let Some(rest) = line.strip_prefix("# TYPE ") else {
            continue;
        };
        let (name, kind) = rest.split_once(' ').unwrap();
        names.insert(name.to_owned());
        if kind == "histogram" {
            for suffix in ["_bucket", "_sum", "_count"] {
                names.insert(format!("{name}{suffix}"));
            }
        }
    }
    names
}

/// The words of a query that are series: those with an underscore that are neither functions, labels nor variables.
fn series(query: &str) -> BTreeSet<String> {
    let mut outside = String::new();
    let (mut depth, mut quoted) = (0_u32, false);
    for character in query.chars() {
        match character {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth -= 1,
            _ if depth == 0 && !quoted => {
                outside.push(character);
                continue;
            }
            _ => {}
        }
        outside.push(' ');
    }
    let word = |character: char| character.is_ascii_alphanumeric() || "_:$".contains(character);
    outside
        .split(|character| !word(character))
        .filter(|word| {
            word.contains('_') && *word != "histogram_quantile" && !word.starts_with('$')
        })
        .map(str::to_owned)
        .collect()
}

fn dashboard_queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    panels
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn alone_alerts_and_dashboard_name_only_exported_series() {
    // As the chart starts it: with leader election, which has a series of its own.
    let bed = Bed::private(Options::default().openbao_in_memory())
        .await
        .unwrap();
    let options = TenantryOptions::default().switch("--leader-elect");
    let world = World::private(bed, options, "queries").await.unwrap();
    // Each family has a sample once something of its kind happened: a request, an effect, a round that failed.
    world.ready_tenant("one", "").await.unwrap();
    let broken = format!("{}-broken", world.instance);
    let manifest = world.instance_manifest().replace(
        &format!("{{name: {}}}", world.instance),
        &format!("{{name: {broken}}}"),
    );
    world.apply(&manifest).await.unwrap().success().unwrap();
    let mut queries = dashboard_queries(&dashboard().await);
    assert!(queries.len() > 10, "{queries:?}");
    queries.extend(alerts(&rules().await).into_iter().map(|(_, expr)| expr));
    let checked = wait::until(SOON, "every query names exported series", async || {
        let (_, scrape) = world.tenantry.get("/metrics").await?;
        let exported = exported(&scrape);
        let mut named = 0;
        for query in &queries {
            for series in series(query) {
                anyhow::ensure!(
                    exported.contains(&series),
                    "{series} is not exported: {query}"
                );
                named += 1;
            }
        }
        Ok(named)
    })
    .await;
    let named = checked.unwrap();
    assert!(named > 20, "{named}");
}

#[test]
fn series_are_told_from_the_rest_of_a_query() {
    let query = r#"histogram_quantile(0.9, sum by (le) (rate(a_bucket{job=~"$job",x_y="b_c"}[$__rate_interval]))) / c_total > 1"#;
    let expected = BTreeSet::from(["a_bucket".to_owned(), "c_total".to_owned()]);
    assert_eq!(series(query), expected);
}
