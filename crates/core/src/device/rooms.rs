//! The rooms of the engine. Each room keeps its state in private fields, and its file alone changes them. A room calls
//! only rooms that stand above it in the reading order. If a room below must act, a room returns a value that says
//! so. This file and those below it carry the values out.

use std::collections::VecDeque;

use super::area::Counts;
use super::catalog::Catalog;
use super::desk::{Act, Desk};
use super::guests::Guests;
use super::heartbeat::Heartbeat;
use super::lookup::Known;
use super::online::Questions;
use super::outbox::Outbox;
use super::pairing::Pairing;
use super::purge::Purge;
use super::reader::Reader;
use super::recorder::Recorder;
use super::session::Session;
use super::uplink::{Answer, Kind, Refusal, Request, Uplink};
use super::upload::Uploads;
use crate::ids::EventId;
use crate::limits;
use crate::wire::engine::{Effect, Input};
use crate::wire::journal::{Entry, Paired};
use crate::wire::problem::Problem;

/// All rooms.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    pub session: Session,
    pub out: Outbox,
    pub recorder: Recorder,
    pub purge: Purge,
    pub uplink: Uplink,
    pub uploads: Uploads,
    pub pairing: Pairing,
    pub catalog: Catalog,
    pub guests: Guests,
    pub counts: Counts,
    pub heartbeat: Heartbeat,
    pub questions: Questions,
    pub reader: Reader,
    /// Staff's inputs that wait until the append under way is done.
    pub waiting: VecDeque<Input>,
    /// The line that tells staff of a failed pairing or of a list that was refused or not stored. Absent if there is
    /// nothing to tell.
    pub message: Option<String>,
}

impl Rooms {
    /// The knowledge of this device.
    pub fn known(&self) -> Known<'_> {
        Known { journal: self.recorder.journal(), catalog: &self.catalog }
    }
    /// All that the device decides by.
    pub fn desk(&self) -> Desk<'_> {
        Desk { known: self.known(), guests: &self.guests, counts: &self.counts, session: &self.session }
    }
    /// The device's pairing. `None` if it is not paired.
    pub fn paired(&self) -> Option<&Paired> {
        self.recorder.journal().paired.as_ref()
    }
    /// The event to which the device is assigned. `None` if it is not paired.
    pub fn event_id(&self) -> Option<EventId> {
        self.paired().map(|paired| paired.event_id.clone())
    }
    /// Whether a row is being written, or the server is asked about a claim. Staff's inputs, pairings and assignments
    /// wait meanwhile.
    pub fn is_busy(&self) -> bool {
        self.recorder.is_writing() || self.questions.is_asking()
    }

    /// Carries out what follows from an input of staff. No append may be under way.
    pub fn act(&mut self, act: Act) {
        match act {
            Act::Nothing => {}
            Act::Tell(effect) => self.out.emit(*effect),
            Act::Record(rows, after) => self.recorder.append(&mut self.out, rows, after.into_iter().collect()),
        }
    }

    /// Does one step of the purge at a quiet moment.
    pub fn purge(&mut self) {
        let rests = self.recorder.rests() && !self.questions.is_asking() && self.waiting.is_empty();
        if rests
            && !self.reader.in_use(&self.session)
            && let Some(row) = self.purge.step(self.recorder.journal(), self.session.clock())
        {
            self.out.emit(Effect::Purge { row });
        }
    }

    // ----------------------------------------------------------------------------------------------------- requests

    /// Sends a request.
    pub fn send(&mut self, request: Request) {
        self.uplink.send(&self.session, &mut self.out, self.recorder.journal(), request);
    }
    /// Notes that a lane's request failed.
    pub fn failed(&mut self, kind: Kind) {
        self.uplink.failed(&mut self.out, kind);
    }
    /// Notes that a lane's request succeeded. The next one is due in `after_ms`.
    pub fn done(&mut self, kind: Kind, after_ms: i64) {
        self.uplink.done(kind, self.session.mono(), after_ms);
    }
    /// When the next upload may leave, by the monotonic clock. `None` if there is nothing to send.
    pub fn upload_due_at(&self) -> Option<i64> {
        self.uploads.due_at(self.recorder.journal(), self.uplink.lane(Kind::Sync), self.session.mono())
    }

    // ----------------------------------------------------------------------------------------------------- refusals

    /// Handles an answer that is not a success.
    pub fn refused(&mut self, kind: Kind, answer: &Answer<'_>) {
        let refusal = self.uplink.refused(&mut self.out, kind, answer);
        self.follow_refusal(kind, refusal);
    }

    /// Follows what a refusal means for the device as a whole.
    pub fn follow_refusal(&mut self, kind: Kind, refusal: Refusal) {
        match refusal {
            Refusal::Failed => {}
            Refusal::Revoked(problem) => self.revoke(&problem),
            Refusal::Suspended(problem) => {
                if !self.uploads.held(&mut self.uplink, &mut self.recorder, &self.session, &problem) {
                    self.uplink.hold(kind, self.session.mono(), limits::SUSPENDED_EVERY_MS);
                }
            }
        }
    }

    /// Follows the organiser's revocation of this device. Guest data is removed at once, and the log is still uploaded
    /// (spec D10).
    fn revoke(&mut self, problem: &Problem) {
        self.out.emit(Effect::WipeCaches);
        self.uplink.cancel_all_but_the_log(&mut self.out);
        self.catalog.wipe();
        self.guests.wipe();
        if !self.recorder.journal().revoked {
            self.recorder.note(Entry::Revoked { at_ms: self.session.at_ms() });
        }
        self.uploads.handed_over(&mut self.uplink, &mut self.recorder, &self.session, problem);
    }
}
