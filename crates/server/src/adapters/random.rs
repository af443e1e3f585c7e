//! Random bytes from the operating system.

use admit_app::ports::Ids;

/// Random bytes from the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Ids for SystemRandom {
    /// Ends the process if the system gives no random bytes, because no key may be made from anything else.
    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        if let Err(error) = getrandom::fill(&mut bytes) {
            tracing::error!(%error, "the system gives no randomness: stopping");
            std::process::abort();
        }
        bytes
    }
}
