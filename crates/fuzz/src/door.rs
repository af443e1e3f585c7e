//! Fuzz targets around the scanner's engine: a sequence of inputs, a server's answer, a storage's content.
//!
//! Three promises hold after every input. A verdict on the screen is durable (I1). The rows on the disk say how many
//! scans wait (I23). Every upload is signed, whole and about one event; the server of the core's tests checks that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use admit_core::event::ReEntry;
use admit_core::gate::Direction;
use admit_core::limits;
use admit_core::rule::{EventChange, TicketChange};
use admit_core::scan::{Method, Stage};
use admit_core::sign::body_signature;
use admit_core::ticket::TicketStatus;
use admit_core::wire::engine::{Input, Row};
use admit_core::wire::journal::{self as rows, Entry};
use admit_core::wire::scanning::SIGNATURE_HEADER;

use crate::bytes::{Bytes, piece};
use crate::list::signed_json;
use crate::phone::{Phone, Sent};
use crate::server::{Reply, Server};

/// The largest number of inputs per program. Longer programs would find nothing more.
const STEPS: usize = 120;
const CODES: [&str; 12] = [
    "A-1",
    "A-2",
    "A-3",
    "A-1",
    "P-4",
    "P-4",
    "V-1",
    "VIP-1",
    "OLD-1",
    "nobody's",
    "https://x/passes?token=A-4",
    " A-5 ",
];
const TIMES: [i64; 8] = [0, 100, 500, 1_000, 5_000, 30_000, 120_000, 3_600_000];
const STATUSES: [u16; 14] = [200, 200, 200, 204, 304, 400, 401, 403, 404, 409, 413, 429, 500, 503];

/// Checks a phone after each of its inputs.
#[derive(Default)]
struct Watch {
    /// The phone's rows so far, as entries of the journal.
    entries: Vec<Entry>,
    /// The number of its verdicts that were checked already.
    shown: usize,
}

impl Watch {
    /// Checks that every verdict that the phone has shown is on its disk. Then checks that its screen states the
    /// number of waiting scans that its disk holds.
    fn look(&mut self, phone: &Phone, honest: bool) {
        let new = phone.rows.iter().skip(self.entries.len());
        // A row that cannot be read is replaced by any harmless entry, so that positions stay the same.
        self.entries.extend(new.map(|row| rows::read(&row.text).unwrap_or(Entry::Probe {})));
        for verdict in phone.shown.get(self.shown..).unwrap_or(&phone.shown) {
            let Some(scan_id) = &verdict.scan_id else { continue };
            let durable = self.entries.iter().any(|entry| {
                matches!(entry, Entry::Scan(row) if row.scan.scan_id == *scan_id
                    && (!verdict.opened || row.scan.opened && row.scan.stage == Stage::Final))
            });
            assert!(durable, "I1: {scan_id} is on the screen and not on the disk");
        }
        self.shown = phone.shown.len();
        let Some(view) = &phone.view else { return };
        if honest && phone.appends.is_empty() && view.device_id.is_some() {
            assert_eq!(view.unsent, waiting(&self.entries), "I23: what waits, by the screen and by the disk");
        }
    }
}

/// The number of scans that no row names as received or refused. A claim and its final count as one scan.
fn waiting(entries: &[Entry]) -> u64 {
    let mut named = BTreeSet::new();
    let mut scans = Vec::new();
    for entry in entries {
        match entry {
            Entry::Scan(row) => scans.push((row.scan.seq.unwrap_or_default(), &row.scan.scan_id)),
            Entry::Received { seqs, .. } => named.extend(seqs.iter().flat_map(|(from, to)| *from..=*to)),
            Entry::Rejected { items, .. } => named.extend(items.iter().map(|item| item.seq)),
            _ => {}
        }
    }
    let open = |seq: &u64| !named.contains(seq);
    let final_waits = |seq: u64, id| scans.iter().any(|(later, of)| *of == id && *later > seq && open(later));
    scans.iter().filter(|(seq, id)| open(seq) && !final_waits(*seq, *id)).count() as u64
}

/// Runs a program: the bytes choose the inputs of one phone.
pub fn engine(bytes: &[u8]) {
    let mut program = Program::begin(bytes);
    for _ in 0..STEPS {
        if program.bytes.is_empty() {
            break;
        }
        program.step();
        program.watch.look(&program.phone, program.honest);
    }
    program.end();
}

