//! Rendered objects as helm passes them: a stream of YAML documents, read and written so that no scalar changes its meaning.
//!
//! Helm reads YAML by older rules than most parsers (`0644` is octal, `yes` is a boolean), so a scalar without quotes stays the text that it
//! was, and one with quotes stays a text. This file knows no object.

use std::borrow::Cow;
use std::fmt::Write as _;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

/// Nesting that is read; objects are never that deep.
const DEPTH_MAX: usize = 200;

/// A node of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its anchor, 0 for none.
    anchor: usize,
    tag: Option<String>,
    /// What it is.
    pub content: Content,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A scalar without quotes, whose meaning helm finds.
    Plain(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in order.
    Map(Vec<(Node, Node)>),
    /// Another node, by its anchor.
    Alias(usize),
}

/// What was rendered is no YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the templates rendered is no YAML: {0}")]
pub struct Unreadable(String);

impl Node {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Content::Text(text.into()))
    }

    /// A map without entries.
    #[must_use]
    pub fn map() -> Self {
        Self::of(Content::Map(Vec::new()))
    }

    fn of(content: Content) -> Self {
        Self {
            anchor: 0,
            tag: None,
            content,
        }
    }

    /// The text of a scalar.
    #[must_use]
    pub fn scalar(&self) -> Option<&str> {
        match &self.content {
            Content::Plain(text) | Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// True for nothing at all, which the parser reads as `~`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.content, Content::Plain(text) if matches!(text.as_str(), "~" | "null" | "Null" | "NULL"))
    }

    /// The value at a key of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Content::Map(entries) = &self.content else {
            return None;
        };
        let mut found = entries
            .iter()
            .filter(|(name, _)| name.scalar() == Some(key));
        found.next_back().map(|(_, value)| value)
    }

    /// The value at a key, which is made a map if it is nothing yet; `None` if this is no map, or the value something else.
    pub fn map_at(&mut self, key: &str) -> Option<&mut Self> {
        let Content::Map(entries) = &mut self.content else {
            return None;
        };
        let at = entries
            .iter()
            .rposition(|(name, _)| name.scalar() == Some(key));
        let at = at.unwrap_or_else(|| {
            entries.push((Self::text(key), Self::map()));
            entries.len() - 1
        });
        let (_, value) = entries.get_mut(at)?;
        if value.is_null() {
            value.content = Content::Map(Vec::new());
        }
        matches!(value.content, Content::Map(_)).then_some(value)
    }

    /// Sets a text at a key of a map.
    pub fn set(&mut self, key: &str, text: &str) {
        let Content::Map(entries) = &mut self.content else {
            return;
        };
        entries.retain(|(name, _)| name.scalar() != Some(key));
        entries.push((Self::text(key), Self::text(text)));
    }
}

/// Reads every document; empty ones are left out.
///
/// # Errors
/// [`Unreadable`] with the place.
pub fn read(text: &str) -> Result<Vec<Node>, Unreadable> {
    let mut documents = Vec::new();
    let mut open: Vec<(Node, Option<Node>)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| Unreadable(error.to_string()))?;
        let node = match event {
            Event::Scalar(text, style, anchor, tagged) => {
                let content = match style {
                    ScalarStyle::Plain => Content::Plain(text.into_owned()),
                    _ => Content::Text(text.into_owned()),
                };
                begun(anchor, tagged, content)
            }
            Event::Alias(anchor) => Node::of(Content::Alias(anchor)),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEPTH_MAX => {
                return Err(Unreadable(format!("it nests deeper than {DEPTH_MAX}")));
            }
            Event::SequenceStart(_, anchor, tagged) => {
                open.push((begun(anchor, tagged, Content::List(Vec::new())), None));
                continue;
            }
            Event::MappingStart(_, anchor, tagged) => {
                open.push((begun(anchor, tagged, Content::Map(Vec::new())), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((node, _)) => node,
                None => continue,
            },
            _ => continue,
        };
        add(&mut open, &mut documents, node);
    }
    documents.retain(|document| !document.is_null());
    Ok(documents)
}

fn begun(anchor: usize, tag: Option<Cow<'_, Tag>>, content: Content) -> Node {
    Node {
        anchor,
        tag: tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix())),
        content,
    }
}

/// Puts a whole node where it belongs.
fn add(open: &mut [(Node, Option<Node>)], documents: &mut Vec<Node>, node: Node) {
    let Some((parent, key)) = open.last_mut() else {
        documents.push(node);
        return;
    };
    match &mut parent.content {
        Content::List(items) => items.push(node),
        Content::Map(entries) => match key.take() {
            None => *key = Some(node),
            Some(name) => entries.push((name, node)),
        },
        _ => {}
    }
}

