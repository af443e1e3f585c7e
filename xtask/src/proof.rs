//! Every claim and the tests that prove it: the rows of S1 and S2 (`docs/conformance/*.toml`), `docs/faults.md`,
//! `docs/promises.md` with the README, and the figures that rows name (`docs/figures.md`).
//!
//! A row without a test, a figure or a decision is a complaint, and so is a test or figure that doesn't exist.

use crate::files::{Complaint, File};
use crate::{docs, markdown};
use regex::Regex;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use toml::Spanned;

/// The folder with the rows of S1 and S2: one data file per section, and beside it the rendered page.
const FOLDER: &str = "docs/conformance/";
/// The result of each row in the last run that `--write` recorded.
pub const RESULTS: &str = "docs/conformance/results.json";
const FIGURES: &str = "docs/figures.md";
const STALE: &str = "is not what its rows and their results say: `cargo xtask conformance --write` renders it";
/// The pages of numbered rows: the page, the word for one row, and the number of rows.
const FAULTS: (&str, &str, usize) = ("docs/faults.md", "fault", 40);
const PROMISES: (&str, &str, usize) = ("docs/promises.md", "promise", 8);
/// The README lists the promises too, under the same heading as their page.
const README: &str = "README.md";
const PROMISED: &str = "What Admit promises";
/// The tests that every store must pass. A macro in this file makes a test of each of its functions in each store
/// crate.
const SUITE: &str = "crates/app/src/store_suite.rs";

/// A test: `crates/core/src/rate.rs: the_name` or `web/e2e/story.test.ts: the title`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The path from the repository's root, with forward slashes.
    pub path: String,
    /// The name of the function, or the title of the test.
    pub name: String,
}

/// A claim, and its proof.
#[derive(Clone, Debug)]
pub struct Row {
    /// `S1 §5.2 …`, `fault 7`, `promise 3`.
    pub reference: String,
    /// The tests that prove it.
    pub tests: Vec<Test>,
    /// The figures that prove it, by their names in `docs/figures.md`.
    pub figures: Vec<String>,
    /// The file that has the row.
    pub page: String,
    /// The line of the row in that file, from 1.
    pub line: usize,
}

/// A file of rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    title: String,
    /// The numbers of the source's paragraphs. Each needs at least one row.
    paragraphs: Vec<String>,
    rows: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    row: Spanned<String>,
    says: String,
    /// If the specification differs from the source in this row: the decision about it, and what holds instead.
    /// Otherwise empty.
    #[serde(default)]
    decided: String,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    measured: Vec<String>,
}

impl Test {
    /// Reads `path: name`.
    fn read(text: &str) -> Option<Test> {
        let (path, name) = text.split_once(": ")?;
        let source = path.ends_with(".rs") || path.ends_with(".test.ts");
        (source && !name.is_empty()).then(|| Test { path: path.to_owned(), name: name.to_owned() })
    }

    /// Whether the test is a contract of the store suite.
    pub fn of_suite(&self) -> bool {
        self.path.strip_prefix(SUITE.trim_end_matches(".rs")).is_some_and(|rest| rest.starts_with('/'))
    }

    /// A complaint, if its file has no such test.
    fn fault(&self, files: &Files) -> Option<String> {
        let Test { path, name } = self;
        let Some(file) = files.get(path.as_str()) else { return Some(format!("there is no {path}")) };
        if !path.ends_with(".rs") {
            let title = format!(
                r#"(?-u:\b)(?:test|it)((?:\.[a-zA-Z]+(?:\([^()]*\))?)*)\(\s*["'`]{}["'`]"#,
                regex::escape(name)
            );
            let calls = Regex::new(&title).expect("a title is escaped");
            let runs = |call: regex::Captures| !call[1].contains(".skip") || call[1].contains(".skipIf");
            let found = calls.captures_iter(&file.text).any(|call| !call[1].contains(".todo") && runs(call));
            return (!found).then(|| format!("there is no test \"{name}\" in {path}"));
        }
        let mut found = file.source.functions.iter().filter(|(function, _)| function == name);
        let listed = || files.get(SUITE)?.source.paths.iter().find(|path| path.segments == [name.as_str()]);
        let is_test = |attribute: &String| attribute == "test" || attribute.starts_with("tokio::test");
        let (suite, listed) = (self.of_suite(), self.of_suite() && listed().is_some());
        match found.find(|(_, attributes)| listed || !suite && attributes.iter().any(is_test)) {
            None => Some(format!("there is no test `{name}` in {path}")),
            Some((_, attributes)) if attributes.iter().any(|attribute| attribute.starts_with("ignore")) => {
                Some(format!("`{name}` in {path} is ignored: it proves nothing"))
            }
            Some(_) => None,
        }
    }
}

