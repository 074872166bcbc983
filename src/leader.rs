//! Which replica runs the loops: client-go's election over one Lease, and the gate that shuts when the lease is not ours.
//!
//! It compares times of this process's monotonic clock only; what other clocks wrote into the Lease is shown, never believed.
//! A lease that was lost is not won again by this process: it ends, as controller-runtime's do, so that nothing in memory
//! outlives the right to act on it.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use domain::tenancy::failure::{Class, Failure};
use jiff::Timestamp;
use rand::RngExt as _;
use tokio::sync::watch;

/// Giving the lease back may not hold up the end of the process for longer.
const RELEASE: Duration = Duration::from_millis(400);

/// The Lease as one replica writes it and the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; empty if it was given back.
    pub holder: String,
    /// For how long after its last renewal nobody else may take it.
    pub duration: Duration,
    /// When the holder took it, by the holder's clock.
    pub acquired: Option<Timestamp>,
    /// When the holder renewed it last, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// How often it went to another holder.
    pub transitions: i32,
}

/// A record and the version it was read at.
#[derive(Clone, Debug)]
pub struct Held {
    /// The record.
    pub record: Record,
    /// The resourceVersion.
    pub version: String,
}

/// Where the Lease is kept.
pub trait Leases: Send + Sync {
    /// The Lease; `None` if there is none.
    ///
    /// # Errors
    /// The store's failure, classified.
    fn read(&self) -> impl Future<Output = Result<Option<Held>, Failure>> + Send;

    /// Writes the Lease if it is still at `version`; without one, only if there is none.
    ///
    /// # Errors
    /// [`Class::Stale`] if it is not; else the store's failure, classified.
    fn write(
        &self,
        record: &Record,
        version: Option<&str>,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// The election's times.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// For how long after the last renewal the others wait.
    pub lease: Duration,
    /// For how long after its last renewal the holder believes itself to be the holder; shorter than `lease`.
    pub renew: Duration,
    /// How long to wait between two tries.
    pub retry: Duration,
}

impl Times {
    /// Whether the holder stops before the others start.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        // As client-go asks: the wait before a try may be a fifth longer.
        self.lease > self.renew && self.renew > self.retry.mul_f64(1.2) && !self.retry.is_zero()
    }
}

/// Whether this process may run the loops, for whoever has to ask before acting.
#[derive(Clone)]
pub struct Leading(Option<watch::Receiver<Option<Instant>>>);

impl Leading {
    /// Without an election: always.
    #[must_use]
    pub fn always() -> Self {
        Self(None)
    }

    /// Of an election that the holder of the other end decides.
    #[cfg(test)]
    pub(crate) fn undecided() -> (watch::Sender<Option<Instant>>, Self) {
        let (until, leading) = watch::channel(None);
        (until, Self(Some(leading)))
    }

    /// True while the lease is ours by this process's clock.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|until| until.borrow().is_some_and(|until| Instant::now() < until))
    }

    /// Resolves once the lease is ours.
    pub async fn acquired(&self) {
        if let Some(until) = &self.0 {
            // The elector lives as long as the process; once it is gone, so is the hope to lead.
            if until.clone().wait_for(Option::is_some).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Lets `work` go on only while the lease is ours: looked at before each of its steps, so that a process that was paused
    /// does nothing with what it had decided before. Work that was stopped so never ends; the process does.
    pub async fn gate<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = Box::pin(work);
        poll_fn(|context| {
            if self.is_valid() {
                work.as_mut().poll(context)
            } else {
                Poll::Pending
            }
        })
        .await
    }
}

/// What to do about the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Move {
    /// Somebody else holds it.
    Wait,
    /// Take or renew it.
    Write(Record),
}

/// What a candidate has seen. Pure: it is told the time.
struct Candidate {
    identity: String,
    times: Times,
    observed: Option<(Record, Instant)>,
}

impl Candidate {
    fn consider(&mut self, found: Option<&Record>, now: Instant, clock: Timestamp) -> Move {
        let mine = |acquired, transitions| Record {
            holder: self.identity.clone(),
            duration: self.times.lease,
            acquired,
            renewed: Some(clock),
            transitions,
        };
        let Some(found) = found else {
            return Move::Write(mine(Some(clock), 0));
        };
        if found.holder == self.identity {
            return Move::Write(mine(found.acquired, found.transitions));
        }
        let since = match &self.observed {
            Some((record, since)) if record == found => *since,
            _ => now,
        };
        let next = mine(Some(clock), found.transitions.saturating_add(1));
        self.observed = Some((found.clone(), since));
        if !found.holder.is_empty() && now < since + found.duration {
            return Move::Wait;
        }
        Move::Write(next)
    }

