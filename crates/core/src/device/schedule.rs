//! The schedule of requests: which the engine wants to send, and when each is due.

use super::lookup::Known;
use super::online::ping;
use super::rooms::Rooms;
use super::uplink::{Ask, Kind, Request};
use super::upload::status_request;
use crate::limits;

/// Every kind of request that the engine wants to send now or later, with the time at which it is due. A kind that is
/// under way is left out.
pub(super) fn due(rooms: &Rooms) -> Vec<(i64, Kind)> {
    let mut due: Vec<(i64, Kind)> = Vec::new();
    let (journal, known, at_ms) = (rooms.recorder.journal(), rooms.known(), rooms.session.at_ms());
    let mut want = |kind: Kind, wanted: bool| {
        let lane = rooms.uplink.lane(kind);
        due.extend((wanted && !lane.busy()).then(|| (lane.due_at(), kind)));
    };
    want(Kind::Pair, rooms.pairing.is_under_way() && journal.identity.is_some() && !rooms.is_busy());
    if !journal.has_key() {
        return due;
    }
    if !journal.revoked {
        want(Kind::Time, true);
        // At pairing the clock comes first, so that the first scan has a true time.
        let timed = rooms.session.clock().exchanged() || rooms.uplink.lane(Kind::Time).failures() > 0;
        want(Kind::List, timed && rooms.catalog.wants_list());
        want(Kind::Changes, rooms.catalog.may_follow());
        want(Kind::Names, rooms.guests.are_wanted(known, at_ms));
        want(Kind::Heartbeat, true);
        want(Kind::Status, rooms.uploads.wants_status(journal));
        want(Kind::Ping, rooms.catalog.list().is_some() && rooms.reader.in_use(&rooms.session));
    }
    // A claim and its final are uploaded together.
    let claim_is_open = rooms.questions.is_asking() || rooms.recorder.is_ending_a_claim();
    if !rooms.uplink.lane(Kind::Sync).busy() && !claim_is_open {
        due.extend(rooms.upload_due_at().map(|at| (at, Kind::Sync)));
    }
    due
}

/// The next request of a kind. `None` if there is nothing to ask.
pub(super) fn request(rooms: &mut Rooms, kind: Kind) -> Option<Request> {
    match kind {
        Kind::Pair => rooms.pairing.request(&rooms.session, rooms.recorder.journal()),
        Kind::Time => {
            let ask = Ask::Time { gaps_ms: rooms.session.clock().gaps_ms() };
            Some(Request::get(ask, "/api/scanning/time".to_owned(), limits::REQUEST_MS))
        }
        Kind::List => Some(rooms.catalog.list_request(rooms.event_id()?, &rooms.uplink)),
        Kind::Changes => rooms.catalog.changes_request(rooms.event_id()?),
        Kind::Names => Some(rooms.guests.request(rooms.known(), &rooms.uplink, rooms.event_id()?)),
        Kind::Heartbeat => {
            let known = Known { journal: rooms.recorder.journal(), catalog: &rooms.catalog };
            rooms.counts.beat_leaves(known);
            rooms.heartbeat.request(known, &rooms.session, &mut rooms.out)
        }
        Kind::Sync => rooms.uploads.request(rooms.recorder.journal(), &mut rooms.out),
        Kind::Status => status_request(rooms.recorder.journal()),
        Kind::Ping => Some(ping()),
        // A question about a scan has no time of its own. It follows its claim.
        Kind::Scan => None,
    }
}
