//! Taking connections: each on its own task, which can be ended from outside. A client that stops reading holds up only
//! itself: its stream's queue fills, and [`Connection::close`] drops the connection under it (stack.md §1).

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::auth::peer::Peer;
pub use crate::stream::Connection;

/// Time for a request's head to arrive.
const HEAD_MS: u64 = 20_000;
/// Most that is read of a connection before somebody takes it, in bytes: hyper's own would be six times as much, and hundreds of
/// phones come back at one moment, each with a megabyte.
const BUFFER_BYTES: usize = 64 * 1024;
/// Time that open requests get when the server stops.
const GRACE_MS: u64 = 10_000;
/// Pause after the system refused another connection (too many open files).
const REFUSED_MS: u64 = 200;

/// Serves until `shutdown`, then lets open requests finish, at most [`GRACE_MS`]. Returns when every connection ended.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) {
    let connections = TaskTracker::new();
    let kill = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                connections.spawn(one((stream, peer), router.clone(), shutdown.clone(), kill.child_token()));
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
    (stream, peer): (TcpStream, SocketAddr),
    router: Router,
    shutdown: CancellationToken,
    kill: CancellationToken,
) {
    // Small answers must not wait for more to say.
    let _ = stream.set_nodelay(true);
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
