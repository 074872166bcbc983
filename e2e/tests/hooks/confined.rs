//! S15 and the hook process of section 9: what a hook cannot see or touch. Each attempt is made by a real hook.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::process::{Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use tenantry::adapters::hooks::ProcessLimits;

use super::world::{Package, run, run_script, said};

const LIMITS: ProcessLimits = ProcessLimits::DEFAULT;

#[tokio::test]
async fn s15_a_hook_has_the_protocols_variables_and_none_of_the_servers() {
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some(),
        "the server's own variable of this test"
    );
    let seen = said("env | cut -d= -f1 | sort | tr '\\n' ' '").await;
    let allowed = [
        "APPLICATION_NAME",
        "APPLICATION_NAMESPACE",
        "BINDING_CONTEXT_PATH",
        "CONFIG_VALUES_JSON_PATCH_PATH",
        "CONFIG_VALUES_PATH",
        "HOME",
        "KUBERNETES_PATCH_PATH",
        "METRICS_PATH",
        "MODULE_NAME",
        "PATH",
        "PWD",
        "TMPDIR",
        "VALUES_JSON_PATCH_PATH",
        "VALUES_PATH",
    ];
    let optional = [
        "LOG_LEVEL",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    ];
    let seen: Vec<&str> = seen
        .split_whitespace()
        .filter(|name| !optional.contains(name))
        .collect();
    assert_eq!(seen, allowed);
    let named = said("echo $APPLICATION_NAMESPACE $APPLICATION_NAME $MODULE_NAME").await;
    assert_eq!(named, "team app team.app");
}

#[tokio::test]
async fn a_hook_cannot_read_files_outside_of_its_package() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("token");
    fs::write(&secret, "hunter2").unwrap();
    let secret = secret.display();
    for attempt in [
        format!("cat {secret}"),
        format!("cat <{secret}"),
        format!("cp {secret} $TMPDIR/copy && cat $TMPDIR/copy"),
        format!("ln {secret} $TMPDIR/link && cat $TMPDIR/link"),
        format!("ln -s {secret} $TMPDIR/soft; cat $TMPDIR/soft"),
        format!("cd $(dirname {secret}) && cat token"),
        format!("mv {secret} $TMPDIR/moved && cat $TMPDIR/moved"),
    ] {
        let seen = said(&attempt).await;
        assert!(!seen.contains("hunter2"), "{attempt}: {seen}");
        assert!(
            seen.contains("ermission denied") || seen.contains("cross-device"),
            "{attempt}: {seen}"
        );
    }
    for path in [
        "/etc/passwd",
        "/etc/shadow",
        "/root",
        "/home",
        "/var/run",
        "/run",
        "/tmp",
        "/sys",
        "/dev",
        "/",
    ] {
        let seen = said(&format!(
            "if [ -d {path} ]; then ls {path}; else cat {path}; fi"
        ))
        .await;
        assert!(seen.contains("ermission denied"), "{path}: {seen}");
    }
}

#[tokio::test]
async fn a_hook_cannot_reach_the_service_accounts_folder() {
    let folder = "/var/run/secrets/kubernetes.io/serviceaccount";
    let seen = said(&format!(
        "cat {folder}/token; ls /var/run/secrets; ls /var/run; ls /run"
    ))
    .await;
    let refused = seen.matches("ermission denied").count() + seen.matches("No such file").count();
    assert_eq!(refused, 4, "{seen}");
    assert!(seen.matches("ermission denied").count() >= 2, "{seen}");
}

#[tokio::test]
async fn a_hook_cannot_look_at_any_process() {
    let server = std::process::id();
    for path in [
        "/proc/$PPID/environ".to_owned(),
        format!("/proc/{server}/environ"),
        format!("/proc/{server}/cmdline"),
        format!("/proc/{server}/maps"),
        "/proc/self/environ".to_owned(),
        "/proc/mounts".to_owned(),
    ] {
        let seen = said(&format!("cat {path}")).await;
        assert!(seen.contains("ermission denied"), "{path}: {seen}");
    }
    for path in [
        "/proc".to_owned(),
        format!("/proc/{server}/fd"),
        format!("/proc/{server}/root/"),
    ] {
        let seen = said(&format!("ls {path}")).await;
        assert!(seen.contains("ermission denied"), "{path}: {seen}");
    }
}

