//! The operating system's randomness.

use admit_app::ports::Ids;

/// Random bytes from the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Ids for SystemRandom {
    /// Ends the process when the system gives none: no key may ever be made from anything else.
    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::error!(%error, "the system gives no randomness: stopping");
            std::process::abort();
        }
        bytes
    }
}
