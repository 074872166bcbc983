//! How fast a tenant comes to `Ready` and how cheap admission is, beside peers; and how much memory it all takes.
//!
//! Own and peer run interleaved on one private bed in one run; what is printed is measured, never asserted.

mod admission;
mod applications;
mod bare;
mod floor;
mod handler;
mod memory;
mod numbers;
mod process;
mod product;
mod reviews;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use e2e::world::tenancy::World;
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};

use crate::admission::Load;
use crate::bare::Bare;
use crate::numbers::{Spread, ratio};
use crate::product::Product;

/// Measures Tenantry beside a bare client. Set `TENANTRY_BIN` to a release build.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// One tenant after the other on the idle bed: create to `Ready`.
    Latency {
        /// Tenants of each side.
        #[arg(long, default_value_t = 50)]
        tenants: usize,
    },
    /// Many tenants at once on one Instance.
    Burst {
        /// Tenants of each side and round.
        #[arg(long, default_value_t = 200)]
        tenants: usize,
        /// Concurrencies that the bare client tries; its best one counts.
        #[arg(long, value_delimiter = ',', default_values_t = [4, 8, 16])]
        bare: Vec<usize>,
    },
    /// CPU per admission request beside a floor server and a webhook in Go, and latency at a fixed rate.
    Admission {
        /// Rounds; the median counts.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Requests of a round, for each server and review.
        #[arg(long, default_value_t = 10_000)]
        requests: usize,
        /// Requests per second of the latency part.
        #[arg(long, default_value_t = 1_000)]
        rate: u32,
        /// Seconds of that part, for each server.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
    /// Applications: CPU per review beside the floor server, handler time, many versions, and a hostile rule.
    Applications {
        /// Rounds; the median counts.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Requests of a round, for each server.
        #[arg(long, default_value_t = 10_000)]
        requests: usize,
        /// Requests per second while the hostile rule is asked for.
        #[arg(long, default_value_t = 500)]
        rate: u32,
        /// Seconds of that part.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
        /// Package versions of 50 rules each.
        #[arg(long, default_value_t = 200)]
        versions: usize,
    },
    /// Handler time of Applications alone, in this process and without a bed.
    Handler,
    /// RSS, peak and the time to the first reconcile with many Tenants.
    Memory {
        /// Tenants.
        #[arg(long, default_value_t = 10_000)]
        tenants: usize,
    },
    /// The floor server itself; `admission` starts it.
    #[command(hide = true)]
    Floor {
        /// Serving certificate, PEM.
        #[arg(long)]
        cert: PathBuf,
        /// Its key, PEM.
        #[arg(long)]
        key: PathBuf,
        /// Port on loopback.
        #[arg(long)]
        port: u16,
    },
}

/// The first Tenant.
const WARM: &str = "warm-product";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Command::Floor { cert, key, port } = arguments.command {
        e2e::bed::install_crypto_provider();
        return floor::serve(cert, key, port).await;
    }
    if matches!(arguments.command, Command::Handler) {
        return handler::run();
    }
    let bed = Bed::private(Options::default().openbao_in_memory()).await?;
    let options = match arguments.command {
        Command::Applications { .. } => TenantryOptions::default().switch("--applications"),
        _ => TenantryOptions::default(),
    };
    let world = World::private(bed, options, "bench").await?;
    match arguments.command {
        Command::Admission {
            rounds,
            requests,
            rate,
            seconds,
        } => {
            let load = Load {
                rounds,
                requests,
                rate,
                lasts: Duration::from_secs(seconds),
            };
            admission::run(&world, &load).await
        }
        Command::Applications {
            rounds,
            requests,
            rate,
            seconds,
            versions,
        } => {
            let load = Load {
                rounds,
                requests,
                rate,
                lasts: Duration::from_secs(seconds),
            };
            applications::run(&world, &load, versions).await
        }
        Command::Memory { tenants } => memory::run(&world, tenants).await,
        Command::Latency { .. }
        | Command::Burst { .. }
        | Command::Floor { .. }
        | Command::Handler => beside_bare(&world, arguments.command).await,
    }
}

async fn beside_bare(world: &World, command: Command) -> Result<()> {
    let product = Product::new(world);
    println!(
        "idle RSS of Tenantry: {:.1} MB",
        memory::now(world)?.resident
    );
    // The first of each side opens connections and fills caches; Tenantry's is also what the bare client copies.
    product.create(WARM).await.context("Tenantry")?;
    let bare = Bare::prepare(world, WARM).await?;
    bare.create("warm-bare").await.context("the bare client")?;
    match command {
        Command::Latency { tenants } => latency(&bare, &product, tenants).await?,
        Command::Burst {
            tenants,
            bare: concurrencies,
        } => burst(&bare, &product, tenants, &concurrencies).await?,
        _ => {}
    }
    println!(
        "RSS of Tenantry at the end: {:.1} MB",
        memory::now(world)?.resident
    );
    Ok(())
}

async fn latency(bare: &Bare, product: &Product<'_>, tenants: usize) -> Result<()> {
    let (mut bare_times, mut product_times) = (Vec::new(), Vec::new());
    for round in 0..tenants {
        bare_times.push(
            bare.create(&format!("bare-{round}"))
                .await
                .context("the bare client")?,
        );
        product_times.push(
            product
                .create(&format!("product-{round}"))
                .await
                .context("Tenantry")?,
        );
    }
    let (bare, product) = (Spread::of(bare_times), Spread::of(product_times));
    println!("create to Ready, {tenants} tenants each, interleaved, without extensions");
    println!("  bare client  {bare}");
    println!("  Tenantry     {product}");
    println!(
        "  ratio of the medians  {:.2}",
        ratio(product.median(), bare.median())
    );
    Ok(())
}

async fn burst(
    bare: &Bare,
    product: &Product<'_>,
    tenants: usize,
    concurrencies: &[usize],
) -> Result<()> {
    println!("{tenants} tenants at once, all to Ready");
    let (mut best, mut own) = (0.0_f64, 0.0_f64);
    for (round, concurrency) in concurrencies.iter().enumerate() {
        let rate = bare
            .burst(&format!("bare{round}"), tenants, *concurrency)
            .await
            .context("the bare client")?;
        println!("  bare client, {concurrency:>2} at a time  {rate:6.1} tenants/s");
        best = best.max(rate);
        let (rate, connections) = product
            .burst(&format!("product{round}"), tenants)
            .await
            .context("Tenantry")?;
        println!(
            "  Tenantry                   {rate:6.1} tenants/s, at most {connections} connections to the server"
        );
        own = own.max(rate);
    }
    println!(
        "  best of Tenantry / best of the bare client  {:.2}",
        own / best
    );
    Ok(())
}
