//! Story: a serving pair in files, as the kubelet lays out a Secret volume, swapped and broken under load.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use e2e::bed::wait::until;
use e2e::world::tenancy::SOON;
use e2e::world::tenantry::{Tenantry, TenantryOptions};
use e2e::{Bed, Options};

use super::load::Load;

/// `tls.crt -> ..data/tls.crt`, `..data -> <dated folder>`.
struct Volume {
    folder: PathBuf,
    writes: u32,
}

impl Volume {
    fn swap(&mut self, certificate: &[u8], key: &[u8]) {
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
fn pair(bed: &Bed, name: &str) -> (Vec<u8>, Vec<u8>) {
    let files = bed.authority().unwrap().serving(name, &[]).unwrap();
    (
        fs::read(files.certificate).unwrap(),
        fs::read(files.key).unwrap(),
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

#[tokio::test]
async fn alone_twenty_swaps_of_a_secret_volume_and_bad_files_between_lose_no_request() {
    let bed = Bed::private(Options::default()).await.unwrap();
    let folder = bed.folder().join("volume");
    fs::create_dir_all(&folder).unwrap();
    let mut volume = Volume {
        folder: folder.clone(),
        writes: 0,
    };
    let (certificate, key) = pair(&bed, "swap-0");
    volume.swap(&certificate, &key);
    let options = TenantryOptions::default()
        .flag(
            "--tls-cert-file",
            folder.join("tls.crt").display().to_string(),
        )
        .flag(
            "--tls-key-file",
            folder.join("tls.key").display().to_string(),
        )
        .flag("--tls-reload-interval", "100ms");
    let process = Tenantry::start(&bed, options).await.unwrap();
    let authority = fs::read(&bed.description().ca_file).unwrap();
    let load = Load::trusting(&process, &authority);

    let replaced = "tenantry_serving_certificate_reloads_total";
    for swap in 1..=20_u32 {
        let (certificate, key) = pair(&bed, &format!("swap-{swap}"));
        volume.swap(&certificate, &key);
        reaches(&process, replaced, f64::from(swap)).await;
        load.further(50).await;
    }

    let (good, good_key) = pair(&bed, "good");
    let (_, other_key) = pair(&bed, "other");
    let bad: [(&[u8], &[u8], &str); 4] = [
        (&good[..good.len() / 2], &good_key, "not well-formed"),
        (b"", b"", "no certificate"),
        (&good, &other_key, "does not belong"),
        (&good, b"", "no usable private key"),
    ];
    let failures = "tenantry_serving_certificate_reload_failures_total";
    for (certificate, key, says) in bad {
        let before = metric(&process, failures).await;
        volume.swap(certificate, key);
        reaches(&process, failures, before + 2.0).await;
        let log = fs::read_to_string(process.log_file()).unwrap();
        assert!(log.contains(says), "{says} is not in\n{log}");
        assert_eq!(log.matches(says).count(), 1, "{says} is said once");
    }
    volume.swap(&good, &good_key);
    reaches(&process, replaced, 21.0).await;
    load.further(10).await;
    load.none_failed(1000).await;
}
