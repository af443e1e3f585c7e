//! Hashes passwords with argon2id, which is slow on purpose. [`hash`] and [`verify`] take tens of milliseconds of a
//! core, so a server calls them where blocking is allowed.

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::error::{Error, Result};

/// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

fn argon2() -> Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| Error::Bug(error.to_string()))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// The PHC text of a password, hashed with the first 16 bytes of `random` as salt.
pub fn hash(password: &str, random: [u8; 32]) -> Result<String> {
    let hashed: PasswordHash = argon2()?
        .hash_password_with_salt(password.as_bytes(), &random[..16])
        .map_err(|error| Error::Bug(error.to_string()))?;
    Ok(hashed.to_string())
}

/// Whether the password belongs to a stored PHC text. If there is none (nobody has this e-mail), the function does the
/// same work and returns `false`. So the time of the answer does not tell who has an account.
pub fn verify(password: &str, stored: Option<&str>) -> Result<bool> {
    let Some(stored) = stored else {
        let _ = hash(password, [0; 32])?;
        return Ok(false);
    };
    let parsed = PasswordHash::new(stored).map_err(|error| Error::Bug(format!("a stored password: {error}")))?;
    Ok(argon2()?.verify_password(password.as_bytes(), &parsed).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_opens_its_hash_and_nobody_opens_nothing() {
        let stored = hash("correct horse battery", [7; 32]).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify("correct horse battery", Some(&stored)).unwrap());
        assert!(!verify("correct horse batterz", Some(&stored)).unwrap());
        assert!(!verify("correct horse battery", None).unwrap());
        assert_ne!(stored, hash("correct horse battery", [8; 32]).unwrap(), "salted");
    }
}
