//! A phone around the engine, with its disk, clocks and screen, and its requests under way.

use std::collections::BTreeMap;

use admit_core::decide::Screen;
use admit_core::device::Engine;
use admit_core::ids::ScanId;
use admit_core::limits;
use admit_core::scan::Scan;
use admit_core::wire::engine::{Effect, Input, Now, Row, VerdictView, View};
use admit_core::wire::journal::{self, Entry};

use super::server::{Reply, Server};

/// A request that left the phone.
#[derive(Debug, Clone)]
pub struct Sent {
    pub request: u64,
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Option<String>,
    pub sent_mono_ms: i64,
    pub timeout_ms: u64,
    pub urgent: bool,
}

impl Sent {
    pub fn is(&self, path: &str) -> bool {
        self.path.starts_with(path)
    }
    /// Whether the request only measures the round trip.
    pub fn is_ping(&self) -> bool {
        self.is("/api/scanning/time") && self.timeout_ms == limits::PING_MS
    }
}

/// 2026-06-07T19:30:00Z: the true time when a test begins.
pub const EVENING: i64 = 1_780_860_600_000;

/// Most inputs of a test. The longest test has half as many. A test that waits for something that never comes ends
/// here.
const MOST_INPUTS: u64 = 50_000;

pub struct Phone {
    pub engine: Engine,
    /// The flushed rows of the journal database.
    pub rows: Vec<Row>,
    /// The bodies in the cache database.
    pub caches: BTreeMap<String, Vec<u8>>,
    /// Appends that are not answered yet.
    pub appends: Vec<(u64, Vec<Row>)>,
    /// Whether an append is flushed at once.
    pub flushes: bool,
    /// Whether a purge is carried out. Otherwise it fails, or the power fails before it.
    pub purges: bool,
    pub requests: Vec<Sent>,
    /// Every request that ever left, in order.
    pub log: Vec<Sent>,
    pub shown: Vec<VerdictView>,
    pub view: Option<View>,
    /// Every other effect, the newest last.
    pub effects: Vec<Effect>,
    /// True time in milliseconds, which the server's clock shows.
    pub at_ms: i64,
    /// Wall clock minus true time, in milliseconds.
    pub wall_off_ms: i64,
    pub mono_ms: i64,
    /// Whether the round trip to the server is quick and the phone finds that out. Otherwise the phone asks nothing at
    /// the door.
    pub quick: bool,
    wake: Option<i64>,
    inputs: u64,
    seed: u64,
    sessions: u64,
}

impl Phone {
    /// A phone that is switched on with an empty disk.
    pub fn new(seed: u64) -> Self {
        let mut phone = Self {
            engine: Engine::new(),
            rows: Vec::new(),
            caches: BTreeMap::new(),
            appends: Vec::new(),
            flushes: true,
            purges: true,
            requests: Vec::new(),
            log: Vec::new(),
            shown: Vec::new(),
            view: None,
            effects: Vec::new(),
            at_ms: EVENING,
            wall_off_ms: 0,
            mono_ms: 1_000,
            quick: false,
            wake: None,
            inputs: 0,
            seed,
            sessions: 0,
        };
        phone.start();
        phone
    }

    /// A phone that is paired with a server and has loaded its list and changes.
    pub fn ready(seed: u64, server: &mut Server) -> Self {
        let mut phone = Self::new(seed);
        phone.pair(server);
        phone
    }

    pub fn pair(&mut self, server: &mut Server) {
        let code = server.pairing_link();
        self.input(Input::Pair { code, name: "North 1".into() });
        self.settle(server);
    }

    /// Starts the app with the disk's content and nothing else.
    pub fn start(&mut self) {
        self.sessions += 1;
        self.engine = Engine::new();
        self.appends.clear();
        self.requests.clear();
        self.shown.clear();
        self.view = None;
        self.wake = None;
        self.mono_ms = 1_000;
        let start = Input::Start {
            session_id: format!("s{}", self.sessions),
            rows: self.rows.clone(),
            app_version: "1.0".into(),
            device_type: "phone".into(),
        };
        self.input(start);
        for (key, body) in self.caches.clone() {
            self.input_with(Input::Cache { key }, &body);
        }
        self.input(Input::Started);
    }

