//! `admit-fuzz-seeds FOLDER` writes the first inputs of each target into a folder per target, and prints the targets'
//! names.

use std::path::Path;

use admit_fuzz::TARGETS;
use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).context("admit-fuzz-seeds FOLDER")?;
    for target in TARGETS {
        let folder = Path::new(&folder).join(target.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:02}")), seed)?;
        }
        println!("{}\t{}", target.name, target.about);
    }
    Ok(())
}
