//! Who guesses tokens: wrong ones are counted by network address, and beyond a number a minute an address waits. What is
//! remembered is bounded.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use admit_core::limits::{PASS_GUESSERS, PASS_GUESSES_PER_MINUTE};

const MINUTE_MS: i64 = 60_000;

#[derive(Debug, Clone, Copy)]
struct Count {
    since_ms: i64,
    wrong: u32,
}

/// Wrong tokens of the last minute, by address.
#[derive(Debug, Default)]
pub struct Guesses {
    by_address: Mutex<BTreeMap<IpAddr, Count>>,
}

/// Of an IPv6 address the network: whoever has one of its addresses has them all.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => {
            let mut segments = six.segments();
            segments[4..].fill(0);
            IpAddr::V6(segments.into())
        }
        four => four,
    }
}

impl Guesses {
    /// How long this address must wait, in milliseconds of the monotonic clock; `None` where it need not.
    pub fn must_wait(&self, address: IpAddr, now_ms: i64) -> Option<i64> {
        let all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.get(&network(address))?;
        let left = count.since_ms + MINUTE_MS - now_ms;
        (count.wrong >= PASS_GUESSES_PER_MINUTE && left > 0).then_some(left)
    }
    /// This address asked for a token that is none.
    pub fn wrong(&self, address: IpAddr, now_ms: i64) {
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = network(address);
        if !all.contains_key(&address) && all.len() >= PASS_GUESSERS {
            all.retain(|_, count| count.since_ms + MINUTE_MS > now_ms);
            if all.len() >= PASS_GUESSERS
                && let Some(oldest) = all.iter().min_by_key(|(_, count)| count.since_ms).map(|(address, _)| *address)
            {
                all.remove(&oldest);
            }
        }
        let count = all.entry(address).or_insert(Count { since_ms: now_ms, wrong: 0 });
        if count.since_ms + MINUTE_MS <= now_ms {
            *count = Count { since_ms: now_ms, wrong: 0 };
        }
        count.wrong += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_its_number_an_address_waits_for_the_rest_of_the_minute() {
        let guesses = Guesses::default();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for n in 0..PASS_GUESSES_PER_MINUTE {
            assert_eq!(guesses.must_wait(one, i64::from(n)), None);
            guesses.wrong(one, i64::from(n));
        }
        assert_eq!(guesses.must_wait(one, 1_000), Some(59_000));
        assert_eq!(guesses.must_wait(other, 1_000), None);
        assert_eq!(guesses.must_wait(one, 60_000), None);
        guesses.wrong(one, 60_000);
        assert_eq!(guesses.must_wait(one, 60_001), None, "it begins anew");
    }

    #[test]
    fn one_who_has_a_whole_network_is_one() {
        let guesses = Guesses::default();
        for n in 0..PASS_GUESSES_PER_MINUTE {
            guesses.wrong(format!("2001:db8:1:2::{n:x}").parse().unwrap(), 0);
        }
        assert!(guesses.must_wait("2001:db8:1:2:ffff::1".parse().unwrap(), 1).is_some());
        assert!(guesses.must_wait("2001:db8:1:3::1".parse().unwrap(), 1).is_none());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let guesses = Guesses::default();
        for n in 0..PASS_GUESSERS as u32 + 100 {
            guesses.wrong(IpAddr::V4((n + 1).into()), i64::from(n) / 1_000);
        }
        assert_eq!(guesses.by_address.lock().unwrap().len(), PASS_GUESSERS);
    }
}
