//! New passwords. It never stores or shows one.

use rand::distr::{Alphanumeric, SampleString};
use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;
use secrecy::SecretString;

/// Characters in a new password: letters and digits, together more than 256 bits.
pub const PASSWORD_LENGTH: usize = 44;

/// A new password from the operating system's random numbers (T1).
///
/// Letters and digits only, so that it needs no encoding in a URL, a shell or a pgpass line, whatever a client does.
///
/// # Panics
/// If the operating system has no random numbers, which Linux never refuses once it has booted.
#[must_use]
pub fn generate_password() -> SecretString {
    SecretString::from(Alphanumeric.sample_string(&mut UnwrapErr(SysRng), PASSWORD_LENGTH))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn t1_a_new_password_is_long_url_safe_and_never_the_same() {
        let passwords: HashSet<String> = (0..200)
            .map(|_| generate_password().expose_secret().to_owned())
            .collect();
        assert_eq!(passwords.len(), 200);
        for password in &passwords {
            assert_eq!(password.len(), PASSWORD_LENGTH);
            assert!(password.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
        let letters: HashSet<char> = passwords
            .iter()
            .flat_map(|password| password.chars())
            .collect();
        assert_eq!(
            letters.len(),
            62,
            "every letter and digit comes up in 8800 draws"
        );
    }
}
