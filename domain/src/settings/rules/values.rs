//! JSON as the interpreter sees it: read where it lies, nothing converted beforehand; every number a double (section 5.3).
//!
//! An object or array of the document becomes a [`Lazy`] value that looks into it when the rule does; scalars become the
//! interpreter's own. The interpreter's containers do not know this type, so `==` and `in` go through [`equal`] and [`contains`].
//! This file evaluates nothing.

use std::sync::OnceLock;

use cel_interpreter::ExecutionError;
use cel_interpreter::common::traits::{
    Adder, Container, Indexer, Iterable, Iterator as ValIterator, Sizer,
};
use cel_interpreter::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelNull, CelString, CelUInt, DYN_TYPE, Kind, LIST_TYPE,
    MAP_TYPE, Type,
};
use cel_interpreter::common::value::{CowVal, Val};
use serde_json::{Map, Value};

/// A value that borrows from the document.
pub type Boxed<'d> = Box<dyn Val + 'd>;

/// A JSON value for the interpreter; texts are borrowed, containers are [`Lazy`].
#[must_use]
pub fn value(json: &Value) -> Boxed<'_> {
    match json {
        Value::Null => Box::new(CelNull),
        Value::Bool(flag) => Box::new(CelBool::from(*flag)),
        // A number beyond the doubles cannot occur: documents are read without arbitrary precision.
        Value::Number(number) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(Lazy::new(Json::List(items))),
        Value::Object(fields) => Box::new(Lazy::new(Json::Map(fields))),
    }
}

/// An array or object of the document.
#[derive(Debug)]
pub struct Lazy<'d> {
    json: Json<'d>,
    /// Elements or keys, once something goes through them.
    items: OnceLock<Vec<Boxed<'d>>>,
}

#[derive(Clone, Copy, Debug)]
enum Json<'d> {
    List(&'d [Value]),
    Map(&'d Map<String, Value>),
}

impl<'d> Lazy<'d> {
    const fn new(json: Json<'d>) -> Self {
        Self {
            json,
            items: OnceLock::new(),
        }
    }

    /// The elements of an array, or the keys of an object in their order.
    fn elements(&self) -> Vec<Boxed<'d>> {
        match self.json {
            Json::List(items) => items.iter().map(value).collect(),
            Json::Map(fields) => {
                let mut keys: Vec<_> = fields.keys().collect();
                keys.sort_unstable();
                keys.into_iter()
                    .map(|key| Box::new(CelString::from(key.as_str())) as Boxed<'d>)
                    .collect()
            }
        }
    }

    fn len(&self) -> usize {
        match self.json {
            Json::List(items) => items.len(),
            Json::Map(fields) => fields.len(),
        }
    }
}

impl Val for Lazy<'_> {
    fn get_type(&self) -> &Type {
        static LIST: Type = LIST_TYPE;
        static MAP: Type = MAP_TYPE;
        match self.json {
            Json::List(_) => &LIST,
            Json::Map(_) => &MAP,
        }
    }

    fn cel_type() -> &'static Type {
        static ANY: Type = DYN_TYPE;
        &ANY
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        matches!(self.json, Json::List(_)).then_some(self)
    }

    fn as_container(&self) -> Option<&dyn Container> {
        Some(self)
    }

    fn as_indexer<'b, 'v>(&'b self) -> Option<&'b (dyn Indexer + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_iterable<'b, 'v>(&'b self) -> Option<&'b (dyn Iterable + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn as_sizer(&self) -> Option<&dyn Sizer> {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        equal(self, other)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
    where
        Self: 'v,
    {
        Box::new(Self::new(self.json))
    }
}

impl Adder for Lazy<'_> {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let refused = || no_overload("_+_", &[self, other]);
        if other.get_type().kind() != Kind::List {
            return Err(refused());
        }
        let mut more = other.as_iterable().ok_or_else(refused)?.iter();
        let mut list: Vec<Box<dyn Val + 'v>> =
            self.elements().into_iter().map(|item| item as _).collect();
        while let Some(item) = more.next() {
            list.push(item.clone_as_boxed());
        }
        Ok(CowVal::owned(CelList::from(list)))
    }
}

impl Container for Lazy<'_> {
    fn contains(&self, value: &dyn Val) -> Result<bool, ExecutionError> {
        match self.json {
            Json::List(_) => Ok(any_equal(self, value)),
            // No key of JSON is anything but a text; what can never be a key is an error.
            Json::Map(fields) => match (value.downcast_ref::<CelString>(), value.get_type().kind())
            {
                (Some(key), _) => Ok(fields.contains_key(key.inner())),
                (None, Kind::Int | Kind::UInt | Kind::Double | Kind::Boolean) => Ok(false),
                _ => Err(no_overload("_in_", &[value, self])),
            },
        }
    }
}

impl Indexer for Lazy<'_> {
    fn get<'b, 'v>(&'b self, index: &dyn Val) -> Result<CowVal<'b, 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let found = match self.json {
            Json::List(items) => {
                let position = position(index)?;
                let item = usize::try_from(position)
                    .ok()
                    .and_then(|position| items.get(position));
                item.ok_or_else(|| ExecutionError::IndexOutOfBounds(position.into()))
            }
            Json::Map(fields) => match index.downcast_ref::<CelString>() {
                Some(key) => fields
                    .get(key.inner())
                    .ok_or_else(|| ExecutionError::no_such_key(key.inner())),
                // No key of JSON is anything but a text.
                None => Err(ExecutionError::no_such_key(index.get_type().name())),
            },
        };
        found.map(|json| CowVal::Owned(value(json)))
    }

    fn steal<'v>(self: Box<Self>, index: &dyn Val) -> Result<Box<dyn Val + 'v>, ExecutionError>
    where
        Self: 'v,
    {
        let found = self.get(index)?;
        Ok(found.into_owned())
    }
}

