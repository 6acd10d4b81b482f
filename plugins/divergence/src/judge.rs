//! Verdict of each pair: identical, within tolerance, diverged, or not to be compared.

use trueno_analysis::interner::Texts;

use crate::align::Item;
use crate::order::Groups;
use crate::origin::Origin;
use crate::rows::{NONE, Side};
use crate::samples;
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
    pub tolerance: f64,
    /// Operations per element, accumulated over the iteration.
    pub steps: u64,
    /// Tensors stored, accumulated over the iteration.
    pub stores: u64,
    pub origin: Origin,
    /// True if the runs recorded it at different positions in their order.
    pub order_changed: bool,
}

pub fn judge(
    sides: [&Side; 2],
    groups: &Groups,
    items: &[Item],
    tolerance: &Tolerance,
    rules: &[Rule],
    texts: &Texts,
) -> Vec<Judged> {
    let longest: Vec<u64> = texts.all().iter().map(|text| longest(text)).collect();
    // By rank: the iteration (or position, where there is none), operations and tensors so far.
    let mut so_far: FastMap<u16, (Option<u64>, u64, u64)> = FastMap::default();
    let mut judged = Vec::with_capacity(items.len());
    for item in items {
        let place = &groups.places[item.group as usize];
        let turn = place.iteration.or(place.position);
        let (of, steps, stores) = so_far.entry(place.rank).or_default();
        if *of != turn {
            (*of, *steps, *stores) = (turn, 0, 0);
        }
        // Without iterations and positions, later occurrences are other tokens, not longer ways.
        if item.occurrence == 0 {
            *steps = steps.saturating_add(own_steps(sides, item, &longest));
            *stores += 1;
        }
        let side = usize::from(item.rows[0] == NONE);
        let name = sides[side].name[item.rows[side] as usize];
        let rule = rules.get(name as usize).copied().flatten();
        let mut one = pair(sides, item, (tolerance, rule), texts, (*steps, *stores));
        (one.steps, one.stores) = (*steps, *stores);
        judged.push(one);
    }
    judged
}

fn own_steps(sides: [&Side; 2], item: &Item, longest: &[u64]) -> u64 {
    let there = |side: &usize| item.rows[*side] != NONE;
    let declared = |side: usize| sides[side].steps[item.rows[side] as usize];
    let most = (0..2).filter(there).map(declared).max().unwrap_or(0);
    if most > 0 {
        return most;
    }
    let shape = |side: usize| sides[side].shape[item.rows[side] as usize];
    let of = |side| longest.get(shape(side) as usize).copied().unwrap_or(1);
    (0..2).filter(there).map(of).max().unwrap_or(1)
}

fn pair(
    sides: [&Side; 2],
    item: &Item,
    (tolerance, rule): (&Tolerance, Rule),
    texts: &Texts,
    (steps, stores): (u64, u64),
) -> Judged {
    let mut judged = Judged {
        verdict: Verdict::Identical,
        reason: Reason::Bits,
        relative_error: None,
        tolerance: 0.0,
        steps,
        stores,
        origin: Origin::None,
        order_changed: false,
    };
    let [a, b] = item.rows.map(|row| row as usize);
    if item.rows.contains(&NONE) {
        let place_says = [a, b].iter().zip(sides).any(|(row, side)| {
            *row != NONE as usize
                && (side.iteration.get(*row).is_some() || side.position.get(*row).is_some())
        });
        judged.reason = Reason::Alone;
        judged.verdict = if item.shared && place_says {
            Verdict::Duplicated
        } else {
            Verdict::OnlyInOne
        };
        return judged;
    }
    let [x, y] = sides;
    let dtype = texts.get(x.dtype[a]).unwrap_or("");
    judged.tolerance = tolerance.relative(rule, dtype, steps, stores);
    if x.dtype[a] != y.dtype[b] {
        (judged.verdict, judged.reason) = (Verdict::NotComparable, Reason::Dtype);
    } else if x.shape[a] != y.shape[b] || x.elements[a] != y.elements[b] {
        (judged.verdict, judged.reason) = (Verdict::NotComparable, Reason::Shape);
    } else if x.hash[a] == y.hash[b] {
        judged.relative_error = Some(0.0);
    } else {
        (judged.verdict, judged.reason, judged.relative_error) =
            differ([x, y], [a, b], judged.tolerance, tolerance.absolute(rule));
    }
    judged
}

/// Compares two tensors of one shape with different bits; their types may differ.
pub fn differ(
    [x, y]: [&Side; 2],
    [a, b]: [usize; 2],
    rtol: f64,
    atol: f64,
) -> (Verdict, Reason, Option<f64>) {
    let counts = |side: &Side, row| (side.nan_count(row), side.inf_count(row));
    let (nan, inf) = counts(x, a);
    if counts(x, a) != counts(y, b) {
        return (Verdict::Diverged, Reason::NonFinite, None);
    }
    let odd = nan.unwrap_or(0) + inf.unwrap_or(0);
    if nan.is_some() && odd >= x.elements[a] {
        return (Verdict::Within, Reason::NoneFinite, None);
    }
    let finite = ((x.elements[a] - odd.min(x.elements[a])).max(1)) as f64;
    let larger = |p: Option<f64>, q: Option<f64>| match (p, q) {
        (Some(p), Some(q)) => Some(p.abs().max(q.abs())),
        _ => None,
    };
    let l2 = larger(x.l2(a), y.l2(b));
    let absmax = larger(x.absmax(a), y.absmax(b));
    // Statistic, both values, what its difference is relative to, and its share of `atol`: by the
    // triangle inequality each is at most the error of the whole tensor in the same norm.
    let measures = [
        (Reason::L2, x.l2(a), y.l2(b), l2, finite.sqrt()),
        (
            Reason::Mean,
            x.mean(a),
            y.mean(b),
            l2.map(|l2| l2 / finite.sqrt()),
            1.0,
        ),
        (Reason::Absmax, x.absmax(a), y.absmax(b), absmax, 1.0),
        (Reason::Min, x.min(a), y.min(b), absmax, 1.0),
        (Reason::Max, x.max(a), y.max(b), absmax, 1.0),
    ];
    let mut worst: Option<(f64, Reason)> = None;
    let mut beyond = false;
    // Elements by themselves: their difference is at most that of the tensor in the largest norm.
    if let (Some(apart), Some(scale)) = (samples::apart(x.samples(a), y.samples(b)), absmax) {
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