type Files<'a> = BTreeMap<&'a str, &'a File>;

/// All rows, and the complaints about them.
pub struct Proofs {
    /// The rows of S1 and S2.
    pub conformance: Vec<Row>,
    /// The rows of the faults and promises.
    pub others: Vec<Row>,
    /// The complaints about any row.
    pub complaints: Vec<Complaint>,
    /// The files of rows by their paths.
    pub sections: BTreeMap<String, Section>,
}

/// Reads all rows and checks them.
pub fn read(files: &[File]) -> Proofs {
    let all: Files = files.iter().map(|file| (file.path.as_str(), file)).collect();
    let text = |path: &str| all.get(path).map_or("", |file| file.text.as_str());
    let (mut sections, mut found) = (BTreeMap::new(), Vec::new());
    for (path, file) in all.iter().filter(|(path, _)| path.starts_with(FOLDER) && path.ends_with(".toml")) {
        match toml::from_str::<Section>(&file.text) {
            Ok(section) => drop(sections.insert((*path).to_owned(), section)),
            Err(error) => found.push(Complaint((*path).to_owned(), 0, format!("is no file of rows: {error}"))),
        }
    }
    let rows = sections.iter().map(|(path, section)| section.rows(path, text(path), &mut found));
    let conformance: Vec<Row> = rows.collect::<Vec<_>>().concat();
    let faults = faults(text(FAULTS.0), &mut found);
    let promises = promises(text(PROMISES.0), &mut found);
    found.extend(numbers_are_whole(&faults, FAULTS).into_iter().chain(numbers_are_whole(&promises, PROMISES)));
    let others = [faults, promises].concat();
    figures(text(FIGURES), &conformance, &mut found);
    readme(text(README), &mut found);
    let mut seen = BTreeSet::new();
    for row in conformance.iter().chain(&others) {
        let twice = (!seen.insert(&row.reference)).then(|| format!("`{}` has two rows", row.reference));
        let gone = row.tests.iter().filter_map(|test| test.fault(&all));
        found.extend(twice.into_iter().chain(gone).map(|message| row.complaint(message)));
    }
    let results = serde_json::from_str(text(RESULTS)).unwrap_or_default();
    let stale = pages(&sections, &results).into_iter().filter(|(path, page)| text(path) != page);
    found.extend(stale.map(|(path, _)| Complaint(path, 0, STALE.to_owned())));
    Proofs { conformance, others, complaints: found, sections }
}

impl Section {
    fn rows(&self, path: &str, text: &str, found: &mut Vec<Complaint>) -> Vec<Row> {
        let mut rows = Vec::new();
        for claim in &self.rows {
            let tests: Vec<Option<Test>> = claim.tests.iter().map(|test| Test::read(test)).collect();
            let row = Row {
                page: path.to_owned(),
                line: text[..claim.row.span().start].matches('\n').count() + 1,
                reference: claim.row.get_ref().clone(),
                tests: tests.iter().flatten().cloned().collect(),
                figures: claim.measured.clone(),
            };
            if claim.says.is_empty() || tests.contains(&None) {
                found.push(
                    row.complaint(format!("`{}` says nothing, or its tests are not `path: name`", row.reference)),
                );
            }
            if tests.is_empty() && row.figures.is_empty() && claim.decided.is_empty() {
                found.push(row.complaint(format!("`{}` needs a test, a figure or a decision", row.reference)));
            }
            rows.push(row);
        }
        let is_of = |row: &Row, name: &str| {
            let rest = row.reference.strip_prefix(name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
        };
        let bare = self.paragraphs.iter().filter(|name| !rows.iter().any(|row| is_of(row, name)));
        found.extend(bare.map(|name| Complaint(path.to_owned(), 0, format!("{name} has no row"))));
        rows
    }
}

impl Row {
    fn complaint(&self, message: String) -> Complaint {
        Complaint(self.page.clone(), self.line, message)
    }

