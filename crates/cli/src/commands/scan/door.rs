//! One scanner from its first code to its last. It takes a code and waits for the verdict. If the verdict asks how many
//! persons go in, the scanner answers by its settings, or asks staff. Then it prints the verdict.

use std::io::Write as _;
use std::time::{Duration, Instant};

use admit_core::decide::Screen;
use admit_core::wire::engine::{Input, NamesView, Phase, VerdictView, View};
use anyhow::{Context as _, bail};
use clap::ValueEnum;
use tokio::sync::mpsc;

use super::hook::Hooks;
use super::lines::Reading;
use super::scanner::{Answered, Scanner, Word};
use super::screen::{Look, draw};
use super::told::{Kind, Told};
use super::words::asks_count;
use crate::say::say;
use crate::serve::Signals;

/// How many persons of a party go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Party {
    /// Everybody of the party who may go in.
    All,
    /// One person per scan. Scanning the same code again lets the next one in.
    One,
    /// The terminal asks, and staff type the number.
    Ask,
}

/// The action in a situation in which the phone's app asks staff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unasked {
    /// Let nobody in.
    Refuse,
    /// Let in as many persons as --party says.
    Admit,
}

/// The answers to the engine's questions.
#[derive(Debug, Clone, Copy)]
pub struct Answers {
    /// How many persons of a party go in.
    pub party: Party,
    /// Behaviour if the area is full.
    pub full: Unasked,
    /// What to do with a guest whose flag asks staff to look at the guest before the door opens.
    pub check: Unasked,
}

impl Answers {
    /// How many persons go in; `None`: the person at the terminal types the number.
    fn to(self, verdict: &VerdictView) -> Option<u32> {
        let persons = match self.party {
            Party::Ask => return None,
            Party::All => verdict.may_admit,
            Party::One => 1.min(verdict.may_admit),
        };
        let refused = match verdict.screen {
            Screen::Full => self.full == Unasked::Refuse,
            Screen::Check => self.check == Unasked::Refuse,
            _ => false,
        };
        Some(if refused { 0 } else { persons })
    }
}

/// How verdicts are printed on standard output.
#[derive(Debug, Clone, Copy)]
pub enum Tells {
    /// One line of JSON per verdict.
    Json,
    /// A screen for people.
    Screen(Look),
}

/// The settings of `admit scan`.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The answers to the engine's questions.
    pub answers: Answers,
    /// How verdicts are printed.
    pub tells: Tells,
    /// Whether one code is read, whose verdict becomes the exit code.
    pub once: bool,
    /// The age from which a code is ignored, because its guest may have moved on. `None` for codes from a file.
    pub late: Option<Duration>,
    /// The time limit of the last upload.
    pub last_sync: Duration,
}

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Normally; with `--once`, a person went in.
    Done,
    /// With `--once`, nobody went in.
    Refused,
    /// With `--once`, there is no verdict.
    Failed,
}

/// The time limit for the first list with `--once`.
const ONCE_READY: Duration = Duration::from_secs(30);
/// How long the program, when it ends, waits for the verdict about the code under way.
const LAST_VERDICT: Duration = Duration::from_secs(3);

/// The scanner, its reader, its hooks and its screen.
#[derive(Debug)]
pub struct Door {
    scanner: Scanner,
    answers: mpsc::UnboundedReceiver<Answered>,
    codes: mpsc::Receiver<Reading>,
    signals: Signals,
    hooks: Hooks,
    plan: Plan,
    /// Whether a code is being decided.
    current: bool,
    /// The engine's question about the code; `None` if it asked none.
    question: Option<Box<VerdictView>>,
    /// Whether a pairing was requested and is not finished.
    pairing: bool,
    ready: bool,
    end: End,
    seen: Seen,
}

/// The last state of the scanner that was reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    phase: Option<Phase>,
    online: bool,
    message: Option<String>,
    code: Option<String>,
    names: NamesView,
}

/// The next event of the main loop.
#[derive(Debug)]
enum Turn {
    Signal,
    Late,
    Code(String, Instant),
    End,
    Else,
}

impl Door {
    /// Makes a scanner that has read nothing yet.
    pub fn new(
        scanner: (Scanner, mpsc::UnboundedReceiver<Answered>),
        codes: mpsc::Receiver<Reading>,
        hooks: Hooks,
        plan: Plan,
    ) -> anyhow::Result<Self> {
        let (scanner, answers) = scanner;
        let (signals, end) = (Signals::new()?, if plan.once { End::Failed } else { End::Done });
        let (current, pairing, ready) = (false, false, false);
        let (question, seen) = (None, Seen::default());
        Ok(Self { scanner, answers, codes, signals, hooks, plan, current, question, pairing, ready, end, seen })
    }

    /// Asks to be paired before scanning.
    pub fn pair(&mut self, input: Input) -> anyhow::Result<()> {
        self.pairing = true;
        self.scanner.feed(input)
    }

