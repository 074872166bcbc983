//! Proves the election: one holder at a time by every clock, a dead holder is followed, a paused one does nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::*;

const TIMES: Times = Times {
    lease: Duration::from_secs(15),
    renew: Duration::from_secs(10),
    retry: Duration::from_secs(2),
};

fn candidate(name: &str) -> Candidate {
    Candidate {
        identity: name.to_owned(),
        times: TIMES,
        observed: None,
    }
}

fn written(step: Move) -> Record {
    match step {
        Move::Write(record) => record,
        Move::Wait => panic!("it waits"),
    }
}

#[test]
fn a_lease_that_nobody_made_is_taken_and_its_renewal_keeps_when_it_was_taken() {
    let mut a = candidate("a");
    let start = Instant::now();
    let clock = Timestamp::now();
    let taken = written(a.consider(None, start, clock));
    assert_eq!((taken.holder.as_str(), taken.transitions), ("a", 0));
    let later = clock + jiff::SignedDuration::from_secs(2);
    let renewed = written(a.consider(Some(&taken), start, later));
    assert_eq!(renewed.acquired, Some(clock));
    assert_eq!(renewed.renewed, Some(later));
    assert_eq!(renewed.transitions, 0);
}

#[test]
fn a_lease_of_another_is_taken_only_once_it_stood_still_for_its_whole_duration_by_our_own_clock() {
    let (mut a, mut b) = (candidate("a"), candidate("b"));
    let start = Instant::now();
    let clock = Timestamp::now();
    let taken = written(a.consider(None, start, clock));
    // The holder's clock is a day behind, which proves nothing.
    let slow = Record {
        renewed: Some(clock - jiff::SignedDuration::from_hours(24)),
        ..taken
    };
    assert_eq!(b.consider(Some(&slow), start, clock), Move::Wait);
    let almost = start + Duration::from_secs(14);
    assert_eq!(b.consider(Some(&slow), almost, clock), Move::Wait);
    let renewed = Record {
        renewed: Some(clock),
        ..slow
    };
    assert_eq!(b.consider(Some(&renewed), almost, clock), Move::Wait);
    let still = almost + Duration::from_secs(14);
    assert_eq!(b.consider(Some(&renewed), still, clock), Move::Wait);
    let over = almost + Duration::from_secs(15);
    let won = written(b.consider(Some(&renewed), over, clock));
    assert_eq!((won.holder.as_str(), won.transitions), ("b", 1));
}

#[test]
fn a_lease_that_was_given_back_or_made_empty_is_taken_at_once() {
    let mut b = candidate("b");
    let clock = Timestamp::now();
    let held = Record {
        holder: "a".to_owned(),
        duration: TIMES.lease,
        acquired: None,
        renewed: None,
        transitions: 4,
    };
    let free = Candidate::released(&held, clock);
    assert_eq!(free.duration, Duration::from_secs(1));
    let won = written(b.consider(Some(&free), Instant::now(), clock));
    assert_eq!((won.holder.as_str(), won.transitions), ("b", 5));
}

#[test]
fn times_by_which_two_could_lead_at_once_are_not_consistent() {
    assert!(TIMES.is_consistent());
    let renew_too_long = Times {
        renew: TIMES.lease,
        ..TIMES
    };
    let retry_too_long = Times {
        retry: TIMES.renew,
        ..TIMES
    };
    assert!(!renew_too_long.is_consistent() && !retry_too_long.is_consistent());
}

/// One Lease in memory; can be away.
#[derive(Default)]
struct Shelf {
    lease: Mutex<Option<Record>>,
    version: AtomicU64,
    away: AtomicBool,
}

impl Shelf {
    fn holder(&self) -> String {
        let lease = self.lease.lock().unwrap();
        lease
            .as_ref()
            .map(|record| record.holder.clone())
            .unwrap_or_default()
    }

    fn answers(&self) -> Result<(), Failure> {
        if self.away.load(Ordering::Relaxed) {
            return Err(Failure::new(Class::Unavailable, "away"));
        }
        Ok(())
    }
}

impl Leases for Shelf {
    async fn read(&self) -> Result<Option<Held>, Failure> {
        self.answers()?;
        let record = self.lease.lock().unwrap().clone();
        let version = self.version.load(Ordering::Relaxed).to_string();
        // Others get in between a read and the write that follows it.
        tokio::task::yield_now().await;
        Ok(record.map(|record| Held { record, version }))
    }

