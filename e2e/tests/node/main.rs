//! The chart on a real node: pods from the image, the webhook by its Service, replicas that come and go.
//!
//! Every story has a bed with a node of its own and its name begins with `alone_`. `make test` leaves this binary out where no
//! node can run, and says why. The image is the one of `make image`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story fails by panicking"
)]

mod installed;
mod load;
mod replaced;
mod scene;
mod scraped;
