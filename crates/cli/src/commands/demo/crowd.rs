//! `admit demo --crowd`: simulated people who come to the demo's doors.

use std::time::{Duration, Instant};

use admit_app::demo::Seeded;
use anyhow::Context;

use crate::commands::load::office::{Office, Ticket};
use crate::commands::load::phone::Phone;

/// The number of phones at each of the two gates.
const PHONES: usize = 4;
/// The time between two people at one phone.
const GAP: Duration = Duration::from_secs(4);
/// The zone of the tickets that both gates admit.
const ZONE: &str = "general";
/// One person in this many brings a copy of a ticket that a phone let in shortly before. The second phone does not know
/// that, as if it had no network, and lets the person in too. These are the double entries in the review queue.
const COPIES: usize = 61;
/// The number of people between the original and the copy.
const BETWEEN: usize = 15;
/// The demo starts with entries from this long ago, so that the first look shows an evening and not an empty hall.
const BEFORE: Duration = Duration::from_mins(60);
/// The number of people per copy among the entries before the demo's start. Fewer copies keep the first review queue
/// short.
const COPIES_BEFORE: usize = 8 * COPIES;

/// Lets people in at the demo's first two gates, about two per second, until everybody is in or the demo is stopped.
pub async fn come(server: &str, seeded: &Seeded) -> anyhow::Result<()> {
    let office = Office::new(server, &seeded.api_token)?;
    let event_id = seeded.event_id.as_str();
    let mut paired = Vec::new();
    for gate_id in seeded.gates.iter().take(2) {
        let name = format!("Crowd {gate_id}");
        paired.extend(office.pair(event_id, gate_id.as_str(), &name, PHONES).await?);
    }
    let mut tickets = office.tickets(paired.first().context("there is no phone")?, ZONE).await?;
    // The order never changes, so a restarted demo goes on about where it was.
    tickets.sort_by_key(|(_, hash)| hash.0);
    let inside = office.let_in(event_id).await?;
    let left = tickets.get(inside as usize..).unwrap_or_default();
    let start = Instant::now();
    let many = paired.len();
    let before = if inside == 0 { arrivals(BEFORE, GAP) } else { Vec::new() };
    let phones = paired.into_iter().enumerate().map(|(place, paired)| {
        let mut phone = Phone::new(&office, paired, queue(left, place, many, before.len() * many))?;
        phone.scan_before(&before)?;
        let first = start + GAP * place as u32 / many as u32;
        Ok(tokio::spawn(async move { phone.steady(first, GAP).await }))
    });
    for phone in phones.collect::<anyhow::Result<Vec<_>>>()? {
        phone.await??;
    }
    Ok(())
}

/// How long ago each person came to one phone, the earliest first. More and more people come per minute, and
/// one person per `gap` in the end.
fn arrivals(during: Duration, gap: Duration) -> Vec<Duration> {
    let many = (during.as_secs_f64() / gap.as_secs_f64() / 2.0) as u32;
    let came = |n: u32| during.mul_f64((f64::from(n) / f64::from(many)).sqrt());
    (0..many).map(|n| during.saturating_sub(came(n))).collect()
}

/// The people at phone number `place` of `many`: every `many`th person, and now and then a person with a copied ticket.
/// Of all people at all phones, the first `before` came before the demo started.
fn queue(tickets: &[Ticket], place: usize, many: usize, before: usize) -> Vec<Ticket> {
    let mut queue = Vec::new();
    for (n, ticket) in tickets.iter().enumerate().skip(place).step_by(many) {
        queue.push(ticket.clone());
        let one_in = if n < before { COPIES_BEFORE } else { COPIES };
        if n >= COPIES && n.is_multiple_of(one_in) {
            queue.push(tickets[n - BETWEEN].clone());
        }
    }
    queue
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use admit_core::barcode::BarcodeHash;
    use admit_core::ids::TicketId;

    use super::*;

    #[test]
    fn everybody_comes_once_and_now_and_then_one_has_a_copy_that_another_phone_sees() {
        let ticket = |n: usize| (TicketId::new(format!("t{n}")).unwrap(), BarcodeHash::of(&n.to_string()));
        let tickets: Vec<Ticket> = (0..600).map(ticket).collect();
        let mut seen: BTreeMap<TicketId, Vec<usize>> = BTreeMap::new();
        for phone in 0..8 {
            queue(&tickets, phone, 8, 0).into_iter().for_each(|(id, _)| seen.entry(id).or_default().push(phone));
        }
        assert_eq!(seen.len(), 600);
        let twice: Vec<&Vec<usize>> = seen.values().filter(|phones| phones.len() > 1).collect();
        assert_eq!(twice.len(), 9);
        assert!(twice.iter().all(|phones| phones.len() == 2 && phones[0] != phones[1]), "{twice:?}");
    }

    #[test]
    fn those_who_came_before_came_ever_faster_until_now() {
        let came = arrivals(BEFORE, GAP);
        assert_eq!((came.len(), came[0]), (450, BEFORE));
        assert!(came.is_sorted_by(|earlier, later| earlier > later));
        let during = |from: u64, to: u64| came.iter().filter(|ago| (from..to).contains(&(ago.as_secs() / 60))).count();
        assert!((13..=15).contains(&during(0, 1)), "one in about 4 s: {}", during(0, 1));
        assert!(during(50, 60) * 5 < during(0, 10));
    }
}
