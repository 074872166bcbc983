//! Where a PostgreSQL server is and how its identity is checked.
//!
//! Decides the form of `spec.endpoint` (D11, D17). It never resolves a name and never connects.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::names::{Identifier, is_subdomain};
use crate::violation::{FieldPath, Kind, Violation};

/// TLS mode of every connection to the server; never silently downgraded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS without any verification.
    Require,
    /// TLS; the certificate's chain is verified, its names are not.
    VerifyCa,
    /// TLS; chain, DNS SAN against `host` and IP SAN against `hostaddr` (D11).
    VerifyFull,
}

impl SslMode {
    /// Every mode, weakest first.
    pub const ALL: &'static [Self] = &[
        Self::Disable,
        Self::Require,
        Self::VerifyCa,
        Self::VerifyFull,
    ];

    /// The name in the spec and in a libpq connection string.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// The mode with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.as_str() == text)
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A validated endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    host: String,
    hostaddr: IpAddr,
    port: u16,
    database: Identifier,
    ssl_mode: SslMode,
}

impl Endpoint {
    /// The DNS name that the certificate must cover; never dialled.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The address that is dialled.
    #[must_use]
    pub fn hostaddr(&self) -> IpAddr {
        self.hostaddr
    }

    /// TCP port, 1–65535.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The management database, which holds the registry.
    #[must_use]
    pub fn database(&self) -> &Identifier {
        &self.database
    }

    /// TLS mode.
    #[must_use]
    pub fn ssl_mode(&self) -> SslMode {
        self.ssl_mode
    }
}

/// `spec.endpoint` as written, defaults filled in.
#[derive(Clone, Copy, Debug)]
pub struct EndpointDraft<'a> {
    /// `host`.
    pub host: &'a str,
    /// `hostaddr`.
    pub hostaddr: &'a str,
    /// `port`.
    pub port: i64,
    /// `database`.
    pub database: &'a str,
    /// `sslMode`.
    pub ssl_mode: &'a str,
}

/// Ranges that `hostaddr` may never be in, whatever the deployment says (D17).
pub const DENIED_RANGES: &[&str] = &[
    "169.254.0.0/16",
    "fe80::/10",
    "224.0.0.0/4",
    "ff00::/8",
    "0.0.0.0/32",
    "::/128",
];

/// Which addresses the deployment refuses beside [`DENIED_RANGES`] (`--deny-hostaddr`, D17).
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    denied: Vec<IpNet>,
}

impl AddressPolicy {
    /// A policy with further denied ranges.
    #[must_use]
    pub fn denying(denied: Vec<IpNet>) -> Self {
        Self { denied }
    }

    fn refusal(&self, address: IpAddr) -> Option<String> {
        let fixed = DENIED_RANGES
            .iter()
            .filter_map(|range| range.parse::<IpNet>().ok());
        fixed
            .chain(self.denied.iter().copied())
            .find(|range| range.contains(&address))
            .map(|range| {
                format!(
                    "{address} is in the denied range {range}; use the server's own unicast address"
                )
            })
    }
}

impl EndpointDraft<'_> {
    /// The validated endpoint; what is wrong is added to `violations`, and then there is none.
    pub fn parse(
        &self,
        path: &FieldPath,
        policy: &AddressPolicy,
        violations: &mut Vec<Violation>,
    ) -> Option<Endpoint> {
        let host = self.parse_host(path, violations);
        let hostaddr = self.parse_hostaddr(path, policy, violations);
        let port = u16::try_from(self.port).ok().filter(|port| *port > 0);
        if port.is_none() {
            violations.push(Violation::new(
                path.child("port"),
                Kind::Invalid,
                "must be between 1 and 65535",
            ));
        }
        let database = Identifier::parse(self.database);
        if database.is_none() {
            violations.push(identifier_violation(path.child("database")));
        }
        let ssl_mode = SslMode::parse(self.ssl_mode);
        if ssl_mode.is_none() {
            violations.push(Violation::new(
                path.child("sslMode"),
                Kind::Unsupported,
                "must be one of disable, require, verify-ca, verify-full",
            ));
        }
        Some(Endpoint {
            host: host?,
            hostaddr: hostaddr?,
            port: port?,
            database: database?,
            ssl_mode: ssl_mode?,
        })
    }

    fn parse_host(&self, path: &FieldPath, violations: &mut Vec<Violation>) -> Option<String> {
        if is_subdomain(self.host) && self.host.parse::<IpAddr>().is_err() {
            return Some(self.host.to_owned());
        }
        violations.push(Violation::new(
            path.child("host"),
            Kind::Invalid,
            "must be a lower-case DNS name that the server's certificate covers, not an address; put the address into hostaddr",
        ));
        None
    }

    fn parse_hostaddr(
        &self,
        path: &FieldPath,
        policy: &AddressPolicy,
        violations: &mut Vec<Violation>,
    ) -> Option<IpAddr> {
        let field = path.child("hostaddr");
        let parsed = self
            .hostaddr
            .parse::<IpAddr>()
            .ok()
            .filter(|address| !is_mapped(*address));
        let Some(address) = parsed else {
            violations.push(Violation::new(
                field,
                Kind::Invalid,
                "must be one IPv4 or IPv6 address (no name, no port, no IPv4-mapped IPv6 address)",
            ));
            return None;
        };
        if let Some(refusal) = policy.refusal(address) {
            violations.push(Violation::new(field, Kind::Forbidden, refusal));
            return None;
        }
        Some(address)
    }
}