struct Program<'a> {
    bytes: Bytes<'a>,
    phone: Phone,
    server: Server,
    watch: Watch,
    /// Whether every answer was the server's own and its ledger is whole.
    honest: bool,
    /// Whether all that the phone wrote is on its disk and its key is still valid.
    kept: bool,
}

impl<'a> Program<'a> {
    fn begin(bytes: &'a [u8]) -> Self {
        let mut bytes = Bytes::new(bytes);
        let mut server = Server::new();
        let with = bytes.byte();
        if with & 1 != 0 {
            server.allow_names("north", true);
            server.name("A-1", "Ana Ámel", Some("ID"));
            server.name("P-4", "The Four", None);
        }
        if with & 2 != 0 {
            server.re_entry(*bytes.pick(ReEntry::ALL));
        }
        if with & 4 != 0 {
            server.gate_id = "both".parse().expect("a gate");
        }
        let mut phone = Phone::new(u64::from(with));
        phone.quick = with & 8 != 0;
        if with & 16 == 0 {
            phone.pair(&mut server);
        }
        phone.flushes = with & 32 == 0;
        Self { bytes, phone, server, watch: Watch::default(), honest: true, kept: true }
    }

    fn step(&mut self) {
        match self.bytes.byte() % 20 {
            0..3 => {
                let text = (*self.bytes.pick(&CODES)).to_owned();
                self.phone.input(Input::code(text));
            }
            3 => {
                let text = self.bytes.text();
                self.phone.input(Input::Code { text, other: None, method: Method::Manual });
            }
            4 => self.storage(),
            5..8 => self.answered(),
            8 => self.lost(),
            9 => self.garbled(),
            10 | 11 => {
                let ms = *self.bytes.pick(&TIMES);
                self.phone.pass(ms);
            }
            12 => self.clocks(),
            13 => self.restarted(),
            14 => self.about_a_verdict(),
            15 | 16 => self.staff(),
            17 => self.organiser(),
            18 => self.phone.settle(&mut self.server),
            _ => self.pairing(),
        }
    }

    fn storage(&mut self) {
        if self.phone.appends.is_empty() {
            self.phone.flushes = !self.phone.flushes;
        } else if self.bytes.byte().is_multiple_of(4) {
            let reason = *self.bytes.pick(&["quota", "closed", "lost_lock"]);
            self.kept &= reason != "lost_lock";
            self.phone.fail_one(reason);
        } else {
            self.phone.flush_one();
        }
    }

