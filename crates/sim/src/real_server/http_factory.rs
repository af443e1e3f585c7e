//! The layer before the use cases: none at level 1, the HTTP server at level 2. The program that runs the simulator
//! provides that server.

use std::collections::BTreeSet;
use std::sync::Arc;

use admit_app::ports::App;

use crate::server::{Reply, Request};

/// The HTTP part of a server, from one start of its process to its end.
pub trait HttpServer {
    /// Answers a request. [`Reply::Hold`]: the server holds a long poll back. The caller then gives the request up and
    /// sends it again later.
    fn ask(&mut self, request: &Request) -> Reply;
}

/// Makes the HTTP part around use cases, once for each start of the simulated server's process.
pub type Open = Arc<dyn Fn(App) -> Box<dyn HttpServer> + Send + Sync>;

/// The knowledge from the answers over HTTP.
#[derive(Default)]
pub(super) struct Seen {
    /// The batches that were answered.
    pub batches: BTreeSet<String>,
}