    async fn write(&self, record: &Record, version: Option<&str>) -> Result<(), Failure> {
        self.answers()?;
        let mut lease = self.lease.lock().unwrap();
        let now = self.version.load(Ordering::Relaxed).to_string();
        let expected = lease.is_some().then_some(now.as_str());
        if version != expected {
            return Err(Failure::new(Class::Stale, "it changed"));
        }
        *lease = Some(record.clone());
        self.version.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

const QUICK: Times = Times {
    lease: Duration::from_millis(600),
    renew: Duration::from_millis(400),
    retry: Duration::from_millis(50),
};

async fn soon(what: &str, done: impl Fn() -> bool) {
    let reached = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reached)
        .await
        .expect(what);
}

#[tokio::test]
async fn of_many_that_start_at_once_one_leads_and_the_next_follows_when_it_gives_the_lease_back() {
    let shelf = Arc::new(Shelf::default());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stopped = Some(stopped);
    let mut replicas = Vec::new();
    for name in ["a", "b", "c"] {
        let (elector, leading) = Elector::new(Arc::clone(&shelf), name.to_owned(), QUICK);
        replicas.push((name, leading, Some(elector)));
    }
    let leader = {
        let (_, _, elector) = &mut replicas[0];
        let first = elector.take().unwrap();
        let stopped = stopped.take().unwrap();
        tokio::spawn(first.run(async {
            stopped.await.ok();
        }))
    };
    replicas[0].1.acquired().await;
    for (_, _, elector) in &mut replicas[1..] {
        let elector = elector.take().unwrap();
        tokio::spawn(elector.run(std::future::pending()));
    }
    tokio::time::sleep(QUICK.lease * 2).await;
    let count = |replicas: &[(&str, Leading, _)]| {
        replicas
            .iter()
            .filter(|(_, leading, _)| leading.is_valid())
            .count()
    };
    assert_eq!(count(&replicas), 1);
    assert_eq!(shelf.holder(), "a");

    stop.send(()).unwrap();
    leader.await.unwrap().unwrap();
    assert!(!replicas[0].1.is_valid());
    soon("another one leads", || count(&replicas) == 1).await;
    assert_ne!(shelf.holder(), "a");
}

#[tokio::test]
async fn a_holder_that_cannot_renew_stops_before_the_lease_runs_out_and_says_so() {
    let shelf = Arc::new(Shelf::default());
    let (elector, leading) = Elector::new(Arc::clone(&shelf), "a".to_owned(), QUICK);
    let running = tokio::spawn(elector.run(std::future::pending()));
    leading.acquired().await;
    shelf.away.store(true, Ordering::Relaxed);
    let away = Instant::now();
    let lost = running.await.unwrap().unwrap_err();
    assert!(away.elapsed() < QUICK.lease, "{:?}", away.elapsed());
    assert_eq!(lost.to_string(), "it could not be renewed in time");
    assert!(!leading.is_valid());
}

#[tokio::test]
async fn a_holder_whose_lease_another_one_took_or_somebody_deleted_stops_at_its_next_look() {
    for taken in [true, false] {
        let shelf = Arc::new(Shelf::default());
        let (elector, leading) = Elector::new(Arc::clone(&shelf), "a".to_owned(), QUICK);
        let running = tokio::spawn(elector.run(std::future::pending()));
        leading.acquired().await;
        {
            let mut lease = shelf.lease.lock().unwrap();
            if taken {
                lease.as_mut().unwrap().holder = "b".to_owned();
            } else {
                *lease = None;
            }
        }
        let ended = tokio::time::timeout(QUICK.lease * 4, running).await;
        let lost = ended.expect("it leads on").unwrap().unwrap_err();
        assert_eq!(
            lost.to_string(),
            "another replica has it, or it was deleted"
        );
    }
}

#[tokio::test]
async fn work_that_was_decided_before_a_pause_is_not_carried_out_after_it() {
    let (until, leading) = watch::channel(Some(Instant::now() + Duration::from_secs(60)));
    let leading = Leading(Some(leading));
    let wrote = Arc::new(AtomicBool::new(false));
    let (answer, answered) = tokio::sync::oneshot::channel::<()>();
    let work = {
        let (leading, wrote) = (leading.clone(), Arc::clone(&wrote));
        tokio::spawn(async move {
            leading
                .gate(async {
                    answered.await.ok();
                    wrote.store(true, Ordering::Relaxed);
                })
                .await;
        })
    };
    tokio::task::yield_now().await;
    // The clock went on while the process stood still; nobody told the gate.
    until.send_replace(Some(Instant::now()));
    answer.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!work.is_finished() && !wrote.load(Ordering::Relaxed));
    assert_eq!(Leading::always().gate(async { 7 }).await, 7);
}

#[test]
fn two_processes_of_one_host_have_different_identities() {
    assert_ne!(identity(), identity());
}

/// Two candidates share one shelf.
impl<L: Leases> Leases for Arc<L> {
    async fn read(&self) -> Result<Option<Held>, Failure> {
        L::read(self).await
    }

    async fn write(&self, record: &Record, version: Option<&str>) -> Result<(), Failure> {
        L::write(self, record, version).await
    }
}
