//! Choice of the tensors that are fingerprinted, and of the values that are kept.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::baseline::Baseline;
use super::mix::{K, mix};
use crate::names::Name;

/// Limit on values per tensor: columns `sample_0` to `sample_15`.
pub(crate) const MAX_SAMPLES: usize = 16;

#[derive(Debug)]
pub(crate) struct Sampling {
    /// Period N: every Nth call of a name is recorded, from the first on.
    pub every: u64,
    /// Values kept.
    pub samples: usize,
    /// Tensors that equal it are recorded by their hash alone.
    pub baseline: Option<Baseline>,
    calls: Mutex<HashMap<Name, u64>>,
}

impl Sampling {
    pub fn new(every: u64, samples: usize, baseline: Option<Baseline>) -> Self {
        Self {
            every: every.max(1),
            samples: samples.min(MAX_SAMPLES),
            baseline,
            calls: Mutex::default(),
        }
    }

    /// Returns whether this call of the name is to be recorded.
    pub fn takes(&self, name: Name) -> bool {
        if self.every == 1 {
            return true;
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let call = calls.entry(name).or_default();
        *call += 1;
        (*call - 1).is_multiple_of(self.every)
    }
}

/// Index of sample `nth` among `elements`, at least one: the same in every run. Small tensors are kept from their
/// start; for larger ones it is `floor(mix((nth+1)*K) * elements / 2^64)`, with `K` and `mix` of the hash.
pub(crate) fn place(nth: usize, elements: u64) -> Option<u64> {
    if elements <= MAX_SAMPLES as u64 {
        return Some(nth as u64).filter(|nth| *nth < elements);
    }
    let random = mix((nth as u64 + 1).wrapping_mul(K));
    Some(((u128::from(random) * u128::from(elements)) >> 64) as u64)
}
