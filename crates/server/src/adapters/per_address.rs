//! Limits for callers without a credential, such as those who guess tokens or ask to be paired. Requests are counted
//! by network address. Beyond the limit an address must wait. The memory for the counts is bounded.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use admit_core::limits::{PAIRING_TOKEN_MS, PASS_GUESSERS};

/// The most pairing requests from one network address within [`PAIRING_ASKS_MS`]. The server keeps a limited number of
/// waiting requests, and one address must not use them all up.
pub const PAIRING_ASKS: u32 = 100;
/// How long a pairing request is counted, in milliseconds: the life of its token, and as long again while its device
/// may still ask for the result.
pub const PAIRING_ASKS_MS: i64 = 2 * PAIRING_TOKEN_MS;

#[derive(Debug, Clone, Copy)]
struct Count {
    since_ms: i64,
    times: u32,
}

/// How often each address did something within the window.
#[derive(Debug)]
pub struct PerAddress {
    most: u32,
    window_ms: i64,
    by_address: Mutex<BTreeMap<IpAddr, Count>>,
}

/// The address to count by. For IPv6 it is the network of 64 bits, because a client with one address of such a network
/// usually has all of them.
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

impl PerAddress {
    /// A limit of `most` times from one address within `window_ms` milliseconds.
    pub fn new(most: u32, window_ms: i64) -> Self {
        Self { most, window_ms, by_address: Mutex::default() }
    }
    /// How long this address must wait, in milliseconds of the monotonic clock; `None` if it need not wait.
    pub fn must_wait(&self, address: IpAddr, now_ms: i64) -> Option<i64> {
        let all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = all.get(&network(address))?;
        let left = count.since_ms + self.window_ms - now_ms;
        (count.times >= self.most && left > 0).then_some(left)
    }
    /// Counts one more time for this address.
    pub fn count(&self, address: IpAddr, now_ms: i64) {
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = network(address);
        if !all.contains_key(&address) && all.len() >= PASS_GUESSERS {
            all.retain(|_, count| count.since_ms + self.window_ms > now_ms);
            if all.len() >= PASS_GUESSERS
                && let Some(oldest) = all.iter().min_by_key(|(_, count)| count.since_ms).map(|(address, _)| *address)
            {
                all.remove(&oldest);
            }
        }
        let count = all.entry(address).or_insert(Count { since_ms: now_ms, times: 0 });
        if count.since_ms + self.window_ms <= now_ms {
            *count = Count { since_ms: now_ms, times: 0 };
        }
        count.times += 1;
    }
    /// Removes the newest count of this address.
    pub fn forgive(&self, address: IpAddr) {
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&network(address)) {
            count.times = count.times.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = 30;

    #[test]
    fn beyond_its_number_an_address_waits_for_the_rest_of_the_minute() {
        let counted = PerAddress::new(MOST, 60_000);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for n in 0..MOST {
            assert_eq!(counted.must_wait(one, i64::from(n)), None);
            counted.count(one, i64::from(n));
        }
        assert_eq!(counted.must_wait(one, 1_000), Some(59_000));
        assert_eq!(counted.must_wait(other, 1_000), None);
        assert_eq!(counted.must_wait(one, 60_000), None);
        counted.count(one, 60_000);
        assert_eq!(counted.must_wait(one, 60_001), None, "it begins anew");
        for n in 0..2 * MOST {
            counted.count(other, i64::from(n));
            counted.forgive(other);
        }
        assert_eq!(counted.must_wait(other, 1_000), None, "what was forgiven does not count");
    }

    #[test]
    fn one_who_has_a_whole_network_is_one() {
        let counted = PerAddress::new(MOST, 60_000);
        for n in 0..MOST {
            counted.count(format!("2001:db8:1:2::{n:x}").parse().unwrap(), 0);
        }
        assert!(counted.must_wait("2001:db8:1:2:ffff::1".parse().unwrap(), 1).is_some());
        assert!(counted.must_wait("2001:db8:1:3::1".parse().unwrap(), 1).is_none());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let counted = PerAddress::new(MOST, 60_000);
        for n in 0..PASS_GUESSERS as u32 + 100 {
            counted.count(IpAddr::V4((n + 1).into()), i64::from(n) / 1_000);
        }
        assert_eq!(counted.by_address.lock().unwrap().len(), PASS_GUESSERS);
    }
}