    /// Scans until the input ends or a signal comes, then uploads what it can.
    pub async fn run(mut self) -> anyhow::Result<End> {
        let until = self.plan.once.then(|| Instant::now() + ONCE_READY);
        loop {
            self.hear()?;
            if self.plan.once && self.end != End::Failed && !self.current {
                break;
            }
            match self.turn(until.filter(|_| !self.ready)).await? {
                Turn::Signal | Turn::End => break,
                Turn::Late => bail!("this scanner has no list after {} s: is there a network?", ONCE_READY.as_secs()),
                Turn::Code(text, at) => self.code(text, at)?,
                Turn::Else => {}
            }
        }
        self.finish().await?;
        Ok(self.end)
    }

    async fn turn(&mut self, until: Option<Instant>) -> anyhow::Result<Turn> {
        let wakes_at = self.scanner.wakes_at();
        let takes = self.ready && (!self.current || self.question.is_some());
        tokio::select! {
            biased;
            () = self.signals.received() => Ok(Turn::Signal),
            Some(answered) = self.answers.recv() => self.scanner.answered(answered).map(|()| Turn::Else),
            () = at(wakes_at) => self.scanner.tick().map(|()| Turn::Else),
            () = at(until) => Ok(Turn::Late),
            reading = self.codes.recv(), if takes => Ok(match reading {
                Some(Reading::Code(text, at)) => Turn::Code(text, at),
                Some(Reading::End) | None => Turn::End,
            }),
        }
    }

    fn code(&mut self, text: String, at: Instant) -> anyhow::Result<()> {
        if let Some(question) = self.question.take() {
            return self.answered(question, &text);
        }
        if self.plan.late.is_some_and(|late| at.elapsed() > late) {
            return self.failed("late", "Storage is slow: that ticket was not taken. Scan it again.");
        }
        self.current = true;
        self.scanner.feed(Input::code(text))?;
        self.hear()?;
        if self.current && self.question.is_none() && !self.scanner.is_asking() {
            self.failed("nothing", "Nothing was recorded. Scan the next one again.")?;
        }
        Ok(())
    }

    /// Takes a typed number as the answer to the question how many persons go in. It must not be higher than the
    /// verdict allows.
    fn answered(&mut self, question: Box<VerdictView>, text: &str) -> anyhow::Result<()> {
        let count = text.trim().parse().ok().filter(|count| *count <= question.may_admit);
        let (Some(count), Some(scan_id)) = (count, question.scan_id.clone()) else {
            say(format_args!("Answer this first, then scan the next one. A number from 0 to {}.", question.may_admit));
            self.question = Some(question);
            return Ok(());
        };
        self.count(&question, scan_id, count)
    }

    fn count(&mut self, question: &VerdictView, scan_id: admit_core::ids::ScanId, count: u32) -> anyhow::Result<()> {
        self.scanner.feed(Input::Count { scan_id, count })?;
        match self.scanner.word() {
            Some(Word::Shown(verdict)) => self.told(*verdict, Some(question)),
            Some(Word::Refused { code, message }) => self.failed(&code, &message),
            None => self.failed("nothing", "Nothing was recorded. Scan the next one again."),
        }
    }

    /// Handles the engine's messages.
    fn hear(&mut self) -> anyhow::Result<()> {
        while let Some(word) = self.scanner.word() {
            match word {
                Word::Refused { message, .. } if self.pairing => bail!("{message}"),
                // The message is not about a code. The view also shows what pairing and storage report.
                Word::Shown(_) | Word::Refused { .. } if !self.current => {}
                Word::Refused { code, message } => self.failed(&code, &message)?,
                Word::Shown(verdict) if asks_count(&verdict) => self.asked(verdict)?,
                Word::Shown(verdict) => self.told(*verdict, None)?,
            }
        }
        self.news();
        Ok(())
    }

    fn asked(&mut self, question: Box<VerdictView>) -> anyhow::Result<()> {
        if let (Some(count), Some(scan_id)) = (self.plan.answers.to(&question), question.scan_id.clone()) {
            return self.count(&question, scan_id, count);
        }
        if let Some(view) = self.scanner.view() {
            self.write(&Told::new((*question).clone(), None, view))?;
        }
        say(format_args!("How many go in? Type a number from 0 to {} and press Enter.", question.may_admit));
        self.question = Some(question);
        Ok(())
    }

    /// Prints a verdict and runs its hook. The verdict's scan is durable already, because the engine shows a verdict
    /// only after that.
    fn told(&mut self, verdict: VerdictView, asked: Option<&VerdictView>) -> anyhow::Result<()> {
        self.current = false;
        let view = self.scanner.view().context("a verdict came before any state")?;
        let told = Told::new(verdict, asked, view);
        self.hooks.start(&told);
        self.end = match told.kind {
            _ if !self.plan.once => End::Done,
            Kind::Admit => End::Done,
            Kind::Refuse | Kind::Same | Kind::Sample => End::Refused,
        };
        self.write(&told)
    }

