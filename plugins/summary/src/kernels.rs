//! Kernels of devices by name.

use std::collections::{BTreeMap, BTreeSet};

use trueno_display_names::{DisplayNames, display_name};
use trueno_plugin::{Result, Run, Table, TableBuilder};

use crate::facts::Facts;

const MAX_ROWS: usize = 20;
/// With more kernels than this, the operators that launched them are not looked up, because that joins every kernel
/// with a brick.
const MAX_LAUNCHES: u64 = 2_000_000;

#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub name: String,
    pub calls: u64,
    pub dur_ns: i64,
    /// Mean over its launches, weighted by their time. `None`: not known for one of them.
    pub occupancy: Option<f64>,
}

/// Device time by kernel, then by the innermost brick around the launching calls.
pub type Owners = BTreeMap<String, BTreeMap<String, i64>>;

/// Reads `device.launches` and the occupancy of `device.kernels`, largest time first.
///
/// # Errors
/// A table lacks a column or has it in another type.
pub fn read(table: &Table, occupancy: &Table) -> Result<Vec<Kernel>> {
    let occupancy = mean_occupancy(occupancy)?;
    let (names, calls) = (table.text("name")?, table.u64("operations")?);
    let dur_ns = table.i64("dur_ns")?;
    let kernel = |row: usize| {
        Some(Kernel {
            occupancy: names.get(row).and_then(|name| *occupancy.get(name)?),
            name: names.get(row)?.to_owned(),
            calls: calls.get(row)?,
            dur_ns: dur_ns.get(row)?,
        })
    };
    let mut kernels: Vec<Kernel> = (0..table.rows()).filter_map(kernel).collect();
    kernels.sort_by(|a, b| (b.dur_ns, &a.name).cmp(&(a.dur_ns, &b.name)));
    Ok(kernels)
}

fn mean_occupancy(table: &Table) -> Result<BTreeMap<&str, Option<f64>>> {
    let (names, dur_ns) = (table.text("name")?, table.i64("dur_ns")?);
    let shares = table.f64("occupancy")?;
    let mut sums: BTreeMap<&str, (f64, Option<f64>)> = BTreeMap::new();
    for row in 0..table.rows() {
        let (Some(name), Some(dur_ns)) = (names.get(row), dur_ns.get(row)) else {
            continue;
        };
        let (all_ns, weighted) = sums.entry(name).or_insert((0.0, Some(0.0)));
        *all_ns += dur_ns as f64;
        let more = shares.get(row).map(|share| share * dur_ns as f64);
        *weighted = weighted.zip(more).map(|(sum, more)| sum + more);
    }
    let mean = |(all_ns, weighted): (f64, Option<f64>)| weighted.map(|sum| sum / all_ns);
    let means = sums.into_iter();
    Ok(means
        .map(|(name, sum)| (name, mean(sum).filter(|share| share.is_finite())))
        .collect())
}

fn shown(kernels: &[Kernel]) -> &[Kernel] {
    &kernels[..kernels.len().min(MAX_ROWS)]
}

/// Looks up what launched each kernel of the table.
///
/// # Errors
/// As for [`read`].
pub fn owners(run: &mut Run, kernels: &[Kernel]) -> Result<Owners> {
    let launches = kernels.iter().map(|kernel| kernel.calls);
    if launches.fold(0, u64::saturating_add) > MAX_LAUNCHES {
        return Ok(Owners::new());
    }
    let names: BTreeSet<&str> = shown(kernels).iter().map(|row| &*row.name).collect();
    all_owners(run, |kernel| names.contains(kernel))
}

/// Reads what launched each kernel that `is_wanted` accepts.
///
/// # Errors
/// As for [`read`].
pub fn all_owners(run: &mut Run, is_wanted: impl Fn(&str) -> bool) -> Result<Owners> {
    let mut owners = Owners::new();
    let table = run.table("owners")?;
    let rows = table.text("kernel")?.iter();
    let rows = rows.zip(table.text("operator")?.iter());
    for ((kernel, operator), ns) in rows.zip(table.i64("dur_ns")?.iter()) {
        if let (Some(kernel), Some(operator), Some(ns)) = (kernel, operator, ns)
            && is_wanted(kernel)
        {
            let of_kernel = owners.entry(kernel.to_owned()).or_default();
            let sum = of_kernel.entry(operator.to_owned()).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    Ok(owners)
}

/// The brick with the most time, as it is shown; among equal ones the first by name.
fn most(bricks: &BTreeMap<String, i64>) -> Option<(String, i64)> {
    let mut shown: BTreeMap<String, i64> = BTreeMap::new();
    for (name, ns) in bricks {
        let sum = shown.entry(display_name(name)).or_default();
        *sum = sum.saturating_add(*ns);
    }
    let rows = shown.into_iter();
    rows.reduce(|most, row| if row.1 > most.1 { row } else { most })
}

/// Table `kernels`: the names with the most time on devices.
///
/// `kernel`: short name; `share`: of the time of all kernels; `launched_by`: the innermost brick around the calls
/// that launch most of its time, null if none is recorded; `launched_share`: that brick's share of the time;
/// `occupancy`: of `device.kernels`, the mean by time; `name`: as recorded.
pub fn table(facts: &Facts, owners: &Owners) -> TableBuilder {
    let each = facts.kernels.iter().map(|kernel| kernel.dur_ns);
    let all_ns = each.fold(0, i64::saturating_add);
    let rows = shown(&facts.kernels);
    let names = DisplayNames::new(rows.iter().map(|row| row.name.as_str()));
    let owner = |row: &Kernel| most(owners.get(&row.name)?);
    let mean = |row: &Kernel| (row.calls > 0).then(|| row.dur_ns as f64 / row.calls as f64);
    Table::build("kernels")
        .text("kernel", rows.iter().map(|row| names.shown(&row.name)))
        .u64("calls", rows.iter().map(|row| row.calls))
        .f64("mean_ns", rows.iter().map(mean))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns))
        .f64(
            "share",
            rows.iter()
                .map(|row| trueno_analysis::share(row.dur_ns, all_ns)),
        )
        .text(
            "launched_by",
            rows.iter().map(|row| owner(row).map(|owner| owner.0)),
        )
        .f64(
            "launched_share",
            rows.iter()
                .map(|row| trueno_analysis::share(owner(row)?.1, row.dur_ns)),
        )
        .f64("occupancy", rows.iter().map(|row| row.occupancy))
        .text("name", rows.iter().map(|row| &row.name))
}
