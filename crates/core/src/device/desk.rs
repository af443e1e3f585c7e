//! The desk: how this device decides, by all that it knows (spec §4). The desk only reads. A decision leads to an [`Act`],
//! which the engine carries out.

use super::area::Counts;
use super::clock::Stamp;
use super::guests::Guests;
use super::lookup::{About, Known};
use super::outbox::Outbox;
use super::own_scan::OwnScan;
use super::recorder::After;
use super::session::Session;
use crate::decide::{Question, Screen, Standing, Verdict, decide};
use crate::ids::{ScanId, TicketId};
use crate::reduce;
use crate::scan::{Basis, Form, Method, Scan, ScanKind, Stage};
use crate::sign;
use crate::time::Timestamp;
use crate::wire::engine::{Effect, VerdictView};
use crate::wire::journal::{Entry, Scanned, Shown};
use crate::wire::manifest::GuestName;
use crate::wire::scanning::Named;

/// A question to `decide`, with its answer.
pub(super) struct Asked {
    pub kind: ScanKind,
    pub stamp: Stamp,
    pub standing: Standing,
    pub verdict: Verdict,
}

impl Asked {
    /// A scan that asks nothing: it is valid and lets nobody in by itself.
    pub fn nothing(kind: ScanKind, stamp: Stamp) -> Self {
        Self { kind, stamp, standing: Standing::default(), verdict: Verdict::valid(0) }
    }

    /// The fields that a screen shows of the answer.
    pub fn shown(&self, screen: Screen, about: &About) -> Shown {
        Shown {
            screen,
            reason: self.verdict.reason,
            may_admit: self.verdict.may_admit,
            entry_limit: about.rules().map_or(0, |rules| rules.entry_limit),
            already_in: self.standing.used,
            places_left: self.verdict.places_left,
            confirmed: false,
        }
    }
}

/// The consequence of an input of staff.
#[derive(Debug)]
pub(super) enum Act {
    /// Nothing.
    Nothing,
    /// Tell this at once. Nothing is recorded.
    Tell(Box<Effect>),
    /// Record these rows, then do this.
    Record(Vec<Entry>, Option<After>),
}

impl Act {
    /// Tells staff that their input is refused, and why.
    pub fn refuse(code: &str, message: &str) -> Self {
        Self::Tell(Box::new(Effect::Refused { code: code.to_owned(), message: message.to_owned() }))
    }
    /// Shows a verdict at once.
    pub fn show(verdict: VerdictView) -> Self {
        Self::Tell(Box::new(Effect::Show { verdict: Box::new(verdict) }))
    }
}

impl From<(&'static str, &'static str)> for Act {
    fn from((code, message): (&'static str, &'static str)) -> Self {
        Self::refuse(code, message)
    }
}

/// All that the device decides by, at the moment of an input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Desk<'a> {
    pub known: Known<'a>,
    pub guests: &'a Guests,
    pub counts: &'a Counts,
    pub session: &'a Session,
}

impl<'a> Desk<'a> {
    // ------------------------------------------------------------------------------------------------------- guests

