//! The PostgreSQL adapter against the bed's server.

mod access;
mod creating;
mod deleting;
mod drift;
mod load;
mod preflight;
mod world;
