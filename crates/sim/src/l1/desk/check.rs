//! What must hold once every message is answered and every run is at its end.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::Result;
use admit_app::guests::{self, Shown};
use admit_app::jobs;
use admit_app::ports::{GuestFilter, RunFilter, read};
use admit_app::records::{Page, RunRecord};
use admit_core::job::RunState;
use admit_core::pass;
use admit_core::wire::webhooks::WebhookStatus;
use serde_json::Value;

use super::Desk;
use crate::l1::now;
use crate::l1::truth::ledger;
use crate::reach::Reach;

/// What the store holds.
struct Held {
    /// Newest first.
    runs: Vec<RunRecord>,
    guests: Vec<Shown>,
    /// How many lines of the ledger each message left.
    lines: BTreeMap<String, usize>,
    ledger_faults: Vec<String>,
}

impl Desk {
    pub(super) fn check(&mut self, checked: &mut Reach) {
        let held = match self.read() {
            Ok(held) => held,
            Err(error) => return self.broken("I21", format!("the store cannot be read: {error}")),
        };
        checked.hit("I19");
        held.ledger_faults.iter().for_each(|what| self.broken("I19", what.clone()));
        self.one_job_for_a_message(&held);
        checked.hit("I21");
        self.one_object_and_hardly_more_than_one_mail(&held);
        checked.hit("I22");
        checked.hit_if(self.server.deaths.looked > 0, "I6");
        let torn = std::mem::take(&mut self.server.deaths.torn);
        torn.into_iter().for_each(|(_, what)| self.broken("I6", what));
    }

    fn read(&mut self) -> Result<Held> {
        self.server.serve(self.now_ms, 0);
        let (app, owner) = (&self.server.app, &self.server.owners[0]);
        let whole_page = || Page { limit: 500, cursor: None };
        let runs = now(jobs::list(app, &owner.caller, RunFilter::default(), whole_page()))?.items;
        let event_id = owner.event_id.clone();
        let guests = guests::list(app, &owner.caller, event_id.clone(), GuestFilter::default(), whole_page());
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

    /// I21: one id, one job. Each message is answered; what it changed has one line in the ledger and one run for its guest;
    /// what changed nothing has neither; there is no other run.
    fn one_job_for_a_message(&mut self, held: &Held) {
        let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
        let mut found = Vec::new();
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

    /// I22: one object for each pass, at least one mail to whom there is something to send, at most one more for each time a run
    /// was cut short, and none whose picture was not there.
    fn one_object_and_hardly_more_than_one_mail(&mut self, held: &Held) {
        let mut found = Vec::new();
        let kept = self.outside.kept();
        for run in &held.runs {
            if run.state != RunState::Done {
                found.push(format!("run {} stands at {:?}: {:?}", run.run_id, run.step, run.problem));
            }
            let letters = kept.letters.get(&run.run_id).map_or(&[][..], Vec::as_slice);
            let most = 1 + kept.interrupted.get(&run.run_id).copied().unwrap_or_default();
            // A run that is done and has nothing to say has mailed.
            let least = usize::from(run.problem.is_none());
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
            if !letters.is_some_and(|letters| letters.iter().any(|letter| letter.to == email)) {
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
