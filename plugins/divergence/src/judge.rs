//! Verdict of each pair: identical, within tolerance, diverged, or not to be compared.

use trueno_analysis::interner::Texts;

use crate::align::Item;
use crate::order::Place;
use crate::origin::Origin;
use crate::rows::{NONE, Side};
use crate::samples;
use crate::statistics::Statistics;
use crate::tolerance::{Rule, Tolerance, longest};
use trueno_analysis::hash::FastMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Identical,
    /// The statistics are within the tolerance.
    Within,
    /// The statistics differ by more than the tolerance, or only one side has NaN or infinite elements.
    Diverged,
    NotComparable,
    /// Recorded more often than on the other side.
    Duplicated,
    /// The other side has no tensor with this key.
    OnlyInOne,
}

impl Verdict {
    pub const ALL: [Self; 6] = [
        Self::Identical,
        Self::Within,
        Self::Diverged,
        Self::NotComparable,
        Self::Duplicated,
        Self::OnlyInOne,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Within => "within_tolerance",
            Self::Diverged => "diverged",
            Self::NotComparable => "not_comparable",
            Self::Duplicated => "duplicated",
            Self::OnlyInOne => "only_in_one",
        }
    }

    /// The tensors agree.
    pub const fn is_alike(self) -> bool {
        matches!(self, Self::Identical | Self::Within)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Bits,
    L2,
    Mean,
    Absmax,
    Min,
    Max,
    Samples,
    /// The statistics are exactly equal but the bits are not: elements may have changed places.
    OnlyBits,
    NonFinite,
    NoneFinite,
    NoStatistics,
    Dtype,
    Shape,
    Alone,
}

impl Reason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits => "equal bits",
            Self::L2 => "l2",
            Self::Mean => "mean",
            Self::Absmax => "absmax",
            Self::Min => "min",
            Self::Max => "max",
            Self::Samples => "samples",
            Self::OnlyBits => "equal statistics, different bits",
            Self::NonFinite => "NaN or infinite elements",
            Self::NoneFinite => "no finite element on either side",
            Self::NoStatistics => "different bits, no statistics",
            Self::Dtype => "dtype",
            Self::Shape => "shape",
            Self::Alone => "no partner",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Judged {
    pub verdict: Verdict,
    pub reason: Reason,
    /// Lower bound of the relative error; `None` if the pair is not comparable or not finite.
    pub relative_error: Option<f64>,
    /// Operations per element, accumulated over the iteration.
    pub steps: u64,
    /// Tensors stored, accumulated over the iteration.
    pub stores: u64,
    pub origin: Origin,
    /// True if the runs recorded it at different positions in their order.
    pub order_changed: bool,
}

/// Judges the items of two runs one after the other, in data-flow order.
pub struct Judge<'a> {
    sides: [&'a Side; 2],
    tolerance: &'a Tolerance,
    /// By text: the tolerance by name.
    rules: &'a [Rule],
    /// By text: the longest dimension, if it is a shape.
    longest: Vec<u64>,
    texts: &'a Texts,
    /// The rank of the item before, and its sums.
    current: (u16, SoFar),
    /// Sums of each rank but the current one.
    so_far: FastMap<u16, SoFar>,
    computed: Computed,
}

#[derive(Clone, Copy, Default)]
struct SoFar {
    /// The iteration, or the position where there is none.
    turn: Option<u64>,
    steps: u64,
    stores: u64,
}

