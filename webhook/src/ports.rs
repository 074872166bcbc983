//! What the webhook asks of the process around it: what its caches hold, and who counts decisions.
//!
//! Both ports answer from memory and at once. Nothing here may reach for the network: admission does no call.

use std::time::Duration;

/// Read access to what the process has cached of the cluster.
pub trait ClusterView: Send + Sync {
    /// True once every store has been filled for the first time. Until then no rule that needs a store is applied; the
    /// controller judges again (D2).
    fn synced(&self) -> bool;

    /// `spec.endpoint.database` of an Instance; `None` while it is unknown.
    fn management_database(&self, instance: &str) -> Option<String>;

    /// The Tenants that name an Instance, each as `namespace/name` with the database that its status records.
    fn tenant_databases(&self, instance: &str) -> Vec<(String, String)>;
}

/// Counts reviews. The implementation hangs metrics on it; every value it sees is from a closed set (H37).
pub trait Decisions: Send + Sync {
    /// A request arrived at a route; exactly one [`decided`](Self::decided) follows, also when its caller goes away.
    fn begun(&self, route: Route);

    /// The request that `begun` announced has been answered.
    fn decided(&self, decision: &Decision);
}

/// How one request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Where it was asked.
    pub route: Route,
    /// What was to be done to the object.
    pub operation: Operation,
    /// What came of it.
    pub outcome: Outcome,
    /// From the head of the request until the answer was made.
    pub took: Duration,
}

impl Decision {
    /// True only for a review that was answered with `allowed: true`.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.outcome == Outcome::Allowed
    }

    /// The HTTP status of the answer, as controller-runtime's `code` label has it. One that nobody waited for counts as 499.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self.outcome {
            Outcome::Allowed | Outcome::Denied => 200,
            Outcome::Refused { status, .. } => status.as_u16(),
            Outcome::Abandoned => 499,
        }
    }
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A review with `allowed: true`.
    Allowed,
    /// A review with `allowed: false`.
    Denied,
    /// No review but an HTTP error.
    Refused {
        /// One of those of [`crate::Refusal`].
        status: axum::http::StatusCode,
        /// [`crate::Refusal::before_decode`].
        before_decode: Option<&'static str>,
    },
    /// The caller went away before the answer.
    Abandoned,
}

/// What is to be done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A new object.
    Create,
    /// An edit.
    Update,
    /// A deletion; never registered.
    Delete,
    /// A connection to a subresource; never registered.
    Connect,
    /// Not told, not readable or not known.
    Unknown,
}

impl Operation {
    /// The name in a review, and the metric label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Unknown => "UNKNOWN",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        [Self::Create, Self::Update, Self::Delete, Self::Connect]
            .into_iter()
            .find(|operation| operation.as_str() == text)
            .unwrap_or(Self::Unknown)
    }
}

/// Where a review is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where it was read, beside all other requests.
    AtOnce,
    /// On a thread that may be blocked.
    Apart,
}

/// The webhooks that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// `PostgreSQLInstance`, cluster-scoped.
    Instance,
    /// `PostgreSQLTenant`, namespaced.
    Tenant,
    /// `Application`, namespaced.
    Application,
}

impl Route {
    /// Every route.
    pub const ALL: [Self; 3] = [Self::Instance, Self::Tenant, Self::Application];
    /// Those of PostgreSQL tenancy.
    pub const TENANCY: [Self; 2] = [Self::Instance, Self::Tenant];

    /// The URL path; also controller-runtime's `webhook` label.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Instance => "/validate-database-ddupan-top-v1alpha1-postgresqlinstance",
            Self::Tenant => "/validate-database-ddupan-top-v1alpha1-postgresqltenant",
            Self::Application => "/validate/v1alpha1/applications",
        }
    }

    /// The API group of the kind.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::Instance | Self::Tenant => crds::GROUP,
            Self::Application => crds::applications::GROUP,
        }
    }

    /// The API version of the kind.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Instance | Self::Tenant => crds::VERSION,
            Self::Application => crds::applications::VERSION,
        }
    }

    /// The kind that is judged.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Instance => "PostgreSQLInstance",
            Self::Tenant => "PostgreSQLTenant",
            Self::Application => "Application",
        }
    }

    /// Its plural.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Instance => "postgresqlinstances",
            Self::Tenant => "postgresqltenants",
            Self::Application => "applications",
        }
    }

    /// True if objects of the kind live in a namespace.
    #[must_use]
    pub fn is_namespaced(self) -> bool {
        self != Self::Instance
    }

    /// The most bytes of a spec's JSON that are decoded; a longer one is refused by its length.
    #[must_use]
    pub fn spec_max(self) -> usize {
        match self {
            Self::Instance | Self::Tenant => crate::SPEC_MAX,
            Self::Application => crate::APPLICATION_SPEC_MAX,
        }
    }

    /// The largest body, in bytes, that may be judged where it was read: that takes less time than to hand it to another thread.
    /// Nearly all reviews are smaller. What packages make of a body is bounded less well.
    pub(crate) fn at_once_max(self) -> usize {
        match self {
            Self::Instance | Self::Tenant => 64 << 10,
            Self::Application => 16 << 10,
        }
    }
}
