//! Admission: CPU of the server's process per request, beside a floor server and a webhook in Go, and latency at a fixed rate.
//!
//! The three answer the same bytes over the same kind of connection, interleaved in one run; the median of the rounds counts. It
//! decides what is sent; nothing is asserted.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::bed::ports::free_port;
use e2e::bed::wait::until;
use e2e::world::tenancy::World;
use futures::{StreamExt as _, TryStreamExt as _};

use crate::numbers::{Spread, ratio};
use crate::process::{Child, cpu_time};
use crate::reviews::{self, Review};

/// The Tenant webhook's path; the peers serve the same one.
const PATH: &str = "/validate-database-ddupan-top-v1alpha1-postgresqltenant";
/// Connections, as an API server keeps a few to each webhook.
const CONNECTIONS: usize = 8;

/// How much is sent.
pub struct Load {
    /// Rounds; the median counts.
    pub rounds: usize,
    /// Requests of a round, for each server and review.
    pub requests: usize,
    /// Requests per second of the latency part.
    pub rate: u32,
    /// How long that part takes for each server.
    pub lasts: Duration,
}

/// A server that is measured.
pub struct Server {
    name: &'static str,
    pid: i32,
    url: String,
    http: reqwest::Client,
    _child: Option<Child>,
}

/// Runs it on the bed's Tenantry; prints the table.
pub async fn run(world: &World, load: &Load) -> Result<()> {
    let reviews = [reviews::create(), reviews::update()];
    let [probe, _] = &reviews;
    let servers = [
        floor(world, (PATH, probe)).await?,
        tenantry(world, PATH)?,
        peer(world, "Go", go_command()?, (PATH, probe)).await?,
    ];
    for review in &reviews {
        beside(&servers, review, load).await?;
    }
    println!(
        "latency at {} requests/s, from the moment a request was due",
        load.rate
    );
    for server in &servers {
        let spread = at_rate(server, &reviews, load).await?;
        println!("  {:<9} {spread}", server.name);
    }
    Ok(())
}

/// CPU per request of each server, interleaved; the first is what the second, Tenantry, is compared with, and any others follow.
pub async fn beside(servers: &[Server], review: &Review, load: &Load) -> Result<()> {
    for server in servers {
        allowed(server, review).await?;
        send(server, review, load.requests / 5).await?;
    }
    println!(
        "{} of {} bytes, CPU per request",
        review.name,
        review.body.len()
    );
    let mut times = vec![Vec::new(); servers.len()];
    for _ in 0..load.rounds {
        for (server, times) in servers.iter().zip(&mut times) {
            let before = cpu_time(server.pid)?;
            send(server, review, load.requests).await?;
            let took = cpu_time(server.pid)?.saturating_sub(before);
            times.push(took / u32::try_from(load.requests)?);
        }
    }
    let medians: Vec<Duration> = times
        .into_iter()
        .map(|times| Spread::of(times).median())
        .collect();
    for (server, median) in servers.iter().zip(&medians) {
        println!("  {:<9} {:7.1} µs", server.name, median.as_secs_f64() * 1e6);
    }
    let own = medians.get(1).copied().unwrap_or_default();
    for (peer, median) in servers.iter().zip(&medians) {
        if peer.name != "Tenantry" {
            println!("  Tenantry / {:<6} {:.3}", peer.name, ratio(own, *median));
        }
    }
    Ok(())
}

/// The bed's Tenantry at one of its paths.
pub fn tenantry(world: &World, path: &str) -> Result<Server> {
    let process = world.tenantry.process().context("Tenantry does not run")?;
    Ok(Server {
        name: "Tenantry",
        pid: process.pid,
        url: format!("{}{path}", world.tenantry.url),
        http: reusing(world)?,
        _child: None,
    })
}

/// The floor server, which answers at every path.
pub async fn floor(world: &World, at: (&str, &Review)) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("floor");
    peer(world, "floor", command, at).await
}

/// As the API server calls: on connections that stay.
fn reusing(world: &World) -> Result<reqwest::Client> {
    e2e::world::tenantry::reusing(&std::fs::read(&world.bed.description().ca_file)?)
}

/// A peer with a certificate of the bed's authority, on a port of its own.
async fn peer(
    world: &World,
    name: &'static str,
    mut command: Command,
    (path, probe): (&str, &Review),
) -> Result<Server> {
    let certificate = world
        .bed
        .authority()?
        .serving(&format!("bench-{name}"), &[])?;
    let port = free_port()?;
    command.arg("--cert").arg(&certificate.certificate);
    command.arg("--key").arg(&certificate.key);
    command.args(["--port", &port.to_string()]);
    let child = Child::start(command)?;
    let server = Server {
        name,
        pid: child.pid(),
        url: format!("https://127.0.0.1:{port}{path}"),
        http: reusing(world)?,
        _child: Some(child),
    };
    until(Duration::from_secs(30), "the peer listens", async || {
        allowed(&server, probe).await
    })
    .await?;
    Ok(server)
}

/// Builds the Go webhook; the tool chain keeps what it has built.
fn go_command() -> Result<Command> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("go-webhook");
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/go-webhook");
    let built = Command::new("go")
        .args(["build", "-trimpath", "-buildvcs=false", "-o"])
        .arg(&target)
        .arg(".")
        .current_dir(source)
        .status()
        .context("running go")?;
    ensure!(built.success(), "go build failed");
    let mut command = Command::new(target);
    command.args(["--path", PATH]);
    Ok(command)
}

/// The answer to a review.
pub async fn post(server: &Server, review: &Review) -> Result<String> {
    let answer = server
        .http
        .post(&server.url)
        .header("content-type", "application/json")
        .body(review.body.clone())
        .send()
        .await?;
    Ok(answer.error_for_status()?.text().await?)
}

/// A server that refused would be measured at something else.
async fn allowed(server: &Server, review: &Review) -> Result<()> {
    let answer = post(server, review).await?;
    let compact: String = answer.split_whitespace().collect();
    ensure!(
        compact.contains("\"allowed\":true"),
        "{} answers {answer}",
        server.name
    );
    Ok(())
}

async fn send(server: &Server, review: &Review, requests: usize) -> Result<()> {
    futures::stream::iter(0..requests)
        .map(|_| post(server, review))
        .buffer_unordered(CONNECTIONS)
        .try_for_each(|_answer| std::future::ready(Ok(())))
        .await
}

/// Requests are due at fixed moments, however slow the answers are.
pub async fn at_rate(server: &Server, reviews: &[Review], load: &Load) -> Result<Spread> {
    let pause = Duration::from_secs(1) / load.rate;
    let count = load.lasts.as_nanos() / pause.as_nanos();
    let start = Instant::now();
    let times = futures::stream::iter(0..u32::try_from(count)?)
        .map(|position| async move {
            let due = start + pause * position;
            tokio::time::sleep_until(due.into()).await;
            let turn = usize::try_from(position)? % reviews.len();
            let review = reviews.get(turn).context("no review")?;
            post(server, review).await?;
            anyhow::Ok(due.elapsed())
        })
        // More than are ever under way at a healthy latency, so that the schedule is kept.
        .buffer_unordered(512)
        .try_collect()
        .await?;
    Ok(Spread::of(times))
}