    /// The guest who holds a ticket. `None` if this gate may not know names, or the name is not on the device.
    pub fn guest_of(&self, ticket_id: &TicketId) -> Option<&'a GuestName> {
        if self.names_allowed() { self.guests.guest_of(ticket_id) } else { None }
    }
    /// The name of the ticket's guest, on the same conditions.
    pub fn name_of(&self, ticket_id: &TicketId) -> Option<String> {
        self.guest_of(ticket_id).map(|guest| guest.name.clone())
    }
    /// Whether this device may hold names now.
    pub fn names_allowed(&self) -> bool {
        self.known.names_allowed(self.session.at_ms())
    }
    /// Persons in the area behind this gate, for advice. It is 0 if unknown.
    pub fn area_inside(&self) -> u32 {
        self.counts.inside(self.known, self.session.mono())
    }

    // ----------------------------------------------------------------------------------------------------- decisions

    /// Asks `decide` about a ticket at this gate now. The scan `but` is left out, because the question is about it.
    /// `None` if the device has no list.
    pub fn ask(&self, about: &About, kind: ScanKind, but: Option<&ScanId>) -> Option<Asked> {
        self.ask_after(self.known.journal.last_at(), about, kind, but)
    }

    /// Like [`Desk::ask`], for a scan whose predecessor in the log was taken at `last_at`. The scan's time is after
    /// `last_at`, unless the clock was put back far.
    pub fn ask_after(
        &self,
        last_at: Option<Timestamp>,
        about: &About,
        kind: ScanKind,
        but: Option<&ScanId>,
    ) -> Option<Asked> {
        let (list, paired) = (self.known.list()?, self.known.paired()?);
        let stamp = self.session.stamp(last_at);
        let standing = about.ticket.as_ref().map_or_else(Standing::default, |(id, rules)| {
            let visit = reduce::Visit { event: &list.event, zone: Some(&rules.zone), gate_id: &paired.gate_id };
            self.known.state_of(id, rules, about.hash, but).standing_at_door(&visit, stamp.at)
        });
        let verdict = decide(Question {
            event: &list.event,
            ticket: about.rules(),
            standing: &standing,
            gate_id: &paired.gate_id,
            gate: self.known.gate(),
            at: stamp.at,
            kind,
            area_inside: self.area_inside(),
        });
        Some(Asked { kind, stamp, standing, verdict })
    }

    /// The newest scan by which this device let persons of the same code or ticket through, in the same direction, with
    /// the time since in milliseconds. `None` if there is none, or it is older than `within_ms`.
    pub fn last_opened(&self, about: &About, asked: &Asked, within_ms: i64) -> Option<(&'a OwnScan, i64)> {
        let own = self.known.own_scans(about).into_iter().rev();
        let practice = self.known.is_practice();
        let mut opened =
            own.filter(|own| own.scan.opened && own.scan.kind == asked.kind && own.scan.practice == practice);
        let own = opened.find(|own| self.known.journal.kept(&own.scan) > 0)?;
        let ago = asked.stamp.at.since(own.scan.at);
        (0..within_ms).contains(&ago).then_some((own, ago))
    }

    // --------------------------------------------------------------------------------------------------------- scans

    /// Prepares a scan by this device at this gate now: door shut, one person, final. The caller then changes the
    /// fields that differ.
    pub fn draft(&self, out: &mut Outbox, about: &About, asked: &Asked, method: Method) -> Option<Scan> {
        let scan_id = ScanId::new(out.draw_uuid()).ok()?;
        let (list, paired, journal) = (self.known.list()?, self.known.paired()?, self.known.journal);
        let (_, log_id) = journal.identity.as_ref()?;
        Some(Scan {
            form: Form::V2,
            scan_id,
            device_id: paired.device_id.clone(),
            log_id: Some(log_id.clone()),
            seq: Some(journal.head_seq() + 1),
            prev: Some(journal.prev()),
            key_id: Some(paired.key_id.clone()),
            event_id: paired.event_id.clone(),
            gate_id: paired.gate_id.clone(),
            kind: asked.kind,
            stage: Stage::Final,
            method,
            barcode_hash: about.hash,
            raw_hash: about.raw,
            ticket_id: about.ticket_id().cloned(),
            count: 1,
            outcome: asked.verdict.outcome,
            opened: false,
            practice: self.known.is_practice(),
            override_: None,
            walk_in: None,
            headcount: None,
            operator: Some(journal.operator.clone()).filter(|name| !name.is_empty()),
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: asked.stamp.at,
            uncertainty_ms: asked.stamp.uncertainty_ms,
            clock: Some(self.session.evidence(&asked.stamp)?),
            epoch: Some(list.epoch),
            manifest_version: list.version,
            cursor: self.known.cursor_serial(),
            basis: Some(Basis {
                within: asked.standing.used,
                inside: asked.standing.inside,
                spent: asked.standing.spent,
                last_entry_at: asked.standing.last_entry.as_ref().map(|entry| entry.at),
                status: about.rules().map(|rules| rules.status),
            }),
        })
    }

    /// Signs a scan, to be recorded.
    pub fn sign(&self, scan: Scan, shown: Shown, after: Option<After>) -> Act {
        self.sign_with(scan, shown, Vec::new(), after, None)
    }

    /// Signs a scan, to be recorded with other rows before it. `named` is the guest's name if the scan adds a guest.
    pub fn sign_with(
        &self,
        scan: Scan,
        shown: Shown,
        mut before: Vec<Entry>,
        after: Option<After>,
        named: Option<Named>,
    ) -> Act {
        let Some(key) = self.known.journal.api_key() else {
            return Act::refuse("not_paired", "This device has no key any more: pair it again.");
        };
        let signature = sign::sign_v2(&key.scan_key(), &scan);
        before.push(Entry::Scan(Box::new(Scanned { scan, signature, shown, named })));
        Act::Record(before, after)
    }
}
