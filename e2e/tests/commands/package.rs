//! Story: an author tries a package without a cluster, and is told the same in text and to programs.
//!
//! What the commands say of the packages in `docs/packages` stands in `golden/`. With `UPDATE_GOLDEN=1` it is written anew, for a
//! person to read.

use std::fs;
use std::path::{Path, PathBuf};

use e2e::world::command::Output;
use e2e::world::program::tenantry;
use serde_json::Value;

const PACKAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/packages");
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/golden");

async fn package(arguments: &[&str]) -> Output {
    let arguments = [&["package"], arguments].concat();
    tenantry(&arguments, "", &[]).await.unwrap()
}

fn sample(name: &str) -> String {
    format!("{PACKAGES}/{name}")
}

fn input(name: &str) -> String {
    format!("{GOLDEN}/input/{name}.yaml")
}

/// Compares with the golden file; both streams, as a person sees them one after the other.
fn assert_golden(name: &str, output: &Output) {
    let path = PathBuf::from(format!("{GOLDEN}/{name}"));
    let said = format!("{}{}", output.stdout, output.stderr);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &said).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    assert_eq!(said, golden, "{name}");
}

#[tokio::test]
async fn verify_says_what_stands_in_the_golden_files_of_the_three_samples() {
    for (name, code) in [("shop", 0), ("rough", 0), ("broken", 1)] {
        let text = package(&["verify", &sample(name)]).await;
        assert_eq!(text.code, code, "{name}: {text:?}");
        assert_golden(&format!("verify-{name}.txt"), &text);
        let json = package(&["verify", &sample(name), "--output", "json"]).await;
        assert_eq!((json.code, json.stderr.as_str()), (code, ""), "{name}");
        assert_golden(&format!("verify-{name}.json"), &json);
    }
    let clean = fs::read_to_string(format!("{GOLDEN}/verify-shop.txt")).unwrap();
    assert_eq!(clean, "0 errors, 0 warnings\n");
    let rough: Value = golden_json("verify-rough.json");
    assert_eq!(rough["errors"], 0);
    assert_ne!(rough["warnings"], 0);
    let broken: Value = golden_json("verify-broken.json");
    assert_ne!(broken["errors"], 0);
}

fn golden_json(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(format!("{GOLDEN}/{name}")).unwrap()).unwrap()
}

async fn render(settings: &str, output: &str) -> Output {
    package(&[
        "render-settings",
        &sample("shop"),
        "--settings",
        &input(settings),
        "--previous",
        &input("application"),
        "--grants",
        &input("grants"),
        "--output",
        output,
    ])
    .await
}

#[tokio::test]
async fn render_settings_says_what_stands_in_the_golden_files() {
    for (name, code) in [("application", 0), ("bucket", 0), ("wrong", 1)] {
        for (format, ending) in [("text", "txt"), ("json", "json")] {
            let output = render(name, format).await;
            assert_eq!(output.code, code, "{name}: {output:?}");
            assert_golden(&format!("render-{name}.{ending}"), &output);
        }
    }
}

#[tokio::test]
async fn s17_a_frozen_grant_keeps_what_was_applied_and_s7_a_project_default_fills_the_rest() {
    let report = golden_json("render-application.json");
    assert_eq!(
        report["effectiveSettings"]["images"]["storageClass"],
        "fast"
    );
    let fresh = package(&[
        "render-settings",
        &sample("shop"),
        "--settings",
        "-",
        "--grants",
        &input("grants"),
        "--output",
        "json",
    ])
    .await
    .success()
    .unwrap();
    let fresh: Value = serde_json::from_str(&fresh.stdout).unwrap();
    assert_eq!(fresh["effectiveSettings"]["images"]["storageClass"], "fast");
    assert_eq!(fresh["confirmations"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn a_package_that_cannot_be_used_refuses_all_settings_and_one_that_cannot_be_read_is_another_mistake()
 {
    let arguments = |package: &str| {
        ["render-settings", package, "--settings", &input("bucket")].map(str::to_owned)
    };
    let run = async |name: &str| {
        let arguments = arguments(&sample(name));
        package(&arguments.each_ref().map(String::as_str)).await
    };
    let broken = run("broken").await;
    assert_eq!(broken.code, 1, "{broken:?}");
    assert_eq!(broken.stdout, "# refused\n");
    assert!(
        broken.stderr.starts_with("openapi/settings.yaml: "),
        "{broken:?}"
    );
    for nowhere in ["nowhere", ".", "README.md"] {
        let output = run(nowhere).await;
        assert_eq!(output.code, 2, "{output:?}");
        assert_eq!(output.stdout, "");
    }
}

#[tokio::test]
async fn an_archive_of_a_package_is_as_good_as_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("rough.tar.gz");
    let packed = std::process::Command::new("tar")
        .args([
            "-czf",
            archive.to_str().unwrap(),
            "-C",
            &sample("rough"),
            ".",
        ])
        .status()
        .unwrap();
    assert!(packed.success());
    let output = package(&["verify", archive.to_str().unwrap()]).await;
    assert_eq!(output.code, 0, "{output:?}");
    assert_golden("verify-rough.txt", &output);
}

#[tokio::test]
async fn no_file_outside_the_package_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let schemas = folder.path().join("openapi");
    fs::create_dir(&schemas).unwrap();
    let secret = Path::new(PACKAGES).join("shop/openapi/settings.yaml");
    std::os::unix::fs::symlink(secret, schemas.join("settings.yaml")).unwrap();
    let output = package(&["verify", folder.path().to_str().unwrap()]).await;
    assert_eq!(output.code, 2);
    assert!(
        output
            .stderr
            .contains("openapi/settings.yaml leads out of the package"),
        "{output:?}"
    );
}
