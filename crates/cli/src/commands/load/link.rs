//! A slow network between phones and the server: a proxy that delays bytes, and passes at most 16 kB per second in
//! each direction.

use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The delay of the first byte in each direction.
const WAY: Duration = Duration::from_millis(150);
/// Bytes that pass per [`TICK`]: 16 kB per second for each connection and direction.
const BYTES: usize = 800;
const TICK: Duration = Duration::from_millis(50);

/// Starts a slow proxy before a server. Gives its address, which works until the program ends.
pub async fn slow(server: &str) -> anyhow::Result<String> {
    let url = Url::parse(server).with_context(|| format!("reading the address {server}"))?;
    ensure!(url.scheme() == "http", "a slow network is only made to a server at http://, and {server} is none");
    let host = url.host_str().with_context(|| format!("{server} names no host"))?;
    let target = format!("{host}:{}", url.port_or_known_default().unwrap_or(80));
    let listener = TcpListener::bind("127.0.0.1:0").await.context("opening a slow way to the server")?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((phone, _)) = listener.accept().await {
            let target = target.clone();
            tokio::spawn(async move {
                // If the server does not answer, the connection is closed. The phone notices that and retries.
                if let Ok(server) = TcpStream::connect(target).await {
                    let ((from_phone, to_phone), (from_server, to_server)) = (phone.into_split(), server.into_split());
                    tokio::join!(trickle(from_phone, to_server), trickle(from_server, to_phone));
                }
            });
        }
    });
    Ok(format!("http://{address}"))
}

/// Passes bytes on, late and slowly, until one side has closed.
async fn trickle(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin) {
    let mut bytes = [0; BYTES];
    let mut last = tokio::time::Instant::now() - WAY;
    while let Ok(some @ 1..) = from.read(&mut bytes).await {
        let since = last.elapsed();
        tokio::time::sleep(if since >= WAY { WAY } else { TICK }).await;
        if to.write_all(&bytes[..some]).await.is_err() {
            return;
        }
        last = tokio::time::Instant::now();
    }
    let _ = to.shutdown().await; // The connection may be closed already.
}
