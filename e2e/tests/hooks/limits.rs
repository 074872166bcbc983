//! What a hook may use: time, memory, processes, output. Each limit ends it, and says so.

use std::time::{Duration, Instant};

use tenantry::adapters::hooks::ProcessLimits;

use super::world::{await_gone, run_script, unique};

const LIMITS: ProcessLimits = ProcessLimits {
    time: Duration::from_secs(30),
    ..ProcessLimits::DEFAULT
};

async fn refused(body: &str, limits: ProcessLimits) -> String {
    run_script(body, limits).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_hook_that_never_ends_is_ended_at_its_deadline() {
    let limits = ProcessLimits {
        time: Duration::from_secs(1),
        ..LIMITS
    };
    let sleep = unique();
    for body in [
        format!("sleep {sleep}"),
        format!("trap '' TERM INT HUP; sleep {sleep}; sleep {sleep}"),
        "while :; do :; done".to_owned(),
        format!("kill -STOP $$; sleep {sleep}"),
    ] {
        let started = Instant::now();
        let said = refused(&body, limits).await;
        assert!(
            said.contains("did not end within 1 s, and was ended"),
            "{body}: {said}"
        );
        assert!(started.elapsed() < Duration::from_secs(10), "{body}");
        await_gone(&sleep).await;
    }
}

#[tokio::test]
async fn a_gigabyte_of_output_ends_a_hook_early() {
    for body in [
        "yes",
        "yes >&2",
        "head -c 1000000000 /dev/null; yes | head -c 1000000000",
    ] {
        let said = refused(body, LIMITS).await;
        assert!(said.contains("said more than"), "{body}: {said}");
    }
}

#[tokio::test]
async fn a_gigabyte_in_a_file_ends_a_hook_early() {
    let said = refused("yes >$VALUES_JSON_PATCH_PATH || exit 9", LIMITS).await;
    assert!(
        said.contains("exit status 9") || said.contains("File size"),
        "{said}"
    );
    let said = refused(
        "yes 123456789 | head -c 8000000 >$VALUES_JSON_PATCH_PATH",
        LIMITS,
    )
    .await;
    assert!(
        said.contains("values-patch.json of the hook has more than"),
        "{said}"
    );
}

#[tokio::test]
async fn memory_is_bounded() {
    let limits = ProcessLimits {
        memory_bytes: 64 << 20,
        ..LIMITS
    };
    let said = refused("awk 'BEGIN { s = \"x\"; while (length(s) < 1000000000) s = s s; print length(s) }' >&2 || exit 9", limits).await;
    assert!(!said.contains("1073741824"), "{said}");
}

#[tokio::test]
async fn processes_are_counted_and_too_many_end_the_hook() {
    let sleep = unique();
    let limits = ProcessLimits {
        processes: 16,
        ..LIMITS
    };
    let said = refused(
        &format!("for i in $(seq 40); do sleep {sleep} & done; wait"),
        limits,
    )
    .await;
    assert!(said.contains("more than 16 processes"), "{said}");
    await_gone(&sleep).await;
}

#[tokio::test]
async fn processes_that_leave_the_hooks_group_count_too() {
    let sleep = unique();
    let limits = ProcessLimits {
        processes: 16,
        ..LIMITS
    };
    let body = format!("for i in $(seq 40); do setsid sleep {sleep} & done; wait");
    let said = refused(&body, limits).await;
    assert!(said.contains("more than 16 processes"), "{said}");
    await_gone(&sleep).await;
}

#[tokio::test]
async fn cpu_time_counts_for_each_process() {
    let limits = ProcessLimits {
        time: Duration::from_secs(1),
        ..LIMITS
    };
    let started = Instant::now();
    refused(
        "(while :; do :; done) & (while :; do :; done) & wait",
        limits,
    )
    .await;
    assert!(started.elapsed() < Duration::from_secs(10));
}
