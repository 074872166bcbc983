//! One kind's cache: a table that readers share, filled by a watch.
//!
//! A new list replaces the table as a whole once it is complete. What an object becomes is decided by the [`Table`]; nothing slow is
//! computed while readers wait.

use std::mem;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::view::Listed;

/// What is kept of a kind.
pub(super) trait Table: Default {
    /// What becomes of an object.
    type Entry;

    /// A table for a new list, in the same surroundings.
    fn empty(&self) -> Self {
        Self::default()
    }

    /// Keeps an entry in place of an earlier one of the same object.
    fn put(&mut self, entry: Self::Entry);

    /// Forgets an object.
    fn remove(&mut self, namespace: &str, name: &str);
}

/// A table, and whether it was filled for the first time.
pub(super) struct Cache<T> {
    table: RwLock<T>,
    /// The list that is being read.
    next: Mutex<T>,
    pub(super) listed: Listed,
}

impl<T: Default> Default for Cache<T> {
    fn default() -> Self {
        Self {
            table: RwLock::default(),
            next: Mutex::default(),
            listed: Listed::default(),
        }
    }
}

impl<T: Table> Cache<T> {
    /// The table now.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the surroundings of all tables.
    pub(super) fn change(&self, change: impl Fn(&mut T)) {
        self.in_place(&change);
        self.in_next(change);
    }

    /// A list begins.
    pub(super) fn begin(&self) {
        let empty = self.read().empty();
        self.in_next(|next| *next = empty);
    }

    /// An object of the list.
    pub(super) fn list(&self, entry: T::Entry) {
        self.in_next(|next| next.put(entry));
    }

    /// The list is complete.
    pub(super) fn complete(&self) {
        let empty = self.read().empty();
        let mut whole = empty;
        self.in_next(|next| mem::swap(next, &mut whole));
        self.in_place(|table| *table = whole);
        self.listed.mark();
    }

    /// The kind is not served: nothing is there, and that is known (S28).
    pub(super) fn unserved(&self) {
        self.begin();
        self.complete();
    }

    /// An object is new or changed.
    pub(super) fn put(&self, entry: T::Entry) {
        self.in_place(|table| table.put(entry));
    }

    /// An object is gone.
    pub(super) fn remove(&self, namespace: &str, name: &str) {
        self.in_place(|table| table.remove(namespace, name));
    }

    fn in_place(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.table.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn in_next(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.next.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
