//! Tables for people: one run, or two runs next to each other.

use std::collections::BTreeMap;

use crate::row::{Row, number};

/// The table of one run: `figure | value | unit | raw limit | ratio | target | met | input`.
pub fn table(rows: &[Row]) -> String {
    let head = ["figure", "value", "unit", "raw limit", "ratio", "target", "", "input"];
    let body = rows.iter().map(|row| {
        let met = match row.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        [
            row.name.clone(),
            number(row.value),
            row.unit.clone(),
            optional(row.limit),
            optional(row.ratio),
            row.target.clone().unwrap_or_default(),
            met.to_owned(),
            row.input.clone(),
        ]
    });
    let missed = rows.iter().filter(|row| row.met == Some(false)).count();
    let held = rows.iter().filter(|row| row.met.is_some()).count();
    format!("{}\n{} of {held} targets met\n", aligned(&head, body), held - missed)
}

/// The table of two runs, matched by name. `change` is new / old. "change of ratio" compares the ratios to each run's
/// own raw limit, so it does not depend on the machine's speed at the time.
pub fn comparison(old: &[Row], new: &[Row]) -> String {
    let head = ["figure", "old", "new", "unit", "change", "old ratio", "new ratio", "change of ratio", "target"];
    let before: BTreeMap<&str, &Row> = old.iter().map(|row| (row.name.as_str(), row)).collect();
    let lines = new.iter().map(|row| {
        let was = before.get(row.name.as_str());
        let change = |old: Option<f64>, new: Option<f64>| match (old, new) {
            (Some(old), Some(new)) if old != 0.0 => format!("{:.2}×", new / old),
            _ => String::new(),
        };
        let ratio = was.and_then(|was| was.ratio);
        [
            row.name.clone(),
            optional(was.map(|was| was.value)),
            number(row.value),
            row.unit.clone(),
            change(was.map(|was| was.value), Some(row.value)),
            optional(ratio),
            optional(row.ratio),
            change(ratio, row.ratio),
            verdict(was.and_then(|was| was.met), row.met).to_owned(),
        ]
    });
    let mut text = aligned(&head, lines);
    for gone in old.iter().filter(|row| !new.iter().any(|other| other.name == row.name)) {
        text.push_str(&format!("only in the old run: {}\n", gone.name));
    }
    text
}

fn verdict(was: Option<bool>, is: Option<bool>) -> &'static str {
    match (was, is) {
        (Some(false), Some(true)) => "met now",
        (Some(true), Some(false)) => "MISSED now",
        (_, Some(true)) => "met",
        (_, Some(false)) => "MISSED",
        (_, None) => "",
    }
}

fn optional(value: Option<f64>) -> String {
    value.map(number).unwrap_or_default()
}

/// Pads every column but the last to its longest cell.
fn aligned<const N: usize>(head: &[&str; N], body: impl Iterator<Item = [String; N]>) -> String {
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(body);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells
            .map(|(column, (cell, width))| {
                let space = " ".repeat(width - cell.chars().count());
                if column + 1 == N { cell.clone() } else { format!("{cell}{space}") }
            })
            .collect();
        text.push_str(format!("| {}", cells.join(" | ")).trim_end());
        text.push('\n');
        if number == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            text.push_str(&format!("| {}\n", rule.join(" | ")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Target;

    fn row(name: &str, value: f64, limit: f64) -> Row {
        Row::new(name, value, "ms", Target::None, "1 ticket").beside(limit, Target::AtMost(2.0))
    }

    #[test]
    fn the_table_says_what_is_met_and_what_is_missed() {
        let text = table(&[row("a", 1.0, 0.5), row("b", 3.0, 0.5), Row::new("c", 9.0, "kB", Target::None, "")]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].contains("| met "), "{text}");
        assert!(lines[3].contains("| MISSED |"), "{text}");
        assert!(lines[2].contains("| 2 "), "the ratio: {text}");
        assert!(text.contains("1 of 2 targets met"), "{text}");
    }

    #[test]
    fn a_comparison_names_what_changed_came_and_went() {
        let text =
            comparison(&[row("a", 1.0, 0.5), row("gone", 1.0, 1.0)], &[row("a", 3.0, 0.75), row("new", 1.0, 1.0)]);
        let line = text.lines().find(|line| line.starts_with("| a")).unwrap();
        assert!(line.contains("3.00×") && line.contains("2.00×") && line.contains("MISSED now"), "{text}");
        assert!(text.contains("only in the old run: gone"), "{text}");
        assert!(text.lines().any(|line| line.starts_with("| new")), "{text}");
    }
}
