//! Limits: size, bytes in flight, places, and the deadline.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use futures::{StreamExt as _, stream};
use webhook::{Limits, Outcome, Route};

use crate::world::{Cluster, World, fixture};

type Chunk = Result<Bytes, std::io::Error>;

fn chunked(chunk: usize, times: usize) -> Body {
    let chunk = Bytes::from(vec![b' '; chunk]);
    Body::from_stream(stream::repeat_with(move || -> Chunk { Ok(chunk.clone()) }).take(times))
}

/// Bytes of a review that is judged on a thread of its own.
const LARGE: usize = (64 << 10) + 1;

/// The review of a fixture, blown up with blanks to a length.
fn padded(length: usize) -> Vec<u8> {
    let mut body = fixture("tenant-create").to_string().into_bytes();
    body.resize(length, b' ');
    body
}

#[tokio::test]
async fn h3_a_body_over_the_limit_is_413_announced_or_not() {
    let limit = Limits::default().body;
    let world = World::empty();
    world
        .post(Route::Tenant, padded(limit))
        .await
        .assert_allowed();
    let whole = world.post(Route::Tenant, padded(limit + 1)).await;
    assert_eq!(whole.status, StatusCode::PAYLOAD_TOO_LARGE);
    let mib8 = world.post(Route::Tenant, padded(8 << 20)).await;
    assert_eq!(mib8.status, StatusCode::PAYLOAD_TOO_LARGE);
    let endless = world
        .post(Route::Tenant, chunked(1 << 16, usize::MAX))
        .await;
    assert_eq!(endless.status, StatusCode::PAYLOAD_TOO_LARGE);
    let one_chunk = world.post(Route::Tenant, chunked(limit + 1, 1)).await;
    assert_eq!(one_chunk.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn h3_an_announced_body_over_the_limit_is_refused_unread() {
    let body = Body::from(vec![b' '; Limits::default().body + 1]);
    let world = World::new(
        Cluster::default(),
        Limits {
            bodies: 0,
            ..Limits::default()
        },
    );
    // With no byte to spend, reading even the first one would be a 429.
    assert_eq!(
        world.post(Route::Tenant, body).await.status,
        StatusCode::PAYLOAD_TOO_LARGE
    );
}

#[tokio::test]
async fn h4_bytes_over_the_total_are_shed_at_once_and_given_back() {
    let limits = Limits {
        bodies: 2 << 20,
        ..Limits::default()
    };
    let world = World::new(Cluster::default(), limits);
    let reply = world.post(Route::Tenant, padded((2 << 20) + 1)).await;
    assert_eq!(
        (reply.status, reply.retry_after),
        (StatusCode::TOO_MANY_REQUESTS, true)
    );
    for _ in 0..5 {
        world
            .post(Route::Tenant, padded(1 << 20))
            .await
            .assert_allowed();
    }
}

#[tokio::test]
async fn a_body_is_put_together_from_frames_of_any_size() {
    let body = padded(200_000);
    let world = World::empty();
    for size in [1, 7, 1000, 65_535, 65_536, 65_537, 131_072, 200_000] {
        let frames: Vec<Chunk> = body
            .chunks(size)
            .map(|frame| Ok(Bytes::copy_from_slice(frame)))
            .collect();
        world
            .post(Route::Tenant, Body::from_stream(stream::iter(frames)))
            .await
            .assert_allowed();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_over_the_places_are_shed_at_once_and_the_others_answered() {
    let slow = Cluster {
        sleeps: Some(Duration::from_millis(300)),
        ..Cluster::default()
    };
    let world = World::new(
        slow,
        Limits {
            running: 1,
            waiting: 1,
            ..Limits::default()
        },
    );
    // Judged on a thread of its own.
    let review = padded(LARGE);
    let begun = Instant::now();
    let ask = async {
        let reply = world.post(Route::Tenant, review.clone()).await;
        (reply, begun.elapsed())
    };
    let replies = futures::join!(
        ask,
        async {
            (
                world.post(Route::Tenant, review.clone()).await,
                begun.elapsed(),
            )
        },
        async {
            (
                world.post(Route::Tenant, review.clone()).await,
                begun.elapsed(),
            )
        }
    );
    let mut replies = [replies.0, replies.1, replies.2];
    replies.sort_by_key(|(_, took)| *took);
    assert_eq!(replies[0].0.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(
        replies[0].1 < Duration::from_millis(250),
        "{:?}",
        replies[0].1
    );
    replies[1].0.assert_allowed();
    replies[2].0.assert_allowed();
    assert!(
        replies[2].1 >= Duration::from_millis(600),
        "{:?}",
        replies[2].1
    );
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_408_at_the_deadline() {
    let world = World::new(
        Cluster::default(),
        Limits {
            deadline: Duration::from_millis(50),
            ..Limits::default()
        },
    );
    let never = Body::from_stream(
        stream::iter([Chunk::Ok(Bytes::from_static(b"{"))]).chain(stream::pending()),
    );
    let reply = world.post(Route::Tenant, never).await;
    assert_eq!(reply.status, StatusCode::REQUEST_TIMEOUT);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_400() {
    let broken = [
        Chunk::Ok(Bytes::from_static(b"{")),
        Err(std::io::Error::other("reset")),
    ];
    let reply = World::empty()
        .post(Route::Tenant, Body::from_stream(stream::iter(broken)))
        .await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_judge_that_overruns_is_504_and_keeps_its_turn_until_it_has_ended() {
    let slow = Cluster {
        sleeps: Some(Duration::from_millis(400)),
        ..Cluster::default()
    };
    let limits = Limits {
        running: 1,
        deadline: Duration::from_millis(100),
        ..Limits::default()
    };
    let world = World::new(slow, limits);
    for _ in 0..2 {
        let begun = Instant::now();
        let reply = world.post(Route::Tenant, padded(LARGE)).await;
        assert_eq!(reply.status, StatusCode::GATEWAY_TIMEOUT);
        assert!(
            begun.elapsed() < Duration::from_millis(300),
            "{:?}",
            begun.elapsed()
        );
    }
    assert_eq!(world.cluster.asked.load(Ordering::SeqCst), 1);
    tokio::time::sleep(Duration::from_millis(400)).await;
    world
        .ask(&fixture("instance-create"))
        .await
        .assert_allowed();
}

#[tokio::test]
async fn a_caller_that_goes_away_is_counted_and_gives_its_place_back() {
    let world = World::new(
        Cluster::default(),
        Limits {
            running: 1,
            waiting: 0,
            ..Limits::default()
        },
    );
    let never = Body::from_stream(stream::pending::<Chunk>());
    let gone =
        tokio::time::timeout(Duration::from_millis(20), world.post(Route::Tenant, never)).await;
    assert!(gone.is_err());
    let decided = world.ledger.decided.lock().unwrap().clone();
    assert_eq!(
        (decided[0].outcome, decided[0].code()),
        (Outcome::Abandoned, 499)
    );
    world.ask(&fixture("tenant-create")).await.assert_allowed();
}
