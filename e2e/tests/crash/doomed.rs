//! A process that dies: started with failpoints, watched by its log, killed, started again without them.
//!
//! It decides nothing about where the failpoints are or what must be left.

use std::collections::BTreeMap;
use std::fs;

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenancy::{SOON, World};
use e2e::world::tenantry::TenantryOptions;

use super::plan::Plan;

/// More workers than there are plans in a test: whoever is caught keeps one.
pub fn options() -> TenantryOptions {
    TenantryOptions::default().flag("--concurrency", "100")
}

/// The process with failpoints. Each catches as many objects as there are plans for it.
pub struct Doomed {
    /// Where its part of the log begins.
    log_start: usize,
    caught: BTreeMap<String, usize>,
    /// Whoever comes by is caught, however many.
    endless: bool,
}

impl Doomed {
    /// Ends the process and starts it with the failpoints of the plans.
    pub async fn start(world: &mut World, plans: &[Plan]) -> Self {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for plan in plans {
            *times.entry(plan.to_string()).or_default() += 1;
        }
        let failpoints: Vec<String> = times
            .iter()
            .map(|(failpoint, times)| format!("{failpoint}={times}*return"))
            .collect();
        Self::begin(world, failpoints.join(";"), false).await
    }

    /// The same for one plan whose effect more than one worker may come to do on the same object.
    pub async fn start_for_all_comers(world: &mut World, plan: Plan) -> Self {
        Self::begin(world, format!("{plan}=return"), true).await
    }

    async fn begin(world: &mut World, failpoints: String, endless: bool) -> Self {
        world.tenantry.stop();
        let log_start = log(world).len();
        world.tenantry.options.failpoints = Some(failpoints);
        world.tenantry.restart().await.unwrap();
        Self {
            log_start,
            caught: BTreeMap::new(),
            endless,
        }
    }

    /// Waits until one object more was caught at the failpoint.
    pub async fn caught(&mut self, world: &World, plan: Plan) {
        let times = self.caught.entry(plan.to_string()).or_default();
        *times += 1;
        let line = format!("failpoint {plan} reached");
        let what = format!("{line} (built with --features failpoints?)");
        until(SOON, &what, async || {
            if let Some(process) = world.tenantry.process() {
                process.check(world.bed.folder())?;
            }
            let log = log(world);
            let seen = log[self.log_start..].matches(&line).count();
            ensure!(seen >= *times, "seen {seen} times, awaited {times} times");
            Ok(())
        })
        .await
        .unwrap();
    }

    /// `kill -9`; the webhook is dead from here on. Nobody but those who were awaited may have been caught.
    pub fn kill(self, world: &World) {
        world.tenantry.kill9();
        let log = log(world);
        let seen: Vec<&str> = log[self.log_start..]
            .lines()
            .filter(|line| line.starts_with("failpoint "))
            .collect();
        let awaited: usize = self.caught.values().sum();
        let expected = if self.endless {
            seen.len() >= awaited
        } else {
            seen.len() == awaited
        };
        assert!(expected, "{awaited} were awaited: {seen:#?}");
    }
}

/// Starts the process without failpoints.
pub async fn restart(world: &mut World) {
    world.tenantry.options.failpoints = None;
    world.tenantry.restart().await.unwrap();
}

fn log(world: &World) -> String {
    let log = fs::read(world.tenantry.log_file()).unwrap();
    String::from_utf8_lossy(&log).into_owned()
}
