//! What a package requires of its cluster: `requirements` of `package.yaml` and of the published metadata (section 2, S23).
//!
//! All mistakes are collected, each naming its module or group. Whether a cluster has what is required is decided in [`check`];
//! nothing is looked up here.

pub mod check;
pub mod range;
pub mod stated;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use range::Range;

/// The requirements of a package version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The API server's version.
    pub kubernetes: Option<Range>,
    /// The Deckhouse version.
    pub deckhouse: Option<Range>,
    /// Modules that must be enabled.
    pub mandatory: Vec<Module>,
    /// Modules that must have these versions if they are enabled.
    pub conditional: Vec<Module>,
    /// Groups of which one module must be enabled.
    pub any_of: Vec<Group>,
    /// Groups of which no module may be enabled.
    pub none_of: Vec<Group>,
}

/// A module and the versions that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The module's name.
    pub name: String,
    /// The versions; nothing means all.
    pub range: Option<Range>,
}

/// A named group of modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Unique in its list.
    pub name: String,
    /// At least one.
    pub modules: Vec<Module>,
}

/// A requirement that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementError {
    /// Where it stands below `requirements`, steps joined with dots.
    pub place: String,
    /// What is wrong, naming the module or group.
    pub text: String,
}

impl fmt::Display for RequirementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for RequirementError {}

impl Requirements {
    /// Reads `requirements`; `null` and absent parts require nothing.
    ///
    /// # Errors
    /// Everything that is wrong, in the order of the document.
    pub fn parse(requirements: &Value) -> Result<Self, Vec<RequirementError>> {
        let mut reader = Reader::default();
        let mut read = Self::default();
        if let Some(fields) = reader.map(requirements, "", "requirements") {
            read.kubernetes = reader.platform(fields, "kubernetes");
            read.deckhouse = reader.platform(fields, "deckhouse");
            if let Some(modules) = fields
                .get("modules")
                .and_then(|value| reader.map(value, "modules", "modules"))
            {
                read.mandatory = reader.modules(modules, "mandatory");
                read.conditional = reader.modules(modules, "conditional");
                read.any_of = reader.groups(modules, "anyOf");
                read.none_of = reader.groups(modules, "noneOf");
            }
        }
        reader.check_lists(&read);
        if reader.errors.is_empty() {
            Ok(read)
        } else {
            Err(reader.errors)
        }
    }
}

#[derive(Default)]
struct Reader {
    errors: Vec<RequirementError>,
}

impl Reader {
    fn wrong(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.errors.push(RequirementError {
            place: place.into(),
            text: text.into(),
        });
    }

