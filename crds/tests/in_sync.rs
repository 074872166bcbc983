//! The committed YAML is what the Rust types say.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

#[path = "../examples/generate/manifest.rs"]
mod manifest;

#[test]
fn in_sync_the_committed_crds_the_charts_and_the_reference_are_what_the_types_generate() {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let manifests = manifest::manifests().unwrap();
    // Ten kinds as YAML and as the chart's template, and the reference.
    assert_eq!(manifests.len(), 21);
    for manifest in manifests {
        let committed = fs::read_to_string(house.join(&manifest.path)).unwrap_or_default();
        assert!(
            committed == manifest.text,
            "{} is out of date: run `cargo run -p tenantry-crds --example generate`",
            manifest.path
        );
    }
}

#[test]
fn in_sync_no_other_crd_is_in_the_chart() {
    let house = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let generated = manifest::manifests().unwrap();
    for folder in ["crds", "charts/tenantry/templates/crds"] {
        for entry in fs::read_dir(house.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            let path = format!("{folder}/{}", file.file_name().unwrap().to_str().unwrap());
            let known = generated.iter().any(|manifest| manifest.path == path);
            assert!(
                known || file.extension().is_none_or(|ending| ending != "yaml"),
                "{path} is not generated"
            );
        }
    }
}
