//! Carries out the engine's effects in their order and feeds the results back, as the browser's worker does
//! (`web/scanner/src/engine/runner.ts`). It decides nothing: it neither reads journal rows nor knows what a ticket is.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use admit_core::device::Engine;
use admit_core::ids::uuid_v4;
use admit_core::wire::engine::{Effect, Input, Now, VerdictView, View};
use admit_store_sqlite::journal::DeviceJournal;
use anyhow::Context as _;
use reqwest::Client;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::http::{Answer, Request, client, send};
use crate::say::say;

/// The clocks and the randomness of this process, which the engine needs as inputs.
#[derive(Debug)]
struct Clock {
    began: Instant,
}

impl Clock {
    fn mono_ms(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
    fn now(&self) -> anyhow::Result<Now> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let wall_ms = since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        Ok(Now { wall_ms, mono_ms: self.mono_ms(), random })
    }
}

/// The result of a request: its number, the monotonic time when it was sent, and the answer; `None` without an answer.
pub type Answered = (u64, i64, Option<Answer>);

/// A message of the engine for a person.
#[derive(Debug)]
pub enum Word {
    /// A verdict, whose scan is durable.
    Shown(Box<VerdictView>),
    /// A code or an action that was refused.
    Refused {
        /// The stable code of the reason.
        code: String,
        /// The message for staff.
        message: String,
    },
}

/// The engine with its journal, its network and its clock.
#[derive(Debug)]
pub struct Scanner {
    engine: Engine,
    journal: DeviceJournal,
    clock: Clock,
    client: Client,
    answers: mpsc::UnboundedSender<Answered>,
    requests: BTreeMap<u64, AbortHandle>,
    effects: VecDeque<Effect>,
    wake_ms: Option<i64>,
    /// The server's origin, for requests that name none; `None` before pairing.
    server: Option<String>,
    keep_names: bool,
    view: Option<View>,
    /// The engine's messages that were not read yet.
    words: VecDeque<Word>,
    /// Whether the engine waits for the server's answer about a code.
    asking: bool,
}

/// The journal's setting with the server's origin.
const SERVER: &str = "server";

impl Scanner {
    /// Reads the journal and starts the engine. Answers arrive at the receiver and go back by [`Scanner::answered`].
    pub fn start(
        path: &Path,
        server: Option<String>,
        keep_names: bool,
    ) -> anyhow::Result<(Self, mpsc::UnboundedReceiver<Answered>)> {
        let (mut journal, found) = DeviceJournal::open(path)?;
        let known = journal.setting(SERVER).context("reading the journal")?;
        if let Some(server) = server.as_ref().filter(|server| known.as_ref() != Some(server)) {
            journal.set(SERVER, server).context("writing the journal")?;
        }
        let (answers, from) = mpsc::unbounded_channel();
        let mut scanner = Self {
            engine: Engine::new(),
            journal,
            clock: Clock { began: Instant::now() },
            client: client()?,
            answers,
            requests: BTreeMap::new(),
            effects: VecDeque::new(),
            wake_ms: None,
            server: server.or(known),
            keep_names,
            view: None,
            words: VecDeque::new(),
            asking: false,
        };
        let mut session = [0; 16];
        getrandom::fill(&mut session).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
        let (app_version, device_type) = (env!("CARGO_PKG_VERSION").to_owned(), "terminal".to_owned());
        scanner.feed(Input::Start { session_id: uuid_v4(session), rows: found.rows, app_version, device_type })?;
        for (key, body) in found.bodies {
            scanner.feed_with(Input::Cache { key }, &body)?;
        }
        scanner.feed(Input::Started)?;
        // Messages about questions of an earlier session are dropped.
        scanner.words.clear();
        Ok((scanner, from))
    }

    /// Feeds one input to the engine and carries out all its effects.
    pub fn feed(&mut self, input: Input) -> anyhow::Result<()> {
        self.feed_with(input, &[])
    }

    /// Feeds one input together with a body.
    fn feed_with(&mut self, input: Input, body: &[u8]) -> anyhow::Result<()> {
        self.handle(input, body)?;
        while let Some(effect) = self.effects.pop_front() {
            self.carry_out(effect, body)?;
        }
        Ok(())
    }

    fn handle(&mut self, input: Input, body: &[u8]) -> anyhow::Result<()> {
        let now = self.clock.now()?;
        self.effects.extend(self.engine.handle(input, body, &now));
        Ok(())
    }