    fn taken(&mut self) -> Option<Sent> {
        let among = self.phone.requests.len();
        let at = usize::from(self.bytes.byte()).checked_rem(among)?;
        Some(self.phone.requests.remove(at))
    }
    fn answered(&mut self) {
        let Some(sent) = self.taken() else { return };
        match self.server.answer(&sent, self.phone.at_ms) {
            Some(reply) => self.phone.answer(&sent, &reply),
            None => self.phone.requests.push(sent),
        }
    }
    /// Loses either the request or its answer.
    fn lost(&mut self) {
        let Some(sent) = self.taken() else { return };
        if self.bytes.byte().is_multiple_of(2) {
            self.server.answer(&sent, self.phone.at_ms);
        }
        self.phone.lose(&sent);
    }
    /// Answers with something that differs from the server's answer.
    fn garbled(&mut self) {
        let Some(sent) = self.taken() else { return };
        // The answer to a pairing is lost instead of changed. With a false key, a phone would sign scans that no server
        // accepts, and it would have to be paired again. That is no fault.
        let Some(mut reply) = self.server.answer(&sent, self.phone.at_ms).filter(|_| !sent.is("/api/scanning/pair"))
        else {
            return self.phone.lose(&sent);
        };
        self.honest = false;
        match self.bytes.byte() % 5 {
            0 => reply.status = *self.bytes.pick(&STATUSES),
            1 => reply.body.truncate(self.bytes.short()),
            2 => {
                let at = self.bytes.short() % reply.body.len().max(1);
                let change = self.bytes.byte();
                reply.body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= change);
            }
            3 => reply = Reply { body: self.bytes.piece().to_vec(), ..Reply::html(*self.bytes.pick(&STATUSES)) },
            _ => {
                let code = *self.bytes.pick(&["device_revoked", "device_suspended", "batch_conflict", "rate_limited"]);
                reply = Reply::problem(*self.bytes.pick(&STATUSES), code).with("retry-after", self.bytes.byte());
            }
        }
        self.phone.answer(&sent, &reply);
    }

    fn clocks(&mut self) {
        let ms = *self.bytes.pick(&TIMES);
        match self.bytes.byte() % 3 {
            0 => self.phone.sleep(ms),
            1 => self.phone.wall_off_ms += ms,
            _ => self.phone.wall_off_ms -= ms,
        }
    }

    /// Ends the app at any point and starts it again. Its caches may be lost or changed.
    fn restarted(&mut self) {
        match self.bytes.byte() % 4 {
            0 => self.phone.caches.clear(),
            1 => {
                let at = self.bytes.short();
                let change = self.bytes.byte();
                for body in self.phone.caches.values_mut() {
                    let at = at % body.len().max(1);
                    body.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= change);
                }
            }
            _ => {}
        }
        self.phone.start();
        self.kept = true;
    }

    fn about_a_verdict(&mut self) {
        let back = usize::from(self.bytes.byte() % 4);
        let mut shown = self.phone.shown.iter().rev().filter_map(|verdict| verdict.scan_id.clone());
        let Some(scan_id) = shown.nth(back) else { return };
        let count = u32::from(self.bytes.byte() % 7);
        let input = match self.bytes.byte() % 4 {
            0 => Input::Count { scan_id, count },
            1 => {
                let pin = (*self.bytes.pick(&["4711", "4711", "0000", ""])).to_owned();
                Input::Override { scan_id, pin, by: "Ada".into(), reason: self.bytes.text(), count }
            }
            2 => Input::Undo { scan_id: Some(scan_id), keep: count },
            _ => Input::HideProblem { scan_id },
        };
        self.phone.input(input);
    }

    fn staff(&mut self) {
        let input = match self.bytes.byte() % 11 {
            0 => Input::Undo { scan_id: None, keep: 0 },
            1 => Input::Direction { direction: *self.bytes.pick(Direction::ALL) },
            2 => Input::Operator { name: self.bytes.text() },
            3 => Input::Online,
            4 => Input::SyncNow,
            5 => Input::Battery { percent: self.bytes.byte() },
            6 => Input::Export,
            7 => Input::Search { text: self.bytes.text() },
            8 => {
                let ticket_id = format!("t-{}", self.bytes.pick(&CODES)).parse();
                let Ok(ticket_id) = ticket_id else { return };
                Input::Guest { ticket_id }
            }
            // Completes an append and a request that nobody began. A real host never does so.
            9 => Input::Appended { append: u64::from(self.bytes.byte()) + 1_000_000 },
            _ => Input::Failed { request: u64::from(self.bytes.byte()) + 1_000_000 },
        };
        self.phone.input(input);
    }

    fn organiser(&mut self) {
        let code = *self.bytes.pick(&["A-1", "A-2", "P-4", "V-1"]);
        let at = self.phone.at_ms;
        match self.bytes.byte() % 8 {
            0 => self.server.change_ticket(code, TicketChange::Status(*self.bytes.pick(TicketStatus::ALL)), at),
            1 => self.server.change_ticket(code, TicketChange::EntryLimit(u32::from(self.bytes.byte() % 9)), at),
            2 => self.server.change_event(EventChange::ReEntry(*self.bytes.pick(ReEntry::ALL)), at),
            3 => self.server.name(code, &self.bytes.text(), None),
            4 => self.server.suspended = !self.server.suspended,
            5 => {
                self.server.revoked = !self.server.revoked;
                self.honest = false;
            }
            6 => {
                let back = u64::from(self.bytes.byte() % 4);
                self.server.roll_back(self.server.serial.saturating_sub(back));
                self.honest = false;
            }
            _ => self.server.gate_id = (*self.bytes.pick(&["north", "east", "exit", "both"])).parse().expect("a gate"),
        }
    }

    fn pairing(&mut self) {
        match self.bytes.byte() % 4 {
            0 => self.phone.pair(&mut self.server),
            1 => self.phone.input(Input::AskPairing { name: self.bytes.text() }),
            2 => self.phone.input(Input::CancelPairing),
            _ => {
                let (code, name) = (self.bytes.text(), self.bytes.text());
                self.phone.input(Input::Pair { code, name });
            }
        }
    }

    /// Checks I3: when the network is back and nothing interferes, every shown scan arrives.
    fn end(mut self) {
        self.phone.flushes = true;
        while !self.phone.appends.is_empty() {
            self.phone.flush_one();
        }
        self.watch.look(&self.phone, self.honest);
        let paired = self.phone.entries().iter().any(|entry| matches!(entry, Entry::Paired(_)));
        if !(self.honest && self.kept && paired) {
            return;
        }
        self.phone.offline();
        let arrived = |phone: &Phone, server: &Server| {
            let stored: BTreeSet<String> = server.ids().into_iter().collect();
            phone.scans().iter().all(|scan| stored.contains(scan.scan_id.as_str()))
        };
        for _ in 0..40 {
            if arrived(&self.phone, &self.server) {
                return;
            }
            self.phone.pass(30_000);
            self.phone.settle(&mut self.server);
            self.watch.look(&self.phone, true);
        }
        assert!(arrived(&self.phone, &self.server), "I3: a scan never arrived");
    }
}