    fn released(found: &Record, clock: Timestamp) -> Record {
        Record {
            holder: String::new(),
            // As client-go: zero is not a legal duration.
            duration: Duration::from_secs(1),
            acquired: Some(clock),
            renewed: Some(clock),
            transitions: found.transitions,
        }
    }
}

/// Takes the lease, renews it, and says when it is lost.
pub struct Elector<L> {
    leases: L,
    candidate: Candidate,
    until: watch::Sender<Option<Instant>>,
}

/// The lease is not ours any more.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Lost(String);

impl<L: Leases> Elector<L> {
    /// A candidate of this name.
    #[must_use]
    pub fn new(leases: L, identity: String, times: Times) -> (Self, Leading) {
        let (until, leading) = watch::channel(None);
        let elector = Self {
            leases,
            candidate: Candidate {
                identity,
                times,
                observed: None,
            },
            until,
        };
        (elector, Leading(Some(leading)))
    }

    /// Waits for the lease, then renews it until it is lost or `stop` resolves; then it is given back.
    ///
    /// # Errors
    /// [`Lost`], with the gate shut already.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> Result<(), Lost> {
        let mut stop = std::pin::pin!(stop);
        let lost = tokio::select! {
            biased;
            () = &mut stop => None,
            lost = self.lead() => Some(lost),
        };
        let held = self.until.send_replace(None).is_some();
        if let Some(lost) = lost {
            return Err(lost);
        }
        if held {
            self.release().await;
        }
        Ok(())
    }

    async fn lead(&mut self) -> Lost {
        let retry = self.candidate.times.retry;
        loop {
            match self.attempt(self.candidate.times.renew).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(failure) => tracing::warn!(%failure, "the lease could not be tried for"),
            }
            let longer: f64 = rand::rng().random_range(1.0..1.2);
            tokio::time::sleep(retry.mul_f64(longer)).await;
        }
        tracing::info!(identity = %self.candidate.identity, "leading");
        loop {
            tokio::time::sleep(retry).await;
            let left = self.until.borrow().map_or(Duration::ZERO, |until| {
                until.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Lost("it could not be renewed in time".to_owned());
            }
            match self.attempt(left).await {
                Ok(true) => {}
                Ok(false) => return Lost("another replica has it, or it was deleted".to_owned()),
                Err(failure) => tracing::warn!(%failure, "the lease could not be renewed"),
            }
        }
    }

    /// One try; true if the lease is ours from before the request on.
    async fn attempt(&mut self, limit: Duration) -> Result<bool, Failure> {
        let asked = Instant::now();
        let leading = self.until.borrow().is_some();
        let tried = tokio::time::timeout(limit, self.tried(leading)).await;
        let ours = match tried {
            Ok(Ok(ours)) => ours,
            Ok(Err(failure)) if failure.class == Class::Stale && !leading => false,
            Ok(Err(failure)) => return Err(failure),
            Err(_) => {
                return Err(Failure::new(
                    Class::Unavailable,
                    "the API server did not answer in time",
                ));
            }
        };
        if ours {
            // Counted from before the request: the others count from when they see it, which is later.
            self.until
                .send_replace(Some(asked + self.candidate.times.renew));
        }
        Ok(ours)
    }

    async fn tried(&mut self, leading: bool) -> Result<bool, Failure> {
        let found = self.leases.read().await?;
        let record = found.as_ref().map(|held| &held.record);
        if leading && record.is_none_or(|record| record.holder != self.candidate.identity) {
            return Ok(false);
        }
        match self
            .candidate
            .consider(record, Instant::now(), Timestamp::now())
        {
            Move::Wait => Ok(false),
            Move::Write(next) => {
                let version = found.as_ref().map(|held| held.version.as_str());
                self.leases.write(&next, version).await?;
                Ok(true)
            }
        }
    }

    /// Best effort: without it, the others wait for the lease to run out.
    async fn release(&self) {
        let given_back = async {
            let Some(held) = self.leases.read().await? else {
                return Ok(());
            };
            if held.record.holder != self.candidate.identity {
                return Ok(());
            }
            let record = Candidate::released(&held.record, Timestamp::now());
            self.leases.write(&record, Some(&held.version)).await
        };
        match tokio::time::timeout(RELEASE, given_back).await {
            Ok(Ok(())) => tracing::info!("the lease was given back"),
            Ok(Err(failure)) => tracing::warn!(%failure, "the lease could not be given back"),
            Err(_) => tracing::warn!("the lease could not be given back in time"),
        }
    }
}

/// A name that no other process has: the Pod's or host's, and something random.
#[must_use]
pub fn identity() -> String {
    let host = std::env::var("POD_NAME")
        .or_else(|_| std::env::var("HOSTNAME"))
        .ok()
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .unwrap_or_default();
    let host = match host.trim() {
        "" => "tenantry",
        host => host,
    };
    format!("{host}_{:016x}", rand::rng().random::<u64>())
}

#[cfg(test)]
mod tests;
