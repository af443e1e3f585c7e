//! `cargo xtask conformance`: the requirements of S1 and S2, with the results of their tests in the last run.

use crate::exec;
use crate::files::{all, tell};
use crate::proof::{self, RESULTS};
use crate::results::Results;
use anyhow::{Result, bail};
use std::fs;

/// `cargo xtask conformance [--write]`: checks that each claim names its proof, and counts the rows by the results of
/// the last test run. `--write` also renders the pages with these results, or with the stored ones if no test ran.
pub fn command(write: bool) -> Result<()> {
    let (proofs, results) = (proof::read(&all()?.0), Results::kept()?);
    let root = exec::root();
    if write {
        if !results.is_empty() {
            fs::write(root.join(RESULTS), serde_json::to_string_pretty(&results.of(&proofs.conformance))? + "\n")?;
        }
        let results = serde_json::from_str(&fs::read_to_string(root.join(RESULTS))?)?;
        for (path, page) in proof::pages(&proofs.sections, &results) {
            fs::write(root.join(path), page)?;
        }
    }
    let found = if write { proof::read(&all()?.0).complaints } else { proofs.complaints };
    println!("{}", results.count(&proofs.conformance));
    tell("conformance", found)
}

/// Ends a test run: stores its results, writes the pages with them to `target/conformance.md`, and prints the counts.
/// After a run of all tests (`whole`), a named test that did not run is an error. The reason may be that no module
/// declares its file, so that it is never compiled.
pub fn report(results: &Results, whole: bool) -> Result<()> {
    results.keep()?;
    let proofs = proof::read(&all()?.0);
    let pages = proof::pages(&proofs.sections, &results.of(&proofs.conformance)).into_iter().map(|(_, page)| page);
    fs::write(exec::root().join("target/conformance.md"), pages.collect::<Vec<_>>().join("\n"))?;
    println!("{}", results.count(&proofs.conformance));
    let rows = proofs.conformance.iter().chain(&proofs.others);
    let tests = rows.flat_map(|row| row.tests.iter().map(move |test| (row, test)));
    let never = tests.filter(|(_, test)| results.one(test).is_none());
    let never: Vec<String> =
        never.map(|(row, test)| format!("  {}: {}: {}", row.reference, test.path, test.name)).collect();
    if whole && !never.is_empty() {
        bail!("tests are named as proof and did not run:\n{}", never.join("\n"));
    }
    Ok(())
}
