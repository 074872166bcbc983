//! PostgreSQL tenancy: what an Instance and a Tenant are, which edits are refused, and what to do next.
//!
//! Reading order: [`names`] and [`endpoint`] (values), [`instance`] (the aggregate of seed 003), [`tenant`] (definition and
//! status), [`facts`] (what adapters saw), [`claim`] (a registry row as data), [`effect`] (what adapters may be asked to do),
//! [`decide`] and [`deletion`] (facts to one step), [`admission`] (edits), [`together`] (manifests side by side), [`record`] (a row in a person's hands), [`reason`] (what `Ready` may say).

pub mod admission;
pub mod capability;
pub mod claim;
pub mod decide;
pub mod deletion;
pub mod effect;
pub mod endpoint;
pub mod facts;
pub mod failure;
pub mod instance;
pub mod names;
pub mod proof;
pub mod reason;
pub mod record;
pub mod registration;
pub mod tenant;
pub mod together;
