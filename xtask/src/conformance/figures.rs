//! `docs/figures.md`: the figures of `make bench` that rows of the list name as their proof. No test asserts a time,
//! so a row that requires one names a figure.

use super::table::{Row, cells};
use std::collections::{BTreeMap, BTreeSet};

/// The path of the page of figures, one row per figure.
pub const FIGURES: &str = "docs/figures.md";
/// The first cell of the table's header.
const HEAD: &str = "Figure";

/// Reads the named figures with their lines, and the faults of the page: (line, how to fix it).
pub fn read(text: &str) -> (BTreeMap<String, usize>, Vec<(usize, String)>) {
    let (mut figures, mut found) = (BTreeMap::new(), Vec::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let cells = cells(line);
        if cells[0] == HEAD {
            continue;
        }
        if cells.len() != 5 || cells.iter().any(|cell| cell.is_empty()) {
            let wanted = "its name, its value, the limit of the source, the condition, the command";
            found.push((index + 1, format!("a figure has five cells, none of them empty: {wanted}")));
        } else if figures.insert(cells[0].to_owned(), index + 1).is_some() {
            found.push((index + 1, format!("`{}` has two rows", cells[0])));
        }
    }
    (figures, found)
}

/// Finds the faults of the page. It may have no figure that no row of the list names.
pub fn faults(text: &str, rows: &[Row]) -> Vec<(usize, String)> {
    let (figures, mut found) = read(text);
    let named: BTreeSet<&str> = rows.iter().flat_map(|row| &row.figures).map(String::as_str).collect();
    let unused = figures.iter().filter(|(name, _)| !named.contains(name.as_str()));
    found.extend(unused.map(|(name, line)| (*line, format!("no row of the list names `{name}`: remove it"))));
    found
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;

    const PAGE: &str = "# Head\n\n| Figure | Value | Limit of the source | Condition | Command |\n|---|---|---|---|---|\n\
                        | ingest, 50 of v1 | 6 scans/s | 2 s | two cores | `make bench` |\n";

    #[test]
    fn a_figure_is_known_by_its_name() {
        let (figures, found) = read(PAGE);
        assert_eq!(figures, BTreeMap::from([("ingest, 50 of v1".to_owned(), 5)]));
        assert_eq!(found, []);
    }

    #[test]
    fn a_figure_twice_or_with_an_empty_cell_is_found() {
        let row = "| ingest, 50 of v1 | 6 scans/s | 2 s | two cores | `make bench` |\n";
        assert_eq!(read(&format!("{PAGE}{row}")).1, [(6, "`ingest, 50 of v1` has two rows".to_owned())]);
        for bad in ["| a | 6 | 2 s |  | `make bench` |", "| a | 6 | 2 s | two cores |"] {
            let (figures, found) = read(&format!("{PAGE}{bad}\n"));
            assert_eq!((figures.len(), found.len()), (1, 1), "{bad}");
        }
    }

    #[test]
    fn a_figure_that_no_row_names_is_found() {
        let rows = |figure: &str| Table::read(&format!("| S1 §1 | a |  | measured: {figure} | |\n")).0.rows;
        assert_eq!(faults(PAGE, &rows("ingest, 50 of v1")), []);
        let found = faults(PAGE, &rows("ingest"));
        assert_eq!(found, [(5, "no row of the list names `ingest, 50 of v1`: remove it".to_owned())]);
    }
}
