//! jq filters, applied in a confined process of our own: one second, and a bound on what they give.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::launch::{Job, LaunchError, Launcher, ProcessLimits};
use super::scratch::{Scratch, ScratchError};

/// The request's name in the scratch folder.
pub const REQUEST: &str = "request.json";
/// A second for each so many objects.
const AT_ONCE: usize = 256;
/// Of one filter.
const TIME: Duration = Duration::from_secs(1);
/// Bytes of all outcomes of one process.
const OUTPUT: usize = 16 << 20;
/// Bytes of memory of one process.
const MEMORY: u64 = 512 << 20;

/// A filter and the objects that it is applied to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    /// The filter.
    pub filter: String,
    /// The objects.
    pub objects: Vec<Value>,
}

/// What came of one object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A result.
    Result(Value),
    /// Why there is none.
    Error(String),
}

impl From<Result<Value, String>> for Outcome {
    fn from(result: Result<Value, String>) -> Self {
        match result {
            Ok(value) => Self::Result(value),
            Err(error) => Self::Error(error),
        }
    }
}

/// Why a filter gave nothing at all.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The request could not be written.
    #[error("the jq filter was not started: {0}")]
    Scratch(#[source] ScratchError),
    /// It was ended, or could not be started.
    #[error("the jq filter failed: {0}")]
    Launch(#[source] LaunchError),
    /// It ended without an outcome for each object.
    #[error("the jq filter ended with {0} before it was done")]
    Short(domain::hooks::outcome::Ending),
}

impl Launcher {
    /// Applies a filter to each object; the outcomes are in the same order.
    ///
    /// # Errors
    /// The process could not be started or was ended for its limits: no object has an outcome then.
    pub async fn filter(
        &self,
        filter: &str,
        objects: Vec<Value>,
    ) -> Result<Vec<Result<Value, String>>, FilterError> {
        let mut outcomes = Vec::with_capacity(objects.len());
        let mut rest = objects.into_iter();
        loop {
            let some: Vec<Value> = rest.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                return Ok(outcomes);
            }
            outcomes.extend(self.filter_some(filter, some).await?);
        }
    }

    async fn filter_some(
        &self,
        filter: &str,
        objects: Vec<Value>,
    ) -> Result<Vec<Result<Value, String>>, FilterError> {
        let wanted = objects.len();
        let request = Request {
            filter: filter.to_owned(),
            objects,
        };
        let scratch = Scratch::create(self.scratch_root(), move |scratch| {
            scratch.put_json(REQUEST, &request)
        });
        let scratch = scratch.await.map_err(FilterError::Scratch)?;
        let job = Job {
            package: None,
            command: &[],
            environment: BTreeMap::default(),
            scratch: &scratch,
            limits: ProcessLimits {
                time: TIME,
                memory_bytes: MEMORY,
                processes: 1,
                stdout_bytes: OUTPUT,
                ..ProcessLimits::DEFAULT
            },
        };
        let ended = self.launch(job).await.map_err(FilterError::Launch)?;
        let outcomes: Vec<Result<Value, String>> = ended
            .stdout
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(|outcome| match outcome {
                Outcome::Result(value) => Ok(value),
                Outcome::Error(error) => Err(error),
            })
            .collect();
        if outcomes.len() == wanted {
            Ok(outcomes)
        } else {
            Err(FilterError::Short(ended.ending))
        }
    }
}
