//! Statements about scans and reviews: the implementation of the trait `TxScans`, its lists and its changes.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::Result;
use admit_app::ports::{ScanFilter, TxScans};
use admit_app::records::{DecisionRecord, Listed, Page, ScanRow, TicketRecord};
use admit_core::ids::{DeviceId, EventId, ScanId, TicketId, UserId};
use admit_core::reduce::{Resolved, ScanVerdict, merge_deliveries};
use admit_core::review::Review;
use admit_core::scan::{Digest, Fact};
use admit_core::time::Timestamp;

use crate::driver::{Asked, Driver, Stmt, bulks, statements};
use crate::facts::{fact_columns, read_delivery, read_fact, read_subject, split_subjects};
use crate::incidents::INCIDENTS_OF;
use crate::page;
use crate::states::{CONFLICT_BIT, STATES, outcome_bit};
use crate::tickets::{CHANGED_BY_RULES, CHANGED_BY_SCANS, read_changed};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// Joins scans `o` of a list with the ticket `oc` of their code.
macro_rules! with_codes {
    () => {
        " LEFT JOIN codes oc ON oc.organization_id = o.organization_id AND oc.event_id = o.event_id AND oc.barcode_hash = o.barcode_hash "
    };
}
/// The filter of every list of scans: below (serial, place) $3 $4, device $5, limit $6.
macro_rules! filters {
    () => {
        "o.organization_id = $1 AND o.event_id = $2 AND (o.serial, o.n) < ($3, $4) AND (CAST($5 AS TEXT) IS NULL OR o.device_id = $5)
        ORDER BY o.serial DESC, o.n DESC LIMIT $6"
    };
}
/// Joins scans `o` with the state `s` of their subject, where its verdicts have the bits $7 and $8. The bits may come
/// from another scan of the subject, so the caller checks each scan. `$hex`: the code's hash in the form of a subject.
macro_rules! judged {
    ($hex:literal) => {
        concat!(
            with_codes!(),
            "LEFT JOIN states s ON s.organization_id = o.organization_id AND s.event_id = o.event_id AND s.subject =
                COALESCE('ticket:' || COALESCE(oc.ticket_id, o.manual_ticket_id), 'unknown:sha256:' || ",
            $hex,
            ") WHERE (CAST($7 AS BIGINT) IS NULL OR s.outcomes & $7 <> 0) AND (CAST($8 AS BIGINT) IS NULL OR s.outcomes & $8 <> 0) AND "
        )
    };
}
/// The columns of a list of scans.
macro_rules! listed {
    ($from:expr) => {
        concat!("SELECT o.serial, o.n, ", fact_columns!(), " FROM ", $from, filters!())
    };
}
/// Reviews of scans `s`, each with the scan's subject (`$subject`, in the form that [`read_subject`] reads).
macro_rules! reviews_from {
    ($subject:literal, $from:literal, $where:literal) => {
        concat!(
            "SELECT r.serial, r.device_id, r.scan_id, r.digest, r.decision, r.user_id, r.note, r.at, ",
            $subject,
            " FROM ",
            $from,
            " CROSS JOIN reviews r WHERE r.organization_id = s.organization_id AND r.scan_id = s.scan_id AND r.device_id = s.device_id AND r.event_id = s.event_id AND ",
            $where
        )
    };
}

/// The fewest rows asked for once some rows did not pass the filter. A short page of rare scans would else need many
/// queries.
const AT_ONCE: i64 = 200;

statements! {
    /// A page of scans, newest arrival first.
    SCANS = listed!(concat!("scans o", with_codes!(), "WHERE "));
    /// A page of scans whose subject has a verdict that matches the filter.
    SCANS_JUDGED = listed!(concat!("scans o", judged!("lower(hex(o.barcode_hash))"))),
        postgres = listed!(concat!("scans o", judged!("encode(o.barcode_hash, 'hex')")));
    /// A page of scans of one ticket ($7).
    SCANS_OF_TICKET = concat!("WITH found AS (
            SELECT s.scan_id, s.device_id, s.digest FROM codes c CROSS JOIN scans s
                WHERE s.organization_id = c.organization_id AND s.event_id = c.event_id AND s.barcode_hash = c.barcode_hash
                AND c.organization_id = $1 AND c.event_id = $2 AND c.ticket_id = $7
            UNION ALL
            SELECT s.scan_id, s.device_id, s.digest FROM scans s WHERE s.organization_id = $1 AND s.event_id = $2
                AND s.manual_ticket_id = $7 AND NOT EXISTS (SELECT 1 FROM codes c WHERE c.organization_id = s.organization_id
                    AND c.event_id = s.event_id AND c.barcode_hash = s.barcode_hash)
        ) ", listed!(concat!("found CROSS JOIN scans o", with_codes!(), "WHERE o.scan_id = found.scan_id AND o.device_id = found.device_id
            AND o.digest = found.digest AND ")));
    /// Later deliveries of the given scans.
    DELIVERIES = "SELECT scan_id, device_id, digest, signature_state, withheld, offset_seconds, received_at, judged_serial,
        judged_outcome FROM deliveries WHERE organization_id = $1 AND scan_id IN ($2)";
    /// Whether the organisation has any review.
    ANY_REVIEW = "SELECT 1 FROM reviews WHERE organization_id = $1 LIMIT 1";
    /// Reviews of tickets' scans, found by every code that the tickets ever had.
    REVIEWS_BY_CODE = reviews_from!("c.ticket_id, s.manual_ticket_id, s.barcode_hash", "codes c CROSS JOIN scans s", "s.organization_id = c.organization_id AND s.event_id = c.event_id
        AND s.barcode_hash = c.barcode_hash AND c.organization_id = $1 AND c.event_id = $2 AND c.ticket_id IN ($3)");
    /// Reviews of scans for which a person picked the ticket by hand.
    REVIEWS_BY_PICK = reviews_from!("CAST(NULL AS TEXT), s.manual_ticket_id, s.barcode_hash", "scans s", "s.organization_id = $1 AND s.event_id = $2 AND s.manual_ticket_id IN ($3)");
    /// Reviews of scans of codes that belong to no ticket.
    REVIEWS_OF_UNKNOWN = reviews_from!("CAST(NULL AS TEXT), CAST(NULL AS TEXT), s.barcode_hash", "scans s", "s.organization_id = $1 AND s.event_id = $2 AND s.barcode_hash IN ($3)");
}
bulks! {
    /// Stores reviews.
    INSERT_REVIEWS = "reviews" {
        organization_id: Text, event_id: Text, serial: Int, device_id: Text, scan_id: Text, digest: Blob, decision: Text,
        user_id: Text, note: Text, at: Int,
    };
}

fn read_decision(row: &mut Row) -> Result<DecisionRecord> {
    let review = Review {
        serial: row.count()?,
        device_id: row.parsed()?,
        scan_id: row.parsed()?,
        digest: Digest(row.hash()?),
        decision: row.parsed()?,
    };
    let (user_id, note, at) = (row.parsed()?, row.text()?, row.at()?);
    Ok(DecisionRecord { subject_key: read_subject(row)?.key(), review, user_id, note, at })
}
fn place(review: &Review) -> (u64, DeviceId, ScanId, Digest) {
    (review.serial, review.device_id.clone(), review.scan_id.clone(), review.digest)
}
fn read_scan_row(row: &mut Row) -> Result<(ScanRow, i64)> {
    let (serial, n) = (row.count()?, row.int()?);
    let (subject, fact) = read_fact(row)?;
    Ok((ScanRow { fact, subject_key: subject.key(), verdict: None, serial }, n))
}
/// Whether a scan with its verdict matches the filter.
fn passes(filter: &ScanFilter, row: &ScanRow) -> bool {
    let verdict = row.verdict.as_ref();
    filter.outcome.is_none_or(|outcome| verdict.is_some_and(|verdict| verdict.outcome == outcome))
        && filter.conflict.is_none_or(|conflict| verdict.is_some_and(|verdict| verdict.conflict) == conflict)
}
/// The bits to ask for: a state has them if one of its verdicts may match the filter ([`passes`]).
fn bits(filter: &ScanFilter) -> [Value<'static>; 2] {
    let conflict = filter.conflict.filter(|conflict| *conflict).map(|_| CONFLICT_BIT);
    [filter.outcome.map(outcome_bit), conflict].map(|bit| bit.map_or(Value::Null, Value::from))
}

impl<D: Driver> SqlTx<'_, D> {
    /// Adds the proof of later deliveries to a page of scans.
    fn merge_later(&mut self, rows: &mut [(ScanRow, i64)]) -> Result<()> {
        let id = self.organization_id.clone();
        let scan_ids: Vec<ScanId> = rows.iter().map(|(row, _)| row.fact.scan.scan_id.clone()).collect();
        let list: Vec<Value<'_>> = scan_ids.iter().map(Value::from).collect();
        let mut at: BTreeMap<(ScanId, DeviceId, Digest), usize> = BTreeMap::new();
        for (i, (row, _)) in rows.iter().enumerate() {
            at.insert((row.fact.scan.scan_id.clone(), row.fact.scan.device_id.clone(), row.fact.digest), i);
        }
        self.each(&DELIVERIES, &[(&id).into()], &list, |row| {
            let key = (row.parsed()?, row.parsed()?, Digest(row.hash()?));
            if let Some((held, _)) = at.get(&key).and_then(|i| rows.get_mut(*i))
                && let Some(later) = read_delivery(row, &held.fact)?
            {
                merge_deliveries(&mut held.fact, &later);
            }
            Ok(())
        })?;
        Ok(())
    }
    /// Adds the reducer's verdicts to a page of scans.
    fn add_verdicts(&mut self, event_id: &EventId, rows: &mut [(ScanRow, i64)]) -> Result<()> {
        let subjects: BTreeSet<String> = rows.iter().map(|(row, _)| row.subject_key.clone()).collect();
        let verdicts = self.load_verdicts(event_id, &subjects.into_iter().collect::<Vec<_>>())?;
        for (row, _) in rows {
            let Fact { scan, digest, .. } = &row.fact;
            let its = |verdict: &&ScanVerdict| {
                verdict.digest == *digest && verdict.scan_id == scan.scan_id && verdict.device_id == scan.device_id
            };
            row.verdict = verdicts.get(&row.subject_key).and_then(|of_it| of_it.iter().find(its)).cloned();
        }
        Ok(())
    }
    /// A full page of scans. It checks each row that the statement found, and asks for more where too few match the
    /// filter.
    fn list_scans(
        &mut self,
        event_id: &EventId,
        filter: &ScanFilter,
        page: &Page,
        stmt: &'static Stmt,
        also: &[Value<'_>],
    ) -> Result<Vec<(ScanRow, i64)>> {
        let id = self.organization_id.clone();
        let (from, limit) = (page::from(page)?, page::limit(page));
        let (mut serial, mut n) = (from.number, from.id.parse::<i64>().unwrap_or(i64::MAX));
        let (mut out, mut few): (Vec<(ScanRow, i64)>, i64) = (Vec::new(), limit);
        loop {
            let device_id = filter.device_id.as_ref().into();
            let mut values = vec![(&id).into(), event_id.into(), serial.into(), n.into(), device_id, few.into()];
            values.extend_from_slice(also);
            let mut rows = self.all(stmt, &values, read_scan_row)?;
            let last = rows.last().map(|(row, n)| (row.serial, *n)).filter(|_| rows.len() as i64 == few);
            self.add_verdicts(event_id, &mut rows)?;
            out.extend(rows.into_iter().filter(|(row, _)| passes(filter, row)));
            match last {
                Some(last) if (out.len() as i64) < limit => {
                    (serial, n, few) = (last.0.cast_signed(), last.1, limit.max(AT_ONCE))
                }
                _ => return Ok(out),
            }
        }
    }
    fn decisions_with(
        &mut self,
        stmt: &'static Stmt,
        event_id: &EventId,
        list: &[Value<'_>],
    ) -> Result<Vec<DecisionRecord>> {
        let id = self.organization_id.clone();
        self.each(stmt, &[(&id).into(), event_id.into()], list, read_decision)
    }
}

impl<D: Driver> TxScans for SqlTx<'_, D> {
    fn facts(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Resolved>> {
        // A write that reads all facts of subjects judges them next, and writes the differences.
        if self.writes() && !subjects.is_empty() {
            let id = self.organization_id.clone();
            let key = [(&id).into(), event_id.into()];
            let list: Vec<Value<'_>> = subjects.iter().map(Value::from).collect();
            self.prefetch(&[
                Asked { stmt: &ANY_REVIEW, params: &key[..1], list: None },
                Asked { stmt: &STATES, params: &key, list: Some(&list) },
                Asked { stmt: &INCIDENTS_OF, params: &key, list: Some(&list) },
            ]);
        }
        self.load_facts(event_id, subjects)
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
        // Most events have no review. One query replaces a query for each subject.
        if self.one(&ANY_REVIEW, &[(&id).into()], |_| Ok(()))?.is_none() {
            return Ok(Vec::new());
        }
        let (tickets, codes) = split_subjects(subjects)?;
        let tickets: Vec<Value<'_>> = tickets.iter().map(Value::from).collect();
        let codes: Vec<Value<'_>> = codes.iter().map(Value::from).collect();
        let mut decisions = self.decisions_with(&REVIEWS_BY_CODE, event_id, &tickets)?;
        decisions.extend(self.decisions_with(&REVIEWS_BY_PICK, event_id, &tickets)?);
        decisions.extend(self.decisions_with(&REVIEWS_OF_UNKNOWN, event_id, &codes)?);
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
        let picked = filter.outcome.is_some() || filter.conflict == Some(true);
        let mut rows = match &filter.ticket_id {
            Some(ticket_id) => self.list_scans(event_id, filter, page, &SCANS_OF_TICKET, &[ticket_id.into()])?,
            None if picked => self.list_scans(event_id, filter, page, &SCANS_JUDGED, &bits(filter))?,
            None => self.list_scans(event_id, filter, page, &SCANS, &[])?,
        };
        self.merge_later(&mut rows)?;
        let listed = page::listed(page, rows, |(row, n)| (row.serial as i64, n.to_string()));
        Ok(Listed { items: listed.items.into_iter().map(|(row, _)| row).collect(), next_cursor: listed.next_cursor })
    }
    fn changed_tickets(
        &mut self,
        event_id: &EventId,
        after: (u64, Option<&TicketId>),
        rules_after: u64,
        limit: usize,
    ) -> Result<Vec<(TicketRecord, u64)>> {
        let id = self.organization_id.clone();
        // Identifiers are printable ASCII, so DEL sorts after all of them. It means "everything of this serial is
        // known".
        let after_id = after.1.map_or("\u{7f}", |ticket_id| ticket_id.as_str());
        let limit_value = Value::Int(i64::try_from(limit).unwrap_or(i64::MAX));
        let values = [(&id).into(), event_id.into(), after.0.into(), after_id.into(), rules_after.into(), limit_value];
        let mut changed = self.all(&CHANGED_BY_SCANS, &values, read_changed)?;
        changed.extend(self.all(&CHANGED_BY_RULES, &values, read_changed)?);
        changed.sort_by(|(a, a_at), (b, b_at)| (a_at, &a.ticket_id).cmp(&(b_at, &b.ticket_id)));
        changed.truncate(limit);
        Ok(changed)
    }
}
