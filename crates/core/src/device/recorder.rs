//! The recorder: the journal's state, and the only way in which rows get into the journal.
//!
//! A journalled change affects the state only after its append is durable. One append is under way at a time. Further
//! inputs that need an append wait meanwhile. The engine decides about them afterwards, with the state that the append
//! leaves.

use super::journal::Journal;
use super::outbox::Outbox;
use crate::ids::{EventId, ScanId};
use crate::limits;
use crate::scan::Stage;
use crate::wire::engine::{Effect, Row, VerdictView};
use crate::wire::journal::{self as rows, Entry};

/// The action that follows once an append is durable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum After {
    /// Show a verdict.
    Show(Box<VerdictView>),
    /// Tell that a scan was undone.
    Undone {
        /// The scan that was undone.
        scan_id: ScanId,
        /// Persons who no longer count.
        persons: u32,
    },
    /// Tell that the PIN was wrong.
    PinRefused,
    /// Tell that the PIN was right.
    PinOk,
    /// Ask the server about this claim before the door opens.
    Ask(ScanId),
    /// Ask to be paired: this phone has its own name now.
    Pair,
    /// Begin to use a pairing or a new assignment, first by fetching the list. Holds the event that the device scanned
    /// for before, if there was one.
    Settled(Option<EventId>),
}

/// An append under way.
#[derive(Debug)]
struct Flight {
    append: u64,
    entries: Vec<Entry>,
    /// Number of entries at the beginning that nobody waits for.
    noted: usize,
    after: Vec<After>,
}

/// An append that has become durable.
#[derive(Debug)]
pub(super) struct Durable {
    /// The actions that waited for it.
    pub after: Vec<After>,
    /// Whether every row that was noted so far is durable.
    pub all: bool,
}

/// The journal and its writer.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    journal: Journal,
    appends: u64,
    flight: Option<Flight>,
    /// Rows on which no answer to staff depends. They are written with the next append.
    noted: Vec<Entry>,
    /// Why storage refuses to write. Absent if it does not.
    blocked: Option<String>,
    /// Whether another tab has become the writer. If so, this tab never writes or uploads again.
    lost: bool,
    /// The monotonic clock at which storage is tried again.
    probe_at: i64,
}

impl Recorder {
    /// The state that all durable rows add up to.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }
    /// Takes a row at start, as storage returned it.
    pub fn read(&mut self, row: &Row) {
        self.journal.read(row);
    }
    /// Marks scans as waiting again, since the server said that it lacks them ([`Journal::lacking`]).
    pub fn lacking(&mut self, seqs: impl IntoIterator<Item = u64>) {
        seqs.into_iter().for_each(|seq| self.journal.lacking(seq));
    }

    /// Whether an append is under way.
    pub fn is_writing(&self) -> bool {
        self.flight.is_some()
    }
    /// Whether the append under way holds the final of a scan whose claim is durable.
    pub fn is_ending_a_claim(&self) -> bool {
        let ends = |entry: &Entry| match entry {
            Entry::Scan(it) => it.scan.stage == Stage::Final && self.journal.knows(&it.scan.scan_id),
            _ => false,
        };
        self.flight.as_ref().is_some_and(|flight| flight.entries.iter().any(ends))
    }
    /// Whether rows wait for the next append.
    pub fn has_noted(&self) -> bool {
        !self.noted.is_empty()
    }
    /// Why storage refuses to write. `None` if it does not.
    pub fn blocked(&self) -> Option<&str> {
        self.blocked.as_deref()
    }
    /// Whether another tab has become the writer.
    pub fn is_lost(&self) -> bool {
        self.lost
    }
    /// The monotonic clock at which storage that refused a write is tried again. `None` if it refuses none.
    pub fn probe_at(&self) -> Option<i64> {
        self.blocked.as_ref().map(|_| self.probe_at)
    }
    /// Whether nothing is being written and nothing waits to be, and storage takes rows.
    pub fn rests(&self) -> bool {
        self.flight.is_none() && self.noted.is_empty() && self.blocked.is_none() && !self.lost
    }

    /// Writes the rows of [`Self::note`], and after them `entries`. No append may be under way.
    pub fn append(&mut self, out: &mut Outbox, entries: Vec<Entry>, after: Vec<After>) {
        let mut all = std::mem::take(&mut self.noted);
        let noted = all.len();
        all.extend(entries);
        if all.is_empty() {
            return;
        }
        self.appends += 1;
        let append = self.appends;
        let first = self.journal.rows + 1;
        let texts = all.iter().map(rows::write).zip(first..).map(|(text, n)| Row { n, text }).collect();
        self.flight = Some(Flight { append, entries: all, noted, after });
        out.emit(Effect::Append { append, rows: texts });
    }

    /// Adds a row on which no answer to staff depends. It is written with the next append.
    pub fn note(&mut self, entry: Entry) {
        if !self.lost {
            self.noted.push(entry);
        }
    }

