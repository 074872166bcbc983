//! How fast a tenant comes to `Ready`, beside a bare client that makes the same writes without thinking.
//!
//! Both run interleaved on one private bed in one run; what is printed is measured, never asserted.

mod bare;
mod numbers;
mod product;
mod server;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use e2e::world::tenancy::World;
use e2e::world::tenantry::TenantryOptions;
use e2e::{Bed, Options};

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
}

/// The first Tenant.
const WARM: &str = "warm-product";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let bed = Bed::private(Options::default().openbao_in_memory()).await?;
    let world = World::private(bed, TenantryOptions::default(), "bench").await?;
    let product = Product::new(&world);
    println!("idle RSS of Tenantry: {:.1} MiB", product.rss_mib()?);
    // The first of each side opens connections and fills caches; Tenantry's is also what the bare client copies.
    product.create(WARM).await.context("Tenantry")?;
    let bare = Bare::prepare(&world, WARM).await?;
    bare.create("warm-bare").await.context("the bare client")?;
    match arguments.command {
        Command::Latency { tenants } => latency(&bare, &product, tenants).await?,
        Command::Burst {
            tenants,
            bare: concurrencies,
        } => burst(&bare, &product, tenants, &concurrencies).await?,
    }
    println!("RSS of Tenantry at the end: {:.1} MiB", product.rss_mib()?);
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
