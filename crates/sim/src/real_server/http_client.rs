//! The client of a level 2 run: it sends requests to the server over HTTP. The simulator sees only the answers.

use admit_core::wire::scanning::{ChangesAnswer, PairAnswer, PairingTicket, SyncAnswer};

use super::{RealServer, now};
use crate::server::{Reply, Request, Response};

impl RealServer {
    /// Sends a request over HTTP, and records what the answer shows.
    pub(super) fn over_http(&mut self, request: &Request) -> Option<Reply> {
        let before = self.epoch.map_or_else(|| now(self.app.store.epoch()), Ok).ok();
        let begun = self.begun.len();
        let reply = self.http.as_mut()?.ask(request);
        if let Some(before) = before {
            self.note_epoch(before);
        }
        if self.begun.len() > begun {
            self.coverage.hit("rollback found by a witness");
            self.coverage.hit("epoch changed");
        }
        if let Reply::Answer(answer) = &reply {
            self.see(request, answer);
        }
        Some(reply)
    }

    fn see(&mut self, request: &Request, answer: &Response) {
        self.coverage.hit_if(answer.status == 503, "server said later");
        self.coverage.hit_if(answer.status == 429, "sync limit");
        match (request.route(), answer.status) {
            ("/api/scanning/pair", 200) => {
                if let Ok(paired) = serde_json::from_slice::<PairAnswer>(&answer.body) {
                    let org = self.owners.iter().position(|it| it.caller.organization_id == paired.organization_id);
                    self.texts.extend(org.map(|org| (paired.api_key, org)));
                }
            }
            ("/api/scanning/pairing-requests", 201) => {
                if let Ok(ticket) = serde_json::from_slice::<PairingTicket>(&answer.body) {
                    self.belongs(&ticket.pairing_token, self.whose(request));
                }
            }
            ("/api/scanning/sync", 200) => {
                if let Ok(receipt) = serde_json::from_slice::<SyncAnswer>(&answer.body) {
                    let first = self.seen.batches.insert(receipt.batch_id.to_string());
                    self.coverage.hit_if(!first, "batch repeated");
                }
            }
            ("/api/scanning/sync", 409) => self.coverage.hit("batch id reused"),
            (route, 200) if route.ends_with("/changes") => {
                // A cursor that leads into a page, or to the next one, shows that there are several pages.
                let more = serde_json::from_slice::<ChangesAnswer>(&answer.body).is_ok_and(|answer| answer.more);
                self.coverage.hit_if(more, "changes in pages");
            }
            _ => {}
        }
    }
}
