//! The program around libFuzzer. `ADMIT_FUZZ_TARGET` names the target that it runs. Only `cargo xtask fuzz` builds it,
//! because the compiler must count the code that each input reaches.

#![no_main]

use std::sync::OnceLock;

use admit_fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<&Target> = OnceLock::new();

/// libFuzzer's hook ends the process at every panic. Panics of `calamine`, which reads workbooks, are expected:
/// `admit_table` catches them and answers that the file cannot be read. So they are not findings.
fn pass_over_the_reader_of_workbooks() {
    let ends = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/calamine-")) {
            ends(panic);
        }
    }));
}

fuzz_target!(
    init: {
        let name = std::env::var("ADMIT_FUZZ_TARGET").unwrap_or_default();
        let chosen = target(&name).unwrap_or_else(|| panic!("ADMIT_FUZZ_TARGET names no target: {name:?}"));
        // This runs once, so nothing has set it before.
        let _ = CHOSEN.set(chosen);
        pass_over_the_reader_of_workbooks();
    },
    |bytes: &[u8]| {
        if let Some(chosen) = CHOSEN.get() {
            (chosen.run)(bytes);
        }
    }
);
