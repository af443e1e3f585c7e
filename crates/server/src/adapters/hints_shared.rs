//! Hints between nodes: a change on one node reaches the clients of all nodes (law 15).
//!
//! There are two mechanisms. With Redis, a node publishes each hint and all nodes listen. In addition, with or without
//! Redis, each node re-reads the heads of the events that its clients watch, and so finds whatever was lost.

use std::sync::Arc;
use std::time::Duration;

use admit_app::ports::{Hint, Hints, Store, Topic, read};
use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{AsyncCommands, RedisResult};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::hints_local::Hub;
use super::redis_link::Link;

/// The most hints that wait to be published. Further ones are dropped; nodes find the change when they re-read heads.
const QUEUE: usize = 4_096;
/// How often a node re-reads the heads of the events that its clients watch.
const LOOK: Duration = Duration::from_secs(2);
/// Pause before a new connection to Redis after the last one ended.
const AGAIN: Duration = Duration::from_millis(500);
/// How often a silent connection is probed.
const PING: Duration = Duration::from_secs(5);
/// The pattern of the channels of all organisations.
const EVERY_CHANNEL: &str = "admit:org:*:hints";

/// Sends hints to this node's clients and, through Redis, to other nodes.
#[derive(Debug)]
pub struct SharedHints {
    hub: Arc<Hub>,
    others: mpsc::Sender<Hint>,
}

impl Hints for SharedHints {
    fn hint(&self, hint: Hint) {
        let _ = self.others.try_send(hint.clone());
        self.hub.hint(hint);
    }
}

/// Publishes this node's hints and listens for those of other nodes, until `shutdown`. `node` is the name that marks
/// this process's own hints.
pub fn share(hub: Arc<Hub>, link: Arc<Link>, node: String, shutdown: CancellationToken) -> SharedHints {
    let (others, waiting) = mpsc::channel(QUEUE);
    let publishing = publish(link.clone(), node.clone(), waiting);
    let listening = listen(link, hub.clone(), node);
    tokio::spawn(async move {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = publishing => {}
            () = listening => {}
        }
    });
    SharedHints { hub, others }
}

async fn publish(link: Arc<Link>, node: String, mut waiting: mpsc::Receiver<Hint>) {
    while let Some(hint) = waiting.recv().await {
        let channel = format!("admit:org:{}:event:{}:hints", hint.organization_id, hint.event_id);
        let text = to_text(&node, &hint);
        // If Redis gives no answer, the hint is lost. Other nodes find the change when they re-read heads.
        let _: Option<()> = link.ask(|mut connection| async move { connection.publish(channel, text).await }).await;
    }
}

async fn listen(link: Arc<Link>, hub: Arc<Hub>, node: String) {
    loop {
        if let Ok(connection) = link.listener().await {
            // The function returns when the connection ends. Hints sent meanwhile are lost.
            let _ = hear(connection, &hub, &node).await;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn hear(mut connection: PubSub, hub: &Hub, node: &str) -> RedisResult<()> {
    connection.psubscribe(EVERY_CHANNEL).await?;
    hub.missed();
    let (mut sink, mut messages) = connection.split();
    let mut ping = tokio::time::interval(PING);
    loop {
        tokio::select! {
            message = messages.next() => {
                let Some(message) = message else { return Ok(()) };
                let text: String = message.get_payload()?;
                if let Some(hint) = from_text(node, &text) {
                    hub.hint(hint);
                }
            }
            _ = ping.tick() => {
                let asked = tokio::time::timeout(PING, sink.ping::<redis::Value>());
                if !matches!(asked.await, Ok(Ok(_))) {
                    return Ok(());
                }
            }
        }
    }
}

fn to_text(node: &str, hint: &Hint) -> String {
    let (topic, text) = match &hint.topic {
        Topic::Batch(text) => ("batch", text.as_str()),
        Topic::Occupancy(text) => ("occupancy", text.as_str()),
        Topic::Incidents => ("incidents", ""),
        Topic::Devices => ("devices", ""),
        Topic::Rules => ("rules", ""),
    };
    let (organization_id, event_id) = (hint.organization_id.as_str(), hint.event_id.as_str());
    json!({ "node": node, "organization_id": organization_id, "event_id": event_id, "serial": hint.serial,
        "topic": topic, "text": text })
    .to_string()
}

/// Parses a hint of another node. `None`: the hint is this node's own, or the text is no hint.
fn from_text(node: &str, text: &str) -> Option<Hint> {
    let said: Value = serde_json::from_str(text).ok()?;
    let word = |name: &str| said.get(name).and_then(Value::as_str);
    if word("node")? == node {
        return None;
    }
    let text = word("text").unwrap_or_default().to_owned();
    let topic = match word("topic")? {
        "batch" => Topic::Batch(text),
        "occupancy" => Topic::Occupancy(text),
        "incidents" => Topic::Incidents,
        "devices" => Topic::Devices,
        _ => Topic::Rules,
    };
    Some(Hint {
        organization_id: word("organization_id")?.parse().ok()?,
        event_id: word("event_id")?.parse().ok()?,
        serial: said.get("serial").and_then(Value::as_u64),
        topic,
    })
}

/// Re-reads the heads of the watched events every two seconds, until `shutdown`. Nodes that share a database need this.
pub async fn look(store: Arc<dyn Store>, hub: Arc<Hub>, shutdown: CancellationToken) {
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = tick.tick() => {}
        }
        for (organization_id, event_id) in hub.watched() {
            let asked = event_id.clone();
            // If the read fails, or the event does not exist, the clients notice it in their own reads.
            if let Ok(head) = read(&*store, &organization_id, move |tx| tx.head(&asked)).await {
                hub.stands_at(&organization_id, &event_id, head.serial);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_comes_through_as_it_was_and_ones_own_does_not() {
        for topic in [
            Topic::Batch("{\"batch_id\":\"b\"}".into()),
            Topic::Occupancy("{}".into()),
            Topic::Incidents,
            Topic::Devices,
            Topic::Rules,
        ] {
            let (organization_id, event_id) = ("o".parse().unwrap(), "e".parse().unwrap());
            let hint = Hint { organization_id, event_id, serial: Some(7), topic };
            let text = to_text("here", &hint);
            assert_eq!(from_text("there", &text), Some(hint));
            assert_eq!(from_text("here", &text), None);
        }
        assert_eq!(from_text("here", "nonsense"), None);
    }
}
