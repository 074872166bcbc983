//! The PostgreSQL adapter against the bed's server.

mod access;
mod creating;
mod deleting;
mod drift;
mod load;
mod ownership;
mod preflight;
mod world;
