//! The scanner's real engine with a disk in memory that survives a restart, real HTTP, and the real clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use admit_core::device::Engine;
use admit_core::sign::hmac_sha256;
use admit_core::wire::engine::{Effect, FoundGuest, Input, Now, Phase, Row, VerdictView, View};
use reqwest::Client;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Status, headers and body.
type Answer = (u16, Vec<(String, String)>, Vec<u8>);

/// The result of a request.
struct Answered {
    request: u64,
    sent_mono_ms: i64,
    answer: Option<Answer>,
}

pub struct Scanner {
    engine: Engine,
    client: Client,
    url: String,
    seed: u64,
    draws: u64,
    sessions: u64,
    begun: Instant,
    /// The error of its wall clock: wall clock minus true time, in milliseconds.
    wall_off_ms: i64,
    wake: Option<i64>,
    rows: Vec<Row>,
    pub caches: BTreeMap<String, Vec<u8>>,
    pub shown: Vec<VerdictView>,
    /// The guests that the last search by name found.
    pub found: Vec<FoundGuest>,
    view: Option<View>,
    /// The number of uploads sent.
    pub uploads: usize,
    /// The number of requests without an answer yet.
    pub under_way: usize,
    done: UnboundedSender<Answered>,
    answers: UnboundedReceiver<Answered>,
}

impl Scanner {
    pub fn new(url: &str, seed: u64, wall_off_ms: i64) -> Self {
        let (done, answers) = unbounded_channel();
        // Each request uses its own connection, so that each may fail by itself.
        let client =
            admit_server::adapters::http_client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        let mut scanner = Self {
            engine: Engine::new(),
            client,
            url: url.to_owned(),
            seed,
            draws: 0,
            sessions: 0,
            begun: Instant::now(),
            wall_off_ms,
            wake: None,
            rows: Vec::new(),
            caches: BTreeMap::new(),
            shown: Vec::new(),
            found: Vec::new(),
            view: None,
            uploads: 0,
            under_way: 0,
            done,
            answers,
        };
        scanner.start();
        scanner
    }

    /// Starts the engine with the content of the disk.
    pub fn start(&mut self) {
        self.sessions += 1;
        self.engine = Engine::new();
        (self.done, self.answers) = unbounded_channel();
        self.under_way = 0;
        self.wake = None;
        let start = Input::Start {
            session_id: format!("s{}-{}", self.seed, self.sessions),
            rows: self.rows.clone(),
            app_version: "1".into(),
            device_type: "phone".into(),
        };
        self.feed(start, &[]);
        for (key, body) in self.caches.clone() {
            self.feed(Input::Cache { key }, &body);
        }
        self.feed(Input::Started, &[]);
    }

    pub fn feed(&mut self, input: Input, body: &[u8]) {
        let mut waiting = VecDeque::from([(input, body.to_vec())]);
        // The input of an effect comes after all effects. Otherwise an older wake-up could follow a newer one.
        while let Some((input, body)) = waiting.pop_front() {
            let now = self.now();
            for effect in self.engine.handle(input, &body, &now) {
                waiting.extend(self.carry_out(effect, &body).map(|next| (next, Vec::new())));
            }
        }
    }

    pub fn view(&self) -> &View {
        self.view.as_ref().expect("a view")
    }

    pub fn scan(&mut self, code: &str) -> VerdictView {
        self.judged(Input::code(code))
    }
    /// The guests with this name on the device.
    #[allow(dead_code, reason = "each target uses its part of the harness")]
    pub fn search(&mut self, text: &str) -> Vec<FoundGuest> {
        self.feed(Input::Search { text: text.into() }, &[]);
        self.found.clone()
    }
    /// Lets the only guest of that name in by hand.
    #[allow(dead_code, reason = "each target uses its part of the harness")]
    pub fn pick(&mut self, name: &str) -> VerdictView {
        let ticket_id = self.search(name)[0].ticket_id.clone();
        self.judged(Input::Guest { ticket_id })
    }
    fn judged(&mut self, input: Input) -> VerdictView {
        let before = self.shown.len();
        self.feed(input, &[]);
        // The engine may ask the server first. After 200 ms without an answer it decides alone.
        let begun = Instant::now();
        while self.shown.len() == before && begun.elapsed() < Duration::from_secs(5) {
            std::thread::yield_now();
            self.step();
        }
        assert_eq!(self.shown.len(), before + 1, "a verdict: {:?}", self.view());
        self.shown.last().cloned().expect("a verdict")
    }

