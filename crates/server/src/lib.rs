//! The HTTP server: routes, extractors, the live stream, adapters. Only this crate uses HTTP.
//!
//! Modules are listed in reading order; a file imports only from those above it (law 12).
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

pub mod config;
pub mod telemetry;
pub mod events;
pub mod error;
pub mod strict;
pub mod body;
pub mod encoding;
pub mod adapters;
pub mod otlp;
pub mod finding;
pub mod state;
pub mod auth;
pub mod checkup;
pub mod tls;
pub mod stream;
pub mod background_tasks;
pub mod assets;
pub mod docs;
pub mod openapi;
pub mod routes;
pub mod router;
pub mod listen;

pub use config::Settings;
pub use router::{metrics_router, router};
pub use state::AppState;
