//! Following the server: what its answers change, and a new pairing or assignment (spec D11, §4 Time, §5). Each function
//! passes the values that one room returns to the next.

use super::clock::Exchange;
use super::heartbeat::Place;
use super::lookup::Known;
use super::pairing::{Reply, own_name};
use super::recorder::After;
use super::rooms::Rooms;
use super::uplink::{Answer, Ask, Kind};
use crate::ids::EventId;
use crate::limits;
use crate::manifest::compact;
use crate::manifest::verify::ManifestError;
use crate::wire::journal::Entry;
use crate::wire::scanning::{HeartbeatAnswer, SIGNATURE_HEADER, TimeAnswer};

/// Takes the server's answer to a request.
pub(super) fn answered(rooms: &mut Rooms, request: u64, answer: &Answer<'_>) {
    let Some(ask) = rooms.uplink.answered(request) else { return };
    if !rooms.uplink.follow(&mut rooms.recorder, rooms.session.mono(), answer) {
        // The answer is from a past epoch.
        return match &ask {
            Ask::Scan { scan_id } => rooms.questions.no_word(&mut rooms.uplink, &mut rooms.out, scan_id),
            _ => rooms.failed(ask.kind()),
        };
    }
    let Rooms { session, out, recorder, uplink, .. } = rooms;
    let refusal = match &ask {
        Ask::Pair => return pairing_answered(rooms, answer),
        Ask::Time { gaps_ms } => return time_answered(rooms, *gaps_ms, answer),
        Ask::List { event_id } => return list_answered(rooms, event_id, answer),
        Ask::Heartbeat => return heartbeat_answered(rooms, answer),
        Ask::Scan { scan_id } => rooms.questions.scan_answered(uplink, session, out, scan_id, answer),
        Ask::Ping => rooms.questions.ping_answered(uplink, session, out, answer),
        Ask::Changes { event_id, of } => {
            rooms.catalog.changes_answered(uplink, recorder, session, out, (event_id, *of), answer)
        }
        Ask::Names { event_id, seen } => {
            let known = Known { journal: recorder.journal(), catalog: &rooms.catalog };
            rooms.guests.answered(known, session.at_ms(), uplink, out, (event_id, *seen), answer)
        }
        Ask::Sync => rooms.uploads.answered(uplink, recorder, session, out, answer),
        Ask::Status { head } => rooms.uploads.status_answered(uplink, recorder, session, out, (*head, answer)),
    };
    let Some(refusal) = refusal else { return };
    rooms.follow_refusal(ask.kind(), refusal);
    if ask == Ask::Sync && !rooms.uploads.has_batch() {
        // The batch was made smaller or built again, so it need not wait for a retry.
        rooms.uplink.hurry(Kind::Sync, rooms.session.mono());
    }
}

/// Handles a request without an answer.
pub(super) fn unanswered(rooms: &mut Rooms, request: u64) {
    let Some(ask) = rooms.uplink.unanswered(request) else { return };
    rooms.questions.forget_round_trip();
    match &ask {
        // A ping gives up early, so its failure means a slow round trip and not a lost network.
        Ask::Ping => return rooms.failed(Kind::Ping),
        Ask::Scan { scan_id } => rooms.questions.no_word(&mut rooms.uplink, &mut rooms.out, scan_id),
        _ => rooms.failed(ask.kind()),
    }
    rooms.uplink.lost();
    if ask == Ask::Pair {
        pairing_lost(rooms);
    }
}

// ----------------------------------------------------------------------------------------------------------- pairing

/// Begins a pairing by the link that staff scanned or pasted. The phone first journals its own name. So a pairing whose
/// answer is lost can be repeated as the same device (spec D11).
pub(super) fn begin_pairing(rooms: &mut Rooms, code: &str, name: &str) {
    if !rooms.pairing.begin(code, name) {
        let message = "This is no pairing code. Ask for one on the organiser's screen.";
        return rooms.out.refuse("bad_pairing_code", message);
    }
    pairing_begun(rooms);
}

/// Begins a pairing in which this phone shows a code for an organiser to approve.
pub(super) fn begin_pairing_alone(rooms: &mut Rooms, name: &str) {
    rooms.pairing.begin_alone(name);
    pairing_begun(rooms);
}