    pub fn is_ready(&self) -> bool {
        self.view().phase == Phase::Ready
    }

    /// Handles received answers, and the timer if it is due.
    fn step(&mut self) {
        while let Ok(Answered { request, sent_mono_ms, answer }) = self.answers.try_recv() {
            self.under_way -= 1;
            match answer {
                Some((status, headers, body)) => {
                    self.feed(Input::Response { request, status, headers, sent_mono_ms }, &body);
                }
                None => self.feed(Input::Failed { request }, &[]),
            }
        }
        if self.wake.is_some_and(|wake| wake <= self.mono_ms()) {
            self.wake = None;
            self.feed(Input::Tick, &[]);
        }
    }

    fn mono_ms(&self) -> i64 {
        self.begun.elapsed().as_millis() as i64 + 1_000
    }

    fn now(&mut self) -> Now {
        self.draws += 1;
        let true_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let random = hmac_sha256(&self.seed.to_be_bytes(), &self.draws.to_be_bytes());
        Now { wall_ms: true_ms + self.wall_off_ms, mono_ms: self.mono_ms(), random }
    }

    fn carry_out(&mut self, effect: Effect, body: &[u8]) -> Option<Input> {
        match effect {
            Effect::Append { append, rows } => {
                self.rows.extend(rows);
                return Some(Input::Appended { append });
            }
            Effect::Save { key, text, .. } => {
                self.caches.insert(key, text.map_or_else(|| body.to_vec(), String::into_bytes));
            }
            Effect::Purge { row } => {
                let place = self.rows.iter().position(|held| held.n == row.n).unwrap();
                self.rows.splice(..=place, [row]);
            }
            Effect::Forget { key } => {
                self.caches.remove(&key);
            }
            Effect::WipeCaches => self.caches.clear(),
            Effect::Send { request, method, path, headers, body, timeout_ms, .. } => {
                self.uploads += usize::from(path == "/api/scanning/sync");
                let method = method.parse().unwrap();
                let mut sent = self.client.request(method, format!("{}{path}", self.url));
                sent = sent.timeout(Duration::from_millis(timeout_ms));
                for (name, value) in headers {
                    sent = sent.header(name, value);
                }
                if let Some(body) = body {
                    sent = sent.header("content-type", "application/json").body(body);
                }
                self.under_way += 1;
                let (done, sent_mono_ms) = (self.done.clone(), self.mono_ms());
                tokio::spawn(async move {
                    let answer = answer_of(sent).await;
                    // A restarted scanner ignores answers to its former session.
                    let _ = done.send(Answered { request, sent_mono_ms, answer });
                });
            }
            Effect::Wake { at_mono_ms } => self.wake = Some(at_mono_ms),
            Effect::Show { verdict } => self.shown.push(*verdict),
            Effect::View { view } => self.view = Some(*view),
            Effect::Found { guests, .. } => self.found = guests,
            _ => {}
        }
        None
    }
}

async fn answer_of(sent: reqwest::RequestBuilder) -> Option<Answer> {
    let answer = sent.send().await.ok()?;
    let status = answer.status().as_u16();
    let headers = answer.headers().iter();
    let headers = headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    let headers = headers.collect();
    Some((status, headers, answer.bytes().await.ok()?.to_vec()))
}

/// Runs scanners until this holds for each.
pub async fn until(scanners: &mut [Scanner], what: &str, holds: impl Fn(&Scanner) -> bool) {
    let end = Instant::now() + Duration::from_secs(90);
    loop {
        scanners.iter_mut().for_each(Scanner::step);
        if scanners.iter().all(&holds) {
            return;
        }
        let left = scanners.iter().find(|one| !holds(one)).map(Scanner::view);
        assert!(Instant::now() < end, "in vain: {what}: {left:?}");
        tokio::time::sleep(Duration::from_millis(5)).await; // tidy-allow: the pause of a poll loop
    }
}
