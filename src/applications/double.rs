//! Settings checks that answer what the settings say, for the end-to-end stories; never in a release.
//!
//! Armed by the failpoint `settings-check=return(PREFIX)`: packages whose name begins so have a check, the others none that is loaded.

use std::time::Duration;

use domain::packages::names::VersionId;
use domain::settings::admission::{Bundle, HookAnswer};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use webhook::{Question, SettingsChecks};

/// See the module text.
pub(super) struct Double {
    prefix: String,
}

impl Double {
    /// If the failpoint is set.
    pub(super) fn armed() -> Option<Self> {
        fail::fail_point!("settings-check", |prefix| {
            let prefix = prefix.unwrap_or_default();
            Some(Self { prefix })
        });
        None
    }
}

impl SettingsChecks for Double {
    fn bundle(&self, version: &VersionId) -> Bundle {
        if version.package.starts_with(&self.prefix) {
            Bundle::WithCheck
        } else {
            Bundle::NotLoaded
        }
    }

    /// `settings.check` is the answer: `valid`, `message`, `warnings`, `milliseconds`.
    fn ask(&self, question: Question) -> BoxFuture<'static, Result<HookAnswer, String>> {
        async move {
            let check = question.settings.get("check").unwrap_or(&Value::Null);
            let at = |key: &str| check.get(key).unwrap_or(&Value::Null);
            let time = at("milliseconds").as_u64().unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(time)).await;
            let warnings = at("warnings").as_array().into_iter().flatten();
            Ok(HookAnswer {
                valid: at("valid").as_bool().unwrap_or(true),
                message: at("message").as_str().unwrap_or_default().to_owned(),
                warnings: warnings
                    .filter_map(|text| text.as_str().map(str::to_owned))
                    .collect(),
            })
        }
        .boxed()
    }
}
