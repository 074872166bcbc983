//! The two kinds of PostgreSQL tenancy.

pub mod instance;
pub mod tenant;

mod convert_instance;
mod convert_tenant;
