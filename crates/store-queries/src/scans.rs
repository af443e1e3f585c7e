//! Statements about scans and reviews, and the implementation of the trait `TxScans` with its lists and its changes.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::Result;
use admit_app::ports::{ScanFilter, TxScans};
use admit_app::records::{DecisionRecord, Listed, Page, ScanRow, TicketRecord};
use admit_core::ids::{DeviceId, EventId, ScanId, TicketId, UserId};
use admit_core::incident::Subject;
use admit_core::reduce::{Resolved, ScanVerdict};
use admit_core::review::Review;
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

use crate::block_index::Locator;
use crate::blocks::{content, serial_of};
use crate::driver::{Driver, bulks, statements};
use crate::facts::LocatedFact;
use crate::page;
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// The fewest and the most blocks that a page of scans reads at a time. The most is high because a block of a scan that
/// was judged online holds only that scan.
const BLOCKS: std::ops::RangeInclusive<i64> = 4..=256;

statements! {
    /// Whether the event has any review.
    ANY_REVIEW = "SELECT 1 FROM reviews WHERE organization_id = $1 AND event_id = $2 LIMIT 1";
    /// Reviews of scans by scan id, in any event.
    REVIEWS = "SELECT event_id, serial, device_id, scan_id, digest, decision, user_id, note, at FROM reviews
        WHERE organization_id = $1 AND scan_id IN ($2)";
}
bulks! {
    /// Stores reviews.
    INSERT_REVIEWS = "reviews" {
        organization_id: Text, event_id: Text, serial: Int, device_id: Text, scan_id: Text, digest: Blob, decision: Text,
        user_id: Text, note: Text, at: Int,
    };
}

/// A review of an event, with the user who decided, the note and the time.
type Decided = (EventId, Review, UserId, String, Timestamp);

fn read_decided(row: &mut Row) -> Result<Decided> {
    let event_id = row.parsed()?;
    let review = Review {
        serial: row.count()?,
        device_id: row.parsed()?,
        scan_id: row.parsed()?,
        digest: Digest(row.hash()?),
        decision: row.parsed()?,
    };
    Ok((event_id, review, row.parsed()?, row.text()?, row.at()?))
}
fn place(review: &Review) -> (u64, DeviceId, ScanId, Digest) {
    (review.serial, review.device_id.clone(), review.scan_id.clone(), review.digest)
}
fn scan_row((locator, (subject, fact)): LocatedFact) -> (Locator, ScanRow) {
    (locator, ScanRow { fact, subject_key: subject.key(), verdict: None, serial: serial_of(locator) })
}
/// Whether a scan with its verdict matches the filter.
fn passes(filter: &ScanFilter, row: &ScanRow) -> bool {
    let verdict = row.verdict.as_ref();
    filter.outcome.is_none_or(|outcome| verdict.is_some_and(|verdict| verdict.outcome == outcome))
        && filter.conflict.is_none_or(|conflict| verdict.is_some_and(|verdict| verdict.conflict) == conflict)
}
impl<D: Driver> SqlTx<'_, D> {
    /// Adds the reducer's verdicts to scans.
    fn add_verdicts(&mut self, event_id: &EventId, rows: &mut [(Locator, ScanRow)]) -> Result<()> {
        let subjects: BTreeSet<String> = rows.iter().map(|(_, row)| row.subject_key.clone()).collect();
        let verdicts = self.load_verdicts(event_id, &subjects.into_iter().collect::<Vec<_>>())?;
        for (_, row) in rows {
            let of_it = verdicts.get(&row.subject_key);
            row.verdict = of_it.and_then(|them| them.iter().find(|verdict| verdict.is_of(&row.fact))).cloned();
        }
        Ok(())
    }
    /// The scans before a locator that match the filter, newest first: at least `limit` if there are so many.
    fn list_scans(
        &mut self,
        event_id: &EventId,
        filter: &ScanFilter,
        before: Locator,
        limit: usize,
    ) -> Result<Vec<(Locator, ScanRow)>> {
        let (mut from, mut blocks, mut out) = (Some(before), *BLOCKS.start(), Vec::new());
        while let Some(locator) = from.filter(|_| out.len() < limit) {
            let (mut scans, next) = self.scans_before(event_id, filter.device_id.as_ref(), locator, blocks)?;
            if !filter.judges() {
                scans.truncate(limit - out.len());
            }
            let mut rows: Vec<(Locator, ScanRow)> = self.resolve(event_id, scans)?.into_iter().map(scan_row).collect();
            self.add_verdicts(event_id, &mut rows)?;
            out.extend(rows.into_iter().filter(|(_, row)| passes(filter, row)));
            (from, blocks) = (next, (blocks * 4).min(*BLOCKS.end()));
        }
        Ok(out)
    }
    /// The scans of a ticket before a locator that match the filter, newest first.
    fn list_scans_of(
        &mut self,
        event_id: &EventId,
        filter: &ScanFilter,
        ticket_id: &TicketId,
        before: Locator,
    ) -> Result<Vec<(Locator, ScanRow)>> {
        let subject = Subject::Ticket(ticket_id.clone()).key();
        let facts = self.facts_of(event_id, std::slice::from_ref(&subject))?;
        let mut rows: Vec<(Locator, ScanRow)> = facts.into_iter().map(scan_row).collect();
        let of_device = |row: &ScanRow| filter.device_id.as_ref().is_none_or(|id| row.fact.scan.device_id == *id);
        rows.retain(|(locator, row)| *locator < before && row.subject_key == subject && of_device(row));
        rows.sort_by_key(|(locator, _)| std::cmp::Reverse(*locator));
        self.add_verdicts(event_id, &mut rows)?;
        rows.retain(|(_, row)| passes(filter, row));
        Ok(rows)
    }
}

