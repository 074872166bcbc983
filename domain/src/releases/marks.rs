//! The labels that every rendered object gets (section 1.1). What an author set for the same keys is replaced.
//!
//! A value that is too long for a label goes into an annotation in full, and into the label as its beginning and a checksum.

use super::Instance;
use super::stream::{Content, Node};

/// The label of everything that belongs to a package's instance.
pub const HERITAGE: (&str, &str) = ("heritage", "deckhouse");
/// The label that names the package.
pub const PACKAGE_LABEL: &str = "packages.deckhouse.io/package";
/// The label that names the instance.
pub use crate::settings::orphans::INSTANCE_LABEL;
/// The label by which health is gathered, `<namespace>.<instance>`.
pub const HEALTH_LABEL: &str = "health.deckhouse.io/package";
/// The most bytes of a label's value.
const LABEL_MAX: usize = 63;

/// Marks an object, or those in a list.
pub fn mark(object: &mut Node, instance: &Instance, package: &str) {
    if let Some(items) = items(object) {
        for item in items {
            mark(item, instance, package);
        }
        return;
    }
    let health = format!("{}.{}", instance.namespace, instance.name);
    let Some(metadata) = object.map_at("metadata") else {
        return;
    };
    let wanted = [
        HERITAGE,
        (PACKAGE_LABEL, package),
        (INSTANCE_LABEL, &instance.name),
        (HEALTH_LABEL, &health),
    ];
    for (key, value) in wanted {
        if value.len() > LABEL_MAX
            && let Some(annotations) = metadata.map_at("annotations")
        {
            annotations.set(key, value);
        }
        if let Some(labels) = metadata.map_at("labels") {
            labels.set(key, &label(value));
        }
    }
}

/// The items of a list of objects; `None` for an object.
pub(super) fn items(object: &mut Node) -> Option<&mut Vec<Node>> {
    if !is_list(object) {
        return None;
    }
    let Content::Map(entries) = &mut object.content else {
        return None;
    };
    let (_, items) = entries
        .iter_mut()
        .rfind(|(name, _)| name.scalar() == Some("items"))?;
    match &mut items.content {
        Content::List(items) => Some(items),
        _ => None,
    }
}

/// True for what the API's clients take as a list, whatever its kind is called: helm applies its items one by one.
pub(super) fn is_list(object: &Node) -> bool {
    let items = object.get("items");
    items.is_some_and(|items| matches!(items.content, Content::List(_)))
}

/// The value as a label may have it.
#[must_use]
pub fn label(value: &str) -> String {
    if value.len() <= LABEL_MAX {
        return value.to_owned();
    }
    let checksum = format!("-{:016x}", checksum(value));
    let start: String = value.chars().take(LABEL_MAX - checksum.len()).collect();
    format!("{}{checksum}", start.trim_end_matches(['-', '.', '_']))
}

/// FNV-1a: the same in each process and version, and no secret hangs on it.
fn checksum(value: &str) -> u64 {
    value.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::stream::{read, write};
    use super::*;

    fn marked(text: &str, namespace: &str) -> Vec<Node> {
        let instance = Instance {
            namespace: namespace.to_owned(),
            name: "shop".to_owned(),
        };
        let mut documents = read(text).unwrap();
        for document in &mut documents {
            mark(document, &instance, "online-shop");
        }
        documents
    }

    fn labels(object: &Node) -> Vec<(&str, &str)> {
        let labels = object.get("metadata").unwrap().get("labels").unwrap();
        let Content::Map(entries) = &labels.content else {
            unreachable!()
        };
        entries
            .iter()
            .map(|(key, value)| (key.scalar().unwrap(), value.scalar().unwrap()))
            .collect()
    }

    #[test]
    fn every_object_gets_the_labels_and_keeps_its_own() {
        let text = "kind: ConfigMap\nmetadata: {name: a, labels: {app: x, heritage: mine}}\n---\nkind: Secret\nmetadata:\n  name: b\n";
        for object in marked(text, "team") {
            let labels = labels(&object);
            for wanted in [
                ("heritage", "deckhouse"),
                (PACKAGE_LABEL, "online-shop"),
                (INSTANCE_LABEL, "shop"),
                (HEALTH_LABEL, "team.shop"),
            ] {
                let found = labels.iter().filter(|label| label.0 == wanted.0);
                assert_eq!(found.collect::<Vec<_>>(), [&wanted]);
            }
        }
        assert!(write(&marked(text, "team")).contains("app: x"));
    }

    #[test]
    fn objects_in_a_list_are_marked_and_the_list_is_not() {
        let text = "kind: List\nitems: [{kind: Secret, metadata: {name: a}}]\n";
        let mut objects = marked(text, "team");
        assert!(objects.first().unwrap().get("metadata").is_none());
        let items = items(objects.first_mut().unwrap()).unwrap();
        assert_eq!(labels(items.first().unwrap()).len(), 4);
        // A kind that only sounds so.
        let text = "kind: AllowList\nmetadata: {name: a}\nspec: {items: [1]}\n";
        assert_eq!(labels(marked(text, "team").first().unwrap()).len(), 4);
    }

    #[test]
    fn a_value_that_is_too_long_is_an_annotation_in_full_and_a_checksum_in_the_label() {
        let namespace = "n".repeat(63);
        let objects = marked("kind: Secret\nmetadata: {name: a}\n", &namespace);
        let object = objects.first().unwrap();
        let health = labels(object)
            .into_iter()
            .find(|label| label.0 == HEALTH_LABEL)
            .unwrap()
            .1;
        assert!(health.len() <= 63 && health.starts_with("nnn"), "{health}");
        let annotations = object.get("metadata").unwrap().get("annotations").unwrap();
        let full = annotations.get(HEALTH_LABEL).unwrap().scalar().unwrap();
        assert_eq!(full, format!("{namespace}.shop"));
        assert_ne!(label(&"a".repeat(64)), label(&"a".repeat(65)));
    }
}
