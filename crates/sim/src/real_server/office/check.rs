//! The checks after every message is answered and every run has ended.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::Result;
use admit_app::guests::{self, Shown, Wanted};
use admit_app::jobs;
use admit_app::ports::{RunFilter, read};
use admit_app::records::{Page, RunRecord};
use admit_core::job::RunState;
use admit_core::pass;
use admit_core::wire::webhooks::WebhookStatus;
use serde_json::Value;

use super::Office;
use crate::coverage::Coverage;
use crate::real_server::now;
use crate::real_server::truth::ledger;

/// The remark of a run that leaves the mail to a later run.
const OVERTAKEN: &str = "this guest changed again: the later run mails them";
/// The remark of a run that reached its mail after the event.
const OVER: &str = "the event is over: nothing was mailed";

fn is_late(run: &RunRecord) -> bool {
    run.problem.as_deref() == Some(OVER)
}

/// The rows that the store holds.
struct Held {
    /// The runs, newest first.
    runs: Vec<RunRecord>,
    guests: Vec<Shown>,
    /// The number of ledger lines of each message.
    lines: BTreeMap<String, usize>,
    ledger_faults: Vec<String>,
}

impl Office {
    pub(super) fn check(&mut self, checked: &mut Coverage) {
        let held = match self.read() {
            Ok(held) => held,
            Err(error) => return self.broken("I21", format!("the store cannot be read: {error}")),
        };
        checked.hit("I19");
        let torn = std::mem::take(&mut self.server.deaths.torn);
        torn.into_iter().for_each(|(_, what)| self.broken("I6", what));
        checked.hit_if(self.server.deaths.looked > 0, "I6");
        held.ledger_faults.iter().for_each(|what| self.broken("I19", what.clone()));
        self.one_job_for_a_message(&held);
        checked.hit("I21");
        self.one_object_and_hardly_more_than_one_mail(&held);
        checked.hit("I22");
        self.guests_are_the_senders_rows(&held);
        let letters: Vec<usize> = self.outside.kept().letters.values().map(Vec::len).collect();
        self.note(format_args!("letters {letters:?}"));
    }

    fn read(&mut self) -> Result<Held> {
        self.server.serve(self.now_ms, 0);
        let (app, owner) = (&self.server.app, &self.server.owners[0]);
        let whole_page = || Page { limit: 500, cursor: None };
        let runs = now(jobs::list(app, &owner.caller, RunFilter::default(), whole_page()))?.items;
        let event_id = owner.event_id.clone();
        let guests = guests::list(app, &owner.caller, event_id.clone(), Wanted::default(), whole_page());
        let show = |guest_id| now(guests::show(app, &owner.caller, guest_id));
        let guests = now(guests)?.items.into_iter().map(|one| show(one.guest.guest_id)).collect::<Result<_>>()?;
        let lines = now(read(&*app.store, &owner.caller.organization_id, move |tx| ledger(tx, &event_id)))?;
        let of_message = lines.iter().filter_map(|line| {
            let said: Value = serde_json::from_str(&line.line.metadata).ok()?;
            Some(said["webhook_id"].as_str()?.to_owned())
        });
        let mut counted = BTreeMap::new();
        of_message.for_each(|id| *counted.entry(id).or_default() += 1);
        let ledger_faults = self.server.read_truth(0)?.ledger_faults;
        Ok(Held { runs, guests, lines: counted, ledger_faults })
    }

    /// I21: each row of the sender's table is a guest with the row's values. The server never ignores the last message
    /// of a row as an old one.
    fn guests_are_the_senders_rows(&mut self, held: &Held) {
        let mut found = Vec::new();
        for row in self.rows.iter().flatten() {
            let is_own_list = |shown: &&Shown| shown.listing.guest.external_id.as_deref() == row["id"].as_str();
            let guest = held.guests.iter().find(is_own_list).map(|shown| &shown.listing.guest);
            let said = guest.map(|guest| (guest.name.as_str(), guest.email.as_deref()));
            if said != row["name"].as_str().map(|name| (name, row["email"].as_str())) {
                found.push(format!("the sender's row {row} is the guest {said:?}"));
            }
            let id = row["id"].to_string();
            let last = self.messages.iter().rev().find(|message| message.body.contains(&id));
            if last.and_then(|message| message.answer.as_ref()).is_none_or(|answer| answer.contains("ignored")) {
                found.push(format!("the last message of the row {id} was ignored"));
            }
        }
        found.into_iter().for_each(|what| self.broken("I21", what));
    }