#[tokio::test]
async fn a_hook_cannot_signal_a_process_outside() {
    let mut sentinel = Command::new("sleep").arg("600").spawn().unwrap();
    let attempts = format!(
        "kill -9 {}; kill -0 $PPID; kill -STOP $PPID; kill -0 1",
        sentinel.id()
    );
    let seen = said(&attempts).await;
    let is_alive = sentinel.try_wait().unwrap().is_none();
    sentinel.kill().unwrap();
    sentinel.wait().unwrap();
    assert!(is_alive, "{seen}");
    assert_eq!(seen.matches("ermitted").count(), 4, "{seen}");
}

#[tokio::test]
async fn a_hook_writes_to_its_scratch_folder_alone_and_executes_nothing_of_it() {
    let package = Package::doing(
        "{ echo x >\"${0%/*}/new\"; echo x >>\"$0\"; rm \"$0\"; mkdir /tmp/new; echo x >/dev/full; mknod $TMPDIR/null c 1 3; \
         cp /bin/true $TMPDIR/run; chmod +x $TMPDIR/run; $TMPDIR/run; } >&2 2>&1\nexit 1",
    );
    let before = fs::read(package.path().join("hooks/batchhooks")).unwrap();
    let seen = run(&package.load().await.unwrap())
        .await
        .unwrap_err()
        .to_string();
    let refused = seen.matches("ermission denied").count() + seen.matches("cannot create").count();
    assert!(refused >= 7, "{seen}");
    assert_eq!(
        fs::read(package.path().join("hooks/batchhooks")).unwrap(),
        before
    );
    assert_eq!(
        fs::read_dir(package.path().join("hooks")).unwrap().count(),
        1
    );
}

/// The runtime is started after the file is opened: a shell knows descriptors of one digit only.
#[test]
fn a_hook_inherits_no_descriptor_of_the_server() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "hunter2").unwrap();
    let open = File::open(outside.path()).unwrap();
    fcntl(&open, FcntlArg::F_SETFD(FdFlag::empty())).unwrap();
    let number = open.as_raw_fd();
    let inherited = Command::new("sh")
        .args(["-c", &format!("cat <&{number}")])
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(inherited.stdout, b"hunter2", "any other child has it");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let seen = runtime.block_on(said(&format!("cat <&{number}")));
    assert!(seen.contains("ad file descriptor"), "{seen}");
}

#[tokio::test]
async fn a_hook_gains_no_privileges_and_leaves_no_core() {
    let seen = said("ulimit -c; ulimit -n; ulimit -f; ulimit -d").await;
    assert_eq!(
        seen.split_whitespace().collect::<Vec<_>>(),
        ["0", "1024", "32768", "1048576"]
    );
}

#[tokio::test]
async fn what_a_hook_puts_in_place_of_an_output_is_not_followed() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(
        outside.path(),
        "[{\"op\":\"add\",\"path\":\"/stolen\",\"value\":1}]",
    )
    .unwrap();
    let outside = outside.path().display();
    for trick in [
        format!("ln -s {outside} $VALUES_JSON_PATCH_PATH"),
        "ln -s /dev/zero $VALUES_JSON_PATCH_PATH".to_owned(),
        "mkfifo $VALUES_JSON_PATCH_PATH".to_owned(),
        "mkdir $VALUES_JSON_PATCH_PATH".to_owned(),
    ] {
        let refused = run_script(&format!("rm $VALUES_JSON_PATCH_PATH; {trick}"), LIMITS).await;
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("no file in place of values-patch.json"),
            "{trick}: {refused}"
        );
    }
}
