//! Crash plans: where the process dies, and what must be there when it did.
//!
//! A path lists effects in the order of the contract with what each changes; it says nothing about how they are provoked.

use std::collections::BTreeSet;
use std::fmt;

/// On which side of an effect the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// The request was not sent.
    Before,
    /// The request was answered, and nobody heard it: also what a lost response looks like.
    After,
}

/// One failpoint at which an object of its own is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Plan {
    /// The effect's id.
    pub id: &'static str,
    /// Before or after it.
    pub point: Point,
}

impl Plan {
    /// The name of the object that is caught: the failpoint's, without the kind in front.
    pub fn name(self) -> String {
        let failpoint = self.to_string();
        let (_kind, rest) = failpoint.split_once('.').unwrap();
        rest.replace('.', "-")
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let point = match self.point {
            Point::Before => "before",
            Point::After => "after",
        };
        write!(f, "{}.{point}", self.id)
    }
}

/// Both points of each effect. In this order the failpoint before is spent when the next object comes by.
pub fn both(ids: impl IntoIterator<Item = &'static str>) -> Vec<Plan> {
    ids.into_iter()
        .flat_map(|id| [Point::Before, Point::After].map(|point| Plan { id, point }))
        .collect()
}

/// Something in a store that an effect makes or removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// Our finalizer is on.
    Finalizer,
    /// Status has a `Ready` condition: of `Pending` nothing else is written.
    Condition,
    /// The registry has a row.
    Claim,
    /// The row holds a frozen deletion policy.
    Frozen,
    /// The row is marked as unmanaged.
    Unmanaged,
    /// OpenBao has a version of the password.
    Entry,
    /// The entry's custom metadata carry an owner.
    Mark,
    /// The role is there.
    Role,
    /// It may log in.
    Login,
    /// It has a session.
    Session,
    /// The database is there.
    Database,
    /// `PUBLIC` may not connect to it.
    Closed,
    /// The extension is installed in it.
    Extension,
    /// Its OID is in the row.
    Record,
    /// The ExternalSecret is there.
    ExternalSecret,
    /// The management database has a registry.
    Registry,
}

/// What is found of an object in all stores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// `status.phase`; empty without one, or without the object.
    pub phase: String,
    /// What else is there.
    pub facts: BTreeSet<Fact>,
}

impl Traces {
    /// These facts under this phase.
    pub fn new(phase: &str, facts: impl IntoIterator<Item = Fact>) -> Self {
        Self {
            phase: phase.to_owned(),
            facts: facts.into_iter().collect(),
        }
    }

    /// After one effect more.
    fn then(mut self, step: &Step) -> Self {
        if let Some(phase) = step.phase {
            phase.clone_into(&mut self.phase);
        }
        self.facts.extend(step.makes);
        self.facts.retain(|fact| !step.removes.contains(fact));
        self
    }
}

/// An effect on a path.
pub struct Step {
    /// Its id.
    pub id: &'static str,
    phase: Option<&'static str>,
    makes: &'static [Fact],
    removes: &'static [Fact],
}

/// An effect that leaves no trace of its own.
pub const fn effect(id: &'static str) -> Step {
    Step {
        id,
        phase: None,
        makes: &[],
        removes: &[],
    }
}

impl Step {
    /// It saves this phase.
    pub const fn saves(self, phase: &'static str) -> Self {
        Self {
            phase: Some(phase),
            ..self
        }
    }

    /// It makes these.
    pub const fn makes(self, makes: &'static [Fact]) -> Self {
        Self { makes, ..self }
    }

    /// It removes these.
    pub const fn removes(self, removes: &'static [Fact]) -> Self {
        Self { removes, ..self }
    }
}

/// What is there when the process died at the failpoint of `plan`, on a path that began with `start`.
pub fn left(start: &Traces, path: &[Step], plan: Plan) -> Traces {
    let position = path.iter().position(|step| step.id == plan.id).unwrap();
    let done = match plan.point {
        Point::Before => position,
        Point::After => position + 1,
    };
    through(start, &path[..done])
}

/// What is there at the end of a path.
pub fn through(start: &Traces, path: &[Step]) -> Traces {
    path.iter().fold(start.clone(), Traces::then)
}
