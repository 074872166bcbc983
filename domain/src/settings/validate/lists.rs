//! Keywords about lists (section 5.2).

use serde_json::Value;

use super::Validator;
use super::report::Report;
use crate::settings::document::{self, Path};
use crate::settings::schema::node::{Additional, Items, ListRules};
use crate::violation::Kind;

impl Validator<'_> {
    pub(super) fn check_list<R: Report>(
        &mut self,
        rules: &ListRules,
        list: &[Value],
        path: &Path<'_>,
        report: &mut R,
    ) {
        let length = u64::try_from(list.len()).unwrap_or(u64::MAX);
        if let Some(least) = rules.min_items.filter(|least| length < *least) {
            report.add(path, Kind::Invalid, || {
                format!("should have at least {least} items")
            });
        }
        if let Some(most) = rules.max_items.filter(|most| length > *most) {
            report.add(path, Kind::TooLong, || {
                format!("should have at most {most} items")
            });
        }
        if rules.unique && self.charge(list.len()) && has_duplicates(list) {
            report.add(path, Kind::Duplicate, || {
                "shouldn't contain duplicates".to_owned()
            });
        }
        match &rules.items {
            None => {}
            Some(Items::One(node)) => {
                for (position, value) in list.iter().enumerate() {
                    self.check_inside(node, value, &path.index(position), report);
                }
            }
            Some(Items::Tuple(nodes)) => {
                for (position, value) in list.iter().enumerate() {
                    let path = path.index(position);
                    match (nodes.get(position), &rules.additional) {
                        (Some(node), _) => self.check_inside(node, value, &path, report),
                        (None, Some(Additional::Schema(node))) => {
                            self.check_inside(node, value, &path, report);
                        }
                        (None, Some(Additional::Forbidden)) => {
                            report.add(&path, Kind::Forbidden, || "is a forbidden item".to_owned());
                        }
                        (None, Some(Additional::Allowed) | None) => {}
                    }
                }
            }
        }
    }
}

fn has_duplicates(list: &[Value]) -> bool {
    let mut sorted: Vec<&Value> = list.iter().collect();
    sorted.sort_unstable_by(|left, right| document::compare(left, right));
    sorted
        .windows(2)
        .any(|pair| matches!(pair, [left, right] if document::equal(left, right)))
}
