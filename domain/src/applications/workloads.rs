//! Whether an Application's workloads are rolled out: the step `Scaled` (section 1.1).

use super::steps::{Reason, Standing, Why};

/// A `Deployment` or `StatefulSet`, as far as its rollout goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Its kind and name, such as `Deployment/web`.
    pub name: String,
    /// Pods that are wanted.
    pub wanted: i64,
    /// Pods of the newest template.
    pub updated: i64,
    /// Pods that are ready.
    pub ready: i64,
    /// Its controller saw the newest specification.
    pub observed: bool,
    /// Its controller gave up (a Deployment's `Progressing` is false).
    pub stuck: bool,
}

impl Workload {
    const fn is_rolled_out(&self) -> bool {
        self.observed && self.updated >= self.wanted && self.ready >= self.wanted
    }
}

/// How the step stands for these workloads; none are rolled out.
#[must_use]
pub fn scaled(workloads: &[Workload]) -> Standing {
    let mut late = workloads
        .iter()
        .filter(|workload| !workload.is_rolled_out())
        .peekable();
    let Some(first) = late.peek() else {
        return Standing::True;
    };
    let stuck = workloads.iter().any(|workload| workload.stuck);
    let reason = if stuck {
        Reason::Degraded
    } else {
        Reason::Reconciling
    };
    let text = format!(
        "{}: {} of {} pods are ready",
        first.name, first.ready, first.wanted
    );
    let more = late.count().saturating_sub(1);
    let text = match more {
        0 => text,
        more => format!("{text}, and {more} more workloads are not rolled out"),
    };
    Standing::False(Why::new(reason, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(name: &str, ready: i64) -> Workload {
        Workload {
            name: name.to_owned(),
            wanted: 2,
            updated: 2,
            ready,
            observed: true,
            stuck: false,
        }
    }

    #[test]
    fn everything_rolled_out_is_scaled_and_so_is_nothing() {
        assert_eq!(scaled(&[]), Standing::True);
        assert_eq!(scaled(&[workload("Deployment/a", 2)]), Standing::True);
    }

    #[test]
    fn what_is_late_is_named_and_what_is_stuck_degrades() {
        let told = |workloads: &[Workload]| match scaled(workloads) {
            Standing::False(why) => Some((why.reason, why.message)),
            _ => None,
        };
        let late = [workload("Deployment/a", 1), workload("StatefulSet/b", 0)];
        let expected =
            "Deployment/a: 1 of 2 pods are ready, and 1 more workloads are not rolled out";
        assert_eq!(
            told(&late),
            Some((Reason::Reconciling, expected.to_owned()))
        );
        let unseen = Workload {
            observed: false,
            ..workload("Deployment/a", 2)
        };
        assert!(
            told(&[unseen]).is_some(),
            "the numbers are of an older specification"
        );
        let stuck = Workload {
            stuck: true,
            ..workload("Deployment/a", 1)
        };
        assert!(told(&[stuck]).is_some_and(|(reason, _)| reason == Reason::Degraded));
    }
}
