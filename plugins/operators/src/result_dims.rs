//! Dims of results that the backward pass of convolutions states.
//!
//! Traces of PyTorch before 1.11 give neither stride nor padding of a convolution. Its backward pass does it for them:
//! `cudnn_convolution_backward(self, grad_output, weight)` has the dims of the output, and of the weight that
//! `cudnn_convolution_backward_weight(size, grad_output, self)` gives.

use std::collections::{BTreeMap, BTreeSet};

use trueno_operator_model::{Operand, Signature};

use crate::calls::Calls;
use crate::groups::{self, Shape};
use crate::work::signature;

type Dims = Vec<u64>;

/// Rank of the job, and dims of two operands.
type Operands = (u64, Dims, Dims);

/// Result dims by the dims of two operands in the same rank; `None` if calls disagree.
#[derive(Debug, Default)]
pub struct ResultDims {
    /// Dims of outputs by those of input and weight.
    outputs: BTreeMap<Operands, Option<Dims>>,
    /// Dims of weights by those of output gradient and input.
    weights: BTreeMap<Operands, Option<Dims>>,
}

impl ResultDims {
    pub fn new(calls: &Calls) -> Self {
        let is_backward = |shape: &Shape| {
            let name = calls.names.text(shape.0);
            name.starts_with("aten::") && name.ends_with("n_convolution_backward")
        };
        let shapes = calls.rows.iter().filter_map(groups::shape);
        let shapes: BTreeSet<Shape> = shapes.filter(is_backward).collect();
        let mut out = Self::default();
        for shape in shapes {
            let Ok(signature) = signature(calls, shape) else {
                continue;
            };
            if let [Some(input), Some(gradient), Some(weight)] =
                [0, 1, 2].map(|at| dims(&signature, at))
            {
                let rank = calls.signature_ranks[shape.1 as usize];
                let (of_output, of_weight) = (
                    (rank, input.clone(), weight.clone()),
                    (rank, gradient.clone(), input),
                );
                keep(&mut out.outputs, of_output, &gradient);
                keep(&mut out.weights, of_weight, &weight);
            }
        }
        out
    }

    pub fn of(&self, rank: u64, signature: &Signature) -> Option<Dims> {
        if !signature.name.contains("conv") {
            return None;
        }
        let (known, first, second) = if signature.name.ends_with("_convolution_backward_weight") {
            (&self.weights, 1, 2)
        } else {
            (&self.outputs, 0, 1)
        };
        known
            .get(&(rank, dims(signature, first)?, dims(signature, second)?))?
            .clone()
    }
}

fn dims(signature: &Signature, at: usize) -> Option<Dims> {
    match signature.operands.get(at)? {
        Operand::Tensor(tensor) => Some(tensor.dims.clone()),
        _ => None,
    }
}

fn keep(known: &mut BTreeMap<Operands, Option<Dims>>, key: Operands, dims: &Dims) {
    let found = known.entry(key).or_insert_with(|| Some(dims.clone()));
    if found.as_ref() != Some(dims) {
        *found = None;
    }
}