    fn numbered((page, word, _): (&str, &str, usize), line: usize, number: &str, tests: Vec<Test>) -> Row {
        let reference = format!("{word} {number}");
        Row { reference, tests, figures: Vec::new(), page: page.to_owned(), line }
    }
}

fn faults(text: &str, found: &mut Vec<Complaint>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, cells) in markdown::rows(text) {
        let [number, what, required, proof] = cells[..] else { continue };
        let pieces = proof.split("<br>").map(|piece| Test::read(piece.trim().strip_prefix('`')?.strip_suffix('`')?));
        let tests: Option<Vec<Test>> = pieces.collect();
        let row = Row::numbered(FAULTS, line, number, tests.unwrap_or_default());
        if what.is_empty() || required.is_empty() || row.tests.is_empty() {
            found.push(row.complaint(format!("fault {number} needs what happens, what must come of it, and tests")));
        }
        rows.push(row);
    }
    rows
}

fn promises(text: &str, found: &mut Vec<Complaint>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (line, number, item) in markdown::items(text, PROMISED) {
        let path = |target: &str| docs::beside(PROMISES.0, target);
        let links = markdown::links(item).into_iter();
        let tests = links.filter_map(|link| Test::read(&format!("{}: {}", path(&item[link.target])?, link.text)));
        let row = Row::numbered(PROMISES, line, &number.to_string(), tests.collect());
        if row.tests.is_empty() {
            found.push(row.complaint(format!("promise {number} names no test: [`name`](file)")));
        }
        rows.push(row);
    }
    rows
}

/// Complains unless the rows have the numbers from 1 to `count`, and no others.
fn numbers_are_whole(rows: &[Row], (page, word, count): (&str, &str, usize)) -> Vec<Complaint> {
    let wanted: BTreeSet<String> = (1..=count).map(|number| format!("{word} {number}")).collect();
    let there: BTreeSet<String> = rows.iter().map(|row| row.reference.clone()).collect();
    let gone = wanted.difference(&there).map(|one| Complaint(page.to_owned(), 0, format!("{one} is missing")));
    let more = rows.iter().filter(|row| !wanted.contains(&row.reference));
    gone.chain(more.map(|row| row.complaint(format!("there is no {}", row.reference)))).collect()
}

/// Complains about a figure that a row names and the page lacks, and about a figure that no row names.
fn figures(text: &str, rows: &[Row], found: &mut Vec<Complaint>) {
    let mut figures = BTreeMap::new();
    for (line, cells) in markdown::rows(text) {
        let whole = cells.len() == 5 && cells.iter().all(|cell| !cell.is_empty());
        let twice = figures.insert(cells[0], line).is_some();
        if twice || !whole {
            let wanted = "name, value, limit of the source, condition, command";
            found.push(Complaint(FIGURES.to_owned(), line, format!("a figure has one row of five cells: {wanted}")));
        }
    }
    let named = rows.iter().flat_map(|row| row.figures.iter().map(move |figure| (row, figure.as_str())));
    for (row, figure) in named.clone().filter(|(_, figure)| !figures.contains_key(figure)) {
        found.push(row.complaint(format!("there is no figure `{figure}` in {FIGURES}")));
    }
    for (name, line) in figures.iter().filter(|(name, _)| !named.clone().any(|(_, figure)| figure == **name)) {
        found.push(Complaint(FIGURES.to_owned(), *line, format!("no row names `{name}`: remove it")));
    }
}

