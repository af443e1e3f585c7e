//! Scans: receiving, storing and judging them.

pub mod settle;
mod walk_ins;
pub mod changes;
pub mod subjects;
pub mod rejudge;
pub mod reviews;
pub mod practice;
pub mod log;
pub mod decode;
pub mod assign;
pub mod answer;
pub mod quarantine;
mod facts;
mod logs;
mod intake;
mod errors;
pub mod announce;
pub mod ingest_batch;
pub mod judge_online;
pub mod sync_offline;
pub mod office;
pub mod rebuild;
pub mod list;
pub mod export;

pub use ingest_batch::{IngestAnswer, ingest_batch};
pub use judge_online::{JudgedScan, judge_online};
pub use sync_offline::sync_offline;
