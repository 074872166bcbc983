//! The guide's examples are what happens: each fenced block with a label is a given or an expectation, in the order of the page.

use std::collections::BTreeMap;

use domain::packages::configure::{Configured, Wanted, configure, values_of};
use domain::packages::documents::{Documents, usable};
use domain::packages::files::Files;
use domain::packages::publication::publication;
use domain::settings::form::{Field, FormFacts, form};
use domain::settings::grants::{Catalog, Catalogs};
use domain::settings::limits::Limits;
use domain::settings::schema::extensions::{
    UI_ADVANCED, UI_GROUP, UI_MESSAGE, UI_ORDER, UI_RESOURCE,
};
use domain::settings::schema::load;
use domain::settings::schema::node::{EXTEND, GRANTABLE, IMMUTABLE, SWITCH, VALIDATIONS};
use domain::settings::switch::Impact;
use domain::settings::verify::verify;
use serde_json::{Map, Value};

const LIMITS: Limits = Limits::DEFAULT;
const SETTINGS: &str = "openapi/settings.yaml";
const VALUES: &str = "openapi/values.yaml";

/// A labelled block and the line where it begins.
struct Block {
    line: usize,
    label: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let (mut found, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    for (at, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let label = info.split_once(' ').map_or("", |(_, label)| label);
                open = Some(Block {
                    line: at + 1,
                    label: label.to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found.retain(|block| !block.label.is_empty());
    found
}

/// What is given so far.
#[derive(Default)]
struct Given {
    files: BTreeMap<&'static str, String>,
    settings: Value,
    applied: Option<Value>,
    catalogs: Catalogs,
}

impl Given {
    fn files(&self) -> Files {
        let mut files = Files::default();
        for (path, text) in &self.files {
            files.insert(*path, text.clone().into_bytes());
        }
        files
    }

    fn configured(&self) -> Configured {
        let documents = Documents::read(&self.files(), &LIMITS).unwrap();
        let wanted = Wanted {
            settings: &self.settings,
            applied: self.applied.as_ref(),
            catalogs: &self.catalogs,
        };
        configure(&usable(&documents, &LIMITS).unwrap(), wanted, &LIMITS).unwrap()
    }

    fn accepted(&self) -> Value {
        let configured = self.configured();
        assert_eq!(configured.violations, [], "accepted");
        configured.settings
    }

    fn values(&self) -> (Value, Vec<String>) {
        let documents = Documents::read(&self.files(), &LIMITS).unwrap();
        let schemas = usable(&documents, &LIMITS).unwrap();
        let (values, told) = values_of(&schemas, &self.accepted(), &LIMITS).unwrap();
        (values, told.iter().map(ToString::to_string).collect())
    }

    /// Takes a given; false if the block is an expectation.
    fn take(&mut self, block: &Block) -> bool {
        match block.label.as_str() {
            SETTINGS => {
                *self = Self::default();
                self.files.insert(SETTINGS, block.text.clone());
            }
            VALUES => drop(self.files.insert(VALUES, block.text.clone())),
            "settings" => self.settings = yaml(&block.text),
            "applied" => self.applied = Some(yaml(&block.text)),
            "grants" => {
                let catalogs = yaml(&block.text);
                let catalogs = catalogs.as_object().unwrap().iter();
                self.catalogs.0 = catalogs
                    .map(|(name, status)| (name.clone(), Catalog::from_status(status)))
                    .collect();
            }
            _ => return false,
        }
        true
    }
}

fn yaml(text: &str) -> Value {
    load(text, &LIMITS).unwrap()
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn expect(given: &Given, block: &Block) {
    let at = format!("the block {:?} in line {}", block.label, block.line);
    match block.label.as_str() {
        "effective" => assert_eq!(given.accepted(), yaml(&block.text), "{at}"),
        "refused" => {
            let told = given.configured().violations;
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            assert_eq!(told, lines(&block.text), "{at}");
        }
        "values" => assert_eq!(given.values(), (yaml(&block.text), Vec::new()), "{at}"),
        "values refused" => assert_eq!(given.values().1, lines(&block.text), "{at}"),
        "confirmations" => assert_eq!(confirmations(given), lines(&block.text), "{at}"),
        "form" => assert_eq!(shown(given), lines(&block.text), "{at}"),
        other => panic!("{at}: no test knows {other:?}"),
    }
}

fn confirmations(given: &Given) -> Vec<String> {
    let impact = |impact| match impact {
        Impact::Info => "info",
        Impact::Warning => "warning",
        Impact::Destructive => "destructive",
    };
    let configured = given.configured();
    assert_eq!(configured.violations, []);
    let told = configured.confirmations.iter();
    told.map(|one| format!("{}: {}: {}", impact(one.impact), one.entry(), one.text()))
        .collect()
}

/// The fields as the form shows them, one a line.
fn shown(given: &Given) -> Vec<String> {
    let files = given.files();
    let documents = Documents::read(&files, &LIMITS).unwrap();
    let published = publication(&files, "any", &LIMITS).unwrap().publication;
    let facts = FormFacts {
        published: &Value::Object(published.settings.unwrap()),
        descriptions_ru: &BTreeMap::new(),
        package: &usable(&documents, &LIMITS).unwrap(),
        settings: &Value::Object(Map::new()),
        applied: None,
        catalogs: &given.catalogs,
    };
    let fields = form(&facts, &LIMITS).unwrap().fields;
    fields.iter().map(line).collect()
}

fn line(field: &Field) -> String {
    let mut line = field.pointer.clone();
    let mut say = |text: String| {
        line.push(' ');
        line.push_str(&text);
    };
    if let Some(order) = field.order {
        say(format!("order {order}"));
    }
    if field.advanced {
        say("advanced".to_owned());
    }
    if let Some(group) = &field.group {
        say(format!("in {group}"));
    }
    if field.message.is_some() {
        say("message".to_owned());
    }
    if let Some(resource) = &field.resource {
        say(format!("from {}", resource["kind"].as_str().unwrap()));
    }
    line
}

#[test]
fn every_example_of_the_guide_does_what_the_page_says() {
    let blocks = blocks(&super::page("settings-schema.md"));
    let (mut given, mut expectations) = (Given::default(), 0);
    for block in &blocks {
        if !given.take(block) {
            expect(&given, block);
            expectations += 1;
        }
    }
    assert!(expectations >= 20, "{expectations}");
}

#[test]
fn every_extension_has_an_example_and_no_schema_of_the_guide_has_a_mistake() {
    let blocks = blocks(&super::page("settings-schema.md"));
    let schemas = blocks
        .iter()
        .filter(|block| block.label.starts_with("openapi/"));
    let mut all = String::new();
    for block in schemas {
        all.push_str(&block.text);
        let russian = format!(
            "openapi/doc-ru-{}",
            block.label.trim_start_matches("openapi/")
        );
        let mut files = BTreeMap::from([(block.label.clone(), block.text.clone().into_bytes())]);
        if block.label == SETTINGS {
            files.insert(russian, b"properties: {}".to_vec());
        }
        let findings = verify(&files, &LIMITS);
        assert_eq!(findings, [], "line {}", block.line);
    }
    for extension in [
        EXTEND,
        GRANTABLE,
        IMMUTABLE,
        SWITCH,
        VALIDATIONS,
        UI_ADVANCED,
        UI_GROUP,
        UI_MESSAGE,
        UI_ORDER,
        UI_RESOURCE,
    ] {
        assert!(
            all.contains(&format!("{extension}:")),
            "{extension} has no example"
        );
    }
}
