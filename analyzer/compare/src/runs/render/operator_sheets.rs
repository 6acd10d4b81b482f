//! Device time by operator, for people: the largest differences, and what only one side has.

use trueno_model::units;
use trueno_plugin::counted;

use super::wording::{between, signed};
use super::{Grid, Holds, Sheet};
use crate::runs::Comparison;
use crate::runs::operators::{OperatorRow, Operators};

/// The sheets, with `top` rows of each table; empty if operators were not compared.
pub fn operator_sheets(comparison: &Comparison, top: usize) -> Vec<Sheet> {
    let Some(operators) = &comparison.operators else {
        return Vec::new();
    };
    let sheets = [differences(operators, top), one_sided(operators, top)];
    sheets.into_iter().flatten().collect()
}

pub fn heading(operators: &Operators) -> &'static str {
    if operators.has_device() {
        "Device time by operator"
    } else {
        "Host time by operator"
    }
}

/// What the figures are based on. Operators have no verdicts.
pub fn remarks(operators: &Operators) -> Vec<String> {
    let (what, base, run) = if operators.has_device() {
        (
            "device time",
            operators.base_device_ns,
            operators.run_device_ns,
        )
    } else {
        (
            "host self time",
            operators.base_host_self_ns,
            operators.run_host_self_ns,
        )
    };
    let mut remarks = vec![format!(
        "{what} {} → {}, {}; {} on both sides, {} only in the base, {} only in the run",
        units::duration(base),
        units::duration(run),
        between(Some(base), Some(run)),
        counted(operators.matched_operators, "operator", "operators"),
        operators.base_operators - operators.matched_operators,
        operators.run_operators - operators.matched_operators,
    )];
    let iterations = match (operators.base_iterations, operators.run_iterations) {
        (0, 0) => String::new(),
        (base, run) if base == run => format!(", {}", counted(base, "iteration", "iterations")),
        (base, run) => format!(", {base} and {run} iterations"),
    };
    remarks.push(match operators.pairs {
        1 => format!(
            "largest differences first; 1 run{iterations} per side, so variation between runs is not known and \
             this is not a verdict"
        ),
        pairs => format!(
            "largest differences first; means of {pairs} pairs of runs{iterations} per side, with the smallest and \
             largest change of a pair; this is not a verdict"
        ),
    });
    let untimed: u64 = operators.untimed_device_rows.iter().sum();
    if untimed > 0 {
        let rows = counted(untimed, "row of a device has", "rows of devices have");
        remarks.push(format!("{rows} no times of their own, so none are shown"));
    }
    if operators.partial_lists > 0 {
        let lists = counted(operators.partial_lists, "list", "lists");
        remarks.push(format!(
            "{lists} of operators are too long to align exactly: some operators may be on both sides although they are listed on one"
        ));
    }
    remarks
}

/// The operator's name, and the path to it from its thread.
pub fn place(row: &OperatorRow) -> (String, String) {
    match row.path.split_last() {
        Some((name, around)) => (name.clone(), around.join(" / ")),
        None => ("(the run)".to_owned(), String::new()),
    }
}

fn differences(operators: &Operators, top: usize) -> Option<Sheet> {
    let has_device = operators.has_device();
    let different: Vec<&OperatorRow> = operators
        .rows
        .iter()
        .filter(|row| row.is_different())
        .collect();
    let rows = different.iter().take(top).map(|row| {
        let (name, around) = place(row);
        let calls = if row.base_calls == row.run_calls {
            row.base_calls.to_string()
        } else {
            format!("{}+{}", row.base_calls, row.run_calls)
        };
        let duration = |ns: f64| units::duration(ns);
        let host = [row.base_host_self_ns, row.run_host_self_ns].map(duration);
        let mut cells = vec![name, around, calls];
        if has_device {
            cells.extend([row.base_device_ns, row.run_device_ns].map(duration));
            cells.push(signed(row.change_ns));
            cells.push(row.share.map_or(units::NOT_MEASURED.to_owned(), share));
            if operators.pairs > 1 {
                let range = row.change_range_ns.unwrap_or_default();
                let [low, high] = range.map(|ns| signed(ns as f64));
                cells.push(format!("{low} … {high}"));
            }
            cells.push(host.join(" → "));
        } else {
            cells.extend(host);
            cells.push(signed(row.host_change_ns()));
        }
        (cells, None)
    });
    let mut columns = vec![
        ("operator", Holds::Names),
        ("in", Holds::Names),
        ("calls", Holds::Numbers),
        ("base", Holds::Numbers),
        ("run", Holds::Numbers),
        ("change", Holds::Numbers),
    ];
    if has_device {
        columns.push(("of base", Holds::MoreNumbers));
        if operators.pairs > 1 {
            columns.push(("of a pair", Holds::MoreNumbers));
        }
        columns.push(("host self", Holds::MoreNumbers));
    }
    (operators.base_operators + operators.run_operators > 0).then(|| Sheet {
        heading: heading(operators),
        lead: remarks(operators),
        left_out: different.len().saturating_sub(top),
        grid: Grid {
            columns,
            rows: rows.collect(),
        },
    })
}

