//! The log says once that Redis is gone, and once that it is back.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use admit_server::adapters::redis_link::Link;
use redis::AsyncCommands;

use crate::private_redis::Redis;

/// Everything that was logged.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    fn count(&self, word: &str) -> usize {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).matches(word).count()
    }
}
impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Asks Redis until it answers, or until it does not.
async fn until(link: &Link, there: bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let asked = link.ask(|mut connection| async move { connection.exists::<_, bool>("x").await }).await;
        if asked.is_some() == there {
            return;
        }
        assert!(Instant::now() < deadline, "still {}", if there { "gone" } else { "there" });
        tokio::time::sleep(Duration::from_millis(10)).await; // tidy-allow: the pause of a poll loop
    }
}

#[tokio::test]
async fn redis_gone_is_said_once_and_that_it_is_back_too() {
    let said = Said::default();
    let writer = said.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(log);
    let redis = Redis::start();
    let link = Link::open(&redis.url()).unwrap();
    for round in 1..=2 {
        until(&link, true).await;
        redis.stop();
        until(&link, false).await;
        for _ in 0..50 {
            let started = Instant::now();
            assert!(link.ask(|mut connection| async move { connection.exists::<_, bool>("x").await }).await.is_none());
            assert!(started.elapsed() < Duration::from_secs(1), "nobody waits for Redis");
        }
        assert_eq!(said.count("redis.gone"), round);
        redis.start_again();
        until(&link, true).await;
        assert_eq!(said.count("redis.back"), round);
    }
}
