//! Whether a cluster has what a package requires (S23).
//!
//! Only what is known counts: a version that nobody tells is a warning, never an unmet requirement.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::Value;

use super::range::{Range, parse_version};
use super::{Group, Module, RequirementError, Requirements};
use crate::violation::{Kind, Verdict, Violation};

/// What is known of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Platform {
    /// The API server's version, without suffix.
    pub kubernetes: Option<Version>,
    /// The Deckhouse version that the administrator's file states.
    pub deckhouse: Option<Version>,
    /// The enabled modules of the administrator's file, with their versions if it states them; nothing if there is no file.
    pub modules: Option<BTreeMap<String, Option<Version>>>,
}

impl Platform {
    /// The version of an API server as it reports itself, such as `v1.29.3-gke.100` or `v1.30.1+k3s1`: the suffix is dropped.
    #[must_use]
    pub fn kubernetes_version(reported: &str) -> Option<Version> {
        let end = reported.find(['-', '+']).unwrap_or(reported.len());
        parse_version(reported.get(..end)?)
    }
}

/// What a check says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Findings {
    /// Requirements that are not met, for the person who installs.
    pub unmet: Vec<String>,
    /// Requirements that could not be checked.
    pub unknown: Vec<String>,
}

impl Findings {
    /// True if nothing is known to be missing.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.unmet.is_empty()
    }
}

/// What admission says of written requirements: mistakes and unmet ones refuse, unknown ones warn (section 8, step 9).
pub fn judge(requirements: &Value, platform: &Platform) -> Verdict {
    const VERSION: &str = "spec.packageVersion";
    match Requirements::parse(requirements) {
        Ok(requirements) => {
            let findings = requirements.check(platform);
            let unmet = findings.unmet.into_iter();
            Verdict {
                violations: unmet
                    .map(|text| Violation::new(VERSION, Kind::Forbidden, text))
                    .collect(),
                warnings: findings.unknown,
            }
        }
        Err(mistakes) => {
            let mistake = |error: RequirementError| {
                let text = format!("the package's requirements cannot be read: {error}");
                Violation::new(VERSION, Kind::Invalid, text)
            };
            Verdict::refused(mistakes.into_iter().map(mistake).collect())
        }
    }
}

/// How one requirement stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Met,
    Unmet,
    Unknown,
}

impl Requirements {
    /// Compares the requirements with a cluster.
    pub fn check(&self, platform: &Platform) -> Findings {
        let mut findings = Findings::default();
        for (what, range, version) in [
            ("kubernetes", &self.kubernetes, &platform.kubernetes),
            ("deckhouse", &self.deckhouse, &platform.deckhouse),
        ] {
            match (range, version) {
                (Some(range), Some(version)) if !range.contains(version) => {
                    findings.unmet.push(format!(
                        "{what} {version} is not in the required range {range}"
                    ));
                }
                (Some(range), None) => findings.unknown.push(format!(
                    "{what} {range} is required, but the version of {what} is not known here"
                )),
                _ => {}
            }
        }
        match &platform.modules {
            Some(enabled) => self.check_modules(enabled, &mut findings),
            None if self.has_modules() => findings.unknown.push(
                "modules are required, but which modules are enabled is not known here".to_owned(),
            ),
            None => {}
        }
        findings
    }

    fn has_modules(&self) -> bool {
        !(self.mandatory.is_empty()
            && self.conditional.is_empty()
            && self.any_of.is_empty()
            && self.none_of.is_empty())
    }

    fn check_modules(&self, enabled: &Enabled, findings: &mut Findings) {
        for module in &self.mandatory {
            findings.note(standing(module, enabled), || {
                format!(
                    "module {} must be enabled{}",
                    module.name,
                    in_range(module.range.as_ref())
                )
            });
        }
        for module in self
            .conditional
            .iter()
            .filter(|module| enabled.contains_key(&module.name))
        {
            findings.note(standing(module, enabled), || {
                format!(
                    "module {} is enabled and must be{}",
                    module.name,
                    in_range(module.range.as_ref())
                )
            });
        }
        for group in &self.any_of {
            findings.note(any(group, enabled), || {
                format!(
                    "one of the modules of group {} must be enabled: {}",
                    group.name,
                    members(group)
                )
            });
        }
        for group in &self.none_of {
            let none = match any(group, enabled) {
                Standing::Met => Standing::Unmet,
                Standing::Unmet => Standing::Met,
                Standing::Unknown => Standing::Unknown,
            };
            findings.note(none, || {
                format!(
                    "none of the modules of group {} may be enabled: {}",
                    group.name,
                    members(group)
                )
            });
        }
    }
}

impl Findings {
    fn note(&mut self, standing: Standing, text: impl FnOnce() -> String) {
        match standing {
            Standing::Met => {}
            Standing::Unmet => self.unmet.push(text()),
            Standing::Unknown => self
                .unknown
                .push(format!("{}, but its version is not known here", text())),
        }
    }
}

type Enabled = BTreeMap<String, Option<Version>>;

fn standing(module: &Module, enabled: &Enabled) -> Standing {
    match (enabled.get(&module.name), &module.range) {
        (Some(_), None) => Standing::Met,
        (Some(Some(version)), Some(range)) if range.contains(version) => Standing::Met,
        (Some(None), Some(_)) => Standing::Unknown,
        (None, _) | (Some(Some(_)), Some(_)) => Standing::Unmet,
    }
}

fn any(group: &Group, enabled: &Enabled) -> Standing {
    let standings: Vec<_> = group
        .modules
        .iter()
        .map(|module| standing(module, enabled))
        .collect();
    if standings.contains(&Standing::Met) {
        Standing::Met
    } else if standings.contains(&Standing::Unknown) {
        Standing::Unknown
    } else {
        Standing::Unmet
    }
}

fn in_range(range: Option<&Range>) -> String {
    range
        .map(|range| format!(" in the range {range}"))
        .unwrap_or_default()
}

fn members(group: &Group) -> String {
    let members = group.modules.iter().map(|module| match &module.range {
        Some(range) => format!("{} {range}", module.name),
        None => module.name.clone(),
    });
    members.collect::<Vec<_>>().join(", ")
}
