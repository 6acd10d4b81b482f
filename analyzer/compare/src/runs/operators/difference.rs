//! Differences by path of operators, the largest first.

use serde::Serialize;
use trueno_model::name_groups::NameGroups;

use super::alignment::{Side, align};
use super::rows::{Rows, Sums};
use super::shapes::Shapes;
use super::tree::OperatorTree;

/// Device time and host self time by operator, as means over pairs of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Operators {
    /// Pairs of runs, in order. Extra runs of one side are ignored.
    pub pairs: u64,
    pub base_device_ns: f64,
    pub run_device_ns: f64,
    pub base_host_self_ns: f64,
    pub run_host_self_ns: f64,
    pub base_operators: u64,
    pub run_operators: u64,
    pub matched_operators: u64,
    pub base_iterations: u64,
    pub run_iterations: u64,
    pub matched_iterations: u64,
    /// Sibling lists that were too long to align exactly.
    pub partial_lists: u64,
    /// Device rows without times, of the base and of the other side.
    pub untimed_device_rows: [u64; 2],
    /// Operator paths on both sides, the largest change of device time first.
    pub rows: Vec<OperatorRow>,
}

/// An operator path on both sides. Subtrees that only one side has are included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorRow {
    /// Names from the thread or device to the operator; empty for the run itself. A path of more than 256 names
    /// has the first, `…` and the last ones.
    pub path: Vec<String>,
    pub base_calls: u64,
    pub run_calls: u64,
    pub base_device_ns: f64,
    pub run_device_ns: f64,
    pub change_ns: f64,
    /// The change divided by the device time of a run of the base.
    pub share: Option<f64>,
    /// Smallest and largest change of a pair, if there are several pairs.
    pub change_range_ns: Option<[i64; 2]>,
    pub base_host_self_ns: f64,
    pub run_host_self_ns: f64,
    /// Direct children that only the base has.
    pub only_base: Vec<OneSided>,
    pub only_run: Vec<OneSided>,
    /// Device work of names that only one side launched here.
    pub kernels: Vec<KernelRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OneSided {
    pub name: String,
    pub calls: u64,
    pub operators: u64,
    pub device_ns: f64,
    pub host_self_ns: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    pub name: String,
    pub base_calls: u64,
    pub run_calls: u64,
    pub base_device_ns: f64,
    pub run_device_ns: f64,
}

impl OperatorRow {
    pub fn host_change_ns(&self) -> f64 {
        self.run_host_self_ns - self.base_host_self_ns
    }

    pub fn is_different(&self) -> bool {
        let is_one_sided = !self.only_base.is_empty() || !self.only_run.is_empty();
        let is_other = self.base_calls != self.run_calls || !self.kernels.is_empty();
        self.change_ns != 0.0 || self.host_change_ns() != 0.0 || is_one_sided || is_other
    }
}

impl Operators {
    /// Waits of threads alone are nothing to compare by operator.
    pub fn is_empty(&self) -> bool {
        self.base_operators + self.run_operators == 0 && !self.has_device()
    }

    pub fn has_device(&self) -> bool {
        self.base_device_ns != 0.0 || self.run_device_ns != 0.0
    }
}