    /// Reports a code without a verdict. Nobody goes in with it.
    fn failed(&mut self, code: &str, message: &str) -> anyhow::Result<()> {
        (self.current, self.question) = (false, None);
        say(message);
        if let Tells::Json = self.plan.tells {
            write_out(&format!("{}\n", serde_json::json!({ "verdict": "error", "code": code, "message": message })))?;
        }
        if self.plan.once {
            bail!("there is no verdict");
        }
        Ok(())
    }

    fn write(&self, told: &Told) -> anyhow::Result<()> {
        write_out(&match self.plan.tells {
            Tells::Json => format!("{}\n", told.json()),
            Tells::Screen(look) => draw(told, look),
        })
    }

    /// Reports changes of the scanner's state on standard error.
    fn news(&mut self) {
        let Some(view) = self.scanner.view() else { return };
        let (online, code) = (view.online && !view.captive, view.pairing_code.clone());
        let seen = Seen { phase: Some(view.phase), online, message: view.message.clone(), code, names: view.names };
        if seen == self.seen {
            return;
        }
        if seen.phase != self.seen.phase {
            say(phase_words(view));
        }
        if let Some(code) = seen.code.as_ref().filter(|_| seen.code != self.seen.code) {
            say(format_args!("approve this device in the organiser's app, under Devices, by its code: {code}"));
        }
        if let Some(message) = seen.message.as_ref().filter(|_| seen.message != self.seen.message) {
            say(message);
        }
        if let NamesView::Held { guests } = seen.names
            && seen.names != self.seen.names
        {
            say(format_args!("names of {guests} guests are here"));
        }
        if self.ready && seen.online != self.seen.online {
            let stands = if online { "online" } else { "offline: scanning goes on" };
            say(format_args!("{stands}, {} to send", view.unsent));
        }
        self.pairing &= matches!(view.phase, Phase::Pairing | Phase::Unpaired);
        // After the first list, a code that cannot be accepted gets a message.
        self.ready |= !self.pairing && !matches!(view.phase, Phase::Unpaired | Phase::Pairing | Phase::FirstSync);
        self.seen = seen;
    }

    /// Finishes the code under way, uploads what it can, and reports how many scans still wait for upload.
    async fn finish(&mut self) -> anyhow::Result<()> {
        let until = Instant::now() + LAST_VERDICT;
        if let Some(question) = self.question.take()
            && let Some(scan_id) = question.scan_id.clone()
        {
            self.count(&question, scan_id, 0)?;
        }
        self.ready = false; // No further code.
        while self.current && !matches!(self.turn(Some(until)).await?, Turn::Late | Turn::Signal) {
            self.hear()?;
        }
        self.scanner.feed(Input::SyncNow)?;
        let until = Instant::now() + self.plan.last_sync;
        let waiting = |scanner: &Scanner| scanner.view().map_or(0, |view| view.unsent);
        while waiting(&self.scanner) > 0 && !matches!(self.turn(Some(until)).await?, Turn::Late | Turn::Signal) {}
        self.hooks.finish().await;
        match waiting(&self.scanner) {
            0 => say("every scan is with the server"),
            1 => say("1 scan waits in the journal: it goes up at the next start"),
            many => say(format_args!("{many} scans wait in the journal: they go up at the next start")),
        }
        Ok(())
    }
}

fn phase_words(view: &View) -> String {
    use super::clean::clean;
    let place = format!("{}, {}", clean(&view.event_name), clean(&view.gate_name));
    match view.phase {
        Phase::Unpaired => "not paired".to_owned(),
        Phase::Pairing => "pairing".to_owned(),
        Phase::FirstSync => "paired: fetching the list".to_owned(),
        Phase::Ready => format!("ready: {place}"),
        Phase::Revoked => "the organiser revoked this device: it admits nobody, and hands over its scans".to_owned(),
        Phase::KeyUnknown => {
            "the server does not know this device: pair it again with --pair. Nothing is erased; scans are kept here"
                .to_owned()
        }
        Phase::Blocked => "storage refuses: nothing can be recorded. Admit nobody on this device".to_owned(),
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => std::future::pending().await,
    }
}

/// Writes to standard output. If nobody can see verdicts, the program ends.
fn write_out(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing a verdict to standard output")
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::verdict;
    use super::*;

    #[test]
    fn an_unattended_gate_answers_what_staff_would_be_asked() {
        let of = |screen| VerdictView { may_admit: 3, ..verdict(screen) };
        let to = |party, full, check, screen| Answers { party, full, check }.to(&of(screen));
        let (refuse, admit) = (Unasked::Refuse, Unasked::Admit);
        assert_eq!(to(Party::One, refuse, refuse, Screen::AdmitParty), Some(1));
        assert_eq!(to(Party::All, refuse, refuse, Screen::AdmitParty), Some(3));
        assert_eq!(to(Party::All, refuse, refuse, Screen::Full), Some(0));
        assert_eq!(to(Party::All, admit, refuse, Screen::Full), Some(3));
        assert_eq!(to(Party::One, admit, refuse, Screen::Check), Some(0));
        assert_eq!(to(Party::One, refuse, admit, Screen::Check), Some(1));
        assert_eq!(to(Party::Ask, refuse, refuse, Screen::Check), None);
    }
}
