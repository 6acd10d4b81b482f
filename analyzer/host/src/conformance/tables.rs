//! Rules about the tables that a plugin gave.

use trueno_model::units::Unit;
use trueno_plugin::{Column, Table};

use super::{Checked, Verdict, checked};

/// Suffixes of units that this format does not use, and what to use instead. Ratios are left out: they may be above
/// 1, as one duration over another.
const OTHER_UNITS: [(&str, &str); 17] = [
    ("_us", "_ns"),
    ("_ms", "_ns"),
    ("_s", "_ns"),
    ("_sec", "_ns"),
    ("_secs", "_ns"),
    ("_seconds", "_ns"),
    ("_nanos", "_ns"),
    ("_micros", "_ns"),
    ("_millis", "_ns"),
    ("_kb", "_bytes"),
    ("_mb", "_bytes"),
    ("_gb", "_bytes"),
    ("_kib", "_bytes"),
    ("_mib", "_bytes"),
    ("_pct", "_share"),
    ("_percent", "_share"),
    ("_fraction", "_share"),
];

/// Checks that a column's type can hold the unit in its name, and that this format uses that unit.
pub fn columns(tables: &[Table]) -> Checked {
    let mut broken = Vec::new();
    let mut advice = Vec::new();
    for table in tables {
        for (name, column) in table.columns() {
            let place = format!("{}.{name}", table.name());
            if let Some(why) = misfit(name, column) {
                broken.push(format!("{place} {why}"));
            }
            let per_s = name.ends_with("_per_s");
            let other = OTHER_UNITS
                .iter()
                .find(|(end, _)| name.ends_with(end) && !per_s);
            if let Some((end, instead)) = other
                && !matches!(column, Column::Text(_))
            {
                advice.push(format!("{place} ends in {end} (hint: {instead})"));
            }
        }
    }
    let count: usize = tables.iter().map(|table| table.columns().len()).sum();
    if !broken.is_empty() {
        checked("columns", Verdict::Broken, broken.join("; "))
            .mend("use the column type of that unit, or another name")
    } else if !advice.is_empty() {
        checked("columns", Verdict::Advice, advice.join("; "))
            .mend("use the suffixes that reports know, so that values are shown with their unit")
    } else if tables.is_empty() {
        checked("columns", Verdict::NotTried, "it returned no table")
    } else {
        checked(
            "columns",
            Verdict::Kept,
            format!("{count} columns of {} tables", tables.len()),
        )
    }
}

fn misfit(name: &str, column: &Column) -> Option<&'static str> {
    let is_whole = matches!(column, Column::I64(_) | Column::U64(_));
    let is_double = matches!(column, Column::F64(_));
    match Unit::from_column(name) {
        Unit::Nanoseconds | Unit::Bytes if !is_whole && !is_double => {
            Some("is a time or a size, but not a number")
        }
        Unit::Share if !is_double => Some("is a ratio, but not of type f64"),
        Unit::PerSecond | Unit::BytesPerSecond if !is_whole && !is_double => {
            Some("is a rate, but not a number")
        }
        _ => None,
    }
}

pub fn numbers(tables: &[Table]) -> Checked {
    let mut odd = Vec::new();
    for table in tables {
        for (name, column) in table.columns() {
            let Column::F64(values) = column else {
                continue;
            };
            let count = values
                .iter()
                .flatten()
                .filter(|value| !value.is_finite())
                .count();
            if count > 0 {
                odd.push(format!("{}.{name} ({count})", table.name()));
            }
        }
    }
    if odd.is_empty() {
        checked("numbers", Verdict::Kept, "all numbers are finite")
    } else {
        checked("numbers", Verdict::Broken, format!("not finite: {}", odd.join(", ")))
            .mend("emit null where there is nothing to divide by: `.f64(\"x_share\", rows.map(|r| (r.all > 0).then(|| …)))`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(table: trueno_plugin::Table) -> (Verdict, Verdict, String) {
        let tables = [table];
        let (columns, numbers) = (columns(&tables), numbers(&tables));
        (
            columns.verdict,
            numbers.verdict,
            columns.seen + &numbers.seen,
        )
    }

    #[test]
    fn units_and_types_belong_together() {
        let good = Table::build("t")
            .i64("dur_ns", [1])
            .f64("busy_share", [0.5])
            .text("name", ["a"]);
        let good = good
            .u64("peak_bytes", [1])
            .f64("flops_per_s", [1.0])
            .f64("imbalance_ratio", [2.5])
            .finish()
            .unwrap();
        assert_eq!(
            verdicts(good),
            (
                Verdict::Kept,
                Verdict::Kept,
                "6 columns of 1 tablesall numbers are finite".into()
            )
        );
        let bad = Table::build("t")
            .text("dur_ns", ["1 ms"])
            .i64("busy_share", [1])
            .finish()
            .unwrap();
        let (columns, _, seen) = verdicts(bad);
        assert_eq!(columns, Verdict::Broken);
        assert!(
            seen.contains("t.dur_ns is a time") && seen.contains("t.busy_share is a ratio"),
            "{seen}"
        );
        let other = Table::build("t")
            .f64("dur_ms", [f64::NAN])
            .finish()
            .unwrap();
        let (columns, numbers, seen) = verdicts(other);
        assert_eq!((columns, numbers), (Verdict::Advice, Verdict::Broken));
        assert!(
            seen.contains("(hint: _ns)") && seen.contains("t.dur_ms (1)"),
            "{seen}"
        );
    }
}
