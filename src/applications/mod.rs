//! Applications as this process serves them: what is cached of packages and grants, and what a cluster is.
//!
//! Caches fill on every replica, because every replica answers the webhook. It decides no rule: the domain does, asked by the webhook.

mod cache;
#[cfg(feature = "failpoints")]
mod double;
mod follow;
pub mod platform;
pub mod view;

use std::sync::Arc;

use webhook::{NoChecks, SettingsChecks};

pub use self::follow::Follow;

/// The packages' settings checks. No bundle is loaded yet: a change is allowed with a warning.
#[must_use]
pub fn checks() -> Arc<dyn SettingsChecks> {
    #[cfg(feature = "failpoints")]
    if let Some(double) = double::Double::armed() {
        return Arc::new(double);
    }
    Arc::new(NoChecks)
}
