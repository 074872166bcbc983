//! Rules of `x-deckhouse-validations`: CEL expressions over a value and the value before it (section 5.3, S9, S10, S24).
//!
//! Reading order: [`limits`] (what is refused unread), [`types`], [`functions`] and [`check`] (what can never work), [`dialect`] and
//! [`pattern`] (where the interpreter is corrected), [`compile`] (all of these in a row), [`values`] (documents, read where they lie), [`cost`] (what is
//! refused before it runs), [`evaluate`] (one rule, one value); then [`decode`] (one node's rules), [`set`] (a schema's) and [`walk`] (on a document).
//!
//! Nothing here starts a thread or looks at a clock. The caller runs compiling and evaluating on a thread with
//! [`limits::STACK_BYTES`] of stack and sets a deadline; with the bounds of this module the deadline is never what ends a rule.

pub mod check;
pub mod compile;
pub mod cost;
pub mod decode;
pub mod dialect;
pub mod evaluate;
pub mod functions;
pub mod limits;
pub mod pattern;
pub mod set;
pub mod types;
pub mod values;
pub mod walk;
