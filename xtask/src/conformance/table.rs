//! Reads and writes the list: rows of five cells in Markdown tables.

use super::named::Named;
use std::collections::BTreeMap;

/// The proof of a row. If a row has several kinds, the one that comes last here counts, because half a proof is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// The row names tests.
    Tests,
    /// The row names figures: times that `make bench` measures and no test asserts.
    Measured,
    /// The specification decided otherwise, so there is nothing to prove.
    Decided,
    /// Later work will prove it. Such a row is counted, and it is a fault.
    Later,
    /// No test shows it yet, or not all of it.
    Unproven,
}

/// One row: `| Row | What it says | Decided | Proof | Result |`.
#[derive(Debug)]
pub struct Row {
    /// The line in the list, counted from 1.
    pub line: usize,
    /// The first cell, such as `S1 §5.2 …`.
    pub reference: String,
    /// The kind of proof that counts.
    pub proof: Proof,
    /// The tests that the row names. An unproven row may name some too.
    pub tests: Vec<Named>,
    /// The figures that the row names, as `docs/figures.md` calls them.
    pub figures: Vec<String>,
}

/// The list: its rows, and how many of them may be unproven.
pub struct Table {
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
    /// The line `Unproven rows allowed: N`, as (line number, N). `None` if the list has none.
    pub allowed: Option<(usize, usize)>,
}

impl Table {
    /// Reads the list. For each row that cannot be read it gives (line number, reason).
    pub fn read(text: &str) -> (Table, Vec<(usize, String)>) {
        let (mut table, mut found) = (Table { rows: Vec::new(), allowed: None }, Vec::new());
        for (index, line) in text.lines().enumerate() {
            if let Some(number) = line.strip_prefix("Unproven rows allowed:") {
                table.allowed = number.trim().parse().ok().map(|number| (index + 1, number));
            }
            if is_row(line) {
                match row(index + 1, line) {
                    Ok(row) => table.rows.push(row),
                    Err(why) => found.push((index + 1, why)),
                }
            }
        }
        (table, found)
    }
}

fn is_row(line: &str) -> bool {
    ["| S0 ", "| S1 ", "| S2 "].iter().any(|document| line.starts_with(document))
}

pub(super) fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_start_matches('|').trim_end_matches('|').split('|').map(str::trim).collect()
}

fn row(line: usize, text: &str) -> Result<Row, String> {
    let cells = cells(text);
    let [reference, says, decided, proof, _] = cells[..] else {
        return Err(format!("a row has five cells, this one has {}", cells.len()));
    };
    if says.is_empty() {
        return Err(format!("`{reference}` does not say what it is about"));
    }
    let (mut tests, mut figures, mut mark) = (Vec::new(), Vec::new(), Proof::Tests);
    for piece in proof.split("<br>").map(str::trim) {
        let of_piece = match piece {
            "unproven" => Proof::Unproven,
            "decided" if decided.is_empty() => return Err(format!("`{reference}` was decided otherwise: where?")),
            "decided" => Proof::Decided,
            later if is_later(later) => Proof::Later,
            other => match (other.strip_prefix(MEASURED), named(other)) {
                (Some(figure), _) => {
                    figures.push(figure.to_owned());
                    Proof::Measured
                }
                (None, Some(test)) => {
                    tests.push(test);
                    Proof::Tests
                }
                (None, None) => {
                    return Err(format!("`{reference}` needs a test, a decision, or `{MEASURED}` and a figure's name"));
                }
            },
        };
        mark = mark.max(of_piece);
    }
    Ok(Row { line, reference: reference.to_owned(), proof: mark, tests, figures })
}

/// The text before a figure's name.
const MEASURED: &str = "measured: ";

fn named(piece: &str) -> Option<Named> {
    Named::read(piece.strip_prefix('`')?.strip_suffix('`')?)
}

fn is_later(piece: &str) -> bool {
    piece.strip_prefix("later: ").is_some_and(|what| what.starts_with("issue ") || what.starts_with("spec §"))
}

/// Writes the list with a new last column. A row that `results` lacks gets an empty cell.
pub fn with_results(text: &str, results: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        match cells(line)[..] {
            [reference, says, decided, proof, _] if is_row(line) => {
                let result = results.get(reference).map_or("", String::as_str);
                out.push_str(&format!("| {reference} | {says} | {decided} | {proof} | {result} |"));
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_as_it_is_written() {
        let text = "| S1 §5.2 | first | D3 | `a.rs: one`<br>`b.test.ts: two: three` | passed |\n| Other | x |\n";
        let (table, found) = Table::read(text);
        assert!(found.is_empty());
        assert_eq!(table.rows.len(), 1);
        assert_eq!((table.rows[0].line, table.rows[0].reference.as_str()), (1, "S1 §5.2"));
        let names: Vec<_> = table.rows[0].tests.iter().map(|test| (test.path.as_str(), test.name.as_str())).collect();
        assert_eq!(names, [("a.rs", "one"), ("b.test.ts", "two: three")]);
        assert_eq!(table.rows[0].proof, Proof::Tests);
    }

    #[test]
    fn a_row_with_too_many_cells_is_told() {
        assert_eq!(Table::read("| S1 §5.2 | a | b | c | d | e |\n").1.len(), 1);
    }

    #[test]
    fn half_a_proof_is_none() {
        let (table, _) = Table::read(
            "| S1 §5.2 | a | | `a.rs: one`<br>unproven | |\n| S1 §5 | a | | `a.rs: one`<br>later: issue 4 | |\n",
        );
        assert_eq!(table.rows.iter().map(|row| row.proof).collect::<Vec<_>>(), [Proof::Unproven, Proof::Later]);
    }

    #[test]
    fn a_figure_is_a_proof_of_its_own_kind() {
        let read = |proof: &str| Table::read(&format!("| S1 §5 | a | | {proof} | |\n"));
        let row = |proof: &str| read(proof).0.rows.pop().map(|row| (row.proof, row.tests.len(), row.figures));
        let both = vec!["verdict, p99, 4× throttle".to_owned(), "ingest: SQLite".to_owned()];
        let cell = "measured: verdict, p99, 4× throttle<br>measured: ingest: SQLite";
        assert_eq!(row(cell), Some((Proof::Measured, 0, both)));
        assert_eq!(row("measured: a<br>`a.rs: one`"), Some((Proof::Measured, 1, vec!["a".to_owned()])));
        assert_eq!(row("unproven<br>measured: a"), Some((Proof::Unproven, 0, vec!["a".to_owned()])));
        for none in ["measured", "measured:", "measured: ", "`measured: a`"] {
            assert_eq!(read(none).1.len(), 1, "{none}");
        }
    }

    #[test]
    fn only_the_last_column_is_written() {
        let text = "# Head\n\n| S1 §1 | a |  | `a.rs: one` | old |\n| S1 §2 | b | D1 | decided | old |\n";
        let results = BTreeMap::from([("S1 §1".to_owned(), "passed".to_owned())]);
        let expected = "# Head\n\n| S1 §1 | a |  | `a.rs: one` | passed |\n| S1 §2 | b | D1 | decided |  |\n";
        assert_eq!(with_results(text, &results), expected);
        assert_eq!(with_results(expected, &results), expected);
    }
}
