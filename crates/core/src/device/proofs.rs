//! The witnesses that this device holds. They prove where the server's ledger ended at some moment (spec §3 "Epoch and
//! witness").
//!
//! A newer witness alone is no reason to drop an older one. The server may have been rolled back between the two, and
//! then the older one is the only proof. So each request carries the oldest witness. The device drops that witness only
//! when the server has answered the request in the same epoch. Few requests are under way at a time, so there are never
//! many witnesses.

use crate::ids::EventId;
use crate::limits;
use crate::rule::Epoch;
use crate::wire::scanning::Witness;

/// Witnesses of one event and epoch.
#[derive(Debug, Clone, Default)]
pub(super) struct Proofs {
    /// Witnesses by rising serial, with the text that the server wrote. The last one is the newest. The server has
    /// confirmed none of those before it.
    held: Vec<(Witness, String)>,
}

impl Proofs {
    /// Takes the witnesses that the journal kept.
    pub fn recall(texts: &[String]) -> Self {
        Self { held: texts.iter().filter_map(|text| Some((text.parse().ok()?, text.clone()))).collect() }
    }
    /// The event to which the witnesses belong. `None` if there are none.
    pub fn event_id(&self) -> Option<&EventId> {
        self.held.last().map(|(witness, _)| &witness.event_id)
    }
    /// Epoch and serial of the newest witness. `None` if there is none.
    pub fn newest(&self) -> Option<(Epoch, u64)> {
        self.held.last().map(|(witness, _)| (witness.epoch, witness.serial))
    }
    /// The witness that the next request carries: the oldest that the server has not confirmed, otherwise the newest.
    /// `None` if there is none.
    pub fn to_carry(&self) -> Option<&str> {
        self.held.first().map(|(_, text)| text.as_str())
    }
    /// The texts of all witnesses, as the journal keeps them.
    pub fn texts(&self) -> Vec<String> {
        self.held.iter().map(|(_, text)| text.clone()).collect()
    }

    /// Takes the witness of an answer. `carried` is the witness that the request carried.
    pub fn take(&mut self, carried: Option<&str>, witness: Witness, text: &str) {
        let place = |witness: &Witness| (witness.event_id.clone(), witness.epoch);
        let Some((newest, _)) = self.held.last() else { return self.held.push((witness, text.to_owned())) };
        if place(newest) != place(&witness) {
            self.held = vec![(witness, text.to_owned())];
            return;
        }
        if self.held.iter().all(|(_, held)| held != text) {
            // A witness with a lower serial is kept too: answers overtake each other, and it may be from before a
            // roll-back.
            let at = self.held.partition_point(|(held, _)| held.serial <= witness.serial);
            self.held.insert(at, (witness, text.to_owned()));
        }
        // The server has answered a request that carried this witness, so the witness is dropped, unless it is the
        // newest.
        let older = self.held.len() - 1;
        if let Some(at) = self.held[..older].iter().position(|(_, text)| carried == Some(text.as_str())) {
            self.held.remove(at);
        }
        if self.held.len() > limits::WITNESSES {
            self.held.remove(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_proofs_are_held_of_which_the_oldest_and_the_newest_stay() {
        let event = EventId::new("event").unwrap();
        let mut proofs = Proofs::default();
        for serial in 1..=40 {
            let witness = Witness::new(b"secret", Epoch { restored_at_ms: 1, random: 1 }, &event, serial, [0; 32]);
            let text = witness.to_string();
            proofs.take(None, witness, &text);
            let held: Vec<u64> = proofs.texts().iter().map(|text| text.parse::<Witness>().unwrap().serial).collect();
            assert_eq!(held.len() as u64, serial.min(16));
            assert_eq!((held[0], held.last()), (1, Some(&serial)));
        }
    }
}
