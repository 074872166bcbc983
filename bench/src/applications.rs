//! Applications on the bed: CPU per review beside the floor server, many versions, and what a hostile rule costs others.
//!
//! Package versions are written as objects, as publication would write them. It decides what is sent; nothing is asserted but that the
//! answers are those that are meant.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::bed::wait::until;
use e2e::world::objects::all;
use e2e::world::tenancy::World;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::admission::{Load, Server, at_rate, beside, floor, post, tenantry};
use crate::memory;
use crate::numbers::Spread;
use crate::reviews::Review;

const API_VERSION: &str = "deckhouse.io/v1alpha1";
const PROPERTIES: usize = 40;
const PACKAGE: &str = "bench";
const HOSTILE: &str = "hostile";
const CONCURRENCY: usize = 8;
/// Over the budget for every hostile rule.
const MOST_ELEMENTS: usize = 5_000;

/// A schema of 40 properties with so many rules at its root.
pub fn schema(rules: usize) -> Value {
    let properties: serde_json::Map<String, Value> = (0..PROPERTIES)
        .map(|number| {
            let property = if number % 2 == 0 {
                json!({"type": "integer", "minimum": 0, "default": number})
            } else {
                json!({"type": "string", "pattern": "^[a-z0-9-]+$", "maxLength": 63})
            };
            (format!("field{number:02}"), property)
        })
        .collect();
    let rules: Vec<Value> = (0..rules)
        .map(|number| {
            let (one, other) = (2 * (number % 19), 2 * (number % 19) + 2);
            json!({
                "expression": format!("self.field{one:02} <= self.field{other:02} + {number}.0 && self.field01.size() < 64"),
                "message": format!("rule {number}"),
            })
        })
        .collect();
    json!({"type": "object", "properties": properties, "x-deckhouse-validations": rules})
}

/// Settings that set half of the properties.
pub fn settings() -> Value {
    let set: serde_json::Map<String, Value> = (0..PROPERTIES)
        .filter(|number| number % 4 < 2)
        .map(|number| {
            let value = if number % 2 == 0 {
                json!(number)
            } else {
                json!("a-value")
            };
            (format!("field{number:02}"), value)
        })
        .collect();
    Value::Object(set)
}

/// A create of an Application.
pub fn review(package: &str, version: &str, settings: &Value) -> String {
    let names = |word: &str, value: &str| json!({"group": "deckhouse.io", "version": "v1alpha1", word: value});
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": names("kind", "Application"),
            "resource": names("resource", "applications"), "name": "shop", "namespace": "shop", "operation": "CREATE",
            "userInfo": {"username": "system:serviceaccount:ci:deployer", "groups": ["system:authenticated"]},
            "object": {
                "apiVersion": API_VERSION, "kind": "Application", "metadata": {"name": "shop", "namespace": "shop"},
                "spec": {"packageName": package, "packageRepositoryName": "local", "packageVersion": version, "settings": settings},
            },
            "oldObject": null, "dryRun": false,
        },
    })
    .to_string()
}

/// Runs it on the bed's Tenantry; prints the figures.
pub async fn run(world: &World, load: &Load, versions: usize) -> Result<()> {
    let empty = memory::now(world)?.resident;
    publish(world, (PACKAGE, "v1.0.0"), &schema(6)).await?;
    let small = Review {
        name: "Application",
        body: review(PACKAGE, "v1.0.0", &settings()),
    };
    let path = webhook::Route::Application.path();
    let own = tenantry(world, path)?;
    until(
        Duration::from_secs(60),
        "the version is known",
        async || {
            let answer = post(&own, &small).await?;
            ensure!(answer.contains("\"allowed\":true"), "{answer}");
            Ok(())
        },
    )
    .await?;
    let servers = [floor(world, (path, &small)).await?, own];
    beside(&servers, &small, load).await?;
    let [_, own] = &servers;
    hostile(world, own, &small, load).await?;
    many_versions(world, versions, empty).await
}

