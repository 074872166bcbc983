//! No process of a hook outlives its run, however it ends: no orphan, no zombie.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tenantry::adapters::hooks::{Hooks, ProcessLimits};

use super::world::{Package, await_gone, launcher, run, run_script, running, unique, zombies};

const LIMITS: ProcessLimits = ProcessLimits {
    time: Duration::from_secs(30),
    ..ProcessLimits::DEFAULT
};

#[tokio::test]
async fn a_process_that_stays_is_ended_and_fails_the_run() {
    let sleep = unique();
    for body in [
        format!("sleep {sleep} &"),
        format!("sleep {sleep} >/dev/null 2>&1 </dev/null &"),
        format!("setsid sleep {sleep} >/dev/null 2>&1 &"),
        format!("(setsid sh -c '(trap \"\" TERM HUP; sleep {sleep}) &' &) ; sleep 0.2"),
    ] {
        let said = run_script(&body, LIMITS).await.unwrap_err().to_string();
        assert!(
            said.contains("running processes behind, which were ended"),
            "{body}: {said}"
        );
        await_gone(&sleep).await;
    }
    assert_eq!(zombies(), Vec::<i32>::new());
}

#[tokio::test]
async fn a_process_that_ends_shortly_after_the_hook_is_fine() {
    assert!(run_script("sleep 0.1 &", LIMITS).await.is_ok());
}

/// Starts a run that does not end, and waits until its process is there.
async fn started(sleep: &str) -> (Package, tokio::task::JoinHandle<String>) {
    let package = Package::doing(&format!("setsid sleep {sleep} & sleep {sleep}"));
    let hooks = Hooks::load(&launcher(), package.path()).await.unwrap();
    let task = tokio::spawn(async move { run(&hooks).await.unwrap_err().to_string() });
    while running(sleep)
        .iter()
        .filter(|it| {
            it.cmdline()
                .is_ok_and(|line| line.first().is_some_and(|word| word == "sleep"))
        })
        .count()
        < 2
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (package, task)
}

#[tokio::test]
async fn a_run_that_is_given_up_as_at_shutdown_ends_its_processes() {
    let sleep = unique();
    let (_package, task) = started(&sleep).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    await_gone(&sleep).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(zombies(), Vec::<i32>::new());
}

#[tokio::test]
async fn a_hook_does_not_outlive_its_supervisor() {
    let sleep = unique();
    let package = Package::doing(&format!("sleep {sleep}"));
    let hooks = Hooks::load(&launcher(), package.path()).await.unwrap();
    let task = tokio::spawn(async move { run(&hooks).await.unwrap_err().to_string() });
    while running(&sleep).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let folder = package.path().display().to_string();
    let supervisors: Vec<i32> = running(&folder)
        .iter()
        .filter(|process| {
            process
                .cmdline()
                .is_ok_and(|line| line.iter().any(|word| word == "hook-exec"))
        })
        .map(|process| process.pid)
        .collect();
    assert_eq!(supervisors.len(), 1, "the second stage has become the hook");
    kill(Pid::from_raw(supervisors[0]), Signal::SIGKILL).unwrap();
    let said = task.await.unwrap();
    assert!(said.contains("without telling how"), "{said}");
    await_gone(&folder).await;
    await_gone(&sleep).await;
}

#[tokio::test]
async fn scratch_folders_go_with_their_run() {
    let package =
        Package::doing("mkdir -p $TMPDIR/a/b; echo x >$TMPDIR/a/b/c; echo $TMPDIR >&2; exit 1");
    let said = run(&package.load().await.unwrap())
        .await
        .unwrap_err()
        .to_string();
    let folder = said.rsplit(' ').next().unwrap();
    assert!(
        folder.contains("tenantry-hook-") && !std::path::Path::new(folder).exists(),
        "{said}"
    );
}