    /// Erases a revoked device's key once nothing is left to hand over. A scan that was set apart as unreadable still
    /// counts as not handed over. A proxy in front of the server may have refused it, and without the key the server
    /// would not take it.
    pub fn erase_key_if_done(&mut self, at_ms: i64) {
        let Journal { revoked, waiting, asked, poison, .. } = &self.journal;
        if *revoked && waiting.is_empty() && asked.is_empty() && poison.is_empty() {
            self.erase_key(at_ms);
        }
    }

    /// Notes that a revoked device's key is erased, unless that is noted already.
    pub fn erase_key(&mut self, at_ms: i64) {
        let noted = self.noted.iter().any(|row| matches!(row, Entry::KeyErased { .. }));
        if !self.journal.key_erased && !noted {
            self.note(Entry::KeyErased { at_ms });
        }
    }

    /// Adds the rows of a durable append to the state. `None` if no such append is under way.
    pub fn appended(&mut self, append: u64) -> Option<Durable> {
        let flight = self.flight.take_if(|flight| flight.append == append)?;
        for entry in flight.entries {
            self.journal.apply(entry);
        }
        self.blocked = None;
        Some(Durable { after: flight.after, all: self.noted.is_empty() })
    }

    /// Handles an append that failed. Rows that nobody waited for are tried again. Returns the actions that waited for
    /// the append: they count as never done. `None` if no such append is under way.
    pub fn append_failed(&mut self, append: u64, reason: String, now_mono_ms: i64) -> Option<Vec<After>> {
        let mut flight = self.flight.take_if(|flight| flight.append == append)?;
        self.lost |= reason == "lost_lock";
        flight.entries.truncate(flight.noted);
        flight.entries.append(&mut self.noted);
        self.noted = flight.entries;
        self.probe_at = now_mono_ms + limits::STORAGE_PROBE_MS;
        self.blocked = Some(reason);
        Some(flight.after)
    }

    /// Tries at intervals whether storage that refused a write accepts one again. It stops if another tab has become
    /// the writer.
    pub fn probe(&mut self, out: &mut Outbox, now_mono_ms: i64) {
        let due = self.probe_at().is_some_and(|at| now_mono_ms >= at);
        if due && !self.lost && self.flight.is_none() {
            self.append(out, vec![Entry::Probe {}], Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(scan: &str) -> Entry {
        Entry::Hidden { scan_id: ScanId::new(scan).unwrap() }
    }

    /// The append that the outbox holds, with the texts of its rows.
    fn append(out: &mut Outbox) -> (u64, Vec<String>) {
        let mut effects = out.empty();
        let Some(Effect::Append { append, rows }) = effects.pop() else { panic!("no append: {effects:?}") };
        (append, rows.into_iter().map(|row| row.text).collect())
    }

    #[test]
    fn a_row_changes_the_state_once_it_is_durable_and_not_before() {
        let (mut recorder, mut out) = (Recorder::default(), Outbox::default());
        recorder.append(&mut out, vec![hidden("a")], vec![After::PinOk]);
        let (number, _) = append(&mut out);
        assert_eq!((recorder.is_writing(), recorder.journal().rows), (true, 0));
        assert!(recorder.appended(number + 1).is_none(), "another append");
        let durable = recorder.appended(number).unwrap();
        assert_eq!((durable.after, durable.all), (vec![After::PinOk], true));
        assert_eq!((recorder.is_writing(), recorder.journal().rows), (false, 1));
    }

    #[test]
    fn of_a_failed_append_the_noted_rows_stay_and_staffs_rows_count_as_never_made() {
        let (mut recorder, mut out) = (Recorder::default(), Outbox::default());
        recorder.note(hidden("noted"));
        recorder.append(&mut out, vec![hidden("staff")], vec![After::PinOk]);
        let (number, rows) = append(&mut out);
        assert_eq!(rows, [rows::write(&hidden("noted")), rows::write(&hidden("staff"))]);
        recorder.note(hidden("later"));
        assert_eq!(recorder.append_failed(number, "full".into(), 0), Some(vec![After::PinOk]));
        assert_eq!((recorder.blocked(), recorder.journal().rows), (Some("full"), 0));
        recorder.probe(&mut out, limits::STORAGE_PROBE_MS);
        let (_, rows) = append(&mut out);
        assert_eq!(rows, [hidden("noted"), hidden("later"), Entry::Probe {}].map(|entry| rows::write(&entry)));
    }

    #[test]
    fn a_writer_that_lost_the_lock_notes_nothing_and_tries_nothing() {
        let (mut recorder, mut out) = (Recorder::default(), Outbox::default());
        recorder.append(&mut out, vec![hidden("a")], Vec::new());
        let (number, _) = append(&mut out);
        recorder.append_failed(number, "lost_lock".into(), 0);
        recorder.note(hidden("b"));
        recorder.probe(&mut out, i64::MAX);
        assert!(recorder.is_lost() && !recorder.has_noted() && out.empty().is_empty());
    }
}
