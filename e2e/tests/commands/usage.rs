//! Story: a person finds out what the program wants: help, version, and which flag, variable or file is at fault.

use e2e::world::command::Output;
use e2e::world::program::tenantry;

async fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    tenantry(arguments, "", variables).await.unwrap()
}

#[tokio::test]
async fn version_and_help_are_printed_and_help_says_units_defaults_and_variables() {
    let version = run(&["--version"], &[]).await.success().unwrap();
    assert_eq!(
        version.stdout,
        format!("tenantry {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = run(&["--help"], &[]).await.success().unwrap().stdout;
    for command in ["run", "crds", "check", "package", "registry"] {
        assert!(help.contains(command), "{help}");
    }
    let help = run(&["run", "--help"], &[]).await.success().unwrap().stdout;
    for text in [
        "[default: 10m]",
        "[env: TENANTRY_RESYNC_INTERVAL=]",
        "[default: 0.0.0.0:8443]",
    ] {
        assert!(help.contains(text), "{text} is not in {help}");
    }
}

#[tokio::test]
async fn a_wrong_flag_value_or_variable_is_named_and_the_exit_code_is_2() {
    let needed = [
        ("TENANTRY_TLS_CERT_FILE", "/nowhere/tls.crt"),
        ("TENANTRY_TLS_KEY_FILE", "/nowhere/tls.key"),
        ("TENANTRY_OPENBAO_ADDRESS", "http://127.0.0.1:1"),
    ];
    for (arguments, says) in [
        (vec!["run", "--nonsense"], "--nonsense"),
        (vec!["run", "--resync-interval", "10"], "--resync-interval"),
        (vec!["run", "--bind-address", "here"], "--bind-address"),
        (
            vec!["run", "--deny-hostaddr", "10.0.0.0/99"],
            "--deny-hostaddr",
        ),
        (
            vec!["run", "--openbao-auth", "token"],
            "--openbao-token-file",
        ),
        (vec!["check"], "<FILE>"),
        (vec!["package", "verify"], "<DIR>"),
        (vec!["package", "render-settings", "x"], "--settings"),
        (vec!["check", "--output", "yaml", "x"], "--output"),
        (vec![], "Usage"),
    ] {
        let output = run(&arguments, &needed).await;
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert!(output.stderr.contains(says), "{arguments:?}: {output:?}");
    }
    let mut variables = needed.to_vec();
    variables.push(("TENANTRY_CONCURRENCY", "many"));
    let output = run(&["run"], &variables).await;
    assert_eq!(output.code, 2, "{output:?}");
    assert!(output.stderr.contains("--concurrency"), "{output:?}");
}

#[tokio::test]
async fn a_file_that_is_missing_at_start_is_named_with_its_flag_and_the_exit_code_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pem");
    let missing = missing.to_str().unwrap();
    let output = run(
        &[
            "run",
            "--tls-cert-file",
            missing,
            "--tls-key-file",
            missing,
            "--openbao-address",
            "http://127.0.0.1:1",
        ],
        &[],
    )
    .await;
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("--tls-cert-file"), "{output:?}");
    assert!(output.stderr.contains(missing), "{output:?}");
    assert!(output.stderr.contains("No such file"), "{output:?}");
}
