//! Device work of each call: that of the kernels and copies it began, and of the calls in it once.

use std::collections::BTreeMap;

use trueno_analysis::unions::UnionLength;

use crate::before_recording::counterparts;
use crate::calls::{Calls, NONE};
use crate::groups::{self, Shape};
use crate::operations::{Operation, Operations};

/// Device work of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfCall {
    union: UnionLength,
    /// Kernels and copies.
    pub count: u32,
    /// The part that no modelled operator within it began.
    pub counted_ns: i64,
    /// The part that no modelled operator began; of the innermost with a signature.
    pub not_modelled_ns: i64,
    /// The device of the last.
    pub device: u32,
}

impl OfCall {
    /// Time in which at least one of its kernels and copies ran.
    pub fn busy_ns(&self) -> i64 {
        self.union.total_ns()
    }
}

/// Device work of the run.
#[derive(Debug, Default)]
pub struct DeviceTime {
    /// By place of the row of bricks.
    pub of_calls: Vec<OfCall>,
    /// Σ over all kernels and copies.
    pub total_ns: i64,
    /// Of those, begun in an operator with a signature.
    pub with_signature_ns: i64,
    /// Of those, begun in an operator with a model.
    pub modelled_ns: i64,
    /// Of those begun in no row that is known, time that is taken for that of a shape with a model.
    pub inferred: BTreeMap<Shape, i64>,
    /// Time of kernels by their names and by the shape of the innermost operator with a model around their launch.
    pub of_kernels: BTreeMap<(u32, Shape), i64>,
    /// Begun in no row that is known.
    pub not_linked_ns: i64,
    /// Kernels and copies.
    pub count: u64,
    /// Those that only bound their work, or are not valid.
    pub left_out: u64,
}

impl DeviceTime {
    /// Gives each operation to the rows around it; `is_modelled` says of a place whether its operator has a model.
    pub fn new(operations: &Operations, calls: &Calls, is_modelled: &dyn Fn(u32) -> bool) -> Self {
        let mut out = Self {
            of_calls: vec![OfCall::default(); calls.rows.len()],
            left_out: operations.left_out,
            ..Self::default()
        };
        for operation in &operations.rows {
            out.give(operation, calls, is_modelled);
        }
        for (place, counterpart) in counterparts(operations) {
            let work = &operations.rows[place];
            let begun_in = operations.rows[counterpart].begun_in;
            let mut around = calls.outwards(begun_in);
            let modelled =
                around.find(|at| calls.rows[*at as usize].signature != NONE && is_modelled(*at));
            if let Some(shape) = modelled.and_then(|at| groups::shape(&calls.rows[at as usize])) {
                let sum = out.inferred.entry(shape).or_default();
                *sum = sum.saturating_add(work.end_ns.saturating_sub(work.start_ns));
            }
        }
        out
    }

    /// Sum of what is inferred.
    pub fn inferred_ns(&self) -> i64 {
        let all = self.inferred.values();
        all.fold(0, |sum, dur_ns| sum.saturating_add(*dur_ns))
    }

    fn give(&mut self, work: &Operation, calls: &Calls, is_modelled: &dyn Fn(u32) -> bool) {
        let dur_ns = work.end_ns.saturating_sub(work.start_ns);
        let add = |sum: &mut i64| *sum = sum.saturating_add(dur_ns);
        self.count += 1;
        add(&mut self.total_ns);
        if work.begun_in == NONE {
            add(&mut self.not_linked_ns);
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
            add(&mut self.with_signature_ns);
            match has_model {
                true => add(&mut self.modelled_ns),
                false => add(&mut self.of_calls[place as usize].not_modelled_ns),
            }
        }
    }
}