/// Writes documents, each in flow style.
#[must_use]
pub fn write(documents: &[Node]) -> String {
    let mut text = String::new();
    for document in documents {
        text.push_str("---\n");
        put(document, &mut text);
        text.push('\n');
    }
    text
}

fn put(node: &Node, text: &mut String) {
    // Writing to a String cannot fail.
    if node.anchor != 0 {
        let _ = write!(text, "&a{} ", node.anchor);
    }
    if let Some(tag) = &node.tag {
        let _ = write!(text, "!<{tag}> ");
    }
    match &node.content {
        Content::Plain(plain) => put_plain(plain, text),
        Content::Text(quoted) => put_quoted(quoted, text),
        Content::Alias(anchor) => {
            let _ = write!(text, "*a{anchor} ");
        }
        Content::List(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { ",\n" });
                put(item, text);
            }
            text.push(']');
        }
        Content::Map(entries) => {
            text.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { ",\n" });
                put(key, text);
                text.push_str(": ");
                put(value, text);
            }
            text.push('}');
        }
    }
}

/// A scalar without quotes. One with signs that mean something in flow style, or over several lines, can only be a text.
fn put_plain(plain: &str, text: &mut String) {
    if plain.contains([',', '[', ']', '{', '}', '\n']) {
        put_quoted(plain, text);
    } else {
        text.push_str(plain);
    }
}

/// A text in double quotes; YAML knows every escape of JSON.
fn put_quoted(quoted: &str, text: &mut String) {
    text.push_str(&serde_json::Value::from(quoted).to_string());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn again(text: &str) -> String {
        write(&read(text).unwrap())
    }

    #[test]
    fn a_scalar_without_quotes_stays_as_it_is_and_one_with_quotes_stays_a_text() {
        let text = "mode: 0644\nyes: yes\nbig: 1e+07\nquoted: \"yes\"\nsingle: '0644'\nnothing:\ntilde: ~\nurl: http://x:80/a?b#c\ndate: 2001-12-14\n";
        assert_eq!(
            again(text),
            "---\n{mode: 0644,\nyes: yes,\nbig: 1e+07,\nquoted: \"yes\",\nsingle: \"0644\",\nnothing: ~,\ntilde: ~,\nurl: \
             http://x:80/a?b#c,\ndate: 2001-12-14}\n"
        );
    }

    #[test]
    fn texts_with_signs_of_flow_style_are_quoted_and_blocks_keep_their_lines() {
        let text =
            "args: a, {b}\nscript: |\n  one\n   two\nfolded: >-\n  a\n  b\nlist:\n- x\n- y: z\n";
        let written = again(text);
        assert!(written.contains("args: \"a, {b}\""), "{written}");
        assert!(written.contains("script: \"one\\n two\\n\""), "{written}");
        assert!(written.contains("folded: \"a b\""), "{written}");
        assert!(written.contains("list: [x,\n{y: z}]"), "{written}");
    }

    #[test]
    fn what_is_written_is_read_as_the_same_also_with_anchors_and_tags() {
        let text =
            "a: &x {k: v}\nb: *x\nc: !!str 5\nd: !!binary aGk=\n--- \n# nothing\n---\ne: f\n";
        let documents = read(text).unwrap();
        assert_eq!(documents.len(), 2);
        assert_eq!(read(&write(&documents)).unwrap(), documents);
    }

    #[test]
    fn broken_text_and_bottomless_text_are_told() {
        assert!(read("a: [").is_err());
        let levels = DEPTH_MAX + 1;
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let told = read(&deep).unwrap_err().to_string();
        assert!(told.contains("deeper than"), "{told}");
    }

    #[test]
    fn a_map_is_made_where_there_is_nothing_and_an_entry_replaces_another() {
        let mut document = read("metadata: {labels: }\nspec: 1\n").unwrap().remove(0);
        let labels = document
            .map_at("metadata")
            .unwrap()
            .map_at("labels")
            .unwrap();
        labels.set("a", "1");
        labels.set("a", "2");
        assert!(document.map_at("spec").is_none());
        document.map_at("more").unwrap();
        let written = write(&[document]);
        assert_eq!(
            written,
            "---\n{metadata: {labels: {\"a\": \"2\"}},\nspec: 1,\n\"more\": {}}\n"
        );
    }
}
