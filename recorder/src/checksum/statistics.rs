//! Counts and moments of a tensor.

use super::Element;

/// Number of independent partial sums, so that the processor adds several at once.
const LANES: usize = 8;

/// Counts and moments of the elements. Moments are `None` when no element is finite, or when they
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

/// The longest slice has fewer than two to the power of this blocks of 8 KiB.
const LEVELS: usize = 51;

pub struct Pass {
    elements: u64,
    /// Number of finished blocks. For each bit set in it, `levels` has the sums (and sums of squares) of that
    /// many neighbouring blocks.
    blocks: u64,
    levels: [[f64; 2]; LEVELS],
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
            blocks: 0,
            levels: [[0.0; 2]; LEVELS],
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
    /// Takes more elements of a block; what comes before its end is a multiple of [`LANES`].
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

    /// Ends a block: its sums join those of the blocks before.
    ///
    /// Sums of two neighbours are added, then sums of two such pairs, and so on: the order does not
    /// depend on who adds, and a device can add the pairs of one level at once.
    pub fn end_block(&mut self) {
        let mut sums = self.block_sums();
        let mut level = 0;
        while self.blocks >> level & 1 == 1 {
            sums = added(self.levels[level], sums);
            level += 1;
        }
        self.levels[level] = sums;
        self.blocks += 1;
        (self.sum, self.squares) = ([0.0; LANES], [0.0; LANES]);
    }

    pub(super) fn block_sums(&self) -> [f64; 2] {
        [tree(self.sum), tree(self.squares)]
    }

    /// The parts that are not sums of floats: counts of NaN, infinite and zero elements, minimum and maximum.
    pub(super) fn exact(&self) -> ([u64; 3], [f64; 2]) {
        let counts = [&self.nan, &self.inf, &self.zero].map(|lanes| lanes.iter().sum());
        let min = self.min.iter().copied().fold(f64::INFINITY, f64::min);
        let max = self.max.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (counts, [min, max])
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
        let (counts, extremes) = self.exact();
        let ended = (0..LEVELS).filter(|level| self.blocks >> level & 1 == 1);
        let sums = ended.map(|level| self.levels[level]);
        let sums = sums.reduce(|later, earlier| added(earlier, later));
        statistics(self.elements, counts, extremes, sums.unwrap_or_default())
    }
}

/// Makes statistics of `[NaN, infinite, zero]`, `[min, max]` and `[sum, sum of squares]`.
pub(super) fn statistics(
    elements: u64,
    [nan_count, inf_count, zero_count]: [u64; 3],
    extremes: [f64; 2],
    [sum, squares]: [f64; 2],
) -> Statistics {
    let finite = elements - nan_count - inf_count;
    let of_finite = |value: f64| (finite > 0 && value.is_finite()).then_some(value);
    // Which of the two zeros comes first in a lane would depend on who looks.
    let [min, max] = extremes.map(|extreme| extreme + 0.0);
    Statistics {
        nan_count,
        inf_count,
        zero_count,
        min: of_finite(min),
        max: of_finite(max),
        absmax: of_finite(min.abs().max(max.abs())),
        mean: of_finite(sum / finite as f64),
        l2: of_finite(squares.sqrt()),
    }
}

/// Adds neighbours first, then pairs of them.
fn tree([a, b, c, d, e, f, g, h]: [f64; LANES]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Adds `[sum, sum of squares]` of earlier and of later elements.
pub(super) fn added(earlier: [f64; 2], later: [f64; 2]) -> [f64; 2] {
    [earlier[0] + later[0], earlier[1] + later[1]]
}
