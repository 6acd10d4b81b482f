//! Counts and moments of a tensor.

use super::Element;

/// Partial sums side by side, so that the processor adds several at once.
const LANES: usize = 8;

/// What the elements are like. Moments are `None` when no element is finite, or when they
/// overflow f64.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Statistics {
    /// Elements that are not a number; integers always are.
    pub nan_count: u64,
    /// Elements that are infinite.
    pub inf_count: u64,
    /// Elements equal to zero, of either sign.
    pub zero_count: u64,
    /// Smallest finite element.
    pub min: Option<f64>,
    /// Largest finite element.
    pub max: Option<f64>,
    /// Largest finite magnitude.
    pub absmax: Option<f64>,
    /// Mean of the finite elements.
    pub mean: Option<f64>,
    /// Euclidean norm of the finite elements.
    pub l2: Option<f64>,
}

pub struct Pass {
    elements: u64,
    nan: [u64; LANES],
    inf: [u64; LANES],
    zero: [u64; LANES],
    pub(super) min: [f64; LANES],
    pub(super) max: [f64; LANES],
    pub(super) sum: [f64; LANES],
    pub(super) squares: [f64; LANES],
}

impl Default for Pass {
    fn default() -> Self {
        Self {
            elements: 0,
            nan: [0; LANES],
            inf: [0; LANES],
            zero: [0; LANES],
            min: [f64::INFINITY; LANES],
            max: [f64::NEG_INFINITY; LANES],
            sum: [0.0; LANES],
            squares: [0.0; LANES],
        }
    }
}

impl Pass {
    /// Takes more elements; all blocks but the last have a multiple of [`LANES`] elements.
    pub fn add<T: Element>(&mut self, elements: &[T]) {
        self.elements += elements.len() as u64;
        let mut groups = elements.chunks_exact(LANES);
        for group in &mut groups {
            for (lane, element) in group.iter().enumerate() {
                self.take(lane, element.as_f64());
            }
        }
        for (lane, element) in groups.remainder().iter().enumerate() {
            self.take(lane, element.as_f64());
        }
    }

    /// Counts elements of a block that were taken without [`Pass::add`].
    pub fn count(&mut self, elements: usize, nan: u32, inf: u32, zero: u32) {
        self.elements += elements as u64;
        self.nan[0] += u64::from(nan);
        self.inf[0] += u64::from(inf);
        self.zero[0] += u64::from(zero);
    }

    #[inline(always)]
    fn take(&mut self, lane: usize, value: f64) {
        let magnitude = value.abs();
        let finite = magnitude < f64::INFINITY;
        self.nan[lane] += u64::from(value.is_nan());
        self.inf[lane] += u64::from(magnitude == f64::INFINITY);
        self.zero[lane] += u64::from(value == 0.0);
        let low = if finite { value } else { f64::INFINITY };
        let high = if finite { value } else { f64::NEG_INFINITY };
        let kept = if finite { value } else { 0.0 };
        self.min[lane] = if low < self.min[lane] {
            low
        } else {
            self.min[lane]
        };
        self.max[lane] = if high > self.max[lane] {
            high
        } else {
            self.max[lane]
        };
        self.sum[lane] += kept;
        self.squares[lane] += kept * kept;
    }

    pub fn result(&self) -> Statistics {
        let nan_count = self.nan.iter().sum();
        let inf_count = self.inf.iter().sum();
        let finite = self.elements - nan_count - inf_count;
        let of_finite = |value: f64| (finite > 0 && value.is_finite()).then_some(value);
        let min = self.min.iter().copied().fold(f64::INFINITY, f64::min);
        let max = self.max.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Statistics {
            nan_count,
            inf_count,
            zero_count: self.zero.iter().sum(),
            min: of_finite(min),
            max: of_finite(max),
            absmax: of_finite(min.abs().max(max.abs())),
            mean: of_finite(self.sum.iter().sum::<f64>() / finite as f64),
            l2: of_finite(self.squares.iter().sum::<f64>().sqrt()),
        }
    }
}
