//! The readers of bytes from outside, each as a plain function over bytes, and the promises that hold for any bytes.
//!
//! `cargo xtask fuzz` searches for bytes that break a promise (coverage-guided, by libFuzzer). `tests/replay.rs` runs
//! every seed, and every input that once broke a promise. A target returns nothing: it panics if a promise is broken.
//!
//! Modules in reading order: how bytes become choices, then the targets by what they read.
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

// Shared with the core's own tests: a server that only keeps facts, a phone around the engine, histories.
#[allow(dead_code, reason = "the core's tests use the rest")]
#[path = "../../core/tests/laws/case.rs"]
mod case;
#[allow(dead_code, reason = "the core's tests use the rest")]
#[path = "../../core/tests/laws/generator.rs"]
mod generator;
#[allow(dead_code, reason = "the core's tests use the rest")]
#[path = "../../core/tests/device/phone.rs"]
mod phone;
#[allow(dead_code, reason = "the core's tests use the rest")]
#[path = "../../core/tests/device/reply.rs"]
mod reply;
#[allow(dead_code, reason = "the core's tests use the rest")]
#[path = "../../core/tests/device/server.rs"]
mod server;
#[allow(dead_code, reason = "the program reads its arguments too")]
#[path = "../../cli/src/settings_text.rs"]
mod settings_text;
#[path = "../../server/src/body/decode.rs"]
mod decode;

mod bytes;
mod list;
mod text;
mod body;
mod batch;
mod file;
mod webhook;
mod history;
mod block;
mod door;

/// One fuzz target.
pub struct Target {
    /// The target's name, which is also the name of its folders.
    pub name: &'static str,
    /// The input of the target, in words.
    pub about: &'static str,
    /// Runs the target on an input. It panics if a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to begin with: well-formed ones, and a few that are almost well-formed.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target {
        name: "code",
        about: "what a reader reads: codes, links, names",
        run: text::code,
        seeds: text::code_seeds,
    },
    Target {
        name: "text",
        about: "times, cursors, witnesses, keys, signatures, identifiers",
        run: text::text,
        seeds: text::text_seeds,
    },
    Target {
        name: "manifest",
        about: "the signed list and the signed names, whole and as changes, in both forms",
        run: list::manifest,
        seeds: list::seeds,
    },
    Target {
        name: "body",
        about: "a request's body before it is known whose it is: packed, nested, no JSON",
        run: body::body,
        seeds: body::seeds,
    },
    Target {
        name: "batch",
        about: "bodies that bring scans: S1's form, ours, S2's, and questions",
        run: batch::batch,
        seeds: batch::seeds,
    },
    Target { name: "log", about: "an exported log, line by line", run: file::log, seeds: file::log_seeds },
    Target {
        name: "sheet",
        about: "text files of guests and tickets, in whatever encoding",
        run: file::sheet,
        seeds: file::sheet_seeds,
    },
    Target { name: "workbook", about: "XLSX workbooks", run: file::workbook, seeds: file::workbook_seeds },
    Target {
        name: "mapping",
        about: "what a person says about a file, and the file",
        run: file::mapping,
        seeds: file::mapping_seeds,
    },
    Target { name: "settings", about: "the file of settings", run: file::settings, seeds: file::settings_seeds },
    Target {
        name: "webhook",
        about: "headers, body and columns of a webhook",
        run: webhook::webhook,
        seeds: webhook::seeds,
    },
    Target {
        name: "reduce",
        about: "histories of scans, reviews and rules, in any order",
        run: history::reduce,
        seeds: history::seeds,
    },
    Target { name: "block", about: "scans as they are stored", run: block::block, seeds: block::seeds },
    Target { name: "engine", about: "the scanner, whatever happens around it", run: door::engine, seeds: door::seeds },
    Target {
        name: "answer",
        about: "the scanner, whatever a server answers",
        run: door::answer,
        seeds: door::answer_seeds,
    },
    Target {
        name: "journal",
        about: "the scanner, whatever its storage holds",
        run: door::journal,
        seeds: door::journal_seeds,
    },
];

/// The target with this name, if there is one.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
