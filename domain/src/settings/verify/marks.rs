//! Marks of the form that stand where they do nothing: rule `advanced`, and ours for order and group (section 11, S26).

use super::document::Document;
use super::walk::{each_node, join};
use super::{Findings, Level, Rule};
use crate::settings::schema::extensions::{UI_ADVANCED, UI_GROUP, UI_ORDER};

/// Rule `advanced`: the mark counts on top-level settings only.
pub(super) fn check_advanced(document: &Document<'_>, findings: &mut Findings) {
    let content = match &document.content {
        Ok(content) => content,
        Err(problem) => {
            findings.add(
                Rule::Advanced,
                Level::Error,
                document.path,
                "",
                problem.to_string(),
            );
            return;
        }
    };
    each_node(content, &mut |place, fields| {
        if place.depth > 1 && fields.contains_key(UI_ADVANCED) {
            let text =
                format!("{UI_ADVANCED} has an effect on top-level settings only: remove it here");
            findings.add(
                Rule::Advanced,
                Level::Error,
                document.path,
                place.pointer,
                text,
            );
        }
    });
}

/// Order and group below list elements and map values are ignored (S26).
pub(super) fn check_ignored(document: &Document<'_>, findings: &mut Findings) {
    let Ok(content) = &document.content else {
        return;
    };
    each_node(content, &mut |place, fields| {
        for key in [UI_ORDER, UI_GROUP]
            .into_iter()
            .filter(|key| fields.contains_key(*key))
        {
            if place.repeated || place.branch {
                let text = "has no effect below list elements, map values and branches: remove it";
                findings.add(
                    Rule::Marks,
                    Level::Warning,
                    document.path,
                    join(place.pointer, key),
                    text,
                );
            }
        }
    });
}
