//! Story: manifests are judged in CI as the cluster would judge them, without one.

use std::fs;
use std::path::Path;

use e2e::world::command::Output;
use e2e::world::program::tenantry;
use serde_json::Value;
use tempfile::TempDir;

const GOOD: &str = "apiVersion: database.ddupan.top/v1alpha1\nkind: PostgreSQLTenant\nmetadata: {name: shop}\n\
                    spec: {instanceRef: shared}\n";
const BAD: &str = "apiVersion: database.ddupan.top/v1alpha1\nkind: PostgreSQLTenant\nmetadata: {name: x}\n\
                   spec: {instanceRef: shared, database: Shop}\n";
const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n";

async fn check(arguments: &[&str], input: &str) -> Output {
    let arguments = [&["check"], arguments].concat();
    tenantry(&arguments, input, &[]).await.unwrap()
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn valid_manifests_pass_and_other_kinds_are_counted() {
    let input = format!("{GOOD}---\n{CONFIG_MAP}");
    let output = check(&["-"], &input).await.success().unwrap();
    assert_eq!(
        output.stdout,
        "1 checked, 0 invalid, 1 of other kinds skipped\n"
    );
    assert_eq!(output.stderr, "");
}

#[tokio::test]
async fn an_invalid_manifest_is_told_as_kubectl_tells_it_and_the_exit_code_is_1() {
    let folder = folder(&[("tenant.yaml", BAD)]);
    let file = folder.path().join("tenant.yaml");
    let output = check(&[text(&file)], "").await;
    assert_eq!(output.code, 1);
    let says = format!(
        "{}: The PostgreSQLTenant \"x\" is invalid: spec.database: Invalid value: ",
        text(&file)
    );
    assert!(output.stderr.starts_with(&says), "{output:?}");
    assert_eq!(output.stdout, "1 checked, 1 invalid\n");
}

#[tokio::test]
async fn directories_are_read_in_order_and_those_within_only_when_asked() {
    let folder = folder(&[
        ("b.yml", BAD),
        ("a.yaml", GOOD),
        ("notes.txt", "a: ["),
        ("sub/c.json", "{\"kind\": \"X\"}"),
    ]);
    let flat = check(&[text(folder.path())], "").await;
    assert_eq!(flat.stdout, "2 checked, 1 invalid\n");
    let deep = check(&["-R", text(folder.path())], "").await;
    assert_eq!(
        deep.stdout,
        "2 checked, 1 invalid, 1 of other kinds skipped\n"
    );
}

#[tokio::test]
async fn objects_of_one_call_are_seen_together() {
    let instance = "apiVersion: database.ddupan.top/v1alpha1\nkind: PostgreSQLInstance\nmetadata: {name: shared}\nspec:\n  \
                    endpoint: {host: pg.example.org, hostaddr: 192.0.2.10, database: shop}\n  adminCredentialRef: {name: admin}\n";
    let again = GOOD.replace("name: shop", "name: shop, namespace: other");
    let folder = folder(&[
        ("instance.yaml", instance),
        ("tenant.yaml", GOOD),
        ("again.yaml", &again),
    ]);
    let output = check(&[text(folder.path())], "").await;
    assert_eq!(output.code, 1);
    assert!(
        output
            .stderr
            .contains("shop is the management database of Instance shared"),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("shop is that of tenant other/shop"),
        "{output:?}"
    );
    let twice = check(&["-"], &format!("{GOOD}---\n{GOOD}")).await;
    assert!(
        twice
            .stderr
            .contains("the same object stands in standard input already"),
        "{twice:?}"
    );
}

#[tokio::test]
async fn unknown_fields_and_wrong_types_are_refused_as_strictly_as_the_schema_does() {
    let input = "apiVersion: database.ddupan.top/v1alpha1\nkind: PostgreSQLTenant\nmetadata: {name: x, lables: {}}\n\
                 spec: {instanceRef: 5, databse: shop, deletionPolicy: Drop, extensions: pg_trgm}\n";
    let output = check(&["-"], input).await;
    assert_eq!(output.code, 1);
    for says in [
        "* metadata.lables: Invalid value: unknown field\n",
        "* spec.databse: Invalid value: unknown field\n",
        "* spec.instanceRef: Invalid value: must be of type string, not integer\n",
        "* spec.extensions: Invalid value: must be of type array, not string\n",
        "* spec.deletionPolicy: Unsupported value: \"Drop\": supported values: \"Retain\", \"Delete\"\n",
    ] {
        assert!(
            output.stderr.contains(says),
            "{says} is not in {}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_named_the_rest_is_checked_and_the_exit_code_is_2() {
    let long = format!("a: {}\n", "x".repeat(9 << 20));
    let folder = folder(&[
        ("broken.yaml", "a: ["),
        ("long.yaml", &long),
        ("list.yaml", "- a\n"),
        ("good.yaml", GOOD),
        ("empty/none.txt", ""),
    ]);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let missing = path("missing.yaml");
    let empty = path("empty");
    let output = check(&[text(folder.path()), &missing, &empty], "").await;
    assert_eq!(output.code, 2, "{output:?}");
    for says in [
        format!("{}: cannot be parsed: ", path("broken.yaml")),
        format!("{}: is longer than 8 MiB\n", path("long.yaml")),
        format!("{}: document 1 is not an object\n", path("list.yaml")),
        format!("{missing}: cannot be read: No such file"),
        format!("{empty}: has no file that ends in .yaml, .yml or .json\n"),
    ] {
        assert!(
            output.stderr.contains(&says),
            "{says} is not in {}",
            output.stderr
        );
    }
    assert_eq!(output.stdout, "1 checked, 0 invalid, 5 unreadable\n");
    let binary = folder.path().join("binary.yaml");
    fs::write(&binary, [0xff, 0xfe]).unwrap();
    let output = check(&[text(&binary)], "").await;
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("is not UTF-8 text"), "{output:?}");
}

#[tokio::test]
async fn programs_get_one_json_document_with_causes_and_warnings() {
    let warned = GOOD.replace(
        "instanceRef: shared",
        "instanceRef: shared, deletionPolicy: Delete",
    );
    let output = check(
        &["--output", "json", "-"],
        &format!("{BAD}---\n{warned}---\n{CONFIG_MAP}"),
    )
    .await;
    assert_eq!((output.code, output.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&report["checked"], &report["invalid"], &report["skipped"]),
        (&Value::from(2), &Value::from(1), &Value::from(1))
    );
    let cause = &report["objects"][0]["causes"][0];
    assert_eq!(
        (cause["field"].as_str(), cause["reason"].as_str()),
        (Some("spec.database"), Some("FieldValueInvalid"))
    );
    let warning = report["objects"][1]["warnings"][0].as_str().unwrap();
    assert!(warning.contains("deletionPolicy is Delete"), "{warning}");
}

#[tokio::test]
async fn h20_terminal_codes_in_a_manifest_are_shown_escaped() {
    let input = BAD
        .replace("Shop", "\"\\e[31m\"")
        .replace("name: x", "name: \"x\\e[2J\"");
    let output = check(&["-"], &input).await;
    assert_eq!(output.code, 1);
    assert!(!output.stderr.contains('\u{1b}'), "{output:?}");
}

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/packages/shop");
const BROKEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/packages/broken");

fn application(name: &str, package: &str, version: &str, settings: &str) -> String {
    format!(
        "apiVersion: deckhouse.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\n\
         spec: {{packageName: {package}, packageVersion: {version}, settings: {settings}}}\n"
    )
}

#[tokio::test]
async fn applications_are_judged_by_the_package_that_is_given() {
    let good = application("books", "shop", "v1.2.0", "{replicas: 2}");
    let output = check(&["--package", SHOP, "-"], &good).await;
    let output = output.success().unwrap();
    assert_eq!(output.stdout, "1 checked, 0 invalid\n");
    let says = "Warning: Application \"books\": kubernetes >=1.28 is required, but";
    assert!(output.stderr.contains(says), "{output:?}");
}

#[tokio::test]
async fn an_applications_mistakes_are_told_with_the_schemas_own_first() {
    let wrong = application("books", "shop", "v1.2.0", "{replicas: 9, colour: red}");
    let output = check(&["--package", SHOP, "-"], &wrong).await;
    assert_eq!(output.code, 1, "{output:?}");
    for says in [
        "The Application \"books\" is invalid:\n",
        "* spec.settings.colour: Forbidden: is a forbidden property\n",
        "* spec.settings: Invalid value: replicas must not exceed maxReplicas\n",
    ] {
        assert!(
            output.stderr.contains(says),
            "{says} is not in {}",
            output.stderr
        );
    }
    let long = application(&"b".repeat(25), "shop", "v1.2.0", "{}");
    let output = check(&["--package", SHOP, "-"], &long).await;
    assert!(output.stderr.contains("metadata.name: "), "{output:?}");
    let typo = good_spec("{packageName: shop, packageVersoin: v1.2.0}");
    let output = check(&["--package", SHOP, "-"], &typo).await;
    assert!(
        output
            .stderr
            .contains("spec.packageVersoin: Invalid value: unknown field"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("spec.packageVersion: Required value"),
        "{output:?}"
    );
}

fn good_spec(spec: &str) -> String {
    format!(
        "apiVersion: deckhouse.io/v1alpha1\nkind: Application\nmetadata: {{name: books}}\nspec: {spec}\n"
    )
}

#[tokio::test]
async fn an_application_whose_package_is_not_given_is_warned_of_and_a_package_that_cannot_be_used_refuses()
 {
    let other = application("books", "other", "v1.0.0", "{any: thing}");
    let output = check(&["--package", SHOP, "-"], &other)
        .await
        .success()
        .unwrap();
    assert!(
        output.stderr.contains("no --package is of this package"),
        "{output:?}"
    );
    let newer = application("books", "shop", "v9.0.0", "{any: thing}");
    let output = check(&["--package", SHOP, "-"], &newer)
        .await
        .success()
        .unwrap();
    assert!(
        output.stderr.contains("no --package is of this version"),
        "{output:?}"
    );
    let broken = application("books", "broken", "v1.0.0", "{}");
    let output = check(&["--package", BROKEN, "-"], &broken).await;
    assert_eq!(output.code, 1, "{output:?}");
    assert!(
        output
            .stderr
            .contains("the published settings schema cannot be used"),
        "{output:?}"
    );
    let output = check(&["--package", "nowhere", "-"], &broken).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(
        output.stderr.contains("nowhere: cannot be read"),
        "{output:?}"
    );
}