impl<'a> Judge<'a> {
    pub fn new(
        sides: [&'a Side; 2],
        tolerance: &'a Tolerance,
        rules: &'a [Rule],
        texts: &'a Texts,
    ) -> Self {
        Self {
            sides,
            tolerance,
            rules,
            longest: texts.all().iter().map(|text| longest(text)).collect(),
            texts,
            current: Default::default(),
            so_far: FastMap::default(),
            computed: Computed::default(),
        }
    }

    /// The tolerance by name of an item.
    pub fn rule(&self, item: &Item) -> Rule {
        let name = item.tensor(self.sides).name;
        self.rules.get(name as usize).copied().flatten()
    }

    /// The relative tolerance of a pair; 0 of what has no partner.
    pub fn tolerance(&mut self, item: &Item, judged: &Judged) -> f64 {
        if item.rows.contains(&NONE) {
            return 0.0;
        }
        let key = (
            self.rule(item),
            self.sides[0].tensor(item.rows[0] as usize).dtype,
            judged.steps,
            judged.stores,
        );
        let (tolerance, texts) = (self.tolerance, self.texts);
        self.computed.get(key, |(rule, dtype, steps, stores)| {
            tolerance.relative(rule, texts.get(dtype).unwrap_or(""), steps, stores)
        })
    }

    /// The next item. `statistics` are those of both sides.
    pub fn judge(&mut self, place: &Place, item: &Item, statistics: &[Statistics; 2]) -> Judged {
        let turn = place.iteration.or(place.position);
        // Without iterations and positions, later occurrences are other tokens, not longer ways.
        let own_steps = match item.occurrence {
            0 => Some(self.own_steps(item)),
            _ => None,
        };
        let (current, so_far) = &mut self.current;
        if *current != place.rank {
            self.so_far.insert(*current, *so_far);
            let known = self.so_far.get(&place.rank).copied();
            (*current, *so_far) = (place.rank, known.unwrap_or_default());
        }
        if so_far.turn != turn {
            *so_far = SoFar {
                turn,
                ..SoFar::default()
            };
        }
        if let Some(own_steps) = own_steps {
            so_far.steps = so_far.steps.saturating_add(own_steps);
            so_far.stores += 1;
        }
        let mut judged = Judged {
            verdict: Verdict::Identical,
            reason: Reason::Bits,
            relative_error: None,
            steps: so_far.steps,
            stores: so_far.stores,
            origin: Origin::None,
            order_changed: false,
        };
        let [a, b] = item.rows.map(|row| row as usize);
        if item.rows.contains(&NONE) {
            let place_says = place.iteration.is_some() || place.position.is_some();
            judged.reason = Reason::Alone;
            judged.verdict = if item.shared && place_says {
                Verdict::Duplicated
            } else {
                Verdict::OnlyInOne
            };
            return judged;
        }
        let [x, y] = self.sides;
        let (of_x, of_y) = (x.tensor(a), y.tensor(b));
        if of_x.dtype != of_y.dtype {
            (judged.verdict, judged.reason) = (Verdict::NotComparable, Reason::Dtype);
        } else if of_x.shape != of_y.shape || of_x.elements != of_y.elements {
            (judged.verdict, judged.reason) = (Verdict::NotComparable, Reason::Shape);
        } else if x.hash[a] == y.hash[b] {
            judged.relative_error = Some(0.0);
        } else {
            let tolerance = self.tolerance(item, &judged);
            let absolute = self.tolerance.absolute(self.rule(item));
            let values = [
                Values::of(x, a, &statistics[0]),
                Values::of(y, b, &statistics[1]),
            ];
            (judged.verdict, judged.reason, judged.relative_error) =
                differ(values, tolerance, absolute);
        }
        judged
    }

    fn own_steps(&self, item: &Item) -> u64 {
        let tensors = [0, 1].map(|side| {
            let row = Some(item.rows[side]).filter(|row| *row != NONE)?;
            Some(self.sides[side].tensor(row as usize))
        });
        let tensors = || tensors.into_iter().flatten();
        let declared = tensors().map(|tensor| tensor.steps).max().unwrap_or(0);
        if declared > 0 {
            return declared;
        }
        let longest = |shape: u32| self.longest.get(shape as usize).copied().unwrap_or(1);
        tensors()
            .map(|tensor| longest(tensor.shape))
            .max()
            .unwrap_or(1)
    }
}

type ComputedKey = (Rule, u32, u64, u64);

/// Tolerances computed before: those of one iteration are those of the next.
#[derive(Default)]
struct Computed {
    last: Option<(ComputedKey, f64)>,
    all: FastMap<ComputedKey, f64>,
}

impl Computed {
    const MAX: usize = 1 << 14;