/// Drops the request of the pairing before, and gives this phone a name of its own if it has none.
fn pairing_begun(rooms: &mut Rooms) {
    rooms.uplink.cancel(&mut rooms.out, Kind::Pair);
    rooms.message = None;
    if rooms.recorder.journal().identity.is_none()
        && let Some(name) = own_name(&mut rooms.out)
    {
        rooms.recorder.append(&mut rooms.out, vec![name], vec![After::Pair]);
    }
}

/// Drops the pairing under way, if there is one.
pub(super) fn drop_pairing(rooms: &mut Rooms) {
    rooms.uplink.cancel(&mut rooms.out, Kind::Pair);
    rooms.pairing.end();
    rooms.message = None;
}

fn pairing_answered(rooms: &mut Rooms, answer: &Answer<'_>) {
    match rooms.pairing.answered(answer, rooms.session.mono()) {
        Reply::Nothing => {}
        Reply::Waits => rooms.done(Kind::Pair, limits::APPROVAL_POLL_MS),
        Reply::Refused(why) => {
            rooms.refused(Kind::Pair, answer);
            pairing_failed(rooms, &why);
        }
        Reply::Unclear => {
            rooms.refused(Kind::Pair, answer);
            pairing_lost(rooms);
        }
        // The key is journalled before it is used. So the pairing waits until the append under way is done.
        Reply::Paired(_) if rooms.is_busy() => rooms.uplink.reset(Kind::Pair),
        Reply::Paired(paired) => {
            rooms.done(Kind::Pair, 0);
            let before = rooms.event_id();
            let mut entries = vec![Entry::Paired(paired)];
            // The device trusts the answer's epoch from now on, so it journals the witness that proves the epoch.
            if let Some((witness, text)) = answer.witness()
                && rooms.uplink.proven_event() != Some(&witness.event_id)
            {
                let (event_id, text) = (witness.event_id, text.to_owned());
                entries.push(Entry::Witness { event_id, text, also: Vec::new() });
            }
            rooms.recorder.append(&mut rooms.out, entries, vec![After::Settled(before)]);
        }
    }
}

/// Handles a pairing request without an answer. It is tried a few times, since the token is valid for five minutes.
fn pairing_lost(rooms: &mut Rooms) {
    let tried = rooms.uplink.lane(Kind::Pair).failures() >= limits::PAIRING_TRIES;
    if tried && !rooms.pairing.still_waits(rooms.session.mono()) {
        pairing_failed(rooms, "The server does not answer. Is there a network?");
    }
}

fn pairing_failed(rooms: &mut Rooms, why: &str) {
    rooms.pairing.end();
    rooms.message = Some(why.to_owned());
    rooms.out.refuse("pairing_failed", why);
}

/// Takes a new pairing or assignment into use. The device drops the data of the former event, and asks the server for
/// everything at once. `before` is the event of the device until now, absent if it had none.
pub(super) fn settled(rooms: &mut Rooms, before: Option<EventId>) {
    rooms.pairing.end();
    rooms.message = None;
    rooms.questions.forget_round_trip();
    rooms.uplink.start_over(&mut rooms.out);
    rooms.uploads.drop_batch();
    rooms.catalog.settle(&rooms.recorder);
    rooms.guests.settle(&rooms.recorder);
    let moved = before != rooms.event_id();
    if moved {
        // Nobody answers these questions any more. If the device returns to their event, they are closed as unseen.
        rooms.questions.leave_event();
    }
    if moved || rooms.catalog.list().is_none() {
        rooms.catalog.drop_event(&mut rooms.out, before.filter(|_| moved).as_ref());
        rooms.guests.leave_event();
    }
    // `Engine::handle` then drops names that may not stay on the device (`Guests::follow_time`), still for the same
    // input.
}

// ------------------------------------------------------------------------------------------------------------- clock

/// Takes the server's answer about its time, which makes four timestamps.
fn time_answered(rooms: &mut Rooms, gaps_ms: i64, answer: &Answer<'_>) {
    let Some(time) = answer.read::<TimeAnswer>() else { return rooms.refused(Kind::Time, answer) };
    let anchor = rooms.session.exchange(Exchange {
        sent_mono_ms: answer.sent_mono_ms,
        received_ms: time.received_at_ms,
        answered_ms: time.sent_at_ms,
        gaps_ms,
    });
    if let Some(anchor) = anchor {
        rooms.recorder.note(anchor.entry());
    } else if !rooms.session.clock().exchanged() {
        return rooms.failed(Kind::Time);
    }
    // If the phone slept or its clock was set in between, the exchange measured nothing and is repeated at once.
    let slept = gaps_ms != rooms.session.clock().gaps_ms();
    rooms.done(Kind::Time, if slept { 0 } else { limits::CLOCK_EVERY_MS });
}