/// A whole number of any type, as a position in a list.
fn position(index: &dyn Val) -> Result<i64, ExecutionError> {
    if let Some(int) = index.downcast_ref::<CelInt>() {
        return Ok(*int.inner());
    }
    if let Some(uint) = index.downcast_ref::<CelUInt>() {
        return Ok(i64::try_from(*uint.inner()).unwrap_or(i64::MAX));
    }
    match index
        .downcast_ref::<CelDouble>()
        .map(|double| *double.inner())
    {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole, and a cast saturates"
        )]
        Some(double) if double.fract() == 0.0 => Ok(double as i64),
        Some(double) => Err(ExecutionError::UnsupportedIndex(
            double.into(),
            cel_interpreter::Value::Null,
        )),
        None => Err(ExecutionError::UnexpectedType {
            got: index.get_type().name().to_owned(),
            want: "int".to_owned(),
        }),
    }
}

impl Iterable for Lazy<'_> {
    fn iter<'b, 'v>(&'b self) -> Box<dyn ValIterator<'b, 'v> + 'b>
    where
        Self: 'v,
    {
        Box::new(Elements(self.items.get_or_init(|| self.elements()).iter()))
    }
}

struct Elements<'b, 'd>(std::slice::Iter<'b, Boxed<'d>>);

impl<'b, 'd: 'v, 'v> ValIterator<'b, 'v> for Elements<'b, 'd> {
    fn next(&mut self) -> Option<&'b (dyn Val + 'v)> {
        self.0.next().map(|item| item.as_ref() as _)
    }
}

impl Sizer for Lazy<'_> {
    fn size(&self) -> CelInt {
        i64::try_from(self.len()).unwrap_or(i64::MAX).into()
    }
}

fn no_overload(name: &str, operands: &[&dyn Val]) -> ExecutionError {
    let types = operands
        .iter()
        .map(|operand| operand.get_type().name().to_owned())
        .collect();
    ExecutionError::no_such_overload(name, types)
}

/// True if two values are equal, containers of the document and of the rule alike.
#[must_use]
pub fn equal(one: &dyn Val, two: &dyn Val) -> bool {
    let kind = one.get_type().kind();
    if !matches!(kind, Kind::List | Kind::Map) {
        return one.equals(two);
    }
    if two.get_type().kind() != kind || size(one) != size(two) {
        return false;
    }
    let (Some(one_items), Some(two_items)) = (one.as_iterable(), two.as_iterable()) else {
        return false;
    };
    let mut items = one_items.iter();
    if kind == Kind::List {
        let mut others = two_items.iter();
        while let (Some(item), Some(other)) = (items.next(), others.next()) {
            if !equal(item, other) {
                return false;
            }
        }
        return true;
    }
    let (Some(one), Some(two)) = (one.as_indexer(), two.as_indexer()) else {
        return false;
    };
    while let Some(key) = items.next() {
        match (one.get(key), two.get(key)) {
            (Ok(value), Ok(other)) if equal(value.as_ref(), other.as_ref()) => {}
            _ => return false,
        }
    }
    true
}

fn size(value: &dyn Val) -> Option<i64> {
    value.as_sizer().map(|sizer| *sizer.size().inner())
}

/// `value in range`.
///
/// # Errors
/// The range has no members, or the value can never be one.
pub fn contains(range: &dyn Val, value: &dyn Val) -> Result<bool, ExecutionError> {
    if range.get_type().kind() == Kind::List {
        return Ok(any_equal(range, value));
    }
    let container = range
        .as_container()
        .ok_or_else(|| no_overload("_in_", &[value, range]))?;
    container.contains(value)
}

fn any_equal(list: &dyn Val, value: &dyn Val) -> bool {
    let Some(list) = list.as_iterable() else {
        return false;
    };
    let mut items = list.iter();
    while let Some(item) = items.next() {
        if equal(item, value) {
            return true;
        }
    }
    false
}
