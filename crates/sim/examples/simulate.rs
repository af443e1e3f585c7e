//! `cargo run --release -p admit-sim --example simulate -- [--seed N | --from N --seeds N] [--mutant WORD]`: runs the
//! simulator without the rest of the binary, for people who work on it.

use admit_sim::mutants::Mutant;
use admit_sim::{Options, run, run_seed};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).cloned();
    let number = |name: &str, or: u64| value(name).and_then(|text| text.parse().ok()).unwrap_or(or);
    let mutant = value("--mutant").and_then(|word| Mutant::from_word(&word));
    let level = number("--level", 0) as u8;
    let options = Options { mutant, keep_trace: value("--seed").is_some(), thorough: value("--seed").is_some() };
    if let Some(seed) = value("--seed").and_then(|text| text.parse().ok()) {
        let outcome = run_seed(level, seed, &options);
        for line in &outcome.trace {
            println!("{line}");
        }
        println!("{outcome}");
        return;
    }
    let report = run(level, number("--from", 0), number("--seeds", 1_000), number("--jobs", 2) as usize, &options);
    println!("{report}");
    std::process::exit(i32::from(report.failures > 0));
}
