//! The SQL of both backends as plain constants, with one file per noun, and the one transaction (`SqlTx`) that both
//! backends drive.
//!
//! Modules are listed in reading order; a file imports only from those above it (law 12). `tickets` and `guests` name
//! each other's columns in joins, so the columns that they share are declared above them.

pub mod value;
pub mod block_index;
pub mod driver;
pub mod constraints;
pub mod hooks;
pub mod spans;
pub mod contents;
pub mod moving;
mod uncommitted;
mod page;
mod text;
mod compressed;
mod heads;
mod tx;
mod indexed;
mod accounts;
mod events;
mod gates;
pub mod state_codec;
mod state_blocks;
mod states;
mod guests;
mod tickets;
mod imports;
mod walk_ins;
mod erasure;
mod blocks;
mod facts;
mod incidents;
mod scans;
mod devices;
mod batches;
mod jobs;
mod webhooks;
pub mod prefetch;
mod write_group;
pub mod directory;
pub mod pairing_requests;
pub mod mail_lane;
pub mod job_queue;

pub use tx::{SqlTx, run_read};
pub use uncommitted::Uncommitted;
pub use write_group::{Books, WriteGroup, run_write, run_write_after};

use driver::{Bulk, Stmt};

/// Every statement of this crate. A test prepares each of them against both real schemas.
pub fn statements() -> impl Iterator<Item = &'static Stmt> {
    let nouns = [
        heads::STATEMENTS,
        accounts::STATEMENTS,
        events::STATEMENTS,
        gates::STATEMENTS,
        state_blocks::STATEMENTS,
        states::STATEMENTS,
        guests::STATEMENTS,
        tickets::STATEMENTS,
        imports::STATEMENTS,
        walk_ins::STATEMENTS,
        erasure::STATEMENTS,
        blocks::STATEMENTS,
        facts::STATEMENTS,
        scans::STATEMENTS,
        incidents::STATEMENTS,
        batches::STATEMENTS,
        devices::STATEMENTS,
        jobs::STATEMENTS,
        webhooks::STATEMENTS,
        directory::STATEMENTS,
        pairing_requests::STATEMENTS,
        mail_lane::STATEMENTS,
        job_queue::STATEMENTS,
    ];
    nouns.into_iter().flatten().copied()
}

/// Every bulk change of this crate.
pub fn bulks() -> impl Iterator<Item = &'static Bulk> {
    let nouns = [
        events::BULKS,
        state_blocks::BULKS,
        states::BULKS,
        guests::BULKS,
        tickets::BULKS,
        imports::BULKS,
        walk_ins::BULKS,
        blocks::BULKS,
        facts::BULKS,
        scans::BULKS,
        incidents::BULKS,
        devices::BULKS,
        batches::BULKS,
        jobs::BULKS,
    ];
    nouns.into_iter().flatten().copied()
}
