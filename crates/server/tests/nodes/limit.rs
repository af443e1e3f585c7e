//! The sync limit over all nodes (S1 §7.6), and what it does when Redis is unreachable, empty or slow.

use std::time::{Duration, Instant};

use admit_app::error::Error;
use admit_core::ids::{DeviceId, OrganizationId};
use admit_core::rate::{RateDecision, SlidingLog};
use admit_server::Settings;
use admit_server::adapters::rate_redis::SharedLog;
use admit_server::adapters::redis_link::Link;
use admit_server::adapters::sync_limit::SyncLimit;

use crate::device::Phone;
use crate::pair::{NOBODY, Pair};
use crate::private_redis::Redis;

async fn limited(redis_url: &str) -> Pair {
    let settings =
        Settings { redis_url: Some(redis_url.into()), several_nodes: true, syncs_per_minute: 4, ..Settings::default() };
    Pair::start(settings).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sync_limit_is_one_of_all_nodes() {
    let redis = Redis::start();
    let nodes = limited(&redis.url()).await;
    let mut phone = Phone::pair(&nodes.first, &nodes.first.home, "a").await;
    for node in [0, 1, 1, 0] {
        assert_eq!(nodes.knock(node, &mut phone).await, 200);
    }
    for node in [0, 1] {
        let batch = phone.batch(vec![]);
        let refused = nodes.sync(node, &phone, &batch).await;
        assert_eq!(refused.status(), 429);
        let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    let mut sibling = Phone::pair(&nodes.first, &nodes.first.home, "b").await;
    assert_eq!(nodes.knock(1, &mut sibling).await, 200, "the limit is a device's own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_redis_flushed_slow_and_gone_the_answers_are_the_same() {
    let redis = Redis::start();
    let nodes = limited(&redis.url()).await;
    let mut phone = Phone::pair(&nodes.first, &nodes.first.home, "a").await;
    assert_eq!(nodes.knock(0, &mut phone).await, 200);
    redis.say("FLUSHALL");
    assert_eq!(nodes.knock(0, &mut phone).await, 200, "flushed");
    redis.hold_up(Duration::from_secs(30));
    let started = Instant::now();
    assert_eq!(nodes.knock(0, &mut phone).await, 200, "slow");
    assert!(started.elapsed() < Duration::from_secs(5), "nobody waits for Redis: {:?}", started.elapsed());
    redis.stop();
    assert_eq!(nodes.knock(0, &mut phone).await, 200, "gone");
    assert_eq!(nodes.knock(0, &mut phone).await, 429, "the node's own log holds");
    redis.start_again();
    assert_eq!(nodes.knock(0, &mut phone).await, 429, "back, and empty");
    // The shared limit returns by itself: an upload to one node counts on the other again.
    let until = Instant::now() + Duration::from_secs(20);
    for n in 0.. {
        assert!(Instant::now() < until, "Redis is not used again");
        let mut phone = Phone::pair(&nodes.first, &nodes.first.home, &format!("back-{n}")).await;
        let mut said = Vec::new();
        for node in [0, 1, 0, 1, 0] {
            said.push(nodes.knock(node, &mut phone).await);
        }
        if said == [200, 200, 200, 200, 429] {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_each_node_keeps_the_limit() {
    let nodes = limited(NOBODY).await;
    let mut phone = Phone::pair(&nodes.first, &nodes.first.home, "a").await;
    // Without Redis a node does not know the other's uploads, so each applies its own limit (docs/decisions.md).
    for node in [0, 1] {
        for _ in 0..4 {
            assert_eq!(nodes.knock(node, &mut phone).await, 200);
        }
        assert_eq!(nodes.knock(node, &mut phone).await, 429);
    }
}

#[tokio::test]
async fn what_all_nodes_refuse_takes_no_room_on_one() {
    let redis = Redis::start();
    let (org, device) = (OrganizationId::new("o").unwrap(), DeviceId::new("d").unwrap());
    let link = || std::sync::Arc::new(Link::open(&redis.url()).unwrap());
    let (one, other) =
        (SyncLimit::new(1, Some(SharedLog::new(link()))), SyncLimit::new(1, Some(SharedLog::new(link()))));
    assert_eq!(one.take(&org, &device, 0).await, Ok(()));
    let refused = other.take(&org, &device, 0).await.unwrap_err();
    assert!(matches!(refused, Error::Later { code: "rate_limited", retry_after_ms: 1..=60_000 }), "{refused:?}");
    redis.say("FLUSHALL");
    assert_eq!(other.take(&org, &device, 1).await, Ok(()), "it had let nothing through");
}

/// The script in Redis decides like core's sliding log. The test writes the log's times itself.
#[tokio::test]
async fn the_log_in_redis_decides_as_cores_does() {
    let redis = Redis::start();
    let shared = SharedLog::new(std::sync::Arc::new(Link::open(&redis.url()).unwrap()));
    let org = OrganizationId::new("o").unwrap();
    for (n, ages) in [
        vec![],
        vec![59_000, 30_000],
        vec![59_000, 30_000, 5],
        vec![90_000, 61_000, 50_000, 3],
        vec![58_000, 57_000, 56_000, 40_000, 2],
        vec![-3_600_000, -3_600_000, -3_600_000],
    ]
    .into_iter()
    .enumerate()
    {
        let device = DeviceId::new(format!("d{n}")).unwrap();
        let now = admit_app::ports::Clock::now(&admit_server::adapters::clock::SystemClock::default()).ms();
        let mut own = SlidingLog::default();
        for age in &ages {
            redis.say(&format!("RPUSH admit:org:o:device:d{n}:syncs {}", now - age));
            if *age > 0 {
                own.take(now - age, u32::MAX);
            }
        }
        let (said, meant) = (shared.take(&org, &device, 3).await.unwrap(), own.take(now, 3));
        match (said, meant) {
            (RateDecision::Allowed, RateDecision::Allowed) => {
                let left: i64 = redis.say(&format!("PTTL admit:org:o:device:d{n}:syncs"))[1..].parse().unwrap();
                assert!((1..=60_000).contains(&left), "{left}");
            }
            (
                RateDecision::Refused { retry_after_seconds: said },
                RateDecision::Refused { retry_after_seconds: meant },
            ) => {
                assert!(said.abs_diff(meant) <= 1, "{ages:?}: {said} for {meant}");
            }
            other => panic!("{ages:?}: {other:?}"),
        }
    }
}
