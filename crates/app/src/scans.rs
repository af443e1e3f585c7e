//! Scans: taking them in, judging them.

pub mod rejudge;
pub mod log;
pub mod decode;
pub mod answer;
pub mod ingest_batch;
pub mod rebuild;
pub mod list;

pub use ingest_batch::{IngestAnswer, ingest_batch};