impl<D: Driver> TxScans for SqlTx<'_, D> {
    fn facts(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Resolved>> {
        let mut facts: Vec<Resolved> = self.facts_of(event_id, subjects)?.into_iter().map(|(_, fact)| fact).collect();
        facts.sort_by_cached_key(|(_, fact)| content(fact));
        Ok(facts)
    }
    fn insert_reviews(
        &mut self,
        event_id: &EventId,
        user_id: &UserId,
        note: &str,
        at: Timestamp,
        reviews: &[Review],
    ) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(reviews.len() * 10);
        for review in reviews {
            values.extend([
                (&id).into(),
                event_id.into(),
                review.serial.into(),
                (&review.device_id).into(),
                (&review.scan_id).into(),
                (&review.digest).into(),
                review.decision.as_str().into(),
                user_id.into(),
                note.into(),
                at.into(),
            ]);
        }
        self.execute_many(&INSERT_REVIEWS, &values)
    }
    fn reviews(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Review>> {
        let mut reviews: Vec<Review> =
            self.decisions(event_id, subjects)?.into_iter().map(|decision| decision.review).collect();
        // A scan may belong to several of the subjects: by a code that a ticket had, and by a person's pick.
        reviews.sort_by_key(place);
        reviews.dedup_by_key(|review| place(review));
        Ok(reviews)
    }
    fn decisions(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<DecisionRecord>> {
        let id = self.organization_id.clone();
        // Most events have no review. One query replaces a query for each scan.
        if self.one(&ANY_REVIEW, &[(&id).into(), event_id.into()], |_| Ok(()))?.is_none() {
            return Ok(Vec::new());
        }
        let asked: BTreeSet<&str> = subjects.iter().map(String::as_str).collect();
        let mut keys: BTreeMap<(DeviceId, ScanId), BTreeSet<String>> = BTreeMap::new();
        for (_, (subject, fact)) in self.facts_of(event_id, subjects)? {
            let key = subject.key();
            if asked.contains(key.as_str()) {
                keys.entry((fact.scan.device_id, fact.scan.scan_id)).or_default().insert(key);
            }
        }
        let scan_ids: BTreeSet<&ScanId> = keys.keys().map(|(_, scan_id)| scan_id).collect();
        let list: Vec<Value<'_>> = scan_ids.into_iter().map(Value::from).collect();
        let mut decisions = Vec::new();
        for (of_event, review, user_id, note, at) in self.each(&REVIEWS, &[(&id).into()], &list, read_decided)? {
            let of_it = keys.get(&(review.device_id.clone(), review.scan_id.clone())).filter(|_| of_event == *event_id);
            let of_it = of_it.into_iter().flatten();
            decisions.extend(of_it.map(|key| DecisionRecord {
                subject_key: key.clone(),
                review: review.clone(),
                user_id: user_id.clone(),
                note: note.clone(),
                at,
            }));
        }
        let key = |one: &DecisionRecord| (place(&one.review), one.subject_key.clone());
        decisions.sort_by_key(key);
        decisions.dedup_by_key(|one| key(one));
        Ok(decisions)
    }
    fn verdicts(&mut self, event_id: &EventId, subject: &str) -> Result<Vec<ScanVerdict>> {
        let mut found = self.load_verdicts(event_id, &[subject.to_owned()])?;
        Ok(found.remove(subject).unwrap_or_default())
    }
    fn scans(&mut self, event_id: &EventId, filter: &ScanFilter, page: &Page) -> Result<Listed<ScanRow>> {
        let before = Locator(page::from(page)?.number);
        let rows = match &filter.ticket_id {
            Some(ticket_id) => self.list_scans_of(event_id, filter, ticket_id, before)?,
            None => self.list_scans(event_id, filter, before, page.limit.saturating_add(1))?,
        };
        let listed = page::listed(page, rows, |(locator, _)| (locator.0, String::new()));
        Ok(Listed { items: listed.items.into_iter().map(|(_, row)| row).collect(), next_cursor: listed.next_cursor })
    }
    fn changed_tickets(
        &mut self,
        event_id: &EventId,
        after: (u64, Option<&TicketId>),
        rules_after: u64,
        limit: usize,
    ) -> Result<Vec<(TicketRecord, u64)>> {
        let mut changed = self.changed_by_scans(event_id, after, rules_after, limit)?;
        changed.extend(self.changed_by_rules(event_id, after, rules_after, limit)?);
        changed.sort_by(|(a, a_at), (b, b_at)| (a_at, &a.ticket_id).cmp(&(b_at, &b.ticket_id)));
        changed.truncate(limit);
        Ok(changed)
    }
}
