//! An event on one node reaches clients of another: at once with Redis, within seconds without.

use std::time::{Duration, Instant};

use admit_core::scan::Outcome;
use admit_server::Settings;
use reqwest::Response;
use serde_json::Value;

use crate::device::Phone;
use crate::pair::{NOBODY, Pair};
use crate::private_redis::{self, Redis};
use crate::server::json;

/// Two nodes that only get hints and do not re-read heads.
async fn hinted(redis: &Redis) -> Pair {
    let nodes = Pair::start(Settings { redis_url: Some(redis.url()), ..Settings::default() }).await;
    listening(redis, 2).await;
    nodes
}

/// Waits until so many nodes listen to Redis.
async fn listening(redis: &Redis, nodes: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while redis.say("PUBSUB NUMPAT") != ":1" || redis.say("CLIENT LIST TYPE pubsub").matches("psub=1").count() < nodes {
        assert!(Instant::now() < until, "{}", redis.say("CLIENT LIST TYPE pubsub"));
        tokio::time::sleep(Duration::from_millis(10)).await; // tidy-allow: the pause of a poll loop
    }
}

/// Waits for changes on the second node while a scan comes in on the first. Gives the answer and how long it took.
async fn wait_and_scan(nodes: &Pair, name: &str) -> (Value, Duration) {
    let mut phone = Phone::pair(&nodes.first, &nodes.first.home, &format!("{name}-scans")).await;
    let waiting = Phone::pair(&nodes.first, &nodes.first.home, &format!("{name}-waits")).await;
    let path = format!("/api/scanning/events/{}/changes", waiting.event_id());
    let first = json(nodes.ask(1, &waiting, &path).send().await.unwrap(), 200).await;
    let asked = format!(
        "{path}?cursor={}&manifest_version={}&wait=25",
        first["cursor"].as_str().unwrap(),
        first["manifest_version"]
    );
    let scan = phone.scan(&nodes.first.home.barcodes[0], Outcome::Valid, nodes.second.app.clock.now());
    let batch = phone.batch(vec![scan]);
    let organization_id = &nodes.first.home.owner.organization_id;
    let (news, sent) =
        tokio::join!(async { json(nodes.ask(1, &waiting, &asked).send().await.unwrap(), 200).await }, async {
            while nodes.second.live.watchers(organization_id, waiting.event_id()) == 0 {
                tokio::task::yield_now().await;
            }
            let sent = Instant::now();
            assert_eq!(nodes.sync(0, &phone, &batch).await.status(), 200);
            sent
        });
    (news, sent.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_on_one_node_ends_with_the_news_of_another() {
    let redis = Redis::start();
    let nodes = hinted(&redis).await;
    let (news, took) = wait_and_scan(&nodes, "a").await;
    assert_eq!(news["items"][0]["scans"].as_array().unwrap().len(), 1, "{news}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_a_wait_ends_with_the_news_within_ten_seconds() {
    let nodes = Pair::with(NOBODY).await;
    let (news, took) = wait_and_scan(&nodes, "a").await;
    assert_eq!(news["items"][0]["scans"].as_array().unwrap().len(), 1, "{news}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_come_again_after_redis_was_away() {
    let redis = Redis::start();
    let nodes = hinted(&redis).await;
    redis.stop();
    redis.start_again();
    listening(&redis, 2).await;
    // After a failure the link to Redis pauses for a second. A hint may be lost, and then the next one arrives.
    let until = Instant::now() + Duration::from_secs(20);
    let mut phone = Phone::pair(&nodes.first, &nodes.first.home, "a").await;
    let mut hints = nodes.second.live.subscribe(&nodes.first.home.owner.organization_id, phone.event_id());
    let heard = loop {
        assert!(Instant::now() < until, "no hint came");
        let scan = phone.scan(&nodes.first.home.barcodes[0], Outcome::Valid, nodes.second.app.clock.now());
        let batch = phone.batch(vec![scan]);
        let status = nodes.sync(0, &phone, &batch).await.status();
        assert!(status == 200 || status == 429, "{status}");
        if let Ok(hint) = tokio::time::timeout(Duration::from_secs(2), hints.recv()).await {
            break hint.unwrap();
        }
    };
    assert_eq!(heard.event_id, *phone.event_id());
}

/// A live stream with everything that it has sent.
struct Stream {
    response: Response,
    seen: String,
}

impl Stream {
    async fn open(nodes: &Pair, node: usize, key: &str) -> Self {
        let url = format!("{}/api/events/{}/stream", nodes.url(node), nodes.first.home.event_id);
        let response = nodes.first.client.get(url).bearer_auth(key).send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, seen: String::new() }
    }
    /// Reads until this event with this text in its data.
    async fn until(&mut self, event: &str, part: &str) -> String {
        let name = format!("event: {event}\n");
        loop {
            let found = self.seen.split("\n\n").find(|message| message.contains(&name) && message.contains(part));
            if let Some(message) = found {
                return message.to_owned();
            }
            let chunk = tokio::time::timeout(Duration::from_secs(20), self.response.chunk()).await;
            let chunk = chunk.unwrap_or_else(|_| panic!("no {event} with {part} in {}", self.seen)).unwrap();
            self.seen.push_str(std::str::from_utf8(&chunk.expect("the stream ended")).unwrap());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_topics_reach_the_subscribers_of_every_node() {
    let redis = Redis::start();
    let nodes = hinted(&redis).await;
    let home = &nodes.first.home;
    let mut phone = Phone::pair(&nodes.first, home, "a").await;
    let mut organiser = Stream::open(&nodes, 1, &home.token).await;
    let mut device = Stream::open(&nodes, 1, phone.key()).await;
    organiser.until("devices", "device-a").await;
    let scan = phone.scan(&home.barcodes[0], Outcome::Valid, nodes.second.app.clock.now());
    let batch = phone.batch(vec![scan]);
    assert_eq!(nodes.sync(0, &phone, &batch).await.status(), 200);
    let id = batch["sync_batch_id"].as_str().unwrap();
    organiser.until("batch", id).await;
    let message = organiser.until("occupancy", "batch_sync_completed").await;
    assert!(message.contains("\"total_occupancy\":1"), "{message}");
    device.until("batch", id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_snapshots_follow_on_every_node() {
    let nodes = Pair::with(NOBODY).await;
    let home = &nodes.first.home;
    let mut phone = Phone::pair(&nodes.first, home, "a").await;
    let mut organiser = Stream::open(&nodes, 1, &home.token).await;
    organiser.until("devices", "device-a").await;
    let scan = phone.scan(&home.barcodes[0], Outcome::Valid, nodes.second.app.clock.now());
    let batch = phone.batch(vec![scan]);
    assert_eq!(nodes.sync(0, &phone, &batch).await.status(), 200);
    organiser.until("occupancy", "\"total_occupancy\":1").await;
}

/// A phone uploads to one node and listens to the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_a_device_hears_of_its_batches_on_every_node() {
    let nodes = Pair::with(NOBODY).await;
    let home = &nodes.first.home;
    let mut phone = Phone::pair(&nodes.first, home, "a").await;
    let mut device = Stream::open(&nodes, 1, phone.key()).await;
    for code in &home.barcodes[..2] {
        let scan = phone.scan(code, Outcome::Valid, nodes.second.app.clock.now());
        let batch = phone.batch(vec![scan]);
        assert_eq!(nodes.sync(0, &phone, &batch).await.status(), 200);
        device.until("batch", batch["sync_batch_id"].as_str().unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shared_redis_is_no_one_nodes_own() {
    // Two pairs of nodes share a Redis and have separate databases. Hints of one pair mean nothing to the other.
    let url = private_redis::shared().url();
    let (ours, foreign) = (Pair::with(&url).await, Pair::with(&url).await);
    let (news, _) = wait_and_scan(&ours, "a").await;
    assert_eq!(news["items"].as_array().unwrap().len(), 1);
    let (news, _) = wait_and_scan(&foreign, "a").await;
    assert_eq!(news["items"].as_array().unwrap().len(), 1);
}
