//! What Ascend's msprof states of a kernel beside its name and times: `kernel_details.csv`, `op_summary.csv`.

use super::columns::Row;

/// The units of a core that count: cube and vector. What a unit did that did not run is no figure.
const UNITS: [&str; 2] = ["aic", "aiv"];

/// Values that stand for none.
const NONE: [&str; 3] = ["", "N/A", "4294967295"];

/// The operator of a kernel. Ascend numbers the instances of a graph's operators: `MatMul104` and `MatMul105` of the type
/// `MatMul`, `ReduceSum147` of the type `ReduceSumD`. A digit that the type has too belongs to the name.
pub fn without_instance<'r>(row: Row<'r>, name: &'r str) -> &'r str {
    let mut cells = row.unread();
    let of = cells.find(|(title, _)| {
        ["Type", "Op Type"]
            .iter()
            .any(|kind| title.eq_ignore_ascii_case(kind))
    });
    let Some((_, kind)) = of.filter(|(_, kind)| !NONE.contains(kind)) else {
        return name;
    };
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    if name.strip_prefix(kind).is_some_and(is_number) {
        return &name[..kind.len()];
    }
    let operator = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // `MatMulV2` of the type `MatMulV3` is no second `MatMulV`.
    let rest = kind.strip_prefix(operator).filter(|_| !operator.is_empty());
    let is_of_kind = rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_of_kind && !kind.starts_with(name) {
        operator
    } else {
        name
    }
}

/// Adds what the remaining columns state: figures of the hardware as counters, the rest as attributes.
pub fn unread<'r>(
    row: Row<'r>,
    attributes: &mut Vec<(&'r str, &'r str)>,
    counters: &mut Vec<(String, f64)>,
) {
    let has_run = UNITS.map(|unit| {
        let mut cells = row.unread();
        // The time of the cube unit is called that of the whole core.
        let time = cells.find(|(title, _)| {
            title.starts_with(&format!("{unit}_time"))
                || unit == "aic" && title.starts_with("aicore_time")
        });
        time.and_then(|(_, cell)| cell.parse::<f64>().ok()) != Some(0.0)
    });
    let mut flops = None;
    for (title, cell) in row.unread() {
        if NONE.contains(&cell) {
            continue;
        }
        let unit = UNITS.iter().position(|unit| title.starts_with(unit));
        let is_figure = unit.is_some()
            || ["cube_utilization", "Wait Time", "Task Wait Time"]
                .iter()
                .any(|begin| title.starts_with(begin));
        let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
        match value {
            Some(value) if is_figure => {
                if unit.is_some_and(|unit| !has_run[unit]) {
                    continue;
                }
                if title.ends_with("_fops") {
                    flops = Some(flops.unwrap_or(0.0) + value);
                }
                counters.push((with_unit(title), value));
            }
            _ => attributes.push((title, cell)),
        }
    }
    // The name by which analyses know a count of all precisions together.
    counters.extend(flops.map(|flops| ("flops".to_owned(), flops)));
}

/// `aic_mac_time(us)` as `aic_mac_time [us]`.
fn with_unit(title: &str) -> String {
    match title.split_once('(') {
        Some((name, unit)) => format!("{} [{}]", name.trim_end(), unit.trim_end_matches(')')),
        None => title.to_owned(),
    }
}
