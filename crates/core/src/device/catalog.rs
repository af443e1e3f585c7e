//! The catalog: the list by which this device decides and the changes since, with what the cache keeps of both (spec §5
//! "manifest", "changes").

use std::collections::BTreeMap;

use super::feed::{Feed, PageWrites};
use super::list::{Download, List, delta_key, page_key, whole_key};
use super::outbox::Outbox;
use super::recorder::Recorder;
use super::session::Session;
use super::uplink::{Answer, Ask, Kind, Refusal, Request, Uplink};
use crate::ids::EventId;
use crate::limits;
use crate::manifest::verify::{Expected, ManifestError};
use crate::rule::Epoch;
use crate::wire::engine::Effect;
use crate::wire::journal::{CachedPage, Entry, Paired};
use crate::wire::scanning::ChangesAnswer;
use crate::wire::stored::{from_json, to_text};

/// The list and the changes of the event to which the device is assigned.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    list: Option<List>,
    /// Versions of the deltas that the cache keeps on top of the whole list.
    deltas: Vec<u64>,
    feed: Feed,
    /// The newest list that the server mentioned. Absent if the device has it.
    named: Option<(Epoch, u64)>,
    /// The estimated time when the server last said that the active list is the newest, in milliseconds.
    checked_ms: Option<i64>,
    /// Whether the list must be fetched whole, because the cached one is signed under a key that was rotated out, or
    /// could not be stored.
    whole_next: bool,
}

impl Catalog {
    /// The active list. `None` if there is none yet.
    pub fn list(&self) -> Option<&List> {
        self.list.as_ref()
    }
    /// The changes since.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }
    /// The version of the newest list that the server mentioned. `None` if the device has it.
    pub fn newer(&self) -> Option<u64> {
        self.named.map(|(_, version)| version)
    }
    /// The estimated time when the server last said that the active list is the newest, in milliseconds. `None` if it
    /// has not said so.
    pub fn checked_ms(&self) -> Option<i64> {
        self.checked_ms
    }

    // ------------------------------------------------------------------------------------------ begin and end of use

    /// At start: opens the list in the cache ([`List::open`]).
    pub fn open_list(
        &mut self,
        recorder: &Recorder,
        caches: &BTreeMap<String, Vec<u8>>,
        keys: &[&str],
        expected: Expected<'_>,
    ) -> Result<(), ManifestError> {
        let mark = recorder.journal().lists.get(expected.event_id);
        if let Some((list, deltas)) = List::open(caches, keys, expected, mark)? {
            (self.list, self.deltas) = (Some(list), deltas);
        }
        Ok(())
    }

    /// At start: takes the pages of changes in the cache, and removes those that are of no use.
    pub fn open_changes(&mut self, out: &mut Outbox, event_id: &EventId, caches: &BTreeMap<String, Vec<u8>>) {
        let prefix = page_key(event_id, "");
        let pages = caches.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        let pages = pages.filter_map(|(key, body)| {
            let page: CachedPage = from_json(body).ok()?;
            Some((key[prefix.len()..].parse().ok()?, page))
        });
        for number in self.feed.load(pages.collect()) {
            out.emit(Effect::Forget { key: page_key(event_id, number) });
        }
    }

    /// Takes whether the next list must be fetched whole.
    pub fn need_whole(&mut self, whole: bool) {
        self.whole_next = whole;
    }

    /// Takes a new pairing or assignment into use.
    pub fn settle(&mut self, recorder: &Recorder) {
        self.named = None;
        self.whole_next = recorder.journal().old_key.is_some();
    }

    /// Drops everything of the event before. `event_id` is that event if the cache must forget it too.
    pub fn drop_event(&mut self, out: &mut Outbox, event_id: Option<&EventId>) {
        if let Some(event_id) = event_id {
            out.emit(Effect::Forget { key: whole_key(event_id) });
            for version in std::mem::take(&mut self.deltas) {
                out.emit(Effect::Forget { key: delta_key(event_id, version) });
            }
            for number in self.feed.kept_pages() {
                out.emit(Effect::Forget { key: page_key(event_id, number) });
            }
        }
        self.checked_ms = None;
        self.wipe();
    }

