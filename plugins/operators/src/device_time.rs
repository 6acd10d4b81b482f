//! Device work of each call: that of the kernels and copies it began, and of the calls in it once.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::unions::UnionLength;

use crate::before_recording::counterparts;
use crate::calls::{Calls, NONE};
use crate::groups::{self, Shape};
use crate::operations::{Operation, Operations};
use crate::recomputed::Recomputed;

#[derive(Clone, Copy, Debug, Default)]
pub struct OfCall {
    union: UnionLength,
    pub count: u32,
    /// The part not launched by a modelled operator within it.
    pub counted_ns: i64,
    /// The part not launched by any modelled operator; counted for the innermost call with a signature.
    pub not_modelled_ns: i64,
    pub device: u32,
}

impl OfCall {
    pub fn busy_ns(&self) -> i64 {
        self.union.total_ns()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub total_ns: i64,
    pub with_signature_ns: i64,
    pub modelled_ns: i64,
    /// The part without a known launching row.
    pub not_linked_ns: i64,
    /// The part of `not_linked_ns` that is attributed to a shape with a model.
    pub inferred_ns: i64,
    /// The part launched by what computes again for the backward pass.
    pub recomputed_ns: i64,
    pub count: u64,
    /// Number of rows left out because their times are bounds or invalid.
    pub left_out: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Self) {
        let plus = |to: &mut i64, more: i64| *to = to.saturating_add(more);
        plus(&mut self.total_ns, other.total_ns);
        plus(&mut self.with_signature_ns, other.with_signature_ns);
        plus(&mut self.modelled_ns, other.modelled_ns);
        plus(&mut self.not_linked_ns, other.not_linked_ns);
        plus(&mut self.inferred_ns, other.inferred_ns);
        plus(&mut self.recomputed_ns, other.recomputed_ns);
        self.count = self.count.saturating_add(other.count);
        self.left_out = self.left_out.saturating_add(other.left_out);
    }
}

#[derive(Debug, Default)]
pub struct DeviceTime {
    pub of_calls: Vec<OfCall>,
    pub totals: BTreeMap<u64, Totals>,
    /// Time of work without a known launching row that is attributed to a shape with a model.
    pub inferred: BTreeMap<Shape, i64>,
    /// Time of kernels by name and by shape of the innermost modelled operator around their launch.
    pub of_kernels: BTreeMap<(u32, Shape), i64>,
}

impl DeviceTime {
    /// Attributes each operation to the rows around it. `is_modelled` tells whether the operator at a row index
    /// has a model.
    pub fn new(operations: &Operations, calls: &Calls, is_modelled: &dyn Fn(u32) -> bool) -> Self {
        let mut out = Self {
            of_calls: vec![OfCall::default(); calls.rows.len()],
            ..Self::default()
        };
        for (rank, left_out) in &operations.left_out {
            out.totals.entry(*rank).or_default().left_out = *left_out;
        }
        let recomputed = Recomputed::new(calls);
        for operation in &operations.rows {
            out.give(operation, calls, is_modelled);
            if operation.begun_in != NONE && recomputed.is(calls, operation.begun_in) {
                let dur_ns = operation.end_ns.saturating_sub(operation.start_ns);
                let total = out.totals.entry(operation.rank).or_default();
                total.recomputed_ns = total.recomputed_ns.saturating_add(dur_ns);
            }
        }
        for (place, counterpart) in counterparts(operations) {
            let work = &operations.rows[place];
            let begun_in = operations.rows[counterpart].begun_in;
            let mut around = calls.outwards(begun_in);
            let modelled =
                around.find(|at| calls.rows[*at as usize].signature != NONE && is_modelled(*at));
            if let Some(shape) = modelled.and_then(|at| groups::shape(&calls.rows[at as usize])) {
                let dur_ns = work.end_ns.saturating_sub(work.start_ns);
                let total = out.totals.entry(work.rank).or_default();
                let of_shape = out.inferred.entry(shape).or_default();
                *of_shape = of_shape.saturating_add(dur_ns);
                total.inferred_ns = total.inferred_ns.saturating_add(dur_ns);
            }
        }
        out
    }

    pub fn total(&self, ranks: &BTreeSet<u64>) -> Totals {
        let mut out = Totals::default();
        let of_ranks = ranks.iter().filter_map(|rank| self.totals.get(rank));
        of_ranks.for_each(|totals| out.add(totals));
        out
    }

    fn give(&mut self, work: &Operation, calls: &Calls, is_modelled: &dyn Fn(u32) -> bool) {
        let dur_ns = work.end_ns.saturating_sub(work.start_ns);
        let add = |sum: &mut i64| *sum = sum.saturating_add(dur_ns);
        let totals = self.totals.entry(work.rank).or_default();
        totals.count += 1;
        add(&mut totals.total_ns);
        if work.begun_in == NONE {
            add(&mut totals.not_linked_ns);
        }
        let (mut innermost, mut has_model) = (None, false);
        for place in calls.outwards(work.begun_in) {
            if calls.rows[place as usize].signature == NONE {
                continue;
            }
            innermost.get_or_insert(place);
            let of = &mut self.of_calls[place as usize];
            of.union.add(work.start_ns, work.end_ns);
            of.count = of.count.saturating_add(1);
            of.device = work.device;
            if !has_model && is_modelled(place) {
                has_model = true;
                add(&mut of.counted_ns);
                let shape = groups::shape(&calls.rows[place as usize]);
                if let Some(shape) = shape.filter(|_| work.kernel != NONE) {
                    add(self.of_kernels.entry((work.kernel, shape)).or_default());
                }
            }
        }
        if let Some(place) = innermost {
            add(&mut totals.with_signature_ns);
            if has_model {
                add(&mut totals.modelled_ns)
            } else {
                add(&mut self.of_calls[place as usize].not_modelled_ns)
            }
        }
    }
}