    pub fn now(&mut self) -> Now {
        self.inputs += 1;
        assert!(
            self.inputs <= MOST_INPUTS,
            "the phone never comes to what this test waits for; under way: {:?}",
            self.requests
        );
        let mut random = [0; 32];
        random[..8].copy_from_slice(&self.seed.to_be_bytes());
        random[8..16].copy_from_slice(&self.inputs.to_be_bytes());
        random[16..24].copy_from_slice(&self.sessions.to_be_bytes());
        Now { wall_ms: self.at_ms + self.wall_off_ms, mono_ms: self.mono_ms, random }
    }

    pub fn input(&mut self, input: Input) {
        self.input_with(input, &[]);
    }

    pub fn input_with(&mut self, input: Input, body: &[u8]) {
        let now = self.now();
        for effect in self.engine.handle(input, body, &now) {
            self.carry_out(effect, body);
        }
        if self.flushes {
            while let Some((append, rows)) = self.appends.first().cloned() {
                self.flush(append, rows);
            }
        }
    }

    fn carry_out(&mut self, effect: Effect, body: &[u8]) {
        match effect.clone() {
            Effect::Append { append, rows } => self.appends.push((append, rows)),
            Effect::Save { key, text, .. } => {
                self.caches.insert(key, text.map_or_else(|| body.to_vec(), String::into_bytes));
            }
            Effect::Forget { key } => {
                self.caches.remove(&key);
            }
            Effect::WipeCaches => self.caches.clear(),
            Effect::Purge { row } if self.purges => {
                let place = self.rows.iter().position(|held| held.n == row.n).expect("a row to stand in the place of");
                self.rows.splice(..=place, [row]);
            }
            Effect::Send { request, method, path, headers, body, timeout_ms, urgent, .. } => {
                let headers = headers.into_iter().collect();
                let sent =
                    Sent { request, method, path, headers, body, sent_mono_ms: self.mono_ms, timeout_ms, urgent };
                self.requests.push(sent.clone());
                self.log.push(sent);
            }
            Effect::Cancel { request } => self.requests.retain(|sent| sent.request != request),
            Effect::Wake { at_mono_ms } => self.wake = Some(at_mono_ms),
            Effect::Show { verdict } => self.shown.push(*verdict),
            Effect::View { view } => self.view = Some(*view),
            _ => {}
        }
        self.effects.push(effect);
    }

    /// Makes the oldest append durable.
    pub fn flush_one(&mut self) {
        let (append, rows) = self.appends.first().cloned().expect("an append");
        self.flush(append, rows);
    }
    fn flush(&mut self, append: u64, rows: Vec<Row>) {
        self.appends.retain(|(held, _)| *held != append);
        for row in rows {
            assert_eq!(row.n, self.rows.last().map_or(0, |last| last.n) + 1, "rows are numbered without holes");
            self.rows.push(row);
        }
        self.input(Input::Appended { append });
    }
    /// Lets the oldest append fail.
    pub fn fail_one(&mut self, reason: &str) {
        let (append, _) = self.appends.remove(0);
        self.input(Input::AppendFailed { append, reason: reason.into() });
    }

    /// Lets time pass. The phone is woken when it asked to be.
    pub fn pass(&mut self, ms: i64) {
        let end = self.mono_ms + ms;
        while let Some(wake) = self.wake.filter(|wake| *wake <= end) {
            self.step((wake - self.mono_ms).max(0));
            self.wake = None;
            self.input(Input::Tick);
        }
        self.step(end - self.mono_ms);
        self.input(Input::Tick);
    }
    fn step(&mut self, ms: i64) {
        self.mono_ms += ms;
        self.at_ms += ms;
    }
    /// Lets the phone sleep. Its monotonic clock stands still meanwhile.
    pub fn sleep(&mut self, ms: i64) {
        self.at_ms += ms;
    }