    /// A map; `null` is none, and anything else is wrong.
    fn map<'v>(
        &mut self,
        value: &'v Value,
        place: &str,
        what: &str,
    ) -> Option<&'v Map<String, Value>> {
        if !value.is_null() && !value.is_object() {
            self.wrong(place, format!("{what} must be a map"));
        }
        value.as_object()
    }

    fn list<'v>(
        &mut self,
        fields: &'v Map<String, Value>,
        key: &str,
        place: &str,
        what: &str,
    ) -> &'v [Value] {
        match fields.get(key) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(list)) => list,
            Some(_) => {
                self.wrong(place, format!("{what} must be a list"));
                &[]
            }
        }
    }

    fn platform(&mut self, fields: &Map<String, Value>, key: &str) -> Option<Range> {
        let fields = self.map(fields.get(key)?, key, key)?;
        self.range(fields, &format!("{key}.constraint"), key)
    }

    fn range(&mut self, fields: &Map<String, Value>, place: &str, whose: &str) -> Option<Range> {
        match fields.get("constraint") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.trim().is_empty() => None,
            Some(Value::String(text)) => match Range::parse(text) {
                Ok(range) => Some(range),
                Err(error) => {
                    self.wrong(place, format!("{whose}: constraint {error}"));
                    None
                }
            },
            Some(_) => {
                self.wrong(place, format!("{whose}: the constraint must be a text"));
                None
            }
        }
    }

    fn modules(&mut self, fields: &Map<String, Value>, list: &'static str) -> Vec<Module> {
        let place = format!("modules.{list}");
        let what = format!("modules.{list}");
        let entries = self.list(fields, list, &place, &what);
        self.entries(entries, &place, &what)
    }

    fn entries(&mut self, entries: &[Value], place: &str, whose: &str) -> Vec<Module> {
        let mut modules = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let place = format!("{place}.{position}");
            let name = entry
                .get("name")
                .and_then(Value::as_str)
                .filter(|name| !name.is_empty());
            let (Some(name), Some(fields)) = (name, entry.as_object()) else {
                self.wrong(place, format!("{whose}: entry {position} needs a name"));
                continue;
            };
            let range = self.range(
                fields,
                &format!("{place}.constraint"),
                &format!("module {name}"),
            );
            modules.push(Module {
                name: name.to_owned(),
                range,
            });
        }
        modules
    }

    fn groups(&mut self, fields: &Map<String, Value>, list: &'static str) -> Vec<Group> {
        let place = format!("modules.{list}");
        let entries = self.list(fields, list, &place, &place);
        let mut groups: Vec<Group> = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let place = format!("{place}.{position}");
            let name = entry
                .get("name")
                .and_then(Value::as_str)
                .filter(|name| !name.is_empty());
            let (Some(name), Some(fields)) = (name, entry.as_object()) else {
                self.wrong(
                    place,
                    format!("modules.{list}: group {position} needs a name"),
                );
                continue;
            };
            let whose = format!("modules.{list}: group {name}");
            if groups.iter().any(|group| group.name == name) {
                self.wrong(
                    place.as_str(),
                    format!("{whose} stands twice: give each group a name of its own"),
                );
            }
            let members_place = format!("{place}.modules");
            let members = self.list(fields, "modules", &members_place, &whose);
            if members.is_empty() {
                self.wrong(place.as_str(), format!("{whose} needs at least one module"));
            }
            let modules = self.entries(members, &members_place, &whose);
            groups.push(Group {
                name: name.to_owned(),
                modules,
            });
        }
        groups
    }

    /// Rules over several entries: conditional ones need a constraint, members are unique in their group, and a module stands in
    /// one of the four lists only, though several groups of one list may share it.
    fn check_lists(&mut self, read: &Requirements) {
        let mut seen: BTreeMap<&str, (&str, String)> = BTreeMap::new();
        for (list, modules) in [
            ("mandatory", &read.mandatory),
            ("conditional", &read.conditional),
        ] {
            for module in modules {
                let place = format!("modules.{list}");
                let bad_constraint = self
                    .errors
                    .iter()
                    .any(|error| error.text.starts_with(&format!("module {}: ", module.name)));
                if list == "conditional" && module.range.is_none() && !bad_constraint {
                    self.wrong(
                        place.as_str(),
                        format!(
                            "modules.conditional: module {} needs a constraint",
                            module.name
                        ),
                    );
                }
                match seen.get(module.name.as_str()) {
                    Some((_, before)) => {
                        let text = format!(
                            "module {} stands in modules.{list} and in {before}: keep one",
                            module.name
                        );
                        self.wrong(place, text);
                    }
                    None => {
                        seen.insert(&module.name, (list, place));
                    }
                }
            }
        }
        for (list, groups) in [("anyOf", &read.any_of), ("noneOf", &read.none_of)] {
            for group in groups {
                self.check_group(list, group, &mut seen);
            }
        }
    }

    fn check_group<'r>(
        &mut self,
        list: &'static str,
        group: &'r Group,
        seen: &mut BTreeMap<&'r str, (&'r str, String)>,
    ) {
        let place = format!("modules.{list}");
        for (position, module) in group.modules.iter().enumerate() {
            if group
                .modules
                .iter()
                .take(position)
                .any(|before| before.name == module.name)
            {
                let text = format!(
                    "module {} stands twice in group {} of {place}",
                    module.name, group.name
                );
                self.wrong(place.as_str(), text);
            }
            match seen.get(module.name.as_str()) {
                Some((before, where_)) if *before != list => {
                    let text = format!(
                        "module {} stands in group {} of {place} and in {where_}: keep one",
                        module.name, group.name
                    );
                    self.wrong(place.as_str(), text);
                }
                Some(_) => {}
                None => {
                    seen.insert(
                        &module.name,
                        (list, format!("group {} of {place}", group.name)),
                    );
                }
            }
        }
    }
}
