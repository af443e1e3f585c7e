//! The layer before the use cases: at level 1 none, at level 2 the HTTP server itself. The program that runs the
//! simulator brings it along.

use std::collections::BTreeSet;
use std::sync::Arc;

use admit_app::ports::App;

use crate::server::{Reply, Request};

/// A server's HTTP half, of one life of its process.
pub trait HttpServer {
    /// Answers a request; [`Reply::Hold`] while it holds a long poll back, which is then given up and asked again later.
    fn ask(&mut self, request: &Request) -> Reply;
}

/// Makes the HTTP half around use cases: one for each life of a process.
pub type Open = Arc<dyn Fn(App) -> Box<dyn HttpServer> + Send + Sync>;

/// The states that HTTP answers showed.
#[derive(Default)]
pub(super) struct Seen {
    /// Batches that were answered.
    pub batches: BTreeSet<String>,
}
