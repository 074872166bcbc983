//! Passwords in OpenBao or Vault, KV version 2 (D9, T1).
//!
//! Turns the domain's questions and effects about one entry into calls, and answers into facts or failures. It never decides
//! whose an entry is, never makes a second password, never follows a redirect with its token (H34), and never puts a body or
//! a server's text into an error or a log (C5, H38).
//!
//! The request and answer forms are vaultrs's. Its own way of sending is not used: it follows redirects with the token, reads answers
//! of any length and logs a server's texts. `transport` sends instead.

mod call;
mod client;
mod entry;
mod failure;

mod password;
mod session;
mod settings;
mod transport;

#[cfg(test)]
mod double;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod login_tests;
#[cfg(test)]
mod tests;

pub use client::OpenBao;
pub use entry::{Entry, field};
pub use password::{PASSWORD_LENGTH, generate_password};
pub use settings::{Auth, OpenBaoConfigError, OpenBaoSettings};