    /// Removes a request under way from the list and returns it.
    pub fn take(&mut self, path: &str) -> Sent {
        let at = self.requests.iter().position(|sent| sent.is(path));
        let at = at.unwrap_or_else(|| panic!("no request for {path} in {:?}", self.requests));
        self.requests.remove(at)
    }
    pub fn asks(&self, path: &str) -> bool {
        self.requests.iter().any(|sent| sent.is(path))
    }
    pub fn answer(&mut self, sent: &Sent, reply: &Reply) {
        // The clock's own exchange is timed exactly, however slow the round trip is. Requests that only measure the
        // round trip are not.
        let measures = sent.path.ends_with("/heartbeat") || sent.is_ping();
        let slower = if measures && !self.quick { limits::ASK_ROUND_MS } else { 0 };
        let input = Input::Response {
            request: sent.request,
            status: reply.status,
            headers: reply.headers.clone(),
            sent_mono_ms: sent.sent_mono_ms - slower,
        };
        self.input_with(input, &reply.body);
    }
    pub fn lose(&mut self, sent: &Sent) {
        self.input(Input::Failed { request: sent.request });
    }
    /// Loses every request under way.
    pub fn offline(&mut self) {
        for sent in std::mem::take(&mut self.requests) {
            self.lose(&sent);
        }
    }
    /// Lets time pass without a network.
    pub fn pass_offline(&mut self, ms: i64) {
        let end = self.at_ms + ms;
        while self.at_ms < end {
            self.offline();
            self.pass((end - self.at_ms).min(500));
        }
        self.offline();
    }

    /// Answers every request until only long polls without news are left.
    pub fn settle(&mut self, server: &mut Server) {
        for _ in 0..200 {
            let mut held = Vec::new();
            let mut moved = false;
            for sent in std::mem::take(&mut self.requests) {
                match server.answer(&sent, self.at_ms) {
                    Some(reply) => {
                        self.answer(&sent, &reply);
                        moved = true;
                    }
                    None => held.push(sent),
                }
            }
            self.requests.append(&mut held);
            if !moved {
                return;
            }
        }
        panic!("the phone never comes to rest");
    }
    /// Lets time pass with a good network.
    pub fn pass_online(&mut self, server: &mut Server, ms: i64) {
        let end = self.at_ms + ms;
        self.settle(server);
        while self.at_ms < end {
            self.pass((end - self.at_ms).min(500));
            self.settle(server);
        }
    }

    pub fn scan(&mut self, code: &str) -> VerdictView {
        let before = self.shown.len();
        self.input(Input::code(code));
        assert_eq!(self.shown.len(), before + 1, "one verdict a code: {:?}", self.effects.last());
        self.shown.last().cloned().expect("a verdict")
    }
    pub fn last_shown(&self) -> &VerdictView {
        self.shown.last().expect("a verdict")
    }
    pub fn screen(&mut self, code: &str) -> Screen {
        self.scan(code).screen
    }
    pub fn id_of(&mut self, code: &str) -> ScanId {
        self.scan(code).scan_id.expect("a scan")
    }
    pub fn refused(&self) -> Option<&str> {
        self.effects.iter().rev().find_map(|effect| match effect {
            Effect::Refused { code, .. } => Some(code.as_str()),
            _ => None,
        })
    }
    pub fn view(&self) -> &View {
        self.view.as_ref().expect("a view")
    }

    /// The rows on the disk, read as entries.
    pub fn entries(&self) -> Vec<Entry> {
        self.rows.iter().map(|row| journal::read(&row.text).expect("a row of ours")).collect()
    }
    /// The scans in the stored journal, in order.
    pub fn scans(&self) -> Vec<Scan> {
        let scans = self.entries().into_iter().filter_map(|entry| match entry {
            Entry::Scan(scanned) => Some(scanned.scan),
            _ => None,
        });
        scans.collect()
    }
}