/// First inputs for cases that random bytes reach late: a party, an override, a question to the server, a lost receipt.
pub fn seeds() -> Vec<Vec<u8>> {
    let word = |text: &str| piece(text);
    vec![
        vec![0, 0, 0, 0, 1, 18, 10, 6, 18],
        [&[1, 0, 4, 14, 0, 2, 0, 18, 16, 7], word("ana").as_slice(), &[16, 8, 0, 18]].concat(),
        [&[0, 0, 6, 14, 0, 1, 1, 0], word("on the list").as_slice(), &[10, 4, 5, 0, 18]].concat(),
        vec![8, 18, 10, 2, 18, 0, 0, 5, 0, 5, 1, 10, 3, 18],
        vec![0, 0, 0, 10, 4, 8, 0, 0, 10, 5, 18, 13, 0, 0, 0],
        vec![2, 1, 0, 4, 14, 0, 3, 0, 10, 4, 14, 0, 1, 2, 18],
        vec![4, 15, 1, 1, 0, 0, 15, 1, 0, 0, 0, 18, 17, 0, 7, 1, 10, 6, 18],
        vec![32, 0, 0, 4, 1, 0, 1, 4, 0, 0, 10, 6, 4, 1, 18],
        [&[16, 19, 1], word("North 1").as_slice(), &[10, 4, 18, 19, 0, 0, 0, 18]].concat(),
        vec![0, 0, 0, 18, 17, 0, 6, 3, 10, 7, 18, 10, 6, 18],
        vec![0, 0, 0, 17, 0, 5, 10, 5, 18, 0, 1, 10, 6, 18],
        [&[0, 0, 0, 10, 4, 9, 0, 3], word("<html>").as_slice(), &[0, 12, 6, 1, 0, 1, 18]].concat(),
    ]
}

// ------------------------------------------------------------------------------------------- what a server answers

/// A phone's rows and its caches.
type Disk = (Vec<Row>, BTreeMap<String, Vec<u8>>);

/// The disk of a phone after a short evening.
fn evening() -> &'static Disk {
    static DISK: OnceLock<Disk> = OnceLock::new();
    DISK.get_or_init(|| {
        let mut server = Server::new();
        server.allow_names("north", true);
        server.name("A-1", "Ana Ámel", None);
        let mut phone = Phone::ready(5, &mut server);
        phone.scan("A-1");
        phone.pass_online(&mut server, 10_000);
        phone.pass_offline(1_000);
        phone.scan("A-2");
        phone.scan("P-4");
        (phone.rows, phone.caches)
    })
}

fn of_disk(rows: Vec<Row>, caches: BTreeMap<String, Vec<u8>>) -> Phone {
    let mut phone = Phone::new(6);
    (phone.rows, phone.caches) = (rows, caches);
    phone.start();
    phone
}

/// Answers one request of a phone with any response, while it is being paired, or after the scans of [`evening`]. The
/// bytes choose the phone, the request, the headers and the body.
pub fn answer(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let (which, status, how) = (usize::from(bytes.byte()), *bytes.pick(&STATUSES), bytes.byte());
    let body = bytes.rest();
    let (rows, caches) = evening().clone();
    let mut phone = of_disk(rows, caches);
    if how & 1 != 0 {
        phone = Phone::new(7);
        phone.input(Input::Pair { code: "https://x/scan/#pair=token".into(), name: "North".into() });
    } else if how & 2 != 0 {
        phone.quick = true;
        phone.input(Input::code("A-3"));
    }
    phone.pass(limits::SYNC_EVERY_MS);
    let Some(at) = which.checked_rem(phone.requests.len()) else { return };
    let sent = phone.requests.remove(at);
    let key = sent.headers.get("authorization").and_then(|bearer| bearer.strip_prefix("Bearer ")).unwrap_or_default();
    let body = if how & 4 != 0 { signed_json(body) } else { body.to_vec() };
    let mut reply = Reply { status, headers: Vec::new(), body };
    if how & 12 != 0 {
        reply = reply.clone().with(SIGNATURE_HEADER, body_signature(key, &reply.body));
    }
    if how & 16 != 0 {
        reply = reply.with("retry-after", "5").with("x-server-time", "2026-06-07T19:30:00Z");
    }
    phone.answer(&sent, &reply);
    let mut watch = Watch::default();
    watch.look(&phone, false);
    phone.input(Input::code("A-9"));
    phone.input(Input::Search { text: "an".into() });
    phone.pass_offline(3_000);
    watch.look(&phone, false);
    let shown = phone.rows.clone();
    phone.start();
    assert_eq!(phone.rows[..shown.len()], shown[..], "what is written stays");
}

