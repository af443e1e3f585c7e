//! S2 §4 "Cache Layers": the keys, their values and how long they stay. No answer depends on them.

use std::time::{Duration, Instant};

use admit_core::barcode::{BarcodeHash, hex};
use admit_core::scan::Outcome;
use serde_json::Value;

use crate::device::Phone;
use crate::pair::Pair;
use crate::private_redis::Redis;
use crate::server::json;

/// Asks Redis until its answer differs from `not_yet`, and gives that answer.
async fn unlike(redis: &Redis, words: &str, not_yet: &str) -> String {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let said = redis.say(words);
        if said != not_yet {
            return said;
        }
        assert!(Instant::now() < until, "{words}: {said}");
        tokio::time::sleep(Duration::from_millis(10)).await; // tidy-allow: the pause of a poll loop
    }
}

fn seconds(said: &str) -> i64 {
    said.trim_start_matches(':').parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_scans_are_remembered_for_five_minutes_under_s2s_keys() {
    let redis = Redis::start();
    let nodes = Pair::with(&redis.url()).await;
    let home = &nodes.first.home;
    let (mut a, mut b) = (Phone::pair(&nodes.first, home, "a").await, Phone::pair(&nodes.first, home, "b").await);
    let now = nodes.second.app.clock.now();
    let scan = a.scan(&home.barcodes[0], Outcome::Valid, now.plus_ms(-5_000));
    let refused = a.scan(&home.barcodes[1], Outcome::Duplicate, now.plus_ms(-4_000));
    let batch = a.batch(vec![scan.clone(), refused]);
    let stored = Instant::now();
    assert_eq!(nodes.sync(0, &a, &batch).await.status(), 200);
    let (org, event) = (&home.owner.organization_id, &home.event_id);
    let code = hex(&BarcodeHash::of(&home.barcodes[0]).0);
    let last = format!("admit:org:{org}:ticket:{code}:last_scan");
    let at = now.plus_ms(-5_000).ms() / 1_000;
    let said = unlike(&redis, &format!("GET {last}"), "$-1").await;
    let value = format!("{}:{}:{at}", scan["scan_id"].as_str().unwrap(), a.gate_id());
    assert_eq!(said.split("\r\n").nth(1), Some(value.as_str()));
    let recent = format!("admit:org:{org}:event:{event}:scans:recent");
    assert_eq!(redis.say(&format!("ZCARD {recent}")), ":1", "a shut door is no admission");
    let said = redis.say(&format!("ZRANGE {recent} 0 -1 WITHSCORES"));
    let parts: Vec<&str> = said.split("\r\n").collect();
    assert_eq!(
        (parts[2], parts[4]),
        (format!("{code}:{}:{}", a.device_id(), a.gate_id()).as_str(), at.to_string().as_str())
    );
    for key in [&last, &recent] {
        let left = seconds(&redis.say(&format!("TTL {key}")));
        // The time to live is 300 seconds, less the time since.
        let gone = stored.elapsed().as_secs() as i64 + 1;
        assert!((300 - gone..=300).contains(&left), "{key}: {left}, {gone} later");
    }
    // The other node knows that this code was let in, and counts it in the rate of duplicates.
    let again = b.scan(&home.barcodes[0], Outcome::Valid, now);
    let batch = b.batch(vec![again]);
    assert_eq!(nodes.sync(1, &b, &batch).await.status(), 200);
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if nodes.metrics(1).contains("admit_recent_duplicates_total{tier=\"warm\"} 1") {
            break;
        }
        assert!(Instant::now() < until, "nobody noticed");
        tokio::task::yield_now().await;
    }
    let keys = redis.say("KEYS *");
    let named = keys.split("\r\n").filter(|line| line.starts_with("admit:"));
    assert!(
        named.clone().count() >= 3 && named.clone().all(|key| key.starts_with(&format!("admit:org:{org}:"))),
        "{keys}"
    );
    assert!(!keys.contains(home.barcodes[0].as_str()), "no code that opens a door lies in a cache");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_that_lies_changes_no_answer() {
    let redis = Redis::start();
    let nodes = Pair::with(&redis.url()).await;
    let home = &nodes.first.home;
    let mut phone = Phone::pair(&nodes.first, home, "a").await;
    let (org, event) = (&home.owner.organization_id, &home.event_id);
    let now = nodes.second.app.clock.now();
    let code = hex(&BarcodeHash::of(&home.barcodes[0]).0);
    redis.say(&format!("SET admit:org:{org}:ticket:{code}:last_scan forged:main:{} EX 300", now.ms() / 1_000));
    redis.say(&format!("ZADD admit:org:{org}:event:{event}:scans:recent {} {code}:forged:main", now.ms() / 1_000));
    // The key has another type than expected, so every command on it fails.
    redis.say(&format!("SET admit:org:{org}:device:{}:syncs nonsense", phone.device_id()));
    let scan = phone.scan(&home.barcodes[0], Outcome::Valid, now);
    let batch = phone.batch(vec![scan.clone()]);
    let answer: Value = json(nodes.sync(0, &phone, &batch).await, 200).await;
    assert_eq!(answer["processed"][0], scan["scan_id"]);
    assert_eq!(answer["conflicts"], serde_json::json!([]));
}
