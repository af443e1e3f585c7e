//! Which scans are put to the server before the door opens, to the millisecond and the scan (S2 §2 "online first").

use admit_core::limits;
use admit_core::scan::{Method, Stage};
use admit_core::wire::engine::Input;

use super::phone::Phone;
use super::server::Server;

const ASK: &str = "/api/scans";
const SYNC: &str = "/api/scanning/sync";

/// A phone with a quick way to the server, known to be.
fn quick() -> (Phone, Server) {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.quick = true;
    phone.pair(&mut server);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    (phone, server)
}
fn code(phone: &mut Phone, text: &str) {
    phone.input(Input::Code { text: text.into(), method: Method::Qr });
}
/// Whether the server is asked about a code; without an answer.
fn is_asked(phone: &mut Phone, text: &str) -> bool {
    code(phone, text);
    phone.scans().last().unwrap().stage == Stage::Claim && phone.asks(ASK)
}
/// Everything but the question is answered, until the phone decided alone.
fn alone(phone: &mut Phone, server: &mut Server) {
    phone.requests.retain(|sent| !sent.is(ASK));
    phone.pass(limits::ASK_WAIT_MS);
    phone.settle(server);
}

#[test]
fn an_unsent_scan_of_a_ticket_keeps_nobody_from_asking_and_its_unsent_undo_does() {
    // Whether the entry is at the server, whether it was undone, whether the server is asked about the next one.
    for (sent, undone, asked) in [(false, false, true), (true, false, true), (true, true, false), (false, true, false)]
    {
        let (mut phone, mut server) = quick();
        assert!(is_asked(&mut phone, "A-1"));
        phone.requests.retain(|sent| !sent.is(ASK));
        phone.pass(limits::ASK_WAIT_MS);
        if sent {
            phone.pass_online(&mut server, 7_000);
            assert_eq!(phone.view().unsent, 0);
        }
        if undone {
            phone.input(Input::Undo { scan_id: None, keep: 0 });
        }
        // A minute in which the way is measured, and nothing else gets through.
        for _ in 0..61 {
            phone.pass(1_000);
            for ping in std::mem::take(&mut phone.requests) {
                if ping.is_ping() {
                    let reply = server.answer(&ping, phone.at_ms).unwrap();
                    phone.answer(&ping, &reply);
                } else {
                    phone.requests.push(ping);
                }
            }
        }
        assert_eq!(phone.view().unsent > 0, !sent || undone);
        assert_eq!(is_asked(&mut phone, "A-1"), asked, "entry sent {sent}, undone {undone}");
    }
}

#[test]
fn five_minutes_after_the_last_code_the_way_is_measured_no_more() {
    for (elapsed_ms, measured) in [(limits::IN_USE_MS - 1, true), (limits::IN_USE_MS, false)] {
        let (mut phone, mut server) = quick();
        code(&mut phone, "A-1");
        alone(&mut phone, &mut server);
        let already = limits::ASK_WAIT_MS;
        phone.requests.clear();
        phone.log.clear();
        // The page was frozen meanwhile: no timer fired.
        phone.mono_ms += elapsed_ms - already;
        phone.at_ms += elapsed_ms - already;
        phone.input(Input::Tick);
        assert_eq!(phone.log.iter().any(|sent| sent.is_ping()), measured, "{elapsed_ms} ms");
        assert!(!phone.asks(SYNC) || measured || !phone.asks(ASK));
    }
}