/// Requests of a harmless package at a fixed rate, alone and while hostile ones follow each other.
async fn hostile(world: &World, own: &Server, small: &Review, load: &Load) -> Result<()> {
    let cubed = "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0.0)))";
    let squared = "self.list.all(a, self.list.all(b, a + b >= 0.0))";
    let others = std::slice::from_ref(small);
    println!(
        "others at {} requests/s: {}",
        load.rate,
        at_rate(own, others, load).await?
    );
    for (version, rule) in [("v3.0.0", cubed), ("v2.0.0", squared)] {
        let schema = json!({
            "properties": {"list": {"type": "array", "items": {"type": "integer"}}},
            "x-deckhouse-validations": [{"expression": rule, "message": "it is so"}],
        });
        publish(world, (HOSTILE, version), &schema).await?;
        until(Duration::from_secs(60), "the rule is known", async || {
            let answer = post(own, &listing(version, MOST_ELEMENTS)).await?;
            ensure!(answer.contains("budget"), "{answer}");
            Ok(())
        })
        .await?;
        let (elements, bad) = dearest(own, version).await?;
        let asking = async {
            let (end, mut times) = (Instant::now() + load.lasts, Vec::new());
            while Instant::now() < end {
                let began = Instant::now();
                post(own, &bad).await?;
                times.push(began.elapsed());
            }
            anyhow::Ok(Spread::of(times))
        };
        let (asked, others) = tokio::join!(asking, at_rate(own, others, load));
        println!(
            "rule {rule} over {elements} elements\n  itself  {}\n  others  {}",
            asked?, others?
        );
    }
    Ok(())
}

/// Settings with a list of so many elements.
fn listing(version: &str, elements: usize) -> Review {
    let list: Vec<usize> = (0..elements).collect();
    Review {
        name: "hostile",
        body: review(HOSTILE, version, &json!({ "list": list })),
    }
}

/// The longest list that the budget lets through: what is longer is refused before it is evaluated, and costs nothing.
async fn dearest(own: &Server, version: &str) -> Result<(usize, Review)> {
    let (mut allowed, mut refused) = (1, MOST_ELEMENTS);
    while refused - allowed > 1 {
        let middle = usize::midpoint(allowed, refused);
        if post(own, &listing(version, middle))
            .await?
            .contains("\"allowed\":true")
        {
            allowed = middle;
        } else {
            refused = middle;
        }
    }
    ensure!(allowed > 1, "no list is let through");
    Ok((allowed, listing(version, allowed)))
}

/// How long a start takes and what is held, with many versions.
async fn many_versions(world: &World, versions: usize, empty: f64) -> Result<()> {
    let few = ready_after_restart(world).await?;
    let document = schema(50);
    futures::stream::iter(0..versions)
        .map(|number| {
            let (document, version) = (&document, format!("v9.0.{number}"));
            async move { publish(world, (PACKAGE, &version), document).await }
        })
        .buffer_unordered(CONCURRENCY)
        .try_for_each(|()| std::future::ready(Ok(())))
        .await?;
    let many = ready_after_restart(world).await?;
    let own = tenantry(world, webhook::Route::Application.path())?;
    let last = versions.saturating_sub(1);
    let answer = post(
        &own,
        &Review {
            name: "last",
            body: review(PACKAGE, &format!("v9.0.{last}"), &settings()),
        },
    )
    .await?;
    ensure!(answer.contains("\"allowed\":true"), "{answer}");
    let memory = memory::now(world)?;
    println!(
        "{versions} versions of 50 rules: ready {:.0} ms after a start, {:.0} ms with a few; RSS {:.1} MB, {empty:.1} MB when idle at first, peak {:.1} MB",
        many.as_secs_f64() * 1e3,
        few.as_secs_f64() * 1e3,
        memory.resident,
        memory.peak
    );
    Ok(())
}

async fn ready_after_restart(world: &World) -> Result<Duration> {
    world.tenantry.stop();
    let began = Instant::now();
    world.tenantry.restart().await?;
    Ok(began.elapsed())
}

/// The objects of a published version.
async fn publish(world: &World, (package, version): (&str, &str), schema: &Value) -> Result<()> {
    let client = world.namespace.client();
    let packages = all(client, API_VERSION, "ApplicationPackage");
    let package_object = json!({"apiVersion": API_VERSION, "kind": "ApplicationPackage", "metadata": {"name": package}});
    apply(&packages, package, &package_object).await?;
    let name = format!("local-{package}-{version}");
    let versions = all(client, API_VERSION, "ApplicationPackageVersion");
    let object = json!({
        "apiVersion": API_VERSION, "kind": "ApplicationPackageVersion", "metadata": {"name": name},
        "spec": {"packageName": package, "packageRepositoryName": "local", "packageVersion": version},
    });
    apply(&versions, &name, &object).await?;
    let status = json!({"status": {
        "packageMetadata": {},
        "packageSchemas": {"settingsSchema": {"openAPIV3Schema": schema}},
    }});
    versions
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
        .await
        .map(drop)
        .with_context(|| format!("status of {name}"))
}

async fn apply(objects: &Api<DynamicObject>, name: &str, object: &Value) -> Result<()> {
    if objects.get_opt(name).await?.is_none() {
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        objects.create(&PostParams::default(), &object).await?;
    }
    Ok(())
}
