//! Admission over HTTP: bytes in, the domain's verdict out.
//!
//! Decides how a review is read, how much is taken in at once and how an answer reads. The rules are the `domain` crate's, by
//! the same parse that the reconcilers do. It does no IO of its own beyond the request: no clients, no SQL, and what it knows of the
//! cluster comes from caches through [`ClusterView`].

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use domain::tenancy::endpoint::AddressPolicy;
use tower_http::catch_panic::CatchPanicLayer;

mod answer;
mod application;
mod checks;
mod handler;
mod instance;
mod limits;
mod object;
mod offline;
mod parts;
mod ports;
mod refusal;
mod review;
mod strict;
mod tenant;
mod unreadable;

pub use answer::{CAUSES_MAX, Cause, WARNING_MAX, WARNINGS_MAX};
pub use application::{ApplicationView, Applications, KnownVersion};
pub use checks::{NoChecks, Question, SettingsChecks};
pub use limits::Limits;
pub use object::{APPLICATION_SPEC_MAX, SPEC_MAX};
pub use offline::{field_error, for_terminal, judge_manifest};
pub use ports::{ClusterView, Decision, Decisions, Operation, Outcome, Route};
pub use refusal::Refusal;
pub use review::{NotAReview, UID_MAX};
pub use unreadable::Unreadable;

/// The stack that the threads of the runtime must have, blocking ones included, in bytes: rules of packages recurse on them. Half of
/// it is for what is below the rules.
pub const STACK_BYTES: usize = 2 * domain::settings::rules::limits::STACK_BYTES;

/// What the webhooks need of the process.
pub struct Admission {
    /// What is cached of the cluster.
    pub cluster: Arc<dyn ClusterView>,
    /// Which addresses an Instance may not have (D17).
    pub addresses: AddressPolicy,
    /// What Applications are judged by; `None` if this process serves none.
    pub applications: Option<Applications>,
    /// Who counts.
    pub decisions: Arc<dyn Decisions>,
    /// How much is taken in at once.
    pub limits: Limits,
}

/// The webhooks, each at its [`Route::path`]. It has no fallback of its own, so it can be merged with other routes.
pub fn router(admission: Admission) -> Router {
    let shared = Arc::new(handler::Shared::new(admission));
    let routes = Route::ALL.into_iter().fold(Router::new(), |router, route| {
        let shared = Arc::clone(&shared);
        router.route(
            route.path(),
            post(move |request: Request| handler::admit(Arc::clone(&shared), route, request)),
        )
    });
    // The judges' own panics are caught nearer to them; this is for an observer that panics.
    routes.route_layer(CatchPanicLayer::custom(|_| -> Response {
        Refusal::Panicked.into_response()
    }))
}
