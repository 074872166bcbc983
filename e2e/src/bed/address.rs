//! Where the parts of a bed are reached: on loopback, or on the bridge of a bed with a node.
//!
//! Decides by the run folder alone, so that a bed that was taken up again has the same addresses.

use std::net::Ipv4Addr;

use super::folder::RunFolder;

/// The node's bridge, in the bed's own network namespace: pods reach everything here.
pub const BRIDGE: Ipv4Addr = Ipv4Addr::new(10, 244, 0, 1);
/// The API server as in-cluster configuration finds it.
pub const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The pods' addresses.
pub const PODS: &str = "10.244.0.0/24";

/// Whether the bed has a node.
#[must_use]
pub fn has_node(run: &RunFolder) -> bool {
    run.join("node").is_dir()
}

/// The address on which the bed's servers are reached.
#[must_use]
pub fn of(run: &RunFolder) -> Ipv4Addr {
    if has_node(run) {
        BRIDGE
    } else {
        Ipv4Addr::LOCALHOST
    }
}

/// All addresses that a serving certificate of the bed names.
#[must_use]
pub fn served(run: &RunFolder) -> Vec<Ipv4Addr> {
    let mut addresses = vec![Ipv4Addr::LOCALHOST];
    if has_node(run) {
        addresses.extend([BRIDGE, SERVICE]);
    }
    addresses
}
