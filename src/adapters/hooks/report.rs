//! What `tenantry hook-exec` tells the process that started it: one JSON object a line.

use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The second stage is there, in a process group of its own.
    Started {
        /// The group.
        group: i32,
    },
    /// The program was not started.
    NotStarted(String),
    /// The program has ended, and nothing of it is left.
    Ended {
        /// Its exit status, if it exited.
        exit: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
        /// Processes that it had left behind, which were ended.
        left: usize,
        /// Whether it was ended because too many processes ran.
        crowded: bool,
    },
}
