//! `admit relay`: sends the lines of the outbox in an organiser's own PostgreSQL to a webhook endpoint. It sends each
//! at least once, in order for each guest, through any outage of either side (spec §8).

use std::time::Duration;

use admit_app::error::Error;
use admit_core::limits::{
    RELAY_AT_ONCE, RELAY_KEEP_MS, RELAY_LINES, RELAY_MESSAGE_MS, RELAY_POLL_MS, RELAY_RETRY_MAX_MS, RETRY_AFTER_MAX_MS,
    RETRY_FIRST_MS,
};
use admit_core::time::Timestamp;
use admit_core::webhook::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, WebhookSecret, seconds};
use admit_core::wire::problem::Problem;
use admit_core::wire::webhooks::WebhookAnswer;
use admit_store_postgres::outbox::{Outbox, OutboxLine};
use anyhow::{Context, anyhow, bail};
use clap::Args;
use futures_util::{StreamExt, stream};
use reqwest::{Client, Response, StatusCode, Url};

/// How often old delivered lines are deleted.
const FORGET_EVERY: Duration = Duration::from_secs(3_600);

#[derive(Debug, Args)]
#[command(after_help = "Example:
  admit relay --database-url postgres://relay@db.example.org/guests --endpoint https://tickets.example.org/api/webhooks/ENDPOINT --secret whsec_SECRET")]
pub struct Relay {
    /// Address of the PostgreSQL with the outbox of integrations/postgres/admit.sql. Connect directly, not through a
    /// pooler.
    #[arg(long, env = "RELAY_DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// Address of the webhook endpoint, as Admit showed it.
    #[arg(long, env = "RELAY_ENDPOINT")]
    endpoint: Url,
    /// Secret of the webhook endpoint, whsec_…. Set it in the environment, because lists of processes show arguments.
    #[arg(long, env = "RELAY_SECRET", hide_env_values = true)]
    secret: String,
    /// Stop when nothing is left to deliver. Without it the command waits for more.
    #[arg(long)]
    once: bool,
}

/// The result of sending one line.
enum Outcome {
    /// Admit accepted it.
    Delivered,
    /// Admit refused the line, and would refuse it again. The next line of this guest may still be accepted.
    Refused(String),
    /// Admit failed at this line alone.
    Failed(String),
    /// A proxy before Admit refused this line with a page of its own. It may refuse only this line, or all lines. The
    /// number is the pause in milliseconds, if the answer named one.
    TurnedAway(String, Option<i64>),
    /// Nothing can be delivered now. The number is the pause in milliseconds, if the answer named one.
    Trouble(String, Option<i64>),
}

impl Relay {
    /// Runs until it is stopped. A kill at any moment loses nothing, because the relay marks a line as delivered only
    /// after Admit's answer.
    pub async fn run(self) -> anyhow::Result<()> {
        let secret = WebhookSecret::parse(&self.secret).map_err(|error| anyhow!("--secret {error}"))?;
        if !matches!(self.endpoint.scheme(), "http" | "https") {
            bail!("--endpoint must be an address that begins with https:// or http://");
        }
        let client = admit_server::adapters::http_client::builder()
            .timeout(Duration::from_millis(RELAY_MESSAGE_MS))
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("admit-relay/", env!("CARGO_PKG_VERSION")))
            .build()
            .context("preparing HTTP")?;
        let carrier = Carrier { client, endpoint: self.endpoint, secret };
        let (mut wait, mut worked) = (Wait::default(), false);
        loop {
            match carry_on(&self.database_url, &carrier, self.once, &mut wait, &mut worked).await {
                Ok(()) => return Ok(()),
                // Before the first success a person is watching, so the error ends the command. Later the command keeps
                // trying, because a person may correct the database meanwhile.
                Err(error @ Error::Invalid { .. }) if !worked => return Err(in_our_words(&error)),
                Err(error) => {
                    let ms = wait.next(None);
                    tracing::warn!(event = "relay.waiting", wait_ms = ms, error = %in_our_words(&error), "database");
                    pause(ms).await;
                }
            }
        }
    }
}

/// Delivers lines over one connection until it ends, or with `once` until no line waits.
async fn carry_on(url: &str, carrier: &Carrier, once: bool, wait: &mut Wait, worked: &mut bool) -> Result<(), Error> {
    let outbox = Outbox::open(url).await?;
    let mut told = false;
    while !outbox.hold().await? {
        if !std::mem::replace(&mut told, true) {
            tracing::info!(event = "relay.second", "another relay is at work here: waiting for it to end");
        }
        pause(RELAY_POLL_MS).await;
    }
    tracing::info!(event = "relay.started", endpoint = %carrier.endpoint, "relaying");
    *worked = true;
    let mut forgot: Option<std::time::Instant> = None;
    loop {
        if forgot.is_none_or(|at| at.elapsed() > FORGET_EVERY) {
            outbox.forget(RELAY_KEEP_MS).await?;
            forgot = Some(std::time::Instant::now());
        }
        let lines = outbox.due(RELAY_LINES).await?;
        if lines.is_empty() {
            let next = outbox.next_in().await?;
            if once && next.is_none() {
                return Ok(());
            }
            let most = Duration::from_millis(next.unwrap_or(RELAY_POLL_MS).clamp(10, RELAY_POLL_MS).unsigned_abs());
            let _ = tokio::time::timeout(most, outbox.news()).await;
            continue;
        }
        match carrier.deliver(&outbox, lines).await? {
            None => *wait = Wait::default(),
            Some((why, said)) => {
                let ms = wait.next(said);
                tracing::warn!(event = "relay.waiting", wait_ms = ms, why, "nothing can be delivered now");
                pause(ms).await;
            }
        }
    }
}