    fn get(&mut self, key: ComputedKey, compute: impl FnOnce(ComputedKey) -> f64) -> f64 {
        if let Some((last, computed)) = self.last
            && last == key
        {
            return computed;
        }
        if self.all.len() >= Self::MAX {
            self.all.clear();
        }
        let computed = *self.all.entry(key).or_insert_with(|| compute(key));
        self.last = Some((key, computed));
        computed
    }
}

/// What was recorded of the values of one tensor.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    elements: u64,
    statistics: &'a Statistics,
    samples: &'a [f64],
}

impl<'a> Values<'a> {
    pub fn of(side: &'a Side, row: usize, statistics: &'a Statistics) -> Self {
        Self {
            elements: side.tensor(row).elements,
            statistics,
            samples: side.samples(row),
        }
    }
}

/// Compares two tensors of one shape with different bits; their types may differ.
pub fn differ([x, y]: [Values<'_>; 2], rtol: f64, atol: f64) -> (Verdict, Reason, Option<f64>) {
    let (a, b) = (x.statistics, y.statistics);
    let (nan, inf) = (a.nan_count, a.inf_count);
    if (nan, inf) != (b.nan_count, b.inf_count) {
        return (Verdict::Diverged, Reason::NonFinite, None);
    }
    let odd = nan.unwrap_or(0) + inf.unwrap_or(0);
    if nan.is_some() && odd >= x.elements {
        return (Verdict::Within, Reason::NoneFinite, None);
    }
    let finite = ((x.elements - odd.min(x.elements)).max(1)) as f64;
    let larger = |p: Option<f64>, q: Option<f64>| match (p, q) {
        (Some(p), Some(q)) => Some(p.abs().max(q.abs())),
        _ => None,
    };
    let l2 = larger(a.l2, b.l2);
    let absmax = larger(a.absmax, b.absmax);
    let root = finite.sqrt();
    // Statistic, both values, what its difference is relative to, and its share of `atol`: by the
    // triangle inequality each is at most the error of the whole tensor in the same norm.
    let measures = [
        (Reason::L2, a.l2, b.l2, l2, root),
        (Reason::Mean, a.mean, b.mean, l2.map(|l2| l2 / root), 1.0),
        (Reason::Absmax, a.absmax, b.absmax, absmax, 1.0),
        (Reason::Min, a.min, b.min, absmax, 1.0),
        (Reason::Max, a.max, b.max, absmax, 1.0),
    ];
    let mut worst: Option<(f64, Reason)> = None;
    let mut beyond = false;
    // Elements by themselves: their difference is at most that of the tensor in the largest norm.
    if let (Some(apart), Some(scale)) = (samples::apart(x.samples, y.samples), absmax) {
        beyond |= apart > rtol * scale + atol;
        let relative = if apart == 0.0 { 0.0 } else { apart / scale };
        worst = Some((relative, Reason::Samples));
    }
    for (reason, p, q, scale, absolute) in measures {
        let (p, q, scale) = match (p, q, scale) {
            (Some(p), Some(q), Some(scale)) => (p, q, scale),
            (None, None, _) => continue,
            // A sum that overflowed on one side only.
            (Some(_), None, _) | (None, Some(_), _) => return (Verdict::Diverged, reason, None),
            _ => continue,
        };
        let apart = (p - q).abs();
        let relative = if apart == 0.0 { 0.0 } else { apart / scale };
        beyond |= apart > rtol * scale + atol * absolute;
        if worst.is_none_or(|(most, _)| relative > most) {
            worst = Some((relative, reason));
        }
    }
    match worst {
        None => (Verdict::Diverged, Reason::NoStatistics, None),
        Some((relative, reason)) if beyond => (Verdict::Diverged, reason, Some(relative)),
        // Far below what one rounding of an f32 changes.
        Some((relative, _)) if relative < 1e-14 => {
            (Verdict::Within, Reason::OnlyBits, Some(relative))
        }
        Some((relative, reason)) => (Verdict::Within, reason, Some(relative)),
    }
}