    /// Drops list and changes from memory. The caches of a revoked device are wiped as a whole.
    pub fn wipe(&mut self) {
        self.list = None;
        self.deltas.clear();
        self.feed = Feed::default();
    }

    // -------------------------------------------------------------------------------------------------------- list

    /// Whether to fetch a list: the device has none, the server mentioned a newer one, or the whole list is needed.
    pub fn wants_list(&self) -> bool {
        self.whole_next || self.list.is_none() || self.named.is_some()
    }

    /// Takes the version of the newest list, as the server stated it at `at_ms`.
    pub fn follow_version(&mut self, newest: (Epoch, u64), at_ms: i64) {
        match &self.list {
            Some(list) if newest > (list.epoch, list.version) => self.named = self.named.max(Some(newest)),
            Some(list) if newest == (list.epoch, list.version) => self.checked_ms = Some(at_ms),
            Some(_) => {}
            None => self.named = self.named.max(Some(newest)),
        }
    }

    /// The request for the list. If the active list is of the newest epoch, the device asks only for the changes since
    /// that list, unless the last request failed.
    pub fn list_request(&self, event_id: EventId, link: &Uplink) -> Request {
        let fresh_epoch = |list: &List| self.named.is_none_or(|(epoch, _)| epoch == list.epoch);
        let few = self.deltas.len() < limits::DELTAS && link.lane(Kind::List).failures() == 0;
        let since =
            self.list.as_ref().filter(|list| few && !self.whole_next && fresh_epoch(list)).map(|list| list.version);
        let query = since.map(|since| format!("?since={since}")).unwrap_or_default();
        let path = format!("/api/scanning/events/{event_id}/manifest{query}");
        Request::get(Ask::List { event_id }, path, limits::MANIFEST_MS)
    }

    /// Takes a downloaded list. The device refuses a list that does not verify, is older, or belongs to another event or
    /// organisation. It then goes on with the active list (trust faults 18–20). Returns whether a list was taken into use.
    pub fn take_list(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        out: &mut Outbox,
        paired: &Paired,
        (body, signature): (&[u8], &str),
    ) -> Result<bool, ManifestError> {
        let Paired { organization_id, event_id, api_key, .. } = paired;
        let expected = Expected { organization_id, event_id };
        let mark = recorder.journal().lists.get(event_id);
        match List::download(body, signature, api_key, expected, self.list.as_ref(), mark)? {
            Download::Newer { list, whole } => self.swap(link, recorder, out, event_id, (*list, whole)),
            Download::Same { generated_at, expires_at, whole } => {
                self.named = None;
                let Some(list) = &mut self.list else { return Ok(false) };
                (list.generated_at, list.expires_at) = (generated_at, expires_at);
                if !whole {
                    return Ok(false);
                }
                let list = list.clone();
                self.swap(link, recorder, out, event_id, (list, whole));
            }
        }
        Ok(true)
    }

    /// Takes a list into use: it is cached and noted in the journal, and the device decides by it from now on.
    fn swap(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        out: &mut Outbox,
        event_id: &EventId,
        (list, whole): (List, bool),
    ) {
        if whole {
            self.whole_next = false;
            out.emit(Effect::Save { key: whole_key(event_id), text: None, sealed: false });
            for version in std::mem::take(&mut self.deltas) {
                out.emit(Effect::Forget { key: delta_key(event_id, version) });
            }
        } else {
            out.emit(Effect::Save { key: delta_key(event_id, list.version), text: None, sealed: false });
            self.deltas.push(list.version);
        }
        if self.named.is_some_and(|named| named <= (list.epoch, list.version)) {
            self.named = None;
        }
        self.checked_ms = None;
        let (epoch, version, content_hash) = (list.epoch, list.version, list.content_hash());
        let ends_at_ms = Some(list.event.ends_at.ms());
        recorder.note(Entry::List { event_id: event_id.clone(), epoch, version, content_hash, ends_at_ms });
        let now = out.mono();
        if self.list.is_none() {
            // A heartbeat left before the list came. The next one is sent at once, so that the organiser does not read
            // "list none".
            link.hurry(Kind::Heartbeat, now);
        }
        if self.list.as_ref().is_none_or(|before| before.epoch != list.epoch) {
            // Without a list of this epoch, the device could not ask for changes until now.
            link.hurry(Kind::Changes, now);
        }
        self.list = Some(list);
    }