async fn pause(ms: i64) {
    tokio::time::sleep(Duration::from_millis(ms.unsigned_abs())).await;
}

/// An error about the database's address, with the name of this command's argument.
fn in_our_words(error: &Error) -> anyhow::Error {
    match error {
        Error::Invalid { errors, .. } => {
            let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
            anyhow!("--database-url {}", messages.join("; "))
        }
        Error::Later { .. } => anyhow!("the database is away"),
        other => anyhow!("{other}"),
    }
}

/// The pauses while no line can be delivered: 1, 2, 4 … seconds, or as long as the answer asks for.
#[derive(Default)]
struct Wait {
    failures: u32,
}

impl Wait {
    fn next(&mut self, said: Option<i64>) -> i64 {
        let doubled = RETRY_FIRST_MS.saturating_mul(1 << self.failures.min(16)).min(RELAY_RETRY_MAX_MS);
        self.failures = self.failures.saturating_add(1);
        said.map_or(doubled, |ms| ms.clamp(RETRY_FIRST_MS, RETRY_AFTER_MAX_MS))
    }
}

/// The result of sending one guest's lines.
#[derive(Default)]
struct Carried {
    /// Whether Admit itself answered one of them.
    reached: bool,
    /// The line that a proxy refused, with the reason and the pause; `None` if a proxy refused none.
    turned_away: Option<(OutboxLine, String, Option<i64>)>,
    /// The trouble that stopped the guest's lines, with the pause; `None` if nothing stopped them.
    trouble: Option<(String, Option<i64>)>,
}

/// Puts off a line, and with it the later ones of its guest, and writes the reason into the outbox.
async fn put_off(outbox: &Outbox, line: &OutboxLine, problem: &str) -> Result<(), Error> {
    let after_ms = Wait { failures: u32::try_from(line.tries).unwrap_or(0) }.next(None);
    tracing::warn!(event = "relay.failed", line = line.sequence, problem, after_ms, "a line failed");
    outbox.later(line.sequence, problem, after_ms).await
}

struct Carrier {
    client: Client,
    endpoint: Url,
    secret: WebhookSecret,
}

impl Carrier {
    /// Delivers lines: those of one guest one after the other, several guests at a time. Returns the trouble that
    /// stopped the delivery, if any.
    async fn deliver(&self, outbox: &Outbox, lines: Vec<OutboxLine>) -> Result<Option<(String, Option<i64>)>, Error> {
        let mut guests: Vec<Vec<OutboxLine>> = Vec::new();
        let mut places = std::collections::BTreeMap::new();
        for line in lines {
            let place = *places.entry(line.guest_key.clone()).or_insert(guests.len());
            match guests.get_mut(place) {
                Some(lines) => lines.push(line),
                None => guests.push(vec![line]),
            }
        }
        let mut under_way = stream::iter(guests.into_iter().map(|lines| self.deliver_one(outbox, lines)))
            .buffer_unordered(RELAY_AT_ONCE);
        let (mut reached, mut turned_away, mut trouble) = (false, Vec::new(), None);
        while let Some(done) = under_way.next().await {
            let carried = done?;
            reached |= carried.reached;
            turned_away.extend(carried.turned_away);
            // Requests under way are dropped. Nobody marks their lines, and they are sent again under the same ids.
            if carried.trouble.is_some() {
                trouble = carried.trouble;
                break;
            }
        }
        drop(under_way);
        for (line, why, wait_ms) in turned_away {
            // If Admit answers other lines meanwhile, the refusal is about this line alone. The same holds if an
            // earlier try showed that.
            if reached || line.tries > 0 {
                put_off(outbox, &line, &why).await?;
            } else {
                trouble = trouble.or(Some((why, wait_ms)));
            }
        }
        Ok(trouble)
    }
    /// Delivers lines of one guest, in order, up to the first that must be tried again.
    async fn deliver_one(&self, outbox: &Outbox, lines: Vec<OutboxLine>) -> Result<Carried, Error> {
        let mut carried = Carried::default();
        for line in lines {
            match self.send(&line).await {
                Outcome::Delivered => outbox.delivered(line.sequence).await?,
                Outcome::Refused(problem) => {
                    tracing::warn!(event = "relay.refused", line = line.sequence, problem, "Admit refused a line");
                    outbox.refused(line.sequence, &problem).await?;
                }
                Outcome::Failed(problem) => {
                    put_off(outbox, &line, &problem).await?;
                    carried.reached = true;
                    break;
                }
                Outcome::TurnedAway(why, wait_ms) => {
                    carried.turned_away = Some((line, why, wait_ms));
                    break;
                }
                Outcome::Trouble(why, wait_ms) => {
                    carried.trouble = Some((why, wait_ms));
                    break;
                }
            }
            carried.reached = true;
        }
        Ok(carried)
    }
    async fn send(&self, line: &OutboxLine) -> Outcome {
        let now = now();
        let signature = self.secret.sign(&line.webhook_id, now, line.body.as_bytes());
        let request = self
            .client
            .post(self.endpoint.clone())
            .header("content-type", "application/json")
            .header(ID_HEADER, &line.webhook_id)
            .header(TIMESTAMP_HEADER, seconds(now))
            .header(SIGNATURE_HEADER, signature)
            .body(line.body.clone());
        match request.send().await {
            Ok(response) => answered(response).await,
            Err(error) => Outcome::Trouble(format!("the endpoint does not answer: {error:#}"), None),
        }
    }
}

