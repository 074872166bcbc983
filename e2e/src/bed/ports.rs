//! Free ports on loopback.
//!
//! Chosen below the kernel's ephemeral range, so that no outgoing connection takes one while its server is stopped.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Result, bail};

const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A port on which nobody listens, on 127.0.0.1 and 127.0.0.2 (stories reach PostgreSQL by both).
pub fn free_port() -> Result<u16> {
    for _ in 0..200 {
        let port = rand::random_range(RANGE);
        let free = |last| TcpListener::bind((Ipv4Addr::new(127, 0, 0, last), port)).is_ok();
        if free(1) && free(2) {
            return Ok(port);
        }
    }
    bail!("no free port between {} and {}", RANGE.start, RANGE.end);
}
