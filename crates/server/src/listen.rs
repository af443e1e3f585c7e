//! Accepts connections, each on its own task, which can be ended from outside. A client that stops reading delays only
//! itself: its stream's queue fills up, and [`Connection::close`] then drops its connection.
//!
//! [`serve`] and [`serve_tls`] return boxed futures, so this crate compiles the loop of a connection, for speed. A plain
//! `async fn` is compiled by the crate that awaits it. That crate is `admit`, which a release optimises for size.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::auth::peer::Peer;
pub use crate::stream::Connection;
use crate::tls::Tls;

/// The time limit for the head of a request, in milliseconds.
const HEAD_MS: u64 = 20_000;
/// The most bytes that are read ahead on a connection. Hyper's default is six times as much, and after an outage
/// hundreds of phones send a megabyte each.
const BUFFER_BYTES: usize = 64 * 1024;
/// The time that open requests get when the server stops, in milliseconds.
const GRACE_MS: u64 = 10_000;
/// The pause after the system refused another connection (too many open files), in milliseconds.
const REFUSED_MS: u64 = 200;

/// The first byte of a client that speaks TLS (RFC 8446 §5.1: a handshake record).
const HANDSHAKE: u8 = 0x16;

/// The services that answer a connection.
#[derive(Clone)]
struct Answering {
    router: Router,
    /// The TLS settings, and the router for clients without TLS; `None` on a listener without TLS.
    tls: Option<(Tls, Router)>,
}

/// Serves by TLS, like [`serve`]. A client without TLS is redirected to https, or gets the page that explains how to
/// trust the local authority.
pub fn serve_tls(
    listener: TcpListener,
    tls: Tls,
    router: Router,
    shutdown: CancellationToken,
) -> BoxFuture<'static, ()> {
    let plain = tls.plain();
    let answering = Answering { router: router.merge(tls.pages()), tls: Some((tls, plain)) };
    take_connections(listener, answering, shutdown).boxed()
}

/// Serves until `shutdown`, then waits at most [`GRACE_MS`] for open requests. Returns when every connection has
/// ended.
pub fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) -> BoxFuture<'static, ()> {
    take_connections(listener, Answering { router, tls: None }, shutdown).boxed()
}

async fn take_connections(listener: TcpListener, answering: Answering, shutdown: CancellationToken) {
    let connections = TaskTracker::new();
    let kill = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                connections.spawn(one(stream, peer, answering.clone(), shutdown.clone(), kill.child_token()));
            }
            Err(error) => {
                tracing::warn!(%error, "no connection could be taken");
                tokio::time::sleep(Duration::from_millis(REFUSED_MS)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(Duration::from_millis(GRACE_MS), connections.wait()).await.is_err() {
        tracing::warn!(open = connections.len(), "requests still open are cut off");
        kill.cancel();
        connections.wait().await;
    }
}

async fn one(
    stream: TcpStream,
    peer: SocketAddr,
    answering: Answering,
    shutdown: CancellationToken,
    kill: CancellationToken,
) {
    // Without this option small answers wait for more data.
    let _ = stream.set_nodelay(true);
    let Some((tls, plain)) = answering.tls else {
        return converse(stream, peer, answering.router, shutdown, kill).await;
    };
    let limit = Duration::from_millis(HEAD_MS);
    let shaking = async {
        let mut first = [0];
        let said = tokio::select! {
            said = tokio::time::timeout(limit, stream.peek(&mut first)) => said??,
            // Browsers open connections before they have a request.
            () = shutdown.cancelled() => 0,
        };
        if said == 0 {
            return Ok(());
        }
        if first[0] != HANDSHAKE {
            converse(stream, peer, plain, shutdown.clone(), kill.clone()).await;
            return Ok(());
        }
        let config = tls.config(stream.local_addr()?.ip()).map_err(std::io::Error::other)?;
        let stream = tokio_rustls::TlsAcceptor::from(config).accept(stream);
        let stream = tokio::time::timeout(limit, stream).await??;
        converse(stream, peer, answering.router, shutdown.clone(), kill.clone()).await;
        Ok::<(), std::io::Error>(())
    };
    let ended = tokio::select! {
        ended = shaking => ended,
        () = kill.cancelled() => return,
    };
    // A phone that does not trust the certificate yet ends the handshake. That is no reason for a warning.
    if let Err(error) = ended {
        tracing::debug!(%error, %peer, "a connection ended before it spoke TLS");
    }
}

/// Speaks HTTP on a connection until it ends.
async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: SocketAddr,
    router: Router,
    shutdown: CancellationToken,
    kill: CancellationToken,
) {
    let connection = Connection::new(kill.clone());
    let service = tower::service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(connection.clone());
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request.map(axum::body::Body::new) as Request)
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_millis(HEAD_MS)).max_buf_size(BUFFER_BYTES);
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(serving);
    let mut stopping = false;
    loop {
        tokio::select! {
            _ = serving.as_mut() => return,
            () = kill.cancelled() => return,
            () = shutdown.cancelled(), if !stopping => {
                stopping = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    }
}
