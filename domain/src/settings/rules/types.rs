//! Static types of expressions and when one stands for another, as the type checker of CEL decides it (section 5.3).
//!
//! JSON values below `self` are `dyn`, which stands for everything; so what is found here is what can never work, whatever the
//! document says. This file knows no function and no expression.

use std::fmt;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Anything: known when the rule is evaluated.
    Dyn,
    /// `null_type`.
    Null,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `uint`.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `google.protobuf.Duration`.
    Duration,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// The type of a type's name, such as `int` in `type(x) == int`.
    Type,
    /// `list(T)`.
    List(Box<Self>),
    /// `map(K, V)`.
    Map(Box<Self>, Box<Self>),
}

impl Type {
    /// `list(T)`.
    #[must_use]
    pub fn list(item: Self) -> Self {
        Self::List(Box::new(item))
    }

    /// `map(K, V)`.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// True if a value of one type may turn out to be of the other.
    #[must_use]
    pub fn stands_for(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _)
            | (_, Self::Dyn)
            | (Self::Null, Self::Duration | Self::Timestamp)
            | (Self::Duration | Self::Timestamp, Self::Null) => true,
            (Self::List(one), Self::List(two)) => one.stands_for(two),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                key.stands_for(other_key) && value.stands_for(other_value)
            }
            _ => self == other,
        }
    }

    /// The type that covers both, `dyn` where they part.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::List(one), Self::List(two)) => Self::list(one.join(*two)),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                Self::map(key.join(*other_key), value.join(*other_value))
            }
            (Self::Null, other @ (Self::Duration | Self::Timestamp))
            | (other @ (Self::Duration | Self::Timestamp), Self::Null) => other,
            _ => Self::Dyn,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Type => f.write_str("type"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
        }
    }
}

/// A type in a function's signature, where `A` and `B` are the same type wherever they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `dyn`.
    Dyn,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `uint`.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// `duration`.
    Duration,
    /// `timestamp`.
    Timestamp,
    /// `type`.
    Type,
    /// The first parameter of the signature.
    A,
    /// The second.
    B,
    /// `list(A)`.
    ListA,
    /// `map(A, B)`.
    MapAB,
}

/// What the parameters of one signature stand for, in one call.
#[derive(Clone, Debug, Default)]
pub struct Bound {
    a: Option<Type>,
    b: Option<Type>,
}

impl Bound {
    /// True if the argument fits the parameter, which then is bound.
    pub fn accept(&mut self, sign: Sign, argument: &Type) -> bool {
        match (sign, argument) {
            (Sign::A, _) => bind(&mut self.a, argument),
            (Sign::B, _) => bind(&mut self.b, argument),
            (Sign::ListA | Sign::MapAB, Type::Dyn) => {
                bind(&mut self.a, &Type::Dyn)
                    && (sign == Sign::ListA || bind(&mut self.b, &Type::Dyn))
            }
            (Sign::ListA, Type::List(item)) => bind(&mut self.a, item),
            (Sign::MapAB, Type::Map(key, value)) => {
                bind(&mut self.a, key) && bind(&mut self.b, value)
            }
            (Sign::ListA | Sign::MapAB, _) => false,
            (plain, _) => self.result(plain).stands_for(argument),
        }
    }

    /// The type of a signature's result in this call.
    #[must_use]
    pub fn result(&self, sign: Sign) -> Type {
        let a = || self.a.clone().unwrap_or(Type::Dyn);
        let b = || self.b.clone().unwrap_or(Type::Dyn);
        match sign {
            Sign::Dyn => Type::Dyn,
            Sign::Bool => Type::Bool,
            Sign::Int => Type::Int,
            Sign::Uint => Type::Uint,
            Sign::Double => Type::Double,
            Sign::String => Type::String,
            Sign::Bytes => Type::Bytes,
            Sign::Duration => Type::Duration,
            Sign::Timestamp => Type::Timestamp,
            Sign::Type => Type::Type,
            Sign::A => a(),
            Sign::B => b(),
            Sign::ListA => Type::list(a()),
            Sign::MapAB => Type::map(a(), b()),
        }
    }
}

fn bind(parameter: &mut Option<Type>, argument: &Type) -> bool {
    match parameter.take() {
        None => {
            *parameter = Some(argument.clone());
            true
        }
        Some(bound) if bound.stands_for(argument) => {
            *parameter = Some(bound.join(argument.clone()));
            true
        }
        Some(bound) => {
            *parameter = Some(bound);
            false
        }
    }
}