/// Seeds for [`answer`]: the server's own answers, and some refusals.
pub fn answer_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for how in [0_u8, 1, 2] {
        let mut server = Server::new();
        server.allow_names("north", true);
        let mut phone = Phone::ready(5, &mut server);
        if how == 1 {
            phone = Phone::new(7);
            phone.input(Input::Pair { code: server.pairing_link(), name: "North".into() });
        } else {
            phone.scan("A-2");
            phone.pass(limits::SYNC_EVERY_MS);
        }
        for (which, sent) in (0_u8..).zip(phone.requests.clone()) {
            if let Some(reply) = server.answer(&sent, phone.at_ms) {
                let body = &reply.body[..reply.body.len().min(3_000)];
                seeds.push([&[which, 0, how], body].concat());
            }
        }
    }
    for problem in ["device_revoked", "unknown_key", "rate_limited", "mixed_events"] {
        seeds.push([&[3, 7, 16], Reply::problem(403, problem).body.as_slice()].concat());
    }
    let empty = r#"{"batch_id":"b","processed":["s-1"],"skipped":[],"rejected":[{"scan_id":null,"index":0,"reason":"x","kept":true}],"conflicts":[],"cursor":"1-0000000000000001.9","server_time":"2026-06-07T19:30:00Z"}"#;
    seeds.extend((0..4).map(|which| [&[which, 0, 0], empty.as_bytes()].concat()));
    seeds
}

// --------------------------------------------------------------------------------------------- what a storage holds

/// Reads the bytes as rows, one per line. Whatever they say, the scanner starts, shows its state, and takes or refuses
/// a scan.
pub fn journal(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut on_disk = Vec::new();
    for (n, line) in (1..).zip(text.lines().take(100)) {
        if let Some(entry) = rows::read(line) {
            let written = rows::write(&entry);
            assert_eq!(rows::read(&written).as_ref(), Some(&entry), "what was written reads");
        }
        on_disk.push(Row { n, text: line.to_owned() });
    }
    let mut phone = of_disk(on_disk.clone(), evening().1.clone());
    let mut watch = Watch::default();
    watch.look(&phone, false);
    for code in ["A-9", "P-4"] {
        phone.input(Input::code(code));
        watch.look(&phone, false);
    }
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    phone.pass_offline(2_000);
    assert_eq!(phone.rows[..on_disk.len()], on_disk[..], "no row is ever touched");
}

/// Journals as phones write them.
pub fn journal_seeds() -> Vec<Vec<u8>> {
    let text = |rows: &[Row]| rows.iter().map(|row| format!("{}\n", row.text)).collect::<String>().into_bytes();
    let rows = &evening().0;
    let mut server = Server::new();
    let mut phone = Phone::ready(9, &mut server);
    let refused = phone.scan("V-1").scan_id.expect("a scan");
    let reason = "on the list".to_owned();
    phone.input(Input::Override { scan_id: refused, pin: "4711".into(), by: "Ada".into(), reason, count: 1 });
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    phone.input(Input::Operator { name: "Ada".into() });
    server.roll_back(server.serial);
    phone.pass_online(&mut server, 60_000);
    let whole = text(&phone.rows);
    // The event is long over, so a summary replaces its scans.
    phone.at_ms += limits::JOURNAL_KEEP_MS + 86_400_000;
    phone.start();
    phone.pass_online(&mut server, 60_000);
    let first = [text(rows), whole, text(&phone.rows), text(&rows[..rows.len().min(3)])];
    first.into_iter().chain([b"{\"t\":\"scan\"}\n".to_vec()]).collect()
}
