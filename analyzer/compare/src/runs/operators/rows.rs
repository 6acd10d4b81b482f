//! Sums by path of operators, over all pairs of runs.

use std::collections::HashMap;

/// Longest complete path. Real programs do not nest deeper, and each row of a deeper one would hold all its names.
pub(super) const MAX_PATH: usize = 256;

/// One value per side, the base first.
pub(super) type Both<T> = [T; 2];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub calls: u64,
    pub device_ns: i64,
    pub host_self_ns: i64,
}

impl Sums {
    pub fn add(&mut self, other: Sums) {
        self.calls += other.calls;
        self.device_ns = self.device_ns.saturating_add(other.device_ns);
        self.host_self_ns = self.host_self_ns.saturating_add(other.host_self_ns);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The parent's row; the first row is its own parent.
    pub around: u32,
    pub label: u32,
    /// The label of the outermost operator: a thread or device.
    outermost: u32,
    /// Including subtrees that only one side has.
    pub sums: Both<Sums>,
    pub in_pair_ns: Both<i64>,
    pub change_ns: Option<(i64, i64)>,
}

/// All paths. The first is the run itself.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    places: HashMap<(u32, u32), u32>,
    /// Calls and time of device work, by row and label.
    pub kernels: HashMap<(u32, u32), Both<Sums>>,
    /// Subtrees of one side only and their number of operators, by row, side and label of the root.
    pub one_sided: HashMap<(u32, usize, u32), (Sums, u64)>,
    pairs: u32,
}

impl Rows {
    /// The row of a label below another row. Adds it if needed.
    pub fn row(&mut self, around: u32, label: u32) -> u32 {
        let next = self.rows.len() as u32;
        let row = *self.places.entry((around, label)).or_insert(next);
        if row == next {
            let outer = self.rows.get(around as usize).filter(|_| around != 0);
            let outermost = outer.map_or(label, |outer| outer.outermost);
            self.rows.push(Row {
                around,
                label,
                outermost,
                sums: Both::default(),
                in_pair_ns: Both::default(),
                // It changed by nothing in those before.
                change_ns: (self.pairs > 0).then_some((0, 0)),
            });
        }
        row
    }

    pub fn add(&mut self, row: u32, side: usize, sums: Sums) {
        let row = &mut self.rows[row as usize];
        row.sums[side].add(sums);
        row.in_pair_ns[side] = row.in_pair_ns[side].saturating_add(sums.device_ns);
    }

    pub fn add_kernel(&mut self, row: u32, side: usize, label: u32, sums: Sums) {
        self.kernels.entry((row, label)).or_default()[side].add(sums);
    }

    pub fn add_one_sided(&mut self, row: u32, side: usize, label: u32, sums: Sums, operators: u64) {
        let entry = self.one_sided.entry((row, side, label)).or_default();
        entry.0.add(sums);
        entry.1 += operators;
    }

    pub fn end_pair(&mut self) {
        self.pairs += 1;
        for row in &mut self.rows {
            let [base, run] = std::mem::take(&mut row.in_pair_ns);
            let change = run.saturating_sub(base);
            let (low, high) = row.change_ns.unwrap_or((change, change));
            row.change_ns = Some((low.min(change), high.max(change)));
        }
    }

    /// Labels from the outermost operator to that of a row. A path longer than [`MAX_PATH`] has the outermost
    /// label, `None`, and the innermost labels.
    pub fn path(&self, mut row: u32) -> Vec<Option<u32>> {
        let mut path = Vec::new();
        while row != 0 && path.len() < MAX_PATH {
            let Row { around, label, .. } = self.rows[row as usize];
            path.push(Some(label));
            row = around;
        }
        if row != 0 {
            let Row {
                around, outermost, ..
            } = self.rows[row as usize];
            if around != 0 {
                path.push(None);
            }
            path.push(Some(outermost));
        }
        path.reverse();
        path
    }
}
