//! The OpenBao adapter against a real server.

mod entries;
mod login;
mod refusals;
mod server;
