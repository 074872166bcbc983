//! Story: two processes that serve with the pair of one Secret volume, as the kubelet lays it out; it is swapped and broken, and they are
//! restarted, while admission requests go on.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use e2e::bed::pki::Certificate;
use e2e::bed::wait::until;
use e2e::world::tenancy::SOON;
use e2e::world::tenantry::{Tenantry, TenantryOptions};
use e2e::{Bed, Options};

use super::load;
use super::service::Service;

const SWAPS: u32 = 20;
const REPLACED: &str = "tenantry_serving_certificate_reloads_total";
const FAILURES: &str = "tenantry_serving_certificate_reload_failures_total";

#[tokio::test]
async fn alone_a_thousand_admissions_during_twenty_swaps_and_a_rolling_restart_of_two_lose_none() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let mut volume = Volume::of(&bed);
    volume.swap(&pair(&bed, "first"));
    let first = Tenantry::start(&bed, volume.options()).await.unwrap();
    let second = first.another(&bed, "second").await.unwrap();
    second.restart().await.unwrap();
    let processes = [&first, &second];
    let service = Service::of(&processes);
    let authority = fs::read(&bed.description().ca_file).unwrap();
    let load = load::reviews(&service, &authority);

    let done = Cell::new(0);
    let swaps = async {
        for swap in 1..=SWAPS {
            let fresh = pair(&bed, &format!("swap-{swap}"));
            volume.swap(&fresh);
            service.presents(&fresh.0, &authority).await;
            load.further(50).await;
            done.set(swap);
        }
    };
    let restarts = async {
        load.further(100).await;
        for process in processes {
            let before = done.get();
            service.restart(process).await;
            load.further(50).await;
            println!("restarted during the swaps {before} to {}", done.get());
            assert!(before < done.get() && done.get() < SWAPS);
        }
    };
    tokio::join!(swaps, restarts);

    bad_pairs_are_told_and_kept_out(&bed, &mut volume, &processes).await;
    load.further(10).await;
    load::none_failed(load, 1000).await;
}

async fn bad_pairs_are_told_and_kept_out(
    bed: &Bed,
    volume: &mut Volume,
    processes: &[&Tenantry; 2],
) {
    let (good, good_key) = pair(bed, "good");
    let (_, other_key) = pair(bed, "other");
    let half = good[..good.len() / 2].to_vec();
    let expired = contents(&bed.authority().unwrap().expired("expired").unwrap());
    let bad = [
        ((half, good_key.clone()), "not well-formed"),
        ((Vec::new(), Vec::new()), "no certificate"),
        ((good.clone(), other_key), "does not belong"),
        ((good.clone(), Vec::new()), "no usable private key"),
        (expired, "has expired; renew it"),
    ];
    for (pair, says) in bad {
        let before = [
            metric(processes[0], FAILURES).await,
            metric(processes[1], FAILURES).await,
        ];
        volume.swap(&pair);
        for (process, before) in processes.iter().zip(before) {
            reaches(process, FAILURES, before + 2.0).await;
            let log = fs::read_to_string(process.log_file()).unwrap();
            assert_eq!(log.matches(says).count(), 1, "{says} is said once\n{log}");
        }
    }
    a_process_does_not_start_with_an_expired_pair(bed, volume, processes[0]).await;
    let before = metric(processes[0], REPLACED).await;
    volume.swap(&(good, good_key));
    reaches(processes[0], REPLACED, before + 1.0).await;
}

/// It has no pair before it that it could serve with.
async fn a_process_does_not_start_with_an_expired_pair(
    bed: &Bed,
    volume: &Volume,
    running: &Tenantry,
) {
    let late = running.another(bed, "late").await.unwrap();
    late.spawn().unwrap();
    late.ended(SOON).await.unwrap();
    let log = fs::read_to_string(late.log_file()).unwrap();
    let says = format!(
        "--tls-cert-file, --tls-key-file: the certificate of {} has expired; renew it",
        volume.certificate().display()
    );
    assert!(log.contains(&says), "{log}");
}

/// Certificate and key, PEM.
type Pair = (Vec<u8>, Vec<u8>);

/// `tls.crt -> ..data/tls.crt`, `..data -> <dated folder>`.
struct Volume {
    folder: PathBuf,
    writes: u32,
}

impl Volume {
    fn of(bed: &Bed) -> Self {
        let folder = bed.folder().join("volume");
        fs::create_dir_all(&folder).unwrap();
        Self { folder, writes: 0 }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("tls.crt")
    }

    fn options(&self) -> TenantryOptions {
        let text = |path: PathBuf| path.display().to_string();
        TenantryOptions::default()
            .switch("--leader-elect")
            .flag("--tls-cert-file", text(self.certificate()))
            .flag("--tls-key-file", text(self.folder.join("tls.key")))
            .flag("--tls-reload-interval", "100ms")
    }

    fn swap(&mut self, (certificate, key): &Pair) {
        self.writes += 1;
        let fresh = self.folder.join(format!("..{}", self.writes));
        fs::create_dir_all(&fresh).unwrap();
        fs::write(fresh.join("tls.crt"), certificate).unwrap();
        fs::write(fresh.join("tls.key"), key).unwrap();
        let next = self.folder.join("..data_tmp");
        symlink(fresh.file_name().unwrap(), &next).unwrap();
        fs::rename(next, self.folder.join("..data")).unwrap();
        let old = self.folder.join(format!("..{}", self.writes - 1));
        if old.exists() {
            fs::remove_dir_all(old).unwrap();
        }
        for name in ["tls.crt", "tls.key"] {
            let link = self.folder.join(name);
            if !link.exists() {
                symlink(Path::new("..data").join(name), link).unwrap();
            }
        }
    }
}

/// A pair of the bed's authority.
fn pair(bed: &Bed, name: &str) -> Pair {
    contents(&bed.authority().unwrap().serving(name, &[]).unwrap())
}

fn contents(files: &Certificate) -> Pair {
    (
        fs::read(&files.certificate).unwrap(),
        fs::read(&files.key).unwrap(),
    )
}

async fn metric(process: &Tenantry, name: &str) -> f64 {
    let (_, text) = process.get("/metrics").await.unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("{name} is not in\n{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

async fn reaches(process: &Tenantry, name: &str, least: f64) {
    until(SOON, &format!("{name} is {least}"), async || {
        let now = metric(process, name).await;
        ensure!(now >= least, "it is {now}");
        Ok(())
    })
    .await
    .unwrap();
}
