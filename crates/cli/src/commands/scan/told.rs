//! The result of one code in the form for the screen, the JSON line, the hook and the exit code.

use admit_core::decide::Screen;
use admit_core::wire::engine::{DecidedBy, VerdictView, View};
use serde_json::{Value, json};

use super::clean::clean;
use super::words::{Words, words_of};

/// The result in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person goes in or out.
    Admit,
    /// Nobody goes in or out.
    Refuse,
    /// The same ticket again within a minute: nothing happened, and nothing was recorded.
    Same,
    /// The sample code, which checks the reader and lets nobody in.
    Sample,
}

impl Kind {
    /// The word in JSON and in the hook's environment.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Refuse => "refuse",
            Self::Same => "same",
            Self::Sample => "sample",
        }
    }
}

/// A verdict, ready to be printed.
#[derive(Debug, Clone)]
pub struct Told {
    /// The result in one word.
    pub kind: Kind,
    /// The engine's verdict.
    pub verdict: VerdictView,
    /// The verdict in words.
    pub words: Words,
    /// The screen that asked staff how many go in, if this verdict followed the answer; `None` if no screen asked.
    pub question: Option<Screen>,
    /// The event's name.
    pub event: String,
    /// The gate's name.
    pub gate: String,
    /// The name of the ticket's zone; `None` if it is not known.
    pub zone: Option<String>,
    /// Whether the server answered lately.
    pub online: bool,
    /// The number of scans without a receipt.
    pub unsent: u64,
}

impl Told {
    /// Prepares a verdict for output. `view` is the scanner's state. `asked` is the earlier verdict that asked how many
    /// go in, if `verdict` followed the answer.
    pub fn new(verdict: VerdictView, asked: Option<&VerdictView>, view: &View) -> Self {
        let mut words = words_of(&verdict, view.clock.as_ref());
        if let Some(asked) = asked.filter(|_| !verdict.opened) {
            // Nobody went in because of the answer to a question. Staff must see that reason first.
            let why = words_of(asked, view.clock.as_ref());
            words = Words { lines: [why.lines, vec![words.headline]].concat(), ..why };
        }
        let zone = verdict.zone.as_ref().map(|zone| view.zone_names.get(zone).unwrap_or(zone).clone());
        Self {
            kind: kind(&verdict),
            words,
            question: asked.map(|asked| asked.screen),
            event: view.event_name.clone(),
            gate: view.gate_name.clone(),
            zone,
            online: view.online && !view.captive,
            unsent: view.unsent,
            verdict,
        }
    }

    /// The phone's words about the scan's record: stored here, confirmed by the server, or practice. `None` if there is
    /// no scan.
    pub fn record(&self) -> Option<&'static str> {
        if self.verdict.practice {
            return Some("Practice · nothing counts");
        }
        match self.verdict.decided_by {
            DecidedBy::Server => Some("Confirmed"),
            DecidedBy::Device => self.verdict.scan_id.is_some().then_some("Stored, will sync"),
        }
    }

    /// The result as a JSON object, with every text cleaned. It does not contain the code, because a person who reads a
    /// log could enter with it.
    pub fn json(&self) -> Value {
        let (verdict, words) = (&self.verdict, &self.words);
        let text = |text: &Option<String>| text.as_deref().map(clean);
        json!({
            "verdict": self.kind.as_str(),
            "screen": verdict.screen.as_str(),
            "reason": verdict.reason,
            "question": self.question.map(Screen::as_str),
            "opened": verdict.opened && self.kind == Kind::Admit,
            "count": verdict.count,
            "may_admit": verdict.may_admit,
            "party": verdict.entry_limit,
            "already_in": verdict.already_in,
            "kind": verdict.kind.as_str(),
            "scan_id": verdict.scan_id,
            "ticket_id": verdict.ticket_id,
            "short_code": clean(&verdict.short_code),
            "zone": text(&self.zone),
            "name": text(&verdict.name),
            "note": text(&verdict.note),
            "flag": text(&verdict.flag),
            "headline": clean(&words.headline),
            "lines": words.lines.iter().map(|line| clean(line)).collect::<Vec<_>>(),
            "next": words.next,
            "at": verdict.at.to_string(),
            "event": clean(&self.event),
            "gate": clean(&self.gate),
            "practice": verdict.practice,
            "decided_by": if verdict.decided_by == DecidedBy::Server { "server" } else { "device" },
            "list_version": verdict.manifest_version,
            "list_expired": verdict.list_expired,
            "online": self.online,
            "unsent": self.unsent,
        })
    }
}

fn kind(verdict: &VerdictView) -> Kind {
    match verdict.screen {
        Screen::SameTicket => Kind::Same,
        // The engine makes no scan of the sample code. A verdict without a scan opens no door.
        _ if verdict.opened && verdict.scan_id.is_none() => Kind::Sample,
        _ if verdict.opened => Kind::Admit,
        _ => Kind::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::verdict;
    use super::*;

    #[test]
    fn only_what_is_recorded_and_opened_admits() {
        let mut open = verdict(Screen::Admit);
        open.opened = true;
        assert_eq!(kind(&open), Kind::Admit);
        assert_eq!(kind(&VerdictView { scan_id: None, ..open.clone() }), Kind::Sample);
        assert_eq!(kind(&VerdictView { screen: Screen::SameTicket, ..open.clone() }), Kind::Same);
        assert_eq!(kind(&VerdictView { opened: false, ..open }), Kind::Refuse);
    }
}
