//! Every build runs every seed, every input kept from long runs, and every input that once broke a target.

use std::path::{Path, PathBuf};

use admit_fuzz::{TARGETS, Target};

/// Prints the target and the input if running it panics.
struct Tried<'a>(&'a str, String);
impl Drop for Tried<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the target `{}` broke at {}", self.0, self.1);
        }
    }
}

fn files(folder: &str, target: &Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(target.name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn replay(name: &str) {
    let target = admit_fuzz::target(name).unwrap();
    let seeds = (target.seeds)();
    assert!(seeds.len() > 1, "there is something to begin with");
    for (number, seed) in seeds.iter().enumerate() {
        let tried = Tried(target.name, format!("seed {number}"));
        (target.run)(seed);
        // Each seed is also run cut in the middle, because bodies that end early are the most common fault.
        (target.run)(&seed[..seed.len() / 2]);
        drop(tried);
    }
    for folder in ["corpus", "regressions"] {
        for file in files(folder, target) {
            let tried = Tried(target.name, file.display().to_string());
            (target.run)(&std::fs::read(&file).unwrap());
            drop(tried);
        }
    }
    (target.run)(&[]);
}

macro_rules! replayed {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed_and_every_folder_is_a_targets() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
            for folder in ["corpus", "regressions"] {
                let Ok(entries) = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) else { continue };
                for entry in entries {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    assert!(names.contains(&name.as_str()), "{folder}/{name} is no target's");
                }
            }
        }
    };
}

replayed! { code text manifest body batch log sheet workbook mapping settings webhook reduce block engine answer journal }
