//! The ExternalSecret of a tenant on the bed: a real API server, External Secrets Operator and OpenBao.

mod delivery;
mod refusals;
mod world;
