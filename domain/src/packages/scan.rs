//! When a repository is scanned, and what a scan reads (settings contract, section 1.4).
//!
//! A scan is an operation: an object that a person makes, or that is made here when the interval has passed. One at a time is run, the
//! oldest first. How long a failed one is waited for follows from the operations that are kept, so it survives a restart. No clock and no
//! registry here: both come in as facts.

use std::time::Duration;

use jiff::Timestamp;

use super::version::{Found, Loaded};

/// Between scans when the specification does not say.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(6 * 3600);
/// The shortest interval; a shorter one counts as this.
pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);
/// How long a scan may take when its operation does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);
/// After the first failure in a row; doubled by each further one, up to the interval.
pub const FIRST_RETRY: Duration = Duration::from_secs(15);
/// Ended operations that are kept of each repository.
pub const KEPT_OPERATIONS: usize = 10;

/// A text that is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no length of time: write hours, minutes and seconds as in 6h or 1h30m")]
pub struct NoDuration {
    text: String,
}

/// Hours, minutes and seconds, such as `1h30m`; an empty text is no time at all.
///
/// # Errors
/// [`NoDuration`] for any other text.
pub fn duration(text: &str) -> Result<Duration, NoDuration> {
    let wrong = || NoDuration {
        text: text.chars().take(40).collect(),
    };
    let (mut rest, mut seconds) = (text, 0_u64);
    for (unit, length) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number = number.parse::<u64>().ok().filter(|_| digits);
            let part = number.and_then(|number| number.checked_mul(length));
            seconds = part
                .and_then(|part| seconds.checked_add(part))
                .ok_or_else(wrong)?;
            rest = after;
        }
    }
    if rest.is_empty() {
        Ok(Duration::from_secs(seconds))
    } else {
        Err(wrong())
    }
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not begun.
    Pending,
    /// Under way, or cut off by the end of a process.
    Processing,
    /// Everything was looked at.
    Completed,
    /// Something could not be looked at.
    Failed,
}

impl Phase {
    /// As the status has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Processing => "Processing",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
        }
    }

    /// What a status says; anything else is an operation that was not begun.
    #[must_use]
    pub fn parse(word: Option<&str>) -> Self {
        let known = [Self::Processing, Self::Completed, Self::Failed];
        let known = known.into_iter().find(|phase| word == Some(phase.as_str()));
        known.unwrap_or(Self::Pending)
    }

    /// True if nothing is left to do.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// An operation of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// How far it is.
    pub phase: Phase,
}

/// What is known of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// It is being deleted.
    pub deleting: bool,
    /// Its status says so already.
    pub terminating: bool,
    /// Between scans.
    pub interval: Duration,
    /// When the last scan ended.
    pub last_scan: Option<Timestamp>,
    /// The last scan was of the specification as it is now.
    pub scanned_as_specified: bool,
    /// Its operations, in any order.
    pub operations: Vec<Operation>,
    /// Now.
    pub now: Timestamp,
}

/// What is next for a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanStep {
    /// Save that it is being deleted.
    Terminate,
    /// Run this operation.
    Run(String),
    /// Delete an operation that ended long ago.
    Forget(String),
    /// Make an operation; a full one looks at every version again.
    Begin {
        /// Every version, or those alone that are not published.
        full: bool,
    },
    /// Nothing before this time has passed.
    Rest(Duration),
}

/// The next step.
#[must_use]
pub fn decide(facts: &Facts) -> ScanStep {
    match (facts.deleting, facts.terminating) {
        (true, false) => return ScanStep::Terminate,
        (true, true) => return ScanStep::Rest(facts.interval),
        (false, _) => {}
    }
    let mut operations: Vec<&Operation> = facts.operations.iter().collect();
    operations.sort_by_key(|operation| (operation.created, &operation.name));
    if let Some(next) = operations.iter().find(|known| !known.phase.has_ended()) {
        return ScanStep::Run(next.name.clone());
    }
    if operations.len() > KEPT_OPERATIONS
        && let Some(oldest) = operations.first()
    {
        return ScanStep::Forget(oldest.name.clone());
    }
    let failures = operations
        .iter()
        .rev()
        .take_while(|operation| operation.phase == Phase::Failed)
        .count();
    let Some(last) = facts.last_scan.filter(|_| facts.scanned_as_specified) else {
        return ScanStep::Begin { full: true };
    };
    let since = Duration::try_from(facts.now.duration_since(last)).unwrap_or_default();
    match pause(failures, facts.interval).checked_sub(since) {
        Some(left) if !left.is_zero() => ScanStep::Rest(left),
        _ => ScanStep::Begin { full: false },
    }
}

/// Between the end of a scan and the next, after so many failures in a row.
fn pause(failures: usize, interval: Duration) -> Duration {
    let interval = interval.max(SHORTEST_INTERVAL);
    let Some(doublings) = failures.checked_sub(1) else {
        return interval;
    };
    let factor = u32::try_from(doublings)
        .ok()
        .and_then(|doublings| 1_u32.checked_shl(doublings))
        .unwrap_or(u32::MAX);
    FIRST_RETRY.saturating_mul(factor).min(interval)
}

