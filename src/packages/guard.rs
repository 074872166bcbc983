//! A source that fails at a bound instead of ending, which would look like a short archive.
//!
//! Decides three bounds at once: how much comes out in all, how much comes out of how little, and how much may come between two
//! files, where the library keeps long names in memory.

use std::cell::Cell;
use std::error::Error;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The most bytes between two files: headers, long names, attributes.
const BETWEEN_MAX: u64 = 1 << 20;
/// The most bytes that may come out of one that is read, once 16 MiB came out. Text is packed to a twentieth, binaries
/// to a third; zeros to a thousandth.
pub const RATIO_MAX: u64 = 100;
/// From how many bytes on the ratio is looked at.
const RATIO_FROM: u64 = 16 << 20;

/// Which bound was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Bound {
    /// More than the whole may have.
    #[error("too large")]
    Size,
    /// Far more than what it was packed into.
    #[error("packed too tightly")]
    Ratio,
    /// More than [`BETWEEN_MAX`] between two files.
    #[error("a header is too long")]
    Header,
    /// More entries than the whole may have.
    #[error("too many entries")]
    Entries,
}

/// The bound that an error is about. The libraries put their own errors around what the source said.
pub(super) fn bound_of(error: &(dyn Error + 'static)) -> Option<Bound> {
    if let Some(bound) = error.downcast_ref::<Bound>() {
        return Some(*bound);
    }
    let within = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match within {
        Some(inner) => bound_of(inner),
        None => error.source().and_then(bound_of),
    }
}

/// What an archive may still do; shared between its reader and the loop over its entries.
#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes that may still come out in all.
    left: Cell<u64>,
    /// Bytes that may come out before the next file.
    window: Cell<u64>,
    /// Entries that may still come.
    entries: Cell<usize>,
    read: Cell<u64>,
    given: Cell<u64>,
}

impl Budget {
    pub(super) fn new(bytes: u64, entries: usize) -> Rc<Self> {
        Rc::new(Self {
            left: Cell::new(bytes),
            window: Cell::new(BETWEEN_MAX),
            entries: Cell::new(entries),
            read: Cell::new(0),
            given: Cell::new(0),
        })
    }

    /// Counts an entry; false if there are too many.
    pub(super) fn take_entry(&self) -> bool {
        let left = self.entries.get();
        self.entries.set(left.saturating_sub(1));
        left > 0
    }

    /// Lets the content of an entry pass, and what stands before the next.
    pub(super) fn open(&self, size: u64) {
        self.window.set(size.saturating_add(BETWEEN_MAX));
    }

    fn give(&self, bytes: u64) -> Result<(), Bound> {
        self.given.set(self.given.get().saturating_add(bytes));
        let take = |cell: &Cell<u64>, bound| {
            let left = cell.get().checked_sub(bytes).ok_or(bound)?;
            cell.set(left);
            Ok(())
        };
        take(&self.left, Bound::Size)?;
        take(&self.window, Bound::Header)?;
        let tight = self.given.get() > self.read.get().saturating_mul(RATIO_MAX);
        if self.given.get() > RATIO_FROM && tight {
            return Err(Bound::Ratio);
        }
        Ok(())
    }
}

/// Counts what is read.
pub(super) struct Counted<R> {
    pub(super) source: R,
    pub(super) budget: Rc<Budget>,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.count(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.source.consume(amount);
        self.count(amount);
    }
}

impl<R> Counted<R> {
    fn count(&self, bytes: usize) {
        let read = &self.budget.read;
        read.set(read.get().saturating_add(bytes as u64));
    }
}

/// Gives no more than the budget allows.
pub(super) struct Guarded<R> {
    pub(super) source: R,
    pub(super) budget: Rc<Budget>,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.budget.give(read as u64).map_err(io::Error::other)?;
        Ok(read)
    }
}