/// Complains unless the README lists each promise and links the page with their tests.
fn readme(text: &str, found: &mut Vec<Complaint>) {
    let numbers: Vec<usize> = markdown::items(text, PROMISED).into_iter().map(|(_, number, _)| number).collect();
    let linked = markdown::links(text).into_iter().any(|link| text[link.target] == *PROMISES.0);
    if !linked || numbers != (1..=PROMISES.2).collect::<Vec<_>>() {
        let message = format!("needs a line of each promise under `{PROMISED}`, and a link to {}", PROMISES.0);
        found.push(Complaint(README.to_owned(), 0, message));
    }
}

/// The pages of S1 and S2: their paths and texts.
pub fn pages(sections: &BTreeMap<String, Section>, results: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for (path, Section { title, rows, .. }) in sections {
        let name = path.trim_start_matches(FOLDER);
        let mut page =
            format!("# {title}\n\n`cargo xtask conformance --write` makes this page of [{name}]({name}).\n\n");
        page += "| Row | What it says | Decided | Proof | Result |\n|---|---|---|---|---|\n";
        for Claim { row, says, decided, tests, measured } in rows {
            let tests = tests.iter().map(|test| format!("`{test}`"));
            let proof = tests.chain(measured.iter().map(|figure| format!("measured: {figure}"))).collect::<Vec<_>>();
            let result = results.get(row.get_ref()).map_or("not run", String::as_str);
            let proof = if proof.is_empty() { "decided".to_owned() } else { proof.join("<br>") };
            let _ = writeln!(page, "| {} | {says} | {decided} | {proof} | {result} |", row.get_ref());
        }
        pages.push((path.replace(".toml", ".md"), page));
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "#[test]\nfn holds() {}\nfn helper() {}\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn waits() {}\n\
                        mod m { #[test] #[ignore = \"slow\"] fn slow() {} }\nproptest! { #[test] fn any(a in b()) {} }\n";
    const WEB: &str = "test(\"it holds: always\", f);\ntest.skipIf(slow)(\n  'at times', f);\nit.skip(\"left out\", f);\n// \"told\"\n";
    const ROWS: &str = "title = \"S1 §1\"\nparagraphs = [\"S1 §1.1\"]\n[[rows]]\nrow = \"S1 §1.1\"\nsays = \"a\"\n\
                        tests = [\"a.rs: holds\"]\nmeasured = [\"ingest\"]\n[[rows]]\nrow = \"S1 §1.10\"\nsays = \"b\"\ndecided = \"D1\"\n";

    /// The complaints about a sample repository without faults, after this function replaced `old` by `new` in the file
    /// `path`.
    fn wrong(path: &str, old: &str, new: &str) -> Vec<String> {
        let fault = |n: usize| format!("| {n} | what | must | `a.rs: holds`<br>`web/a.test.ts: it holds: always` |\n");
        let promise = |n: usize| {
            format!("{n}. A promise.\n   [`holds`](../a.rs),\n   [`it holds:\n   always`](../web/a.test.ts)\n")
        };
        let head = "| # | a | b | c |\n|---|---|---|---|\n";
        let mut texts = BTreeMap::from([
            ("a.rs", RUST.to_owned()),
            ("web/a.test.ts", WEB.to_owned()),
            (SUITE, "suite! { scans: kept, other; }".to_owned()),
            ("crates/app/src/store_suite/scans.rs", "pub async fn kept() {}\npub async fn lost() {}".to_owned()),
            (FAULTS.0, (1..=40).map(fault).fold(head.to_owned(), |page, row| page + &row)),
            (PROMISES.0, (1..=8).map(promise).fold(format!("# {PROMISED}\n\n"), |page, item| page + &item)),
            (
                README,
                (1..=8)
                    .map(|n| format!("{n}. A promise.\n"))
                    .fold(format!("[p]({})\n\n## {PROMISED}\n\n", PROMISES.0), |a, b| a + &b),
            ),
            (
                FIGURES,
                "| a | b | c | d | e |\n|---|---|---|---|---|\n| ingest | 6 | 2 s | two cores | `make bench` |\n"
                    .to_owned(),
            ),
            ("docs/conformance/s1-01.toml", ROWS.to_owned()),
            (RESULTS, "{\"S1 §1.1\": \"measured\"}".to_owned()),
        ]);
        let files = |texts: &BTreeMap<&str, String>| -> Vec<File> {
            texts.iter().map(|(path, text)| File::read(path, text.clone(), &mut Vec::new())).collect()
        };
        let changed = texts[path].replacen(old, new, 1);
        assert!(old.is_empty() || changed != texts[path], "{old} is not in {path}");
        texts.insert(path, changed);
        let page =
            pages(&read(&files(&texts)).sections, &BTreeMap::from([("S1 §1.1".to_owned(), "measured".to_owned())]));
        texts.extend(page.first().map(|(_, page)| ("docs/conformance/s1-01.md", page.clone())));
        read(&files(&texts)).complaints.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_row_is_proven_by_what_exists() {
        assert_eq!(wrong("a.rs", "", ""), [""; 0]);
        let rows = "docs/conformance/s1-01.toml";
        let test = |test: &str| wrong(rows, "a.rs: holds", test);
        for good in ["a.rs: waits", "a.rs: any", "web/a.test.ts: at times", "crates/app/src/store_suite/scans.rs: kept"]
        {
            assert_eq!(test(good), [""; 0], "{good}");
        }
        for bad in [
            "a.rs: helper",
            "a.rs: hold",
            "a.rs: slow",
            "b.rs: holds",
            "web/a.test.ts: left out",
            "web/a.test.ts: told",
            "crates/app/src/store_suite/scans.rs: lost",
            "a.rs",
        ] {
            assert_eq!(test(bad).len(), 1, "{bad}: {:?}", test(bad));
        }
        assert_eq!(test("a.rs: gone"), ["docs/conformance/s1-01.toml:4: there is no test `gone` in a.rs"]);
        assert_eq!(wrong(rows, "§1.10", "§1.1"), ["docs/conformance/s1-01.toml:9: `S1 §1.1` has two rows"]);
        assert_eq!(
            wrong(rows, "row = \"S1 §1.1\"", "row = \"S1 §1.11\""),
            ["docs/conformance/s1-01.toml: S1 §1.1 has no row"]
        );
        assert_eq!(
            wrong(rows, "decided = \"D1\"\n", ""),
            ["docs/conformance/s1-01.toml:9: `S1 §1.10` needs a test, a figure or a decision"]
        );
        assert_eq!(wrong(rows, "\"ingest\"", "\"other\"").len(), 2, "one is not there, one is not named");
        assert_eq!(wrong(RESULTS, "measured", "failed"), [format!("docs/conformance/s1-01.md: {STALE}")]);
        assert_eq!(wrong(FIGURES, "two cores", "").len(), 1);
    }

    #[test]
    fn faults_and_promises_are_whole() {
        for (path, old, new, expected) in [
            (
                FAULTS.0,
                "| 40 |",
                "| 41 |",
                &["docs/faults.md: fault 40 is missing", "docs/faults.md:42: there is no fault 41"][..],
            ),
            (
                FAULTS.0,
                "| 40 |",
                "| 39 |",
                &["docs/faults.md: fault 40 is missing", "docs/faults.md:42: `fault 39` has two rows"],
            ),
            (
                FAULTS.0,
                "`a.rs: holds`<br>",
                "see the code<br>",
                &["docs/faults.md:3: fault 1 needs what happens, what must come of it, and tests"],
            ),
            (
                PROMISES.0,
                "[`holds`](../a.rs)",
                "[`fell`](../a.rs)",
                &["docs/promises.md:3: there is no test `fell` in a.rs"],
            ),
            (PROMISES.0, "\n8. ", "\n\n## Next\n\n8. ", &["docs/promises.md: promise 8 is missing"]),
            (
                README,
                "8. A promise.\n",
                "",
                &[
                    "README.md: needs a line of each promise under `What Admit promises`, and a link to docs/promises.md",
                ],
            ),
        ] {
            assert_eq!(wrong(path, old, new), expected, "{path}: {new}");
        }
    }
}
