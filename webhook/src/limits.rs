//! How much work is taken in at once: bytes, places and time.
//!
//! Decides when a request is shed (H3, H4): one body's size, all bodies' bytes, reviews that run, reviews that wait, and the
//! one deadline for everything. What is over a limit is refused at once, because the API server's own retry is cheaper than a
//! queue that nobody waits for. It never looks into a body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ports::Route;
use crate::refusal::Refusal;

/// In what pieces a body is taken in; nearly all reviews fit the first.
const PIECE: usize = 64 << 10;

/// The limits of the webhook, for all routes together.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of one body. By default 7 MiB, as controller-runtime has it: two objects of 3 MB and the rest.
    pub body: usize,
    /// The most bytes of all bodies that are held at once. By default 32 MiB, which keeps the process below the 128 MB of H4.
    /// A body of more than 64 kB counts twice for the moment in which its pieces are joined.
    pub bodies: usize,
    /// The most reviews that are judged at once. By default 16.
    pub running: usize,
    /// The most requests that are read or wait for their turn beside those. By default 512.
    pub waiting: usize,
    /// The most Applications that are judged at once, of all those. By default 4: each may hold a thread for as long as the rules of its
    /// package may take.
    pub applications: usize,
    /// The most settings checks of packages that run at once, beside all those. By default 4.
    pub checks: usize,
    /// How long one settings check may take, waiting for its turn included; it ends with the request's deadline at the latest. By
    /// default 3 s.
    pub check: Duration,
    /// From the head of a request until its answer, reading the body included. By default 4 s; it must be below
    /// `timeoutSeconds` of the webhook configuration.
    pub deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 7 << 20,
            bodies: 32 << 20,
            running: 16,
            waiting: 512,
            applications: 4,
            checks: 4,
            check: Duration::from_secs(3),
            deadline: Duration::from_secs(4),
        }
    }
}

/// The places and bytes that are left.
#[derive(Debug)]
pub(crate) struct Gate {
    body: usize,
    bytes: Arc<Semaphore>,
    places: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    application_turns: Arc<Semaphore>,
}

/// A body that is held in memory; its room counts until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    /// The bytes.
    pub bytes: Vec<u8>,
    room: usize,
    _counted: OwnedSemaphorePermit,
}

impl Gate {
    pub(crate) fn new(limits: &Limits) -> Self {
        let semaphore =
            |permits: usize| Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        Self {
            body: limits.body,
            bytes: semaphore(limits.bodies),
            places: semaphore(limits.running.saturating_add(limits.waiting)),
            turns: semaphore(limits.running),
            application_turns: semaphore(limits.applications),
        }
    }

    /// A place for one request, held until it is answered.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.places)
            .try_acquire_owned()
            .map_err(|_| Refusal::Busy)
    }

    /// The turn to judge a body; waits for it. A judge that overruns its deadline keeps its turn until it has ended. Applications have
    /// turns of their own, so that a slow rule of a package makes no other kind wait.
    pub(crate) async fn turn(&self, route: Route) -> Result<OwnedSemaphorePermit, Refusal> {
        let turns = match route {
            Route::Instance | Route::Tenant => &self.turns,
            Route::Application => &self.application_turns,
        };
        Arc::clone(turns)
            .acquire_owned()
            .await
            .map_err(|_| Refusal::Busy)
    }

    /// The whole body. Room is counted before it is taken and grows with what has arrived, so announcing much holds
    /// nothing. Pieces of one size leave no gaps in the heap; they are joined, and counted once more, at the end.
    pub(crate) async fn read(&self, body: Body) -> Result<Held, Refusal> {
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > self.body {
            return Err(Refusal::TooLarge);
        }
        let first = if announced == 0 {
            PIECE
        } else {
            announced.min(PIECE)
        };
        let mut pieces = vec![self.hold(first)?];
        let mut length = 0_usize;
        let mut frames = body.into_data_stream();
        while let Some(frame) = frames.next().await {
            let frame = frame.map_err(|_| Refusal::Interrupted)?;
            length = length.saturating_add(frame.len());
            if length > self.body {
                return Err(Refusal::TooLarge);
            }
            self.append(&frame, &mut pieces)?;
        }
        self.join(pieces, length)
    }

    fn append(&self, mut bytes: &[u8], pieces: &mut Vec<Held>) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            bytes = match pieces.last_mut().map(|piece| piece.fill(bytes)) {
                Some(rest) if rest.len() < bytes.len() => rest,
                _ => {
                    pieces.push(self.hold(PIECE)?);
                    bytes
                }
            };
        }
        Ok(())
    }

    fn join(&self, mut pieces: Vec<Held>, length: usize) -> Result<Held, Refusal> {
        if pieces.len() == 1
            && let Some(only) = pieces.pop()
        {
            return Ok(only);
        }
        let mut whole = self.hold(length)?;
        for piece in pieces {
            whole.bytes.extend_from_slice(&piece.bytes);
        }
        Ok(whole)
    }

    fn hold(&self, room: usize) -> Result<Held, Refusal> {
        let permits = u32::try_from(room).map_err(|_| Refusal::TooLarge)?;
        let counted = Arc::clone(&self.bytes)
            .try_acquire_many_owned(permits)
            .map_err(|_| Refusal::Busy)?;
        Ok(Held {
            bytes: Vec::with_capacity(room),
            room,
            _counted: counted,
        })
    }
}

impl Held {
    /// Takes what there is room for and gives back the rest.
    fn fill<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let spare = self.room.saturating_sub(self.bytes.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(spare);
        self.bytes.extend_from_slice(taken);
        rest
    }
}