/// `::ffff:1.2.3.4` has two spellings of one address; certificates and deny ranges would see only one of them (D11).
fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some())
}

/// What is said of an identifier that breaks C1; the CRD says the same.
#[must_use]
pub fn identifier_violation(path: FieldPath) -> Violation {
    Violation::new(path, Kind::Invalid, IDENTIFIER_ADVICE)
}

/// The remedy for a name that breaks C1.
pub const IDENTIFIER_ADVICE: &str = "must be a PostgreSQL identifier: a lower-case letter, then lower-case letters, digits or underscores, at most 63 bytes";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(draft: EndpointDraft<'_>, policy: &AddressPolicy) -> Result<Endpoint, Vec<String>> {
        let mut violations = Vec::new();
        let endpoint = draft.parse(&FieldPath::new("spec.endpoint"), policy, &mut violations);
        endpoint.ok_or_else(|| violations.iter().map(|v| v.path.to_string()).collect())
    }

    fn draft<'a>() -> EndpointDraft<'a> {
        EndpointDraft {
            host: "pg.home.arpa",
            hostaddr: "192.0.2.10",
            port: 5432,
            database: "postgres",
            ssl_mode: "verify-full",
        }
    }

    #[test]
    fn a_legal_endpoint_is_kept_as_written() {
        let endpoint = parse(draft(), &AddressPolicy::default()).unwrap();
        assert_eq!(endpoint.host(), "pg.home.arpa");
        assert_eq!(endpoint.hostaddr().to_string(), "192.0.2.10");
        assert_eq!(endpoint.ssl_mode(), SslMode::VerifyFull);
    }

    #[test]
    fn d11_host_is_lower_case_and_no_address_and_a_mapped_address_is_illegal() {
        for host in [
            "",
            "PG.home.arpa",
            "192.0.2.1",
            "a_b",
            "a b",
            "-a",
            "рg.home",
        ] {
            assert_eq!(
                parse(EndpointDraft { host, ..draft() }, &AddressPolicy::default()).unwrap_err(),
                ["spec.endpoint.host"],
                "{host:?}"
            );
        }
        for hostaddr in [
            "",
            "pg.home.arpa",
            "::ffff:192.0.2.1",
            "192.0.2.1:5432",
            "192.0.2",
            "fe80::1%eth0",
            "1.2.3.04",
        ] {
            assert_eq!(
                parse(
                    EndpointDraft {
                        hostaddr,
                        ..draft()
                    },
                    &AddressPolicy::default()
                )
                .unwrap_err(),
                ["spec.endpoint.hostaddr"],
                "{hostaddr:?}"
            );
        }
        assert!(
            parse(
                EndpointDraft {
                    hostaddr: "2001:db8::1",
                    ..draft()
                },
                &AddressPolicy::default()
            )
            .is_ok()
        );
    }

    #[test]
    fn d17_h21_link_local_multicast_unspecified_and_deployment_ranges_are_refused() {
        for hostaddr in [
            "169.254.169.254",
            "fe80::1",
            "224.0.0.1",
            "239.255.255.255",
            "ff02::1",
            "0.0.0.0",
            "::",
        ] {
            assert!(
                parse(
                    EndpointDraft {
                        hostaddr,
                        ..draft()
                    },
                    &AddressPolicy::default()
                )
                .is_err(),
                "{hostaddr}"
            );
        }
        let policy = AddressPolicy::denying(vec!["10.0.0.0/24".parse().unwrap()]);
        assert!(
            parse(
                EndpointDraft {
                    hostaddr: "10.0.0.1",
                    ..draft()
                },
                &policy
            )
            .is_err()
        );
        assert!(
            parse(
                EndpointDraft {
                    hostaddr: "10.0.1.1",
                    ..draft()
                },
                &policy
            )
            .is_ok()
        );
        assert!(
            parse(
                EndpointDraft {
                    hostaddr: "127.0.0.1",
                    ..draft()
                },
                &policy
            )
            .is_ok()
        );
    }

    #[test]
    fn every_mistake_of_an_endpoint_is_reported_at_once() {
        let all = EndpointDraft {
            host: "",
            hostaddr: "",
            port: 0,
            database: "P",
            ssl_mode: "prefer",
        };
        assert_eq!(
            parse(all, &AddressPolicy::default()).unwrap_err(),
            ["host", "hostaddr", "port", "database", "sslMode"]
                .map(|f| format!("spec.endpoint.{f}"))
        );
        for port in [0, -1, 65536, i64::MAX] {
            assert!(
                parse(EndpointDraft { port, ..draft() }, &AddressPolicy::default()).is_err(),
                "{port}"
            );
        }
    }
}