/// Compares trees pair by pair. Names in `groups` are replaced by their group.
pub fn compare(pairs: &[(&OperatorTree, &OperatorTree)], groups: &NameGroups) -> Operators {
    let mut shapes = Shapes::default();
    let mut rows = Rows::default();
    let mut found = Operators {
        pairs: pairs.len() as u64,
        ..Operators::default()
    };
    for (base, run) in pairs {
        let numbered = [base, run].map(|tree| shapes.number(tree, groups));
        let [a, b] = &numbered;
        let sides = [
            Side {
                tree: base,
                numbered: a,
            },
            Side {
                tree: run,
                numbered: b,
            },
        ];
        let counts = align(sides, &mut rows, &mut |_, _| {});
        let iterations = |tree: &OperatorTree| {
            let all = tree.operators.iter();
            all.filter(|operator| operator.is_iteration).count() as u64
        };
        found.base_operators += base.count();
        found.run_operators += run.count();
        found.matched_operators += counts.matched;
        found.base_iterations += iterations(base);
        found.run_iterations += iterations(run);
        found.matched_iterations += counts.iterations;
        found.partial_lists += counts.partial_lists;
        found.untimed_device_rows[0] += base.untimed;
        found.untimed_device_rows[1] += run.untimed;
    }
    let mut totals = [Sums::default(); 2];
    for row in &rows.rows {
        totals[0].add(row.sums[0]);
        totals[1].add(row.sums[1]);
    }
    let mean = |ns: i64| ns as f64 / pairs.len().max(1) as f64;
    found.base_device_ns = mean(totals[0].device_ns);
    found.run_device_ns = mean(totals[1].device_ns);
    found.base_host_self_ns = mean(totals[0].host_self_ns);
    found.run_host_self_ns = mean(totals[1].host_self_ns);
    found.rows = in_order(&rows, &shapes.labels, pairs.len());
    found
}

fn in_order(rows: &Rows, labels: &[String], pairs: usize) -> Vec<OperatorRow> {
    let mean = |ns: i64| ns as f64 / pairs.max(1) as f64;
    let each = rows.rows.iter().map(|row| row.sums[0].device_ns);
    let total = each.fold(0, i64::saturating_add);
    let name = |label: u32| labels[label as usize].clone();
    let mut found: Vec<OperatorRow> = rows
        .rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let [base, run] = row.sums;
            let change_ns = run.device_ns.saturating_sub(base.device_ns);
            OperatorRow {
                path: rows
                    .path(at as u32)
                    .into_iter()
                    .map(|label| label.map_or_else(|| "…".to_owned(), name))
                    .collect(),
                base_calls: base.calls,
                run_calls: run.calls,
                base_device_ns: mean(base.device_ns),
                run_device_ns: mean(run.device_ns),
                change_ns: mean(change_ns),
                share: (total > 0).then(|| change_ns as f64 / total as f64),
                change_range_ns: row
                    .change_ns
                    .filter(|_| pairs > 1)
                    .map(|(low, high)| [low, high]),
                base_host_self_ns: mean(base.host_self_ns),
                run_host_self_ns: mean(run.host_self_ns),
                only_base: Vec::new(),
                only_run: Vec::new(),
                kernels: Vec::new(),
            }
        })
        .collect();
    for ((row, side, label), (sums, operators)) in &rows.one_sided {
        let row = &mut found[*row as usize];
        let list = match side {
            0 => &mut row.only_base,
            _ => &mut row.only_run,
        };
        list.push(OneSided {
            name: name(*label),
            calls: sums.calls,
            operators: *operators,
            device_ns: mean(sums.device_ns),
            host_self_ns: mean(sums.host_self_ns),
        });
    }
    for ((row, label), [base, run]) in &rows.kernels {
        if base.calls == 0 || run.calls == 0 {
            found[*row as usize].kernels.push(KernelRow {
                name: name(*label),
                base_calls: base.calls,
                run_calls: run.calls,
                base_device_ns: mean(base.device_ns),
                run_device_ns: mean(run.device_ns),
            });
        }
    }
    for row in &mut found {
        for list in [&mut row.only_base, &mut row.only_run] {
            let cost = |one: &OneSided| -one.device_ns;
            list.sort_by(|a, b| {
                let cost = cost(a).total_cmp(&cost(b));
                cost.then_with(|| a.name.cmp(&b.name))
            });
        }
        row.kernels.sort_by(|a, b| {
            let cost = |row: &KernelRow| -(row.base_device_ns + row.run_device_ns);
            let cost = cost(a).total_cmp(&cost(b));
            cost.then_with(|| a.name.cmp(&b.name))
        });
    }
    found.sort_by(|a, b| {
        let device = b.change_ns.abs().total_cmp(&a.change_ns.abs());
        let host = b.host_change_ns().abs();
        let host = host.total_cmp(&a.host_change_ns().abs());
        device.then(host).then_with(|| a.path.cmp(&b.path))
    });
    found
}
