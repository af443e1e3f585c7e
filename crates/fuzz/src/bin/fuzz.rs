//! The program around libFuzzer: `ADMIT_FUZZ_TARGET` says which target it tries. Built by `cargo xtask fuzz` alone, which
//! has the compiler count what each input reaches.

#![no_main]

use std::sync::OnceLock;

use admit_fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<&Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("ADMIT_FUZZ_TARGET").unwrap_or_default();
        let chosen = target(&name).unwrap_or_else(|| panic!("ADMIT_FUZZ_TARGET names no target: {name:?}"));
        // Once: nobody has set it before.
        let _ = CHOSEN.set(chosen);
    },
    |bytes: &[u8]| {
        if let Some(chosen) = CHOSEN.get() {
            (chosen.run)(bytes);
        }
    }
);
