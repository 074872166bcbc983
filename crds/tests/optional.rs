//! What a kind insists on: only what its contract calls required, so that a manifest that leaves the rest out is taken.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

/// `required` of every object below a schema, by path; those of conditions are Kubernetes's own.
fn required(schema: &JSONSchemaProps, path: &str, found: &mut Vec<String>) {
    if path.ends_with("/conditions") {
        return;
    }
    found.extend(
        schema
            .required
            .iter()
            .flatten()
            .map(|name| format!("{path}/{name}")),
    );
    for (name, child) in schema.properties.iter().flatten() {
        required(child, &format!("{path}/{name}"), found);
    }
}

#[test]
fn an_application_needs_its_package_and_version_and_nothing_else() {
    let needed = |kind: &str| {
        let crds = crds::all();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        let validation = crd.spec.versions[0].schema.clone().unwrap();
        let mut found = Vec::new();
        required(&validation.open_api_v3_schema.unwrap(), "", &mut found);
        found
    };
    assert_eq!(
        needed("Application"),
        ["/spec", "/spec/packageName", "/spec/packageVersion"]
    );
    assert_eq!(needed("ApplicationPackage"), [""; 0]);
    assert_eq!(needed("ApplicationPackageVersion"), ["/spec"]);
}
