//! Messages of the binary on standard error, apart from its log.

use std::fmt::Display;
use std::io::Write as _;

/// Prints a line on standard error. If that fails, for example on a full disk, the process goes on; `eprintln` would
/// panic.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "admit: {text}");
}
