//! One figure, its raw limit and its target.

use serde::{Deserialize, Serialize};

/// A line of the table and of `target/bench/latest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The figure's name, by which two runs are compared.
    pub name: String,
    /// The measured value, in `unit`.
    pub value: f64,
    /// The unit of the value and of the limit.
    pub unit: String,
    /// The raw limit of this machine in the same run, in `unit`. `None` if the figure has no limit.
    pub limit: Option<f64>,
    /// The value divided by the limit. `None` without a limit.
    pub ratio: Option<f64>,
    /// The target as text (docs/performance.md has all targets). `None` if the figure has no target.
    pub target: Option<String>,
    /// Whether the target is met. `None` without a target, or if the target needs a limit and there is none.
    pub met: Option<bool>,
    /// The size of the input, and how the limit was measured.
    pub input: String,
}

/// The target of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The figure has no target; it is only reported.
    None,
    /// The value may be at most this.
    AtMost(f64),
    /// The value must be at least this.
    AtLeast(f64),
    /// The ratio to the limit must be at least this. It is for throughput.
    Share(f64),
}

impl Row {
    /// Makes a figure without a raw limit.
    pub fn new(name: impl Into<String>, value: f64, unit: &str, target: Target, input: impl Into<String>) -> Row {
        Row {
            name: name.into(),
            value,
            unit: unit.to_owned(),
            limit: None,
            ratio: None,
            target: None,
            met: None,
            input: input.into(),
        }
        .held_to(target)
    }

    /// Adds the raw limit, and a target that may refer to it.
    pub fn beside(mut self, limit: f64, target: Target) -> Row {
        self.limit = Some(limit);
        self.ratio = (limit > 0.0).then(|| self.value / limit);
        self.held_to(target)
    }

    fn held_to(mut self, target: Target) -> Row {
        let unit = &self.unit;
        (self.target, self.met) = match target {
            Target::None => (None, None),
            Target::AtMost(most) => (Some(format!("≤ {} {unit}", number(most))), Some(self.value <= most)),
            Target::AtLeast(least) => (Some(format!("≥ {} {unit}", number(least))), Some(self.value >= least)),
            Target::Share(share) => {
                let reached = self.ratio.map(|ratio| ratio >= share);
                (Some(format!("≥ {} × limit", number(share))), reached)
            }
        };
        self
    }
}

/// Writes a number below 100 with three significant digits, and a larger one whole, with separated thousands.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if size < 100.0 {
        let decimals = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{value:.decimals$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    let digits = format!("{:.0}", size);
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        let shown = |value| number(value);
        assert_eq!(
            [shown(0.0), shown(0.0712), shown(1.3), shown(12.0), shown(99.96)],
            ["0", "0.0712", "1.3", "12", "100"]
        );
        assert_eq!([shown(999.6), shown(24_000.4), shown(1_234_567.0)], ["1,000", "24,000", "1,234,567"]);
    }

    #[test]
    fn a_target_is_met_by_the_value_or_by_its_share_of_the_limit() {
        let fast = Row::new("a", 10.0, "ms", Target::AtMost(10.0), "");
        assert_eq!((fast.met, fast.target.as_deref()), (Some(true), Some("≤ 10 ms")));
        assert_eq!(Row::new("a", 10.1, "ms", Target::AtMost(10.0), "").met, Some(false));
        let share = Row::new("a", 14.0, "scans/s", Target::None, "").beside(20.0, Target::Share(0.7));
        assert_eq!((share.ratio, share.met), (Some(0.7), Some(true)));
        assert_eq!(Row::new("a", 13.0, "scans/s", Target::None, "").beside(20.0, Target::Share(0.7)).met, Some(false));
        assert_eq!(Row::new("a", 1.0, "ms", Target::None, "").met, None);
    }

    #[test]
    fn a_share_without_a_limit_is_neither_met_nor_missed() {
        assert_eq!(Row::new("a", 1.0, "scans/s", Target::Share(1.0), "").met, None);
    }
}