    /// Notes that a list in use could not be stored. The journal says that the device used it. So the next start takes
    /// no older list, and later deltas fit no list in storage. The engine fetches and stores the whole list again after
    /// a pause, since full storage stays full for some time. Other cached data that could not be stored is asked for at
    /// the next start. Returns false if `key` is no list's.
    pub fn save_failed(&mut self, link: &mut Uplink, event_id: &EventId, key: &str, now_ms: i64) -> bool {
        if key != whole_key(event_id) && !key.starts_with(&delta_key(event_id, "")) {
            return false;
        }
        self.whole_next = true;
        link.hold(Kind::List, now_ms, limits::UNSAVED_EVERY_MS);
        true
    }

    // ----------------------------------------------------------------------------------------------------- changes

    /// Whether the device may ask for changes. The request names the device's list, and the server leaves out rule
    /// changes that the list has already. After a restore, the server gives out the same serials again. With a list of
    /// an older epoch than the cursor, it would leave out rule changes that the list lacks.
    pub fn may_follow(&self) -> bool {
        let asked = self.feed.ask_from().map(|cursor| cursor.epoch);
        self.list.as_ref().is_some_and(|list| asked.is_none_or(|epoch| list.epoch >= epoch))
    }

    /// The question to the server what changed. If the device knows of no further change, the request waits at the
    /// server for the next. `None` without a list.
    pub fn changes_request(&self, event_id: EventId) -> Option<Request> {
        let (version, of) = self.list.as_ref().map(|list| (list.version, list.epoch))?;
        let query = match self.feed.ask_from() {
            Some(cursor) => {
                format!("?cursor={cursor}&manifest_version={version}&wait={}", limits::CHANGES_WAIT_SECONDS)
            }
            None => format!("?manifest_version={version}"),
        };
        let path = format!("/api/scanning/events/{event_id}/changes{query}");
        let timeout_ms = limits::REQUEST_MS + limits::CHANGES_WAIT_SECONDS * 1_000;
        Some(Request::get(Ask::Changes { event_id, of }, path, timeout_ms))
    }

    /// Takes the server's answer about changes. `asked` is the event and the epoch of the list that the request named.
    /// Returns what a refusal means for the device as a whole. `None` if the answer is no refusal.
    pub fn changes_answered(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        session: &Session,
        out: &mut Outbox,
        (event_id, of): (&EventId, Epoch),
        answer: &Answer<'_>,
    ) -> Option<Refusal> {
        let Some(changes) = answer.read::<ChangesAnswer>() else {
            return Some(link.refused(out, Kind::Changes, answer));
        };
        if !link.follow_epoch(recorder, changes.cursor.epoch) {
            link.failed(out, Kind::Changes);
            return None;
        }
        self.follow_version_of(&changes, session);
        if !changes.resync && changes.cursor.epoch != of {
            // The request named a list of another epoch ([`Self::may_follow`]). The device first fetches a list of this
            // epoch.
            link.failed(out, Kind::Changes);
            return None;
        }
        let again = changes.more || changes.resync;
        // The long poll came back at once with nothing, since the news is a list that is fetched separately. A pause
        // avoids a hot loop.
        let waited = self.feed.ask_from().is_none() || out.mono() - answer.sent_mono_ms >= limits::CHANGES_IDLE_MS;
        let idle = changes.items.is_empty() && !waited;
        let pause = if idle { limits::CHANGES_IDLE_MS } else { limits::CHANGES_PAUSE_MS };
        let body = String::from_utf8_lossy(answer.body).into_owned();
        let PageWrites { save, forget } = self.feed.take(changes, &body);
        for (number, page) in save {
            out.emit(Effect::Save { key: page_key(event_id, number), text: Some(to_text(&page)), sealed: false });
        }
        for number in forget {
            out.emit(Effect::Forget { key: page_key(event_id, number) });
        }
        link.done(Kind::Changes, out.mono(), if again { 0 } else { pause });
        None
    }

    fn follow_version_of(&mut self, changes: &ChangesAnswer, session: &Session) {
        self.follow_version((changes.cursor.epoch, changes.manifest_version), session.at_ms());
    }
}
