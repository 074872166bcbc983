//! The keyword `type`: which kinds of value a node allows.

/// A type name of draft 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `object`.
    Object,
    /// `array`.
    Array,
    /// `string`.
    String,
    /// `number`.
    Number,
    /// `integer`.
    Integer,
    /// `boolean`.
    Boolean,
    /// `null`.
    Null,
}

impl Type {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            _ => return None,
        })
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The value of `type`: nothing, a name or a list of names. A name that draft 4 does not know allows no value (section 5.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Types {
    names: Vec<Box<str>>,
    known: u8,
    listed: bool,
}

impl Types {
    /// From one name.
    #[must_use]
    pub fn one(name: &str) -> Self {
        Self::collect(vec![name.into()], false)
    }

    /// From a list of names.
    #[must_use]
    pub fn list(names: Vec<Box<str>>) -> Self {
        Self::collect(names, true)
    }

    fn collect(names: Vec<Box<str>>, listed: bool) -> Self {
        let known = names
            .iter()
            .filter_map(|name| Type::parse(name))
            .fold(0, |known, one| known | one.bit());
        Self {
            names,
            known,
            listed,
        }
    }

    /// True if `type` is absent or an empty list: every value is allowed.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.names.is_empty()
    }

    /// True if the type is among the names.
    #[must_use]
    pub const fn contains(&self, one: Type) -> bool {
        self.known & one.bit() != 0
    }

    /// The names as written.
    #[must_use]
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    /// True if written as a list.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        self.listed
    }
}
