//! A network that fails on request. Every connection goes to one of the nodes, and whether it fails is drawn from a
//! seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The present state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    Fair,
    /// Three of four connections fail: before the request, in its middle, or in the middle of the answer.
    Foul,
    /// No connection is possible, and open ones end.
    Down,
}

/// The proxy between scanners and nodes.
pub struct Proxy {
    pub url: String,
    weather: watch::Sender<Weather>,
    /// The number of connections that were cut.
    pub cut: Arc<AtomicU64>,
}

impl Proxy {
    pub async fn start(nodes: Vec<String>, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (weather, seen) = watch::channel(Weather::Fair);
        let cut = Arc::new(AtomicU64::new(0));
        let counted = cut.clone();
        tokio::spawn(async move {
            let mut random = seed;
            for n in 0_usize.. {
                let Ok((stream, _)) = listener.accept().await else { return };
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (fate, mut seen, nodes, counted) = (random >> 33, seen.clone(), nodes.clone(), counted.clone());
                tokio::spawn(async move {
                    let weather = *seen.borrow_and_update();
                    let fate = if weather == Weather::Fair { 0 } else { fate };
                    if weather == Weather::Down || fate % 4 == 1 {
                        counted.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    tokio::select! {
                        () = carry(stream, &nodes, n, fate, &counted) => {}
                        _ = seen.wait_for(|now| *now == Weather::Down) => {}
                    }
                });
            }
        });
        Self { url, weather, cut }
    }

    pub fn weather(&self, now: Weather) {
        self.weather.send_replace(now);
    }
}

/// Passes a connection to the next node that accepts it, because any node may answer any device.
async fn carry(stream: TcpStream, nodes: &[String], turn: usize, fate: u64, cut: &AtomicU64) {
    for n in 0..nodes.len() {
        let Ok(node) = TcpStream::connect(&nodes[(turn + n) % nodes.len()]).await else { continue };
        let ((from, mut back), (answer, mut to)) = (stream.into_split(), node.into_split());
        let (there, here) = match fate % 4 {
            2 => (fate / 4 % 600, u64::MAX),
            3 => (u64::MAX, fate / 4 % 200),
            _ => (u64::MAX, u64::MAX),
        };
        if there.min(here) < u64::MAX {
            cut.fetch_add(1, Ordering::Relaxed);
        }
        let request = async {
            let _ = copy(&mut from.take(there), &mut to).await;
            if there < u64::MAX { Some(()) } else { std::future::pending().await }
        };
        let reply = async {
            let _ = copy(&mut answer.take(here), &mut back).await;
            let _ = back.shutdown().await;
        };
        tokio::select! {
            _ = request => {}
            () = reply => {}
        }
        return;
    }
}
