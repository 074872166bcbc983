//! The sizes that a package or a request may not exceed (S20), in one table.
//!
//! Each limit has an error of its own where it is enforced. This file enforces nothing.

use super::rules::cost::REQUEST;
use super::rules::limits::RuleLimits;

/// All limits of S20. [`Limits::DEFAULT`] is what the server uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one schema file as written.
    pub file_bytes: usize,
    /// YAML nodes of one schema file, aliases expanded; an alias bomb ends here.
    pub file_nodes: usize,
    /// Nesting of maps and lists in one schema file.
    pub file_depth: usize,
    /// Schema nodes of one document, references expanded.
    pub schema_nodes: usize,
    /// Nesting of schema nodes, references expanded; recursive definitions count once.
    pub schema_depth: usize,
    /// Definitions that refer to each other in one chain.
    pub reference_depth: usize,
    /// Bytes of one regular expression as written.
    pub pattern_bytes: usize,
    /// Bytes of one compiled regular expression.
    pub pattern_compiled_bytes: usize,
    /// Bytes of all compiled regular expressions of one document together.
    pub patterns_compiled_bytes: usize,
    /// Bytes of one published schema as compact JSON.
    pub published_bytes: usize,
    /// Bytes of the published texts of another language, with their pointers.
    pub descriptions_bytes: usize,
    /// Bytes of the effective settings as compact JSON.
    pub settings_bytes: usize,
    /// Nesting of maps and lists in settings and values.
    pub settings_depth: usize,
    /// Comparisons of one value with one schema node while one document is validated or walked.
    pub steps: usize,
    /// Schema nodes and document levels that one walk may stand in at once; it bounds the stack.
    pub walk_depth: usize,
    /// Violations of one document that are reported.
    pub violations: usize,
    /// Limits of rules.
    pub rules: RuleLimits,
    /// Units of work that the rules may cost on one document (S24).
    pub rule_units: u64,
}

impl Limits {
    /// The limits of the documentation.
    pub const DEFAULT: Self = Self {
        file_bytes: 1024 * 1024,
        file_nodes: 50_000,
        file_depth: 80,
        schema_nodes: 10_000,
        schema_depth: 32,
        reference_depth: 16,
        pattern_bytes: 4 * 1024,
        pattern_compiled_bytes: 1024 * 1024,
        patterns_compiled_bytes: 16 * 1024 * 1024,
        published_bytes: 512 * 1024,
        descriptions_bytes: 256 * 1024,
        settings_bytes: 384 * 1024,
        settings_depth: 64,
        steps: 1_000_000,
        walk_depth: 512,
        violations: 1_000,
        rules: RuleLimits::DEFAULT,
        rule_units: REQUEST,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
