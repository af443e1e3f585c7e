//! Staff move a device to another gate of its event, and show that they know the PIN.

use admit_core::gate::Direction;
use admit_core::ids::GateId;
use admit_core::limits;
use admit_core::rule::{Change, Effective, EventChange, GateChange};
use admit_core::wire::engine::{Effect, Input, Phase};
use admit_core::wire::scanning::HeartbeatRequest;

use super::phone::{EVENING, Phone};
use super::server::Server;

impl Server {
    /// Changes a gate: for example the limit of persons in its area, or the zones that it admits.
    pub fn change_gate(&mut self, gate_id: &str, change: GateChange) {
        self.rule(Change::Gate(GateId::new(gate_id).unwrap(), change), Effective::Start);
    }
    /// Drops every rule above this serial, like the restore of a backup that lacks these rules.
    pub fn forget_rules(&mut self, serial: u64) {
        self.rules.retain(|rule| rule.serial <= serial);
        self.changed.retain(|_, of| *of <= serial);
        (self.serial, self.version) = (serial, serial);
    }
}

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
fn gate(id: &str) -> GateId {
    GateId::new(id).unwrap()
}
fn go(phone: &mut Phone, id: &str) {
    phone.input(Input::Gate { gate_id: gate(id) });
}
fn at(phone: &Phone) -> String {
    phone.view().gate_id.as_ref().unwrap().to_string()
}

#[test]
fn a_gate_that_staff_chose_holds_at_once_over_a_restart_and_until_the_server_moved_the_device() {
    let (mut phone, mut server) = ready();
    let gates: Vec<_> = phone.view().gates.iter().map(|gate| (gate.id.as_str(), gate.name.as_str())).collect();
    assert_eq!(gates, [("both", "Gate both"), ("east", "Gate east"), ("exit", "Gate exit"), ("north", "Gate north")]);
    phone.scan("A-1");
    phone.offline();
    go(&mut phone, "exit");
    assert_eq!((at(&phone).as_str(), phone.view().direction), ("exit", Direction::Out));
    phone.scan("A-2");
    phone.start();
    assert_eq!((at(&phone).as_str(), phone.view().phase), ("exit", Phase::Ready), "with the list it had");
    phone.scan("A-3");
    phone.pass_online(&mut server, 2 * limits::HEARTBEAT_MS);
    assert_eq!((server.gate_id.as_str(), at(&phone).as_str()), ("exit", "exit"));
    let where_at: Vec<_> = phone.scans().iter().map(|scan| scan.gate_id.to_string()).collect();
    assert_eq!(where_at, ["north", "exit", "exit"], "each scan names the gate it was taken at");
    assert_eq!(phone.view().unsent, 0, "and all are at the server");
    // From here on the organiser's choice of gate holds again.
    server.gate_id = gate("both");
    phone.pass_online(&mut server, 2 * limits::HEARTBEAT_MS);
    assert_eq!(at(&phone), "both");
}

#[test]
fn an_answer_that_left_before_the_choice_does_not_move_the_device_back() {
    let (mut phone, mut server) = ready();
    phone.pass_online(&mut server, 5_000);
    phone.requests.clear();
    phone.pass(limits::HEARTBEAT_MS);
    let beat = "/api/scanning/events/event/heartbeat";
    let early = phone.take(beat);
    let reply = server.answer(&early, phone.at_ms).unwrap();
    go(&mut phone, "both");
    phone.answer(&early, &reply);
    assert_eq!(at(&phone), "both");
    phone.pass(1_000);
    let told: HeartbeatRequest = serde_json::from_str(phone.take(beat).body.as_ref().unwrap()).unwrap();
    assert_eq!(told.gate_id, Some(gate("both")));
}

/// Found in a browser: an answer arrived while a row was being written. The phone reported its gate again and overruled
/// the organiser's choice.
#[test]
fn a_choice_that_the_server_heard_is_not_told_again_over_the_organisers_word() {
    let (mut phone, mut server) = ready();
    phone.pass_online(&mut server, 5_000);
    phone.requests.clear();
    go(&mut phone, "both");
    phone.pass(limits::HEARTBEAT_MS);
    let beat = phone.take("/api/scanning/events/event/heartbeat");
    let reply = server.answer(&beat, phone.at_ms).unwrap();
    assert_eq!(server.gate_id, gate("both"));
    phone.flushes = false;
    phone.input(Input::code("A-1"));
    phone.answer(&beat, &reply);
    server.gate_id = gate("east");
    phone.flush_one();
    phone.flushes = true;
    phone.pass_online(&mut server, 2 * limits::HEARTBEAT_MS);
    assert_eq!((server.gate_id.as_str(), at(&phone).as_str()), ("east", "east"));
}

#[test]
fn a_server_that_knows_better_moves_the_device_back_and_its_scans_stay() {
    let (mut phone, mut server) = ready();
    server.rules.retain(|rule| !matches!(&rule.change, Change::Gate(id, _) if *id == gate("both")));
    go(&mut phone, "both");
    phone.scan("A-1");
    phone.pass_online(&mut server, 2 * limits::HEARTBEAT_MS);
    assert_eq!((at(&phone).as_str(), phone.view().unsent), ("north", 0));
}

#[test]
fn a_gate_the_event_has_not_is_refused_and_one_that_was_removed_is_said() {
    let (mut phone, mut server) = ready();
    go(&mut phone, "nowhere");
    assert_eq!((phone.refused(), at(&phone).as_str()), (Some("bad_gate"), "north"));
    assert!(!phone.view().gate_gone);
    phone.scan("A-1");
    server.rules.retain(|rule| !matches!(&rule.change, Change::Gate(id, _) if *id == gate("north")));
    server.change_event(EventChange::Name("Spring Gala, late".into()), EVENING);
    phone.pass_online(&mut server, 2 * limits::HEARTBEAT_MS);
    assert!(phone.view().gate_gone);
    assert!(phone.view().gates.iter().all(|one| one.id != gate("north")));
    go(&mut phone, "both");
    assert_eq!((phone.view().gate_gone, at(&phone).as_str()), (false, "both"));
    phone.pass_online(&mut server, 2 * limits::HEARTBEAT_MS);
    assert_eq!((phone.view().unsent, phone.scans().len()), (0, 1), "nothing taken at the old one is lost");
}

#[test]
fn the_pin_opens_what_the_screen_keeps_behind_it_and_five_wrong_ones_pause_it() {
    let (mut phone, _) = ready();
    let last = |phone: &Phone| {
        phone.effects.iter().rev().find_map(|effect| match effect {
            Effect::PinOk => Some(None),
            Effect::PinRefused { tries_left, paused_until_mono_ms } => {
                Some(Some((*tries_left, paused_until_mono_ms.is_some())))
            }
            _ => None,
        })
    };
    let try_pin = |phone: &mut Phone, pin: &str| phone.input(Input::Pin { pin: pin.into() });
    try_pin(&mut phone, "4711");
    assert_eq!(last(&phone), Some(None));
    for left in (0..limits::PIN_TRIES).rev() {
        try_pin(&mut phone, "0000");
        assert_eq!(last(&phone), Some(Some((left, left == 0))));
    }
    try_pin(&mut phone, "4711");
    assert_eq!(last(&phone), Some(Some((0, true))), "not even the right one");
    phone.pass(limits::PIN_PAUSE_MS + 1);
    try_pin(&mut phone, "4711");
    assert_eq!(last(&phone), Some(None));
}