// -------------------------------------------------------------------------------------------------------------- list

/// Takes the server's answer with a list.
fn list_answered(rooms: &mut Rooms, event_id: &EventId, answer: &Answer<'_>) {
    let Some(paired) = rooms.paired().filter(|paired| paired.event_id == *event_id).cloned() else { return };
    let (200, Some(signature)) = (answer.status, answer.header(SIGNATURE_HEADER)) else {
        return rooms.refused(Kind::List, answer);
    };
    let Rooms { uplink, recorder, out, catalog, guests, session, .. } = rooms;
    match catalog.take_list(uplink, recorder, out, &paired, (answer.body, signature)) {
        Ok(false) => {}
        Ok(true) => {
            let known = Known { journal: recorder.journal(), catalog };
            guests.follow_list(known, session.at_ms(), uplink, out);
        }
        Err(error) => return list_refused(rooms, answer, &error),
    }
    rooms.message = None;
    rooms.done(Kind::List, 0);
}

fn list_refused(rooms: &mut Rooms, answer: &Answer<'_>, error: &ManifestError) {
    let json = || serde_json::from_slice::<serde::de::IgnoredAny>(answer.body).is_ok();
    rooms.uplink.judge_origin(compact::is_compact(answer.body) || json());
    rooms.message = Some(format!("A list was refused: {error}."));
    rooms.failed(Kind::List);
    if matches!(error, ManifestError::WrongBase { .. } | ManifestError::ContentHash) {
        // The changes do not fit the list on this device. The next try asks for the whole list, since its lane has a
        // failure.
        rooms.uplink.hurry(Kind::List, rooms.session.mono());
    }
}

/// Handles a body that could not be stored.
pub(super) fn save_failed(rooms: &mut Rooms, key: &str) {
    let Some(event_id) = rooms.event_id() else { return };
    if rooms.catalog.save_failed(&mut rooms.uplink, &event_id, key, rooms.session.mono()) {
        let message = "The list cannot be stored: without a network this device would not start again. Free storage.";
        rooms.message = Some(message.to_owned());
    }
}

// --------------------------------------------------------------------------------------------------------- heartbeat

/// Takes the server's answer to a heartbeat: where this device is assigned, and whether there is news.
fn heartbeat_answered(rooms: &mut Rooms, answer: &Answer<'_>) {
    let Some(beat) = answer.read::<HeartbeatAnswer>() else { return rooms.refused(Kind::Heartbeat, answer) };
    if !rooms.uplink.follow_epoch(&mut rooms.recorder, beat.cursor.epoch) {
        return rooms.failed(Kind::Heartbeat);
    }
    rooms.out.measured().answered();
    let next_in_ms = rooms.heartbeat.next_in_ms(rooms.known());
    rooms.done(Kind::Heartbeat, next_in_ms);
    rooms.questions.measure(&rooms.session, answer);
    rooms.uplink.suspend(beat.suspended);
    let (now, at_ms) = (rooms.session.mono(), rooms.session.at_ms());
    rooms.counts.follow(&beat, now);
    rooms.guests.heard_of((beat.cursor.epoch, beat.cursor.serial));
    if rooms.catalog.feed().cursor().is_none_or(|cursor| *cursor < beat.cursor) {
        rooms.uplink.hurry(Kind::Changes, now);
    }
    rooms.catalog.follow_version((beat.cursor.epoch, beat.manifest_version), at_ms);
    match rooms.heartbeat.answered(&beat, rooms.recorder.journal().paired.as_ref()) {
        Place::Same => {}
        Place::Unreported => rooms.uplink.hurry(Kind::Heartbeat, now),
        Place::Assigned(_) if rooms.is_busy() => {
            if rooms.paired().is_some_and(|paired| paired.moved) {
                rooms.uplink.hurry(Kind::Heartbeat, now);
            }
        }
        Place::Assigned(_) if rooms.pairing.is_under_way() => {}
        Place::Assigned(entry) => {
            let after = After::Settled(rooms.event_id());
            rooms.recorder.append(&mut rooms.out, vec![entry], vec![after]);
        }
    }
    rooms.purge();
}
