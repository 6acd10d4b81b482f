//! What the difference of two critical paths consists of, for one sentence.

use std::collections::BTreeSet;

use trueno_display_names::display_name;

use super::{Comparison, PathRow};

/// A part of the difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// As in "mostly: … on the critical path".
    pub what: String,
    pub base_ns: f64,
    pub run_ns: f64,
    /// Nobody changed it: one call of a device's API, such as the one that starts the device, or time in which nothing
    /// was recorded.
    pub is_apart: bool,
}

impl Part {
    pub fn change_ns(&self) -> f64 {
        self.run_ns - self.base_ns
    }
}

/// Names that only one side has replace others from this share of their time on.
const MIN_REPLACED: f64 = 0.1;

/// The parts, the largest change first. Work that only one side has by that name is one part if it may be the same
/// work: some of it is new, and some is gone.
pub fn parts(comparison: &Comparison) -> Vec<Part> {
    let names = comparison.names.iter();
    let on_both: BTreeSet<&str> = names.map(|row| row.name.name.as_str()).collect();
    of_rows(&comparison.path, &on_both)
}

fn of_rows(rows: &[PathRow], on_both: &BTreeSet<&str>) -> Vec<Part> {
    let is_one_sided = |row: &&PathRow| {
        let is_absent = row.base_ns == 0.0 || row.run_ns == 0.0;
        row.kind == "work" && is_absent && !on_both.contains(row.name.as_str())
    };
    let one_sided = || rows.iter().filter(is_one_sided);
    let largest = |of: fn(&PathRow) -> f64| one_sided().max_by(|a, b| of(a).total_cmp(&of(b)));
    let gone_ns: f64 = one_sided().map(|row| row.base_ns).sum();
    let new_ns: f64 = one_sided().map(|row| row.run_ns).sum();
    let is_replaced =
        gone_ns.min(new_ns) > 0.0 && gone_ns.min(new_ns) >= MIN_REPLACED * gone_ns.max(new_ns);
    let kept = rows.iter().filter(|row| !is_replaced || !is_one_sided(row));
    let mut out: Vec<Part> = kept
        .map(|row| Part {
            what: what(row),
            base_ns: row.base_ns,
            run_ns: row.run_ns,
            is_apart: row.is_one_call || row.kind == "gap",
        })
        .collect();
    let ends = largest(|row| row.base_ns).zip(largest(|row| row.run_ns));
    if let Some((gone, new)) = ends.filter(|_| is_replaced) {
        out.push(Part {
            what: format!(
                "work under other names (`{}` → `{}`)",
                display_name(&gone.name),
                display_name(&new.name)
            ),
            base_ns: gone_ns,
            run_ns: new_ns,
            is_apart: false,
        });
    }
    // What ties stays in the order of the rows.
    out.sort_by(|a, b| b.change_ns().abs().total_cmp(&a.change_ns().abs()));
    out
}

fn what(row: &PathRow) -> String {
    match (row.kind.as_str(), row.name.as_str()) {
        ("gap", _) => "time in which nothing was recorded".to_owned(),
        ("work", name) if row.is_one_call => format!("one call of `{}`", display_name(name)),
        ("work", name) => format!("`{}`", display_name(name)),
        (kind, "") => kind.replace('_', " "),
        (kind, name) => format!("{} of `{}`", kind.replace('_', " "), display_name(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, base_ns: f64, run_ns: f64) -> PathRow {
        PathRow {
            kind: "work".to_owned(),
            name: name.to_owned(),
            base_ns,
            run_ns,
            is_one_call: false,
        }
    }

    #[test]
    fn renamed_work_is_one_part_and_new_work_is_its_own() {
        let changes = |rows: &[PathRow]| -> Vec<(String, f64)> {
            let parts = of_rows(rows, &BTreeSet::from(["load"]));
            let parts = parts.iter();
            parts
                .map(|part| (part.what.clone(), part.change_ns()))
                .collect()
        };
        let load = row("load", 0.0, 5.0);
        let renamed = [
            row("softmax_a", 70.0, 0.0),
            row("softmax_b", 0.0, 40.0),
            load.clone(),
        ];
        assert_eq!(
            changes(&renamed),
            [
                (
                    "work under other names (`softmax_a` → `softmax_b`)".to_owned(),
                    -30.0
                ),
                ("`load`".to_owned(), 5.0)
            ]
        );
        let new = [row("extra", 0.0, 40.0), row("tiny", 1.0, 0.0), load];
        assert_eq!(changes(&new)[0], ("`extra`".to_owned(), 40.0));
    }
}