/// The meaning of an answer. Only a well-formed answer of Admit's own is believed, because a proxy may answer too.
async fn answered(response: Response) -> Outcome {
    let status = response.status();
    let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse::<i64>().ok());
    let wait_ms = wait.map(|seconds| seconds.saturating_mul(1_000));
    let body = match response.bytes().await {
        Ok(body) => body,
        Err(error) => return Outcome::Trouble(format!("the answer broke off: {error:#}"), None),
    };
    if status == StatusCode::OK && serde_json::from_slice::<WebhookAnswer>(&body).is_ok() {
        return Outcome::Delivered;
    }
    let Ok(problem) = serde_json::from_slice::<Problem>(&body) else {
        let said = format!("the endpoint answers {status}, and not as Admit does");
        return if of_this_line(status) { Outcome::TurnedAway(said, wait_ms) } else { Outcome::Trouble(said, wait_ms) };
    };
    let said = format!("{}: {}", problem.code, problem.detail);
    match status {
        StatusCode::BAD_REQUEST
        | StatusCode::CONFLICT
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNPROCESSABLE_ENTITY => Outcome::Refused(said),
        StatusCode::INTERNAL_SERVER_ERROR => Outcome::Failed(said),
        _ => Outcome::Trouble(format!("the endpoint answers {status}: {said}"), wait_ms),
    }
}

/// Whether a status that Admit itself did not send may be about this one message, such as one that is too large. The
/// statuses that this function excludes are about the sender (401, 407), the address (404) or the moment (408, 425,
/// 429).
fn of_this_line(status: StatusCode) -> bool {
    status.is_client_error()
        && !matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::NOT_FOUND
                | StatusCode::PROXY_AUTHENTICATION_REQUIRED
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_EARLY
                | StatusCode::TOO_MANY_REQUESTS
        )
}

fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::clamped(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_what_is_asked_for_is_kept() {
        let mut wait = Wait::default();
        let waits: Vec<i64> = (0..8).map(|_| wait.next(None)).collect();
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(wait.next(Some(7_000)), 7_000);
        assert_eq!((wait.next(Some(0)), wait.next(Some(i64::MAX))), (1_000, RETRY_AFTER_MAX_MS));
    }

    #[tokio::test]
    async fn only_admits_own_answers_are_believed() {
        async fn outcome(status: u16, body: &str) -> String {
            let answer =
                http::Response::builder().status(status).header("retry-after", "7").body(body.to_owned()).unwrap();
            match answered(answer.into()).await {
                Outcome::Delivered => "delivered".to_owned(),
                Outcome::Refused(why) => format!("refused {why}"),
                Outcome::Failed(_) => "failed".to_owned(),
                Outcome::TurnedAway(_, wait) => format!("turned away {wait:?}"),
                Outcome::Trouble(_, wait) => format!("trouble {wait:?}"),
            }
        }
        let receipt = r#"{"status":"created","external_id":"7","guest_id":null,"ticket_id":null}"#;
        let problem = r#"{"type":"about:blank","title":"x","status":400,"code":"invalid_request","detail":"wrong"}"#;
        assert_eq!(outcome(200, receipt).await, "delivered");
        assert_eq!(outcome(202, receipt).await, "trouble Some(7000)");
        for page in ["<html>sign in to the network</html>", "{}", ""] {
            for status in [200, 302, 401, 404, 407, 408, 425, 429, 500, 502, 503] {
                assert_eq!(outcome(status, page).await, "trouble Some(7000)", "{status} {page}");
            }
            for status in [400, 403, 413, 422, 431, 451] {
                assert_eq!(outcome(status, page).await, "turned away Some(7000)", "{status} {page}");
            }
        }
        for status in [400, 409, 413, 422] {
            assert_eq!(outcome(status, problem).await, "refused invalid_request: wrong", "{status}");
        }
        assert_eq!(outcome(500, problem).await, "failed");
        for status in [401, 403, 404, 410, 429, 503] {
            assert_eq!(outcome(status, problem).await, "trouble Some(7000)", "{status}");
        }
    }
}
