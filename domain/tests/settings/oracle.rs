//! The validator against a second implementation.
