//! jq filters in a process of their own: outcomes, time, output and memory.

use std::time::{Duration, Instant};

use serde_json::json;
use tenantry::adapters::hooks::filter::FilterError;

use super::world::{launcher, zombies};

#[tokio::test]
async fn each_object_has_its_outcome_in_order() {
    let objects: Vec<_> = (0..600)
        .map(|n| {
            if n == 300 {
                json!("text")
            } else {
                json!({"n": n})
            }
        })
        .collect();
    let outcomes = launcher().filter(".n", objects).await.unwrap();
    assert_eq!(outcomes.len(), 600);
    assert_eq!(outcomes[299], Ok(json!(299)));
    assert!(
        outcomes[300]
            .as_ref()
            .is_err_and(|said| said.contains("jq filter failed"))
    );
    assert_eq!(outcomes[599], Ok(json!(599)));
    assert!(launcher().filter(".", Vec::new()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_filter_that_never_ends_is_ended_after_a_second() {
    for filter in ["def f: f; f", "last(range(1; 1e15))", "until(false; .)"] {
        let started = Instant::now();
        let failed = launcher()
            .filter(filter, vec![json!({})])
            .await
            .unwrap_err();
        assert!(
            matches!(failed, FilterError::Launch(_) | FilterError::Short(_)),
            "{filter}: {failed}"
        );
        assert!(started.elapsed() < Duration::from_secs(8), "{filter}");
    }
    assert_eq!(zombies(), Vec::<i32>::new());
}

#[tokio::test]
async fn a_filter_that_gives_or_takes_too_much_fails_alone() {
    let endless = launcher()
        .filter("repeat(\"0123456789\")", vec![json!(1)])
        .await
        .unwrap();
    assert!(
        endless[0]
            .as_ref()
            .is_err_and(|said| said.contains("more than")),
        "{endless:?}"
    );
    let hungry = launcher().filter("[range(1e9)]", vec![json!(1)]).await;
    assert!(hungry.is_err(), "{hungry:?}");
    let deep = launcher()
        .filter("reduce range(1e6) as $i (0; [.])", vec![json!(1)])
        .await;
    assert!(deep.is_err() || deep.is_ok_and(|outcomes| outcomes[0].is_err()));
}

#[tokio::test]
async fn a_filter_may_not_look_around() {
    let outcomes = launcher().filter("env", vec![json!({})]).await.unwrap();
    assert!(
        outcomes[0]
            .as_ref()
            .is_err_and(|said| said.contains("`env`")),
        "{outcomes:?}"
    );
}
