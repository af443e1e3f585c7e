//! The logs of devices: which `seq` numbers have arrived (spec §3 "Log"). Missing are the numbers from 1 to the highest
//! reported head, less those received.

use crate::records::LogRecord;

/// Adds `seq` to ranges that are ascending and disjoint.
pub fn receive(ranges: &mut Vec<(u64, u64)>, seq: u64) {
    let at = ranges.partition_point(|(_, to)| *to < seq);
    if ranges.get(at).is_some_and(|(from, _)| *from <= seq) {
        return;
    }
    let joins_before = at > 0 && ranges[at - 1].1 + 1 == seq;
    let joins_after = ranges.get(at).is_some_and(|(from, _)| seq + 1 == *from);
    match (joins_before, joins_after) {
        (true, true) => {
            ranges[at - 1].1 = ranges[at].1;
            ranges.remove(at);
        }
        (true, false) => ranges[at - 1].1 = seq,
        (false, true) => ranges[at].0 = seq,
        (false, false) => ranges.insert(at, (seq, seq)),
    }
}

/// Whether `seq` is in ranges that are ascending and disjoint.
pub fn has(ranges: &[(u64, u64)], seq: u64) -> bool {
    let at = ranges.partition_point(|(_, to)| *to < seq);
    ranges.get(at).is_some_and(|(from, _)| *from <= seq)
}

/// The ranges within 1…head that were not received.
pub fn missing(log: &LogRecord) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut next = 1;
    for (from, to) in &log.received {
        if *from > next {
            gaps.push((next, from - 1));
        }
        next = next.max(to.saturating_add(1));
    }
    if next <= log.head {
        gaps.push((next, log.head));
    }
    gaps
}

/// Number of missing scans.
pub fn count_missing(log: &LogRecord) -> u64 {
    missing(log).iter().map(|(from, to)| to - from + 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use admit_core::ids::{DeviceId, EventId, LogId};

    fn log(head: u64, seqs: &[u64]) -> LogRecord {
        let mut received = Vec::new();
        for seq in seqs {
            receive(&mut received, *seq);
        }
        LogRecord {
            device_id: DeviceId::new("d").unwrap(),
            log_id: LogId::new("l").unwrap(),
            event_id: EventId::new("e").unwrap(),
            head,
            received,
            closed_at: None,
        }
    }

    #[test]
    fn gaps_are_what_the_head_promises_and_nobody_brought() {
        let log = log(9, &[5, 1, 2, 6, 2, 4]);
        assert_eq!(log.received, [(1, 2), (4, 6)]);
        assert_eq!(missing(&log), [(3, 3), (7, 9)]);
        assert_eq!(count_missing(&log), 4);
    }

    #[test]
    fn any_order_of_arrival_gives_the_same_ranges() {
        assert_eq!(log(6, &[6, 5, 4, 3, 2, 1]).received, [(1, 6)]);
        assert_eq!(log(6, &[1, 3, 5, 2, 4, 6]).received, [(1, 6)]);
        assert!(missing(&log(0, &[])).is_empty());
    }
}
