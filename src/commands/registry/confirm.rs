//! The plan is shown first, and the UID that is given up must be said: nobody gives a database away by a slip of a name.
//!
//! Decides that only the very UID counts. It reads standard input only where a person sits before it.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use domain::tenancy::names::Uid;

use super::RegistryError;
use crate::commands::print;

/// Prints the plan and waits for the UID: from the flag, or from the terminal.
pub(super) fn confirm(
    plan: &[String],
    given_up: &Uid,
    flag: Option<&str>,
) -> Result<(), RegistryError> {
    let mut text = String::new();
    for line in plan {
        text.push_str(line);
        text.push('\n');
    }
    print(&text).map_err(RegistryError::Terminal)?;
    if let Some(given) = flag {
        return judge(given, given_up);
    }
    if !io::stdin().is_terminal() {
        return Err(RegistryError::Unconfirmed(given_up.to_string()));
    }
    eprint!("Type the UID that is given up ({given_up}) to go on: ");
    io::stderr().flush().map_err(RegistryError::Terminal)?;
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(RegistryError::Terminal)?;
    judge(line.trim(), given_up)
}

fn judge(given: &str, wanted: &Uid) -> Result<(), RegistryError> {
    if given == wanted.as_str() {
        return Ok(());
    }
    Err(RegistryError::WrongUid {
        given: webhook::for_terminal(given),
        wanted: wanted.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t4_only_the_very_uid_confirms() {
        let uid = Uid::new("0f6c-1");
        assert!(judge("0f6c-1", &uid).is_ok());
        for wrong in ["", "0f6c", "0f6c-12", "0F6C-1", "yes", " 0f6c-1"] {
            assert!(judge(wrong, &uid).is_err(), "{wrong:?}");
        }
    }
}
