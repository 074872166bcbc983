//! `cel`.

use domain::settings::limits::Limits;
use domain::settings::rules::cost::Budget;
use domain::settings::rules::limits::RuleLimits;
use domain::settings::rules::set::Rules;
use domain::settings::rules::walk::{ErrorKind, evaluate_all};
use serde_json::json;

use super::{Failure, Given, Got};

/// No defaulting: documents are as given.
pub fn cel(given: &Given) -> Result<Got, Failure> {
    let schema = given.closed()?;
    let rules = Rules::collect(&schema, &RuleLimits::DEFAULT)?;
    let old = Some(&given.old).filter(|old| !old.is_null());
    let outcome = evaluate_all(
        &schema,
        &rules,
        &given.new,
        old,
        &mut Budget::default(),
        &Limits::DEFAULT,
    );
    Ok(match outcome {
        Ok(messages) if messages.is_empty() => Got::from([("outcome", json!("pass"))]),
        Ok(messages) => {
            let texts: Vec<_> = messages.into_iter().map(|message| message.text).collect();
            Got::from([("outcome", json!("fail")), ("messages", json!(texts))])
        }
        Err(error) => {
            let kind = match error.kind {
                ErrorKind::Config => "config",
                ErrorKind::Compile => "compile",
                ErrorKind::Eval => "eval",
                ErrorKind::NonBool => "non_bool",
                ErrorKind::Limit => "limit",
            };
            Got::from([("outcome", json!("error")), ("kind", json!(kind))])
        }
    })
}