/// True if a scan reads the files of a version: always in a full one, else only while what is on offer is not published.
#[must_use]
pub fn reads(found: &Found, full: bool) -> bool {
    match found {
        Found::Absent => true,
        Found::Another | Found::Deleting => false,
        Found::Recorded(record) => {
            let loaded = record.loaded.as_ref().is_some_and(Loaded::is_true);
            full || !loaded || record.publication.is_none()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::publication::{LoadReason, Publication};
    use crate::packages::version::VersionRecord;

    const HOUR: Duration = Duration::from_secs(3600);

    fn at(second: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(second.unsigned_abs())
    }

    fn operation(name: &str, second: i64, phase: Phase) -> Operation {
        Operation {
            name: name.to_owned(),
            created: at(second),
            phase,
        }
    }

    fn scanned_at(second: i64, operations: Vec<Operation>) -> Facts {
        Facts {
            deleting: false,
            terminating: false,
            interval: HOUR,
            last_scan: Some(at(second)),
            scanned_as_specified: true,
            operations,
            now: at(10_000),
        }
    }

    #[test]
    fn an_interval_is_hours_minutes_and_seconds_in_this_order() {
        for (text, seconds) in [
            ("6h", 21_600),
            ("1h30m", 5_400),
            ("90s", 90),
            ("2h5s", 7_205),
            ("", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in [
            "6",
            "h",
            "30m1h",
            "1.5h",
            "-1h",
            "1d",
            "6h ",
            "+1h",
            "99999999999999999999h",
        ] {
            let told = duration(bad).expect_err(bad).to_string();
            assert!(told.contains("such") || told.contains("6h"), "{told}");
        }
    }

    #[test]
    fn a_repository_that_was_never_scanned_or_changed_since_is_scanned_in_full_at_once() {
        let mut facts = scanned_at(9_999, Vec::new());
        facts.scanned_as_specified = false;
        assert_eq!(decide(&facts), ScanStep::Begin { full: true });
        facts = scanned_at(9_999, Vec::new());
        facts.last_scan = None;
        assert_eq!(decide(&facts), ScanStep::Begin { full: true });
    }

    #[test]
    fn the_interval_counts_from_the_end_of_the_last_scan() {
        let facts = scanned_at(9_000, Vec::new());
        assert_eq!(decide(&facts), ScanStep::Rest(Duration::from_secs(2_600)));
        let facts = scanned_at(10_000 - 3_600, Vec::new());
        assert_eq!(decide(&facts), ScanStep::Begin { full: false });
        // A clock that was set back does not stop scans for longer than an interval.
        let facts = scanned_at(20_000, Vec::new());
        assert_eq!(decide(&facts), ScanStep::Rest(HOUR));
    }

    #[test]
    fn a_very_short_interval_counts_as_ten_seconds() {
        let mut facts = scanned_at(9_995, Vec::new());
        facts.interval = Duration::ZERO;
        assert_eq!(decide(&facts), ScanStep::Rest(Duration::from_secs(5)));
    }

    #[test]
    fn the_oldest_operation_that_has_not_ended_is_run_also_one_that_was_cut_off() {
        let facts = scanned_at(
            9_999,
            vec![
                operation("c", 30, Phase::Pending),
                operation("b", 20, Phase::Processing),
                operation("a", 10, Phase::Completed),
            ],
        );
        assert_eq!(decide(&facts), ScanStep::Run("b".to_owned()));
    }

    #[test]
    fn failures_in_a_row_wait_15_s_doubling_up_to_the_interval() {
        let failed = |count: i64| {
            let ended = (0..count).map(|number| operation("f", number, Phase::Failed));
            scanned_at(10_000, ended.collect())
        };
        for (count, seconds) in [(1, 15), (2, 30), (3, 60), (4, 120), (9, 3_600), (10, 3_600)] {
            let expected = ScanStep::Rest(Duration::from_secs(seconds));
            assert_eq!(decide(&failed(count)), expected, "{count}");
        }
        let mut again = failed(5);
        again.operations.push(operation("g", 60, Phase::Completed));
        assert_eq!(decide(&again), ScanStep::Rest(HOUR));
    }

    #[test]
    fn ten_operations_that_ended_are_kept_and_the_oldest_goes_first() {
        let ended =
            (0..11).map(|number| operation(&format!("o{number}"), number, Phase::Completed));
        let facts = scanned_at(10_000, ended.collect());
        assert_eq!(decide(&facts), ScanStep::Forget("o0".to_owned()));
    }

    #[test]
    fn a_repository_that_is_being_deleted_says_so_once_and_is_scanned_no_more() {
        let mut facts = scanned_at(0, vec![operation("a", 1, Phase::Pending)]);
        facts.deleting = true;
        assert_eq!(decide(&facts), ScanStep::Terminate);
        facts.terminating = true;
        assert_eq!(decide(&facts), ScanStep::Rest(HOUR));
    }

    #[test]
    fn a_partial_scan_reads_what_is_not_published_and_a_full_one_everything_that_is_ours() {
        let record = |reason, publication| {
            Found::Recorded(Box::new(VersionRecord {
                loaded: Some(Loaded {
                    reason,
                    message: String::new(),
                }),
                publication,
                ..VersionRecord::default()
            }))
        };
        let published = record(LoadReason::Loaded, Some(Publication::default()));
        assert!(!reads(&published, false));
        assert!(reads(&published, true));
        let broken = record(LoadReason::InvalidSchema, Some(Publication::default()));
        assert!(reads(&broken, false), "it may have been mended");
        assert!(reads(&record(LoadReason::Loaded, None), false));
        assert!(reads(&Found::Absent, false));
        assert!(!reads(&Found::Another, true), "S27: it is not ours");
        assert!(!reads(&Found::Deleting, true));
    }
}
