//! The functions and operators of CEL's standard library, with their signatures: what is not here cannot be called (section 5.3).
//!
//! No string extensions, no optional types, no `cel.bind`, no Kubernetes libraries. Macros are expanded before this table is
//! asked, so only `has` and the comprehensions' own operators are left of them.

use cel_interpreter::common::ast::operators as op;

use super::types::Sign::{
    self, A, B, Bool, Bytes, Double, Duration, Dyn, Int, ListA, MapAB, String, Timestamp, Type,
    Uint,
};

/// One way to call a function.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    /// Called as `x.f(y)`, with `x` as the first parameter.
    pub member: bool,
    /// The parameters.
    pub parameters: &'static [Sign],
    /// The result.
    pub result: Sign,
}

const fn call(parameters: &'static [Sign], result: Sign) -> Overload {
    Overload {
        member: false,
        parameters,
        result,
    }
}

const fn member(parameters: &'static [Sign], result: Sign) -> Overload {
    Overload {
        member: true,
        parameters,
        result,
    }
}

const LOGIC: &[Overload] = &[call(&[Bool, Bool], Bool)];
const NOT: &[Overload] = &[call(&[Bool], Bool)];
const EQUAL: &[Overload] = &[call(&[A, A], Bool)];
const CONDITIONAL: &[Overload] = &[call(&[Bool, A, A], A)];
/// Only equal types have an order here; a value of the document is `dyn`, and numbers of the document compare with all numbers.
const ORDER: &[Overload] = &[
    call(&[Bool, Bool], Bool),
    call(&[Int, Int], Bool),
    call(&[Uint, Uint], Bool),
    call(&[Double, Double], Bool),
    call(&[String, String], Bool),
    call(&[Bytes, Bytes], Bool),
    call(&[Timestamp, Timestamp], Bool),
    call(&[Duration, Duration], Bool),
];
const CONTAINS: &[Overload] = &[call(&[A, ListA], Bool), call(&[A, MapAB], Bool)];
const INDEX: &[Overload] = &[call(&[ListA, Int], A), call(&[MapAB, A], B)];
const ADD: &[Overload] = &[
    call(&[Int, Int], Int),
    call(&[Uint, Uint], Uint),
    call(&[Double, Double], Double),
    call(&[String, String], String),
    call(&[Bytes, Bytes], Bytes),
    call(&[ListA, ListA], ListA),
    call(&[Duration, Duration], Duration),
    call(&[Duration, Timestamp], Timestamp),
    call(&[Timestamp, Duration], Timestamp),
];
const SUBTRACT: &[Overload] = &[
    call(&[Int, Int], Int),
    call(&[Uint, Uint], Uint),
    call(&[Double, Double], Double),
    call(&[Duration, Duration], Duration),
    call(&[Timestamp, Duration], Timestamp),
    call(&[Timestamp, Timestamp], Duration),
];
const MULTIPLY: &[Overload] = &[
    call(&[Int, Int], Int),
    call(&[Uint, Uint], Uint),
    call(&[Double, Double], Double),
];
const MODULO: &[Overload] = &[call(&[Int, Int], Int), call(&[Uint, Uint], Uint)];
const NEGATE: &[Overload] = &[call(&[Int], Int), call(&[Double], Double)];
const SIZE: &[Overload] = &[
    call(&[String], Int),
    call(&[Bytes], Int),
    call(&[ListA], Int),
    call(&[MapAB], Int),
    member(&[String], Int),
    member(&[Bytes], Int),
    member(&[ListA], Int),
    member(&[MapAB], Int),
];
const TEXT_TEST: &[Overload] = &[member(&[String, String], Bool)];
const MATCHES: &[Overload] = &[
    call(&[String, String], Bool),
    member(&[String, String], Bool),
];
const TO_INT: &[Overload] = &[
    call(&[Int], Int),
    call(&[Uint], Int),
    call(&[Double], Int),
    call(&[String], Int),
    call(&[Timestamp], Int),
];
const TO_UINT: &[Overload] = &[
    call(&[Uint], Uint),
    call(&[Int], Uint),
    call(&[Double], Uint),
    call(&[String], Uint),
];
const TO_DOUBLE: &[Overload] = &[
    call(&[Double], Double),
    call(&[Int], Double),
    call(&[Uint], Double),
    call(&[String], Double),
];
const TO_STRING: &[Overload] = &[
    call(&[String], String),
    call(&[Bool], String),
    call(&[Int], String),
    call(&[Uint], String),
    call(&[Double], String),
    call(&[Bytes], String),
    call(&[Timestamp], String),
    call(&[Duration], String),
];
const TO_BYTES: &[Overload] = &[call(&[Bytes], Bytes), call(&[String], Bytes)];
const TO_BOOL: &[Overload] = &[call(&[Bool], Bool), call(&[String], Bool)];
const TO_TIMESTAMP: &[Overload] = &[
    call(&[Timestamp], Timestamp),
    call(&[String], Timestamp),
    call(&[Int], Timestamp),
];
const TO_DURATION: &[Overload] = &[call(&[Duration], Duration), call(&[String], Duration)];
const TO_DYN: &[Overload] = &[call(&[A], Dyn)];
const TO_TYPE: &[Overload] = &[call(&[A], Type)];
const DATE_PART: &[Overload] = &[member(&[Timestamp], Int), member(&[Timestamp, String], Int)];
const TIME_PART: &[Overload] = &[
    member(&[Timestamp], Int),
    member(&[Timestamp, String], Int),
    member(&[Duration], Int),
];

/// The overloads of a function or operator, or nothing if the standard library has none of that name.
#[must_use]
pub fn overloads(name: &str) -> Option<&'static [Overload]> {
    Some(match name {
        op::LOGICAL_AND | op::LOGICAL_OR => LOGIC,
        op::LOGICAL_NOT | op::NOT_STRICTLY_FALSE => NOT,
        op::EQUALS | op::NOT_EQUALS => EQUAL,
        op::CONDITIONAL => CONDITIONAL,
        op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => ORDER,
        op::IN => CONTAINS,
        op::INDEX => INDEX,
        op::ADD => ADD,
        op::SUBSTRACT => SUBTRACT,
        op::MULTIPLY | op::DIVIDE => MULTIPLY,
        op::MODULO => MODULO,
        op::NEGATE => NEGATE,
        "size" => SIZE,
        "contains" | "startsWith" | "endsWith" => TEXT_TEST,
        "matches" => MATCHES,
        "int" => TO_INT,
        "uint" => TO_UINT,
        "double" => TO_DOUBLE,
        "string" => TO_STRING,
        "bytes" => TO_BYTES,
        "bool" => TO_BOOL,
        "timestamp" => TO_TIMESTAMP,
        "duration" => TO_DURATION,
        "dyn" => TO_DYN,
        "type" => TO_TYPE,
        "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate"
        | "getDayOfWeek" => DATE_PART,
        "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => TIME_PART,
        _ => return None,
    })
}

/// True if the name is that of a type, which an expression may compare with: `type(self.n) == double`.
#[must_use]
pub fn is_type_name(name: &str) -> bool {
    matches!(
        name,
        "bool"
            | "bytes"
            | "double"
            | "int"
            | "list"
            | "map"
            | "null_type"
            | "string"
            | "type"
            | "uint"
            | "google.protobuf.Duration"
            | "google.protobuf.Timestamp"
    )
}
