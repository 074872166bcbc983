//! Metrics of hooks: the output file, and what it does to the series of an application.
//!
//! Names and labels are checked, because they are printed on the server's own metrics page; what is printed is not decided
//! here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::limits::HookLimits;
use super::stream::{self, StreamError};

/// Why a file of metrics fails the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// The file.
    #[error(transparent)]
    Stream(StreamError),
    /// An element is no sample.
    #[error("sample {position}: {problem}")]
    Sample {
        /// Its place in the file, from 0.
        position: usize,
        /// What is wrong.
        problem: String,
    },
    /// More samples than [`HookLimits::samples`].
    #[error("{found} samples are too many, the limit is {most}")]
    TooMany {
        /// How many.
        found: usize,
        /// The limit.
        most: usize,
    },
}

/// One operation on series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its group: series of a group are replaced together. The hook's name if it gives none.
    pub group: String,
    /// What to do.
    pub action: Action,
}

/// What a sample does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Sets a gauge.
    Set(Series, f64),
    /// Adds to a counter.
    Add(Series, f64),
    /// Observes a value in a histogram of these buckets.
    Observe(Series, f64, Vec<f64>),
    /// Ends all series of the group.
    Expire,
}

/// A series.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The metric's name.
    pub name: String,
    /// Labels of the sample.
    pub labels: BTreeMap<String, String>,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// In order.
    pub samples: Vec<Sample>,
    /// For the log: samples that are passed over.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Written {
    name: Option<String>,
    group: Option<String>,
    action: Option<String>,
    value: Option<f64>,
    buckets: Option<Vec<f64>>,
    labels: Option<BTreeMap<String, String>>,
    set: Option<f64>,
    add: Option<f64>,
}

/// Reads an output file: a stream of samples.
///
/// # Errors
/// Not JSON, over a limit, or a sample that lacks what its action needs.
pub fn read(file: &[u8], hook: &str, limits: &HookLimits) -> Result<Samples, MetricsError> {
    let values = stream::values(file, limits).map_err(MetricsError::Stream)?;
    if values.len() > limits.samples {
        return Err(MetricsError::TooMany {
            found: values.len(),
            most: limits.samples,
        });
    }
    let mut read = Samples::default();
    for (position, value) in values.into_iter().enumerate() {
        let failed = |problem| MetricsError::Sample { position, problem };
        match sample(value, hook).map_err(failed)? {
            Ok(sample) => read.samples.push(sample),
            Err(action) => read.warnings.push(format!(
                "sample {position} is passed over: its action {action:?} is not known"
            )),
        }
    }
    Ok(read)
}

/// A sample, or the name of its unknown action.
fn sample(value: Value, hook: &str) -> Result<Result<Sample, String>, String> {
    let written: Written = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let (action, value) = match (written.set, written.add) {
        (Some(_), Some(_)) => return Err("`set` and `add` exclude each other".to_owned()),
        (Some(value), None) => ("set".to_owned(), Some(value)),
        (None, Some(value)) => ("add".to_owned(), Some(value)),
        (None, None) => (written.action.unwrap_or_default(), written.value),
    };
    let group = written
        .group
        .filter(|group| !group.is_empty())
        .unwrap_or_else(|| hook.to_owned());
    let labels = written.labels.unwrap_or_default();
    let series = |name: Option<String>| series(name.unwrap_or_default(), labels);
    let value = || value.ok_or_else(|| format!("the action {action:?} needs a `value`"));
    let action = match action.as_str() {
        "set" => Action::Set(series(written.name)?, value()?),
        "add" => Action::Add(series(written.name)?, value()?),
        "observe" => {
            let buckets = written.buckets.unwrap_or_default();
            if buckets.is_empty() || !buckets.is_sorted_by(|a, b| a < b) {
                return Err("the action \"observe\" needs ascending `buckets`".to_owned());
            }
            Action::Observe(series(written.name)?, value()?, buckets)
        }
        "expire" => Action::Expire,
        _ => return Ok(Err(action)),
    };
    Ok(Ok(Sample { group, action }))
}

fn series(name: String, labels: BTreeMap<String, String>) -> Result<Series, String> {
    if !is_name(&name, true) {
        return Err(format!("{name:?} is no name of a metric"));
    }
    let wrong = labels
        .keys()
        .find(|label| !is_name(label, false) || label.starts_with("__"));
    if let Some(label) = wrong {
        return Err(format!("{label:?} is no name of a label"));
    }
    Ok(Series { name, labels })
}

fn is_name(text: &str, may_have_colon: bool) -> bool {
    let is_legal =
        |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || (may_have_colon && byte == b':');
    !text.is_empty()
        && text.len() <= 256
        && text.bytes().all(is_legal)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}