fn share(share: f64) -> String {
    match share.abs() {
        small if small < 0.0005 => "0.0 %".to_owned(),
        _ => format!("{:+.1} %", share * 100.0),
    }
}

pub struct OnOneSide<'a> {
    /// `base` or `run`.
    pub side: &'static str,
    /// `operator` or `kernel`.
    pub kind: &'static str,
    pub name: &'a str,
    /// The operator that its time is counted for.
    pub row: &'a OperatorRow,
    pub calls: u64,
    pub device_ns: f64,
    pub host_self_ns: Option<f64>,
}

/// Everything that only one side has, by device time, then by host time.
pub fn all_on_one_side(operators: &Operators) -> Vec<OnOneSide<'_>> {
    let mut all = Vec::new();
    for row in &operators.rows {
        for (side, list) in [("base", &row.only_base), ("run", &row.only_run)] {
            all.extend(list.iter().map(|one| OnOneSide {
                side,
                kind: "operator",
                name: &one.name,
                row,
                calls: one.calls,
                device_ns: one.device_ns,
                host_self_ns: Some(one.host_self_ns),
            }));
        }
        // Of a whole thread there are too many to tell which took the place of which.
        let kernels = row.kernels.iter().filter(|_| row.path.len() > 1);
        all.extend(kernels.map(|kernel| OnOneSide {
            side: if kernel.run_calls == 0 { "base" } else { "run" },
            kind: "kernel",
            name: &kernel.name,
            row,
            calls: kernel.base_calls + kernel.run_calls,
            device_ns: kernel.base_device_ns + kernel.run_device_ns,
            host_self_ns: None,
        }));
    }
    // Rows are in an order already, which decides between equals.
    all.sort_by(|a, b| {
        let device = b.device_ns.total_cmp(&a.device_ns);
        let host = |one: &OnOneSide<'_>| one.host_self_ns.unwrap_or(0.0);
        device.then_with(|| host(b).total_cmp(&host(a)))
    });
    all
}

pub const ONE_SIDED: &str = "operators with everything below them, and kernel names; the table above counts both for the operator around them";

fn one_sided(operators: &Operators, top: usize) -> Option<Sheet> {
    let all = all_on_one_side(operators);
    let rows = all.iter().take(top).map(|one| {
        let (name, around) = place(one.row);
        let place = if around.is_empty() {
            name
        } else {
            format!("{around} / {name}")
        };
        let cells = vec![
            one.side.to_owned(),
            one.kind.to_owned(),
            one.name.to_owned(),
            place,
            one.calls.to_string(),
            units::duration(one.device_ns),
            one.host_self_ns
                .map_or(units::NOT_MEASURED.to_owned(), units::duration),
        ];
        (cells, None)
    });
    (!all.is_empty()).then(|| Sheet {
        heading: "What only one side has, by operator",
        lead: vec![ONE_SIDED.to_owned()],
        left_out: all.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("side", Holds::Names),
                ("kind", Holds::Names),
                ("name", Holds::Names),
                ("in", Holds::Names),
                ("calls", Holds::Numbers),
                ("device", Holds::Numbers),
                ("host self", Holds::MoreNumbers),
            ],
            rows: rows.collect(),
        },
    })
}