    /// Feeds the result of a request to the engine. The engine ignores the result of a request that it cancelled.
    pub fn answered(&mut self, (request, sent_mono_ms, answer): Answered) -> anyhow::Result<()> {
        if self.requests.remove(&request).is_none() {
            return Ok(());
        }
        match answer {
            None => self.feed(Input::Failed { request }),
            Some(Answer { status, headers, body }) => {
                self.feed_with(Input::Response { request, status, headers, sent_mono_ms }, &body)
            }
        }
    }

    /// When the engine wants [`Input::Tick`]; `None` if it does not.
    pub fn wakes_at(&self) -> Option<Instant> {
        let ms = u64::try_from(self.wake_ms?).unwrap_or(0);
        Some(self.clock.began + Duration::from_millis(ms))
    }

    /// Feeds [`Input::Tick`].
    pub fn tick(&mut self) -> anyhow::Result<()> {
        self.wake_ms = None;
        self.feed(Input::Tick)
    }

    /// The engine's present view; `None` before the first one.
    pub fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Whether the verdict of a code waits for the server's answer.
    pub fn is_asking(&self) -> bool {
        self.asking
    }

    /// The engine's next message; `None` if all were read.
    pub fn word(&mut self) -> Option<Word> {
        self.words.pop_front()
    }

    fn carry_out(&mut self, effect: Effect, body: &[u8]) -> anyhow::Result<()> {
        match effect {
            Effect::Append { append, rows } => {
                // The rows are flushed when this returns. Only then does the engine show the verdict.
                let input = match self.journal.append(&rows) {
                    Ok(()) => Input::Appended { append },
                    Err(error) => Input::AppendFailed { append, reason: error.as_str().to_owned() },
                };
                self.handle(input, &[])?;
            }
            Effect::Send { request, method, path, headers, body, timeout_ms, server, urgent } => {
                self.asking |= urgent;
                let server = server.or_else(|| self.server.clone());
                self.send(request, server.map(|server| Request { server, method, path, headers, body, timeout_ms }));
            }
            Effect::Cancel { request } => {
                if let Some(task) = self.requests.remove(&request) {
                    task.abort();
                }
            }
            Effect::Wake { at_mono_ms } => self.wake_ms = Some(at_mono_ms),
            Effect::Show { verdict } => {
                self.asking = false;
                self.words.push_back(Word::Shown(verdict));
            }
            Effect::Refused { code, message } => {
                self.asking = false;
                self.words.push_back(Word::Refused { code, message });
            }
            Effect::View { view } => self.view = Some(*view),
            Effect::Save { key, text, sealed } => self.save(key, text, sealed, body)?,
            // If a purge or a removal fails, nothing has changed, and a later start tries again.
            Effect::Purge { row } => self.told("tidying the journal", |journal| journal.purge(&row)),
            Effect::Forget { key } => self.told("forgetting a list", |journal| journal.forget(&key)),
            Effect::WipeCaches => self.told("erasing guest data", DeviceJournal::wipe),
            // These effects answer inputs that this scanner never feeds.
            Effect::Undone { .. } | Effect::Found { .. } | Effect::PinRefused { .. } | Effect::PinOk => {}
            Effect::Export { .. } => {}
        }
        Ok(())
    }

    /// Stores a body that the engine wants cached, such as the list. A `sealed` body holds guests' names, which may be
    /// stored only under a key that cannot be read out of the device. This scanner has no such key, so names stay in
    /// memory unless a person chose to keep them in the file.
    fn save(&mut self, key: String, text: Option<String>, sealed: bool, body: &[u8]) -> anyhow::Result<()> {
        if sealed && !self.keep_names {
            self.told("forgetting names", |journal| journal.forget(&key));
            return Ok(());
        }
        if let Err(error) = self.journal.save(&key, text.as_deref().map_or(body, str::as_bytes)) {
            say(format_args!("the list could not be stored: {error}"));
            self.handle(Input::SaveFailed { key }, &[])?;
        }
        Ok(())
    }

    fn told<E: std::fmt::Display>(&mut self, what: &str, work: impl FnOnce(&mut DeviceJournal) -> Result<(), E>) {
        if let Err(error) = work(&mut self.journal) {
            say(format_args!("{what} failed: {error}"));
        }
    }

    fn send(&mut self, request: u64, what: Option<Request>) {
        let (client, answers, sent) = (self.client.clone(), self.answers.clone(), self.clock.mono_ms());
        let task = tokio::spawn(async move {
            let answer = match what {
                Some(what) => send(&client, what).await.inspect_err(|error| tracing::debug!(%error, "no answer")).ok(),
                None => None,
            };
            let _ = answers.send((request, sent, answer));
        });
        self.requests.insert(request, task.abort_handle());
    }
}
