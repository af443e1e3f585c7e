//! What stands before the use cases: at level 1 nothing, at level 2 the HTTP server itself, which whoever runs the
//! simulator brings along.

use std::collections::BTreeSet;
use std::sync::Arc;

use admit_app::ports::App;

use crate::server::{Reply, Request};

/// A server's HTTP half, of one life of its process.
pub trait Front {
    /// Answers a request; [`Reply::Hold`] while it holds a long poll back, which is then given up and asked again later.
    fn ask(&mut self, request: &Request) -> Reply;
}

/// Makes the HTTP half around use cases: one for each life of a process.
pub type Open = Arc<dyn Fn(App) -> Box<dyn Front> + Send + Sync>;

/// What is seen at the front.
#[derive(Default)]
pub(super) struct Seen {
    /// Batches that were answered.
    pub batches: BTreeSet<String>,
}
