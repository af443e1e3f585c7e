//! The effects of the input at hand, in order, and the random bytes that it brought. The outbox also measures how long
//! verdicts take, since every verdict passes through it.

use sha2::{Digest as _, Sha256};

use super::figures::Measured;
use crate::wire::engine::{Effect, Input, Now};

/// The effects of one input so far.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    mono_ms: i64,
    random: [u8; 32],
    draws: u32,
    effects: Vec<Effect>,
    measured: Measured,
}

impl Outbox {
    /// Begins with a new input.
    pub fn begin(&mut self, now: &Now) {
        (self.mono_ms, self.random, self.draws) = (now.mono_ms, now.random, 0);
    }
    /// Begins the measurement that the input asks for, if it asks for one.
    pub fn measure(&mut self, input: &Input) {
        self.measured.input(input, self.mono_ms);
    }
    /// The monotonic clock of the input, in milliseconds.
    pub fn mono(&self) -> i64 {
        self.mono_ms
    }
    /// The effects so far, in order. The outbox is empty after that.
    pub fn empty(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
    /// The figures that this device measures.
    pub fn measured(&mut self) -> &mut Measured {
        &mut self.measured
    }

    /// Fresh random bytes. Any number of draws per input is derived from the 32 bytes that the input brought.
    pub fn draw(&mut self) -> [u8; 32] {
        self.draws += 1;
        Sha256::new().chain_update(self.random).chain_update(self.draws.to_be_bytes()).finalize().into()
    }
    /// A fresh random id.
    pub fn draw_uuid(&mut self) -> String {
        let mut half = [0; 16];
        half.copy_from_slice(&self.draw()[..16]);
        crate::ids::uuid_v4(half)
    }
    /// A fresh random number.
    pub fn jitter(&mut self) -> u32 {
        let drawn = self.draw();
        u32::from_be_bytes([drawn[0], drawn[1], drawn[2], drawn[3]])
    }

    /// Adds an effect.
    pub fn emit(&mut self, effect: Effect) {
        self.measured.effect(&effect, self.mono_ms);
        self.effects.push(effect);
    }
    /// Tells staff that their input was refused, and why.
    pub fn refuse(&mut self, code: &str, message: &str) {
        self.emit(Effect::Refused { code: code.to_owned(), message: message.to_owned() });
    }
}
