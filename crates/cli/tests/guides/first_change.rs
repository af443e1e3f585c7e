//! Tests `docs/first-change.md`. Its patch applies to the tree, the page shows the patch's content, and a tree with
//! the patch builds and passes the patch's own test.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::reader::Guide;

const PAGE: &str = include_str!("../../../../docs/first-change.md");
const PATCH: &str = include_str!("../../../../docs/first-change.patch");
/// The number of files in the patch that the page names but does not show.
const ONLY_NAMED: usize = 6;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a command in a folder, which must succeed.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let run = command.args(arguments).current_dir(folder).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{program} {arguments:?}\n{out}{err}");
    out.into_owned()
}

#[test]
fn the_first_change_applies_and_is_what_the_page_shows() {
    let mut guide = Guide::open(PAGE);
    let apply = guide.take("sh", "git apply");
    let words: Vec<&str> = apply.split_whitespace().chain(["--check"]).collect();
    run(&root(), words[0], &words[1..]);
    let added: Vec<&str> = PATCH.lines().filter(|line| line.starts_with('+')).collect();
    let files = PATCH.lines().filter(|line| line.starts_with("+++ ")).count();
    let shown = PAGE.matches("```diff").count();
    for _ in 0..shown {
        let block = guide.take("diff", "+");
        for line in block.lines().filter(|line| line.starts_with('+')) {
            assert!(added.contains(&line), "the patch has no line {line}");
        }
    }
    assert_eq!(shown + ONLY_NAMED, files, "the page shows or names each file of the patch");
    guide.take("sh", "cargo test -p admit-server --test it pronouns");
    guide.ends();
}

/// Takes minutes, so it runs only with the long tests.
#[test]
fn the_first_change_builds_and_its_test_passes() {
    if std::env::var_os("ADMIT_LONG").is_none() {
        return;
    }
    let (root, folder) = (root(), tempfile::Builder::new().prefix("admit-first-change-").tempdir().unwrap());
    let files = run(&root, "git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for file in files.split('\0').filter(|file| !file.is_empty() && root.join(file).is_file()) {
        let to = folder.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(root.join(file), to).unwrap();
    }
    run(folder.path(), "git", &["apply", "docs/first-change.patch"]);
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let target = root.join("target/first-change").display().to_string();
    run(
        folder.path(),
        "env",
        &[
            &format!("CARGO_TARGET_DIR={target}"),
            &cargo,
            "test",
            "--locked",
            "-p",
            "admit-server",
            "--test",
            "it",
            "pronouns",
        ],
    );
}