    /// I21: one webhook id leads to one job. The server answers each message. A message answered `created` or `updated`
    /// has one line in the ledger and one run for its guest. A message answered `recorded` has only the line; one
    /// answered `unchanged` or `ignored` has neither. No other run exists.
    fn one_job_for_a_message(&mut self, held: &Held) {
        let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
        let mut found = Vec::new();
        let ids: BTreeSet<&String> = self.messages.iter().map(|message| &message.id).collect();
        found.extend(held.lines.keys().filter(|id| !ids.contains(id)).map(|id| format!("nobody sent {id}")));
        for message in &self.messages {
            let answer = message.answer.as_deref().unwrap_or_default();
            let Ok(answer) = serde_json::from_str::<Value>(answer) else {
                found.push(format!("{} was never answered", message.id));
                continue;
            };
            let status = answer["status"].as_str().and_then(|word| word.parse().ok());
            let (lines, runs) = match status {
                Some(WebhookStatus::Created | WebhookStatus::Updated) => (1, 1),
                Some(WebhookStatus::Recorded) => (1, 0),
                Some(WebhookStatus::Unchanged | WebhookStatus::Ignored) => (0, 0),
                None => {
                    found.push(format!("{} was answered {answer}", message.id));
                    continue;
                }
            };
            let there = held.lines.get(&message.id).copied().unwrap_or_default();
            if there != lines {
                found.push(format!("{} ({answer}) has {there} lines in the ledger", message.id));
            }
            if runs > 0 {
                *wanted.entry(answer["guest_id"].as_str().unwrap_or_default().to_owned()).or_default() += runs;
            }
        }
        let mut there: BTreeMap<String, usize> = BTreeMap::new();
        held.runs.iter().for_each(|run| *there.entry(run.subject.clone()).or_default() += 1);
        if there != wanted {
            found.push(format!("messages wanted the runs {wanted:?} and there are {there:?}"));
        }
        found.into_iter().for_each(|what| self.broken("I21", what));
    }

    /// I22: each pass has one object, and each guest who should get a mail has at least one. Each interruption of a run
    /// after its mail may add one mail. The server stores a pass's picture before it sends the first mail with it.
    fn one_object_and_hardly_more_than_one_mail(&mut self, held: &Held) {
        let mut found = Vec::new();
        let kept = self.outside.kept();
        for run in &held.runs {
            if run.state != RunState::Done {
                found.push(format!("run {} stands at {:?}: {:?}", run.run_id, run.step, run.problem));
            }
            let letters = kept.letters.get(&run.run_id).map_or(&[][..], Vec::as_slice);
            let most = 1 + self.cut_short.get(&run.run_id).copied().unwrap_or_default();
            // A run that was replaced by a later run about the same guest sends no letter, and says so as its problem.
            let is_newest = held.runs.iter().find(|one| one.subject == run.subject) == Some(run);
            let overtaken = run.problem.as_deref() == Some(OVERTAKEN) && !is_newest;
            let least = usize::from(!overtaken && !is_late(run));
            if !(least..=most).contains(&letters.len()) {
                let n = letters.len();
                found.push(format!("run {} sent {n} letters instead of {least} to {most}", run.run_id));
            }
            if letters.iter().any(|letter| !letter.has_picture) {
                found.push(format!("run {} sent a letter before there was its picture", run.run_id));
            }
        }
        let mut names = BTreeSet::new();
        for Shown { listing, ticket, .. } in &held.guests {
            let guest = &listing.guest;
            let newest = held.runs.iter().find(|run| run.subject == guest.guest_id.as_str());
            let letters = newest.and_then(|run| kept.letters.get(&run.run_id));
            let email = guest.email.clone().unwrap_or_default();
            let sent = letters.is_some_and(|letters| letters.iter().any(|letter| letter.to == email));
            if !sent && !newest.is_some_and(is_late) {
                found.push(format!("nothing went to {email} after the last change of {}", guest.name));
            }
            names.extend(ticket.as_ref().and_then(|ticket| ticket.barcode.as_deref()).map(pass::object_key));
        }
        if !names.iter().eq(kept.pictures.keys()) {
            let there: Vec<&String> = kept.pictures.keys().collect();
            found.push(format!("passes have the pictures {names:?} and there are {there:?}"));
        }
        if kept.pictures.values().any(|contents| contents.windows(2).any(|two| two[0] != two[1])) {
            found.push("a picture was put anew with other content".into());
        }
        drop(kept);
        found.into_iter().for_each(|what| self.broken("I22", what));
    }
}
