//! Decoding of optional values: an absent field and `null` both mean the default, as the API server stores them.
//!
//! Decides no default itself and never accepts a `null` where a value is required.

use serde::{Deserialize, Deserializer};

/// The value, or the type's default for `null`.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A default that the CRD and the Rust type share: `NAME::value` for an absent field, `NAME::deserialize` for `null`.
macro_rules! shared_default {
    ($(#[$meta:meta])* $name:ident: $type:ty = $value:expr) => {
        $(#[$meta])*
        pub(crate) mod $name {
            use serde::{Deserialize, Deserializer};

            pub(crate) fn value() -> $type {
                $value
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                Ok(Option::deserialize(deserializer)?.unwrap_or_else(value))
            }
        }
    };
}

pub(crate) use shared_default;
