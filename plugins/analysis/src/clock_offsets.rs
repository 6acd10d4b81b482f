//! Clocks of ranks against each other, from collectives that both took part in.
//!
//! A rank *arrives* at a collective when its part begins, and *leaves* it when its part ends, each by its own clock. In
//! one that synchronises (all-reduce, all-gather, reduce-scatter, all-to-all, barrier) nobody leaves before the last has
//! arrived. With `θ` the clock of rank *r* less that of rank *s*, each such collective bounds it (a *gate*):
//!
//! ```text
//! arrive_r − leave_s ≤ θ ≤ leave_r − arrive_s                          nobody leaves before the other has arrived
//! leave_r − leave_s − T ≤ θ ≤ leave_r − leave_s + T                    inferred: all leave within T of each other
//! ```
//!
//! `T` is the shortest stay of any rank in that collective: the time of the transfer as the last to arrive saw it. A
//! clock drifts, so `θ` is a straight line over time, and what is left are all lines through all gates: at any time an
//! interval for `θ`, whose middle is the offset and whose half is its uncertainty. Where no line passes, `T` is taken
//! twice, four and eight times, then left away; where even so none does, nothing is said.
//! The method for pairs is that of A. Duda, G. Harrus, Y. Haddad, G. Bernard, "Estimating global time in distributed
//! systems" (ICDCS 1987): convex hulls of the bounds from both sides.

use std::collections::BTreeMap;

/// Largest plausible drift between two clocks: 200 parts per million.
const MAX_DRIFT: f64 = 200e-6;
/// Allowance for times rounded to nanoseconds, on both sides of a gate.
const ROUNDING_NS: f64 = 1.0;
/// Multiples of the shortest stay within which all ranks leave. The next is tried if one leads to a contradiction.
const STAYS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Stay of one rank in one collective, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The rank.
    pub rank: u32,
    /// Begin of its part.
    pub arrive_ns: i64,
    /// End of its part.
    pub leave_ns: i64,
}

/// Lead of a clock over that of the reference rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The middle of all that is possible.
    pub ns: i64,
    /// Half of the width of all that is possible.
    pub uncertainty_ns: i64,
}

impl Offset {
    /// That of the reference itself.
    pub const NONE: Self = Self {
        ns: 0,
        uncertainty_ns: 0,
    };

    fn between(low: f64, high: f64) -> Self {
        Self {
            ns: (low + (high - low) / 2.0).round() as i64,
            uncertainty_ns: ((high - low) / 2.0).ceil() as i64,
        }
    }

    /// False where the clocks may agree.
    pub fn is_certain(self) -> bool {
        self.ns.unsigned_abs() > self.uncertainty_ns.unsigned_abs()
    }
}

#[derive(Clone, Copy, Debug)]
struct Gate {
    at: f64,
    low: f64,
    high: f64,
}

/// Slope, and value at 0 of the line with that slope.
type Corners = Vec<(f64, f64)>;
/// Stays of both ranks of a pair in one collective, and the shortest stay of any rank in it.
type SharedStay = (Stay, Stay, i64);

/// All lines through all gates of a pair of ranks, as the corners of a polygon of (slope, value at 0).
#[derive(Clone, Debug)]
struct Lines {
    /// Time and offset to which everything else is relative.
    origin: (i64, i64),
    /// Corners of the upper and lower side, sorted by slope.
    above: Vec<(f64, f64)>,
    below: Vec<(f64, f64)>,
    /// Multiple of the shortest stay that was needed; 0: none was consistent.
    stays: f64,
}

/// Convex hull of the points and the slopes of its edges. `sign` is 1 for points that lines stay below, -1 for
/// points that they stay above.
fn hull_slopes(points: &[(f64, f64)], sign: f64) -> (Vec<(f64, f64)>, Vec<f64>) {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &(at, value) in points {
        let point = (at, sign * value);
        if let Some(last) = hull.last_mut().filter(|last| last.0 == at) {
            last.1 = last.1.min(point.1);
        } else {
            hull.push(point);
        }
        while let [.., a, b, c] = hull[..] {
            // b is no corner of the lower hull if it lies on or above the line from a to c.
            if (b.1 - a.1) * (c.0 - a.0) < (c.1 - a.1) * (b.0 - a.0) {
                break;
            }
            hull.swap_remove(hull.len() - 2);
        }
    }
    let slopes = hull
        .windows(2)
        .map(|pair| sign * (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0))
        .collect();
    let hull = hull.into_iter().map(|(at, value)| (at, sign * value));
    (hull.collect(), slopes)
}

/// All lines through all gates, which must be sorted by time; `None`: there is none.
fn lines_through(gates: &[Gate]) -> Option<(Corners, Corners)> {
    let (highs, from_above) = hull_slopes(
        &gates.iter().map(|g| (g.at, g.high)).collect::<Vec<_>>(),
        1.0,
    );
    let (lows, from_below) = hull_slopes(
        &gates.iter().map(|g| (g.at, g.low)).collect::<Vec<_>>(),
        -1.0,
    );
    // The highest and lowest value at 0 that a line of that slope may have.
    let top = |slope: f64| {
        let bounds = highs.iter().map(|(at, high)| high - slope * at);
        bounds.fold(f64::INFINITY, f64::min)
    };
    let bottom = |slope: f64| {
        let bounds = lows.iter().map(|(at, low)| low - slope * at);
        bounds.fold(f64::NEG_INFINITY, f64::max)
    };
    let mut slopes: Vec<f64> = from_above.iter().chain(&from_below).copied().collect();
    slopes.retain(|slope| slope.abs() < MAX_DRIFT);
    slopes.extend([-MAX_DRIFT, MAX_DRIFT]);
    slopes.sort_by(f64::total_cmp);
    slopes.dedup();
    // Room between top and bottom, which bends at these slopes only and has one hill.
    let room: Vec<f64> = slopes
        .iter()
        .map(|slope| top(*slope) - bottom(*slope))
        .collect();
    let zero = |at: usize| -> f64 {
        // The slope between two at which the room is gone.
        let (a, b) = (room[at], room[at + 1]);
        slopes[at] + (slopes[at + 1] - slopes[at]) * (a / (a - b))
    };
    let first = room.iter().position(|room| *room >= 0.0)?;
    let last = room.iter().rposition(|room| *room >= 0.0)?;
    let mut possible: Vec<f64> = slopes[first..=last].to_vec();
    if first > 0 {
        possible.insert(0, zero(first - 1));
    }
    if last + 1 < slopes.len() {
        possible.push(zero(last));
    }
    let corners = |bound: &dyn Fn(f64) -> f64| {
        let corners = possible.iter().map(|slope| (*slope, bound(*slope)));
        corners.collect::<Vec<_>>()
    };
    Some((corners(&top), corners(&bottom)))
}

impl Lines {
    fn new(pairs: &[(Stay, Stay, i64)]) -> Option<Self> {
        let (of, against, _) = pairs.first()?;
        let origin = (
            against.arrive_ns,
            of.leave_ns.checked_sub(against.leave_ns)?,
        );
        let relative = |a: i64, b: i64| a.saturating_sub(b).saturating_sub(origin.1) as f64;
        let gates = |stays: Option<f64>| {
            let gate = |(of, against, shortest_ns): &(Stay, Stay, i64)| {
                let mut gate = Gate {
                    at: against.arrive_ns.saturating_sub(origin.0) as f64,
                    low: relative(of.arrive_ns, against.leave_ns) - ROUNDING_NS,
                    high: relative(of.leave_ns, against.arrive_ns) + ROUNDING_NS,
                };
                if let Some(stays) = stays {
                    let (middle, half) = (
                        relative(of.leave_ns, against.leave_ns),
                        stays * *shortest_ns as f64 + ROUNDING_NS,
                    );
                    gate.low = gate.low.max(middle - half);
                    gate.high = gate.high.min(middle + half);
                }
                gate
            };
            let mut gates: Vec<Gate> = pairs.iter().map(gate).collect();
            gates.sort_by(|a, b| a.at.total_cmp(&b.at));
            gates
        };
        let tries = STAYS.into_iter().map(Some).chain([None]);
        tries.into_iter().find_map(|stays| {
            let (above, below) = lines_through(&gates(stays))?;
            Some(Self {
                origin,
                above,
                below,
                stays: stays.unwrap_or(0.0),
            })
        })
    }

    /// Smallest and largest possible offset at a time of the second rank's clock.
    fn bounds(&self, at_ns: i64) -> (f64, f64) {
        let at = at_ns.saturating_sub(self.origin.0) as f64;
        let value = |(slope, zero): &(f64, f64)| zero + slope * at;
        let high = self
            .above
            .iter()
            .map(value)
            .fold(f64::NEG_INFINITY, f64::max);
        let low = self.below.iter().map(value).fold(f64::INFINITY, f64::min);
        let origin = self.origin.1 as f64;
        (origin + low, origin + high.max(low))
    }
}

/// Clocks of all ranks that collectives connect with the reference rank.
#[derive(Clone, Debug, Default)]
pub struct ClockOffsets {
    reference: Option<u32>,
    /// By rank: the pairs that lead from the reference to it, each with whether it is used in reverse.
    ways: BTreeMap<u32, Vec<(usize, bool)>>,
    lines: Vec<Lines>,
    /// Pairs whose bounds contradict each other.
    contradicted: Vec<(u32, u32)>,
    range: (i64, i64),
}

impl ClockOffsets {
    /// Estimates them from synchronising collectives, each as the stays of its ranks. The lowest rank is the reference.
    pub fn estimate<'a>(collectives: impl IntoIterator<Item = &'a [Stay]>) -> Self {
        let mut pairs: BTreeMap<(u32, u32), Vec<SharedStay>> = BTreeMap::new();
        let mut range = (i64::MAX, i64::MIN);
        for stays in collectives {
            let Some(first) = stays.iter().min_by_key(|stay| stay.rank) else {
                continue;
            };
            let shortest_ns = shortest_ns(stays);
            for stay in stays.iter().filter(|stay| stay.rank != first.rank) {
                let of_pair = pairs.entry((stay.rank, first.rank)).or_default();
                of_pair.push((*stay, *first, shortest_ns));
            }
            range = (range.0.min(first.arrive_ns), range.1.max(first.arrive_ns));
        }
        let reference = pairs.keys().map(|(a, b)| (*a).min(*b)).min();
        let mut out = Self {
            reference,
            range,
            ..Self::default()
        };
        let mut known: Vec<((u32, u32), usize)> = Vec::new();
        for (pair, stays) in pairs {
            match Lines::new(&stays) {
                Some(lines) => {
                    known.push((pair, out.lines.len()));
                    out.lines.push(lines);
                }
                None => out.contradicted.push(pair),
            }
        }
        out.connect(&known);
        out
    }

    /// Finds the path with the least uncertainty to each rank. There are few ranks, so a linear search for the
    /// nearest is enough.
    fn connect(&mut self, known: &[((u32, u32), usize)]) {
        let Some(reference) = self.reference else {
            return;
        };
        let middle_ns = self.range.0 / 2 + self.range.1 / 2;
        let width = |at: usize| {
            let (low, high) = self.lines[at].bounds(middle_ns);
            high - low
        };
        let mut widths: BTreeMap<u32, f64> = BTreeMap::from([(reference, 0.0)]);
        self.ways.insert(reference, Vec::new());
        loop {
            let steps = known
                .iter()
                .flat_map(|((a, b), at)| [(*b, *a, *at, false), (*a, *b, *at, true)]);
            let next = steps
                .filter(|(from, to, ..)| widths.contains_key(from) && !widths.contains_key(to))
                .map(|(from, to, at, reversed)| (widths[&from] + width(at), to, from, at, reversed))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let Some((width, to, from, at, reversed)) = next else {
                return;
            };
            widths.insert(to, width);
            let mut way = self.ways[&from].clone();
            way.push((at, reversed));
            self.ways.insert(to, way);
        }
    }

    /// The rank that all offsets are against; `None`: there is no pair.
    pub fn reference(&self) -> Option<u32> {
        self.reference
    }

    /// Pairs of ranks whose collectives contradict each other: matched wrongly, or a clock was set meanwhile.
    pub fn contradicted(&self) -> &[(u32, u32)] {
        &self.contradicted
    }

    /// The ranks that are known of.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.ways.keys().copied()
    }

    /// Multiple of the shortest stay within which ranks are taken to leave, on the way to a rank: the most; 0 where it
    /// is contradicted, and nothing but who cannot have left before whom bounds the offset.
    pub fn stays(&self, rank: u32) -> Option<f64> {
        let way = self.ways.get(&rank)?;
        let stays = way.iter().map(|(at, _)| self.lines[*at].stays);
        let is_hard = stays.clone().any(|stays| stays == 0.0);
        Some(if is_hard {
            0.0
        } else {
            stays.fold(0.0, f64::max)
        })
    }

    /// Lead of the clock of a rank, at a time of the reference's; `None`: nothing connects them.
    pub fn at(&self, rank: u32, at_ns: i64) -> Option<Offset> {
        let way = self.ways.get(&rank)?;
        let (mut low, mut high) = (0.0, 0.0);
        for (at, reversed) in way {
            let (from, to) = self.lines[*at].bounds(at_ns);
            let (from, to) = if *reversed { (-to, -from) } else { (from, to) };
            (low, high) = (low + from, high + to);
        }
        Some(Offset::between(low, high))
    }

    /// Drift of a rank's clock against the reference's, in parts in a million: from the first collective to the last.
    pub fn drift_ppm(&self, rank: u32) -> Option<f64> {
        let (first_ns, last_ns) = self.range;
        let length_ns = last_ns.checked_sub(first_ns).filter(|ns| *ns > 0)?;
        let [first, last] = [self.at(rank, first_ns)?, self.at(rank, last_ns)?];
        Some((last.ns.saturating_sub(first.ns)) as f64 / length_ns as f64 * 1e6)
    }

    /// A time of a rank's clock on that of the reference, with the uncertainty of the shift.
    pub fn on_reference(&self, rank: u32, local_ns: i64) -> Option<(i64, i64)> {
        // Drift is so small that the offset a moment apart is the same.
        let first = self.at(rank, local_ns)?;
        let offset = self.at(rank, local_ns.saturating_sub(first.ns))?;
        Some((local_ns.saturating_sub(offset.ns), offset.uncertainty_ns))
    }
}

/// Clocks of two ranks each, from all collectives that both took part in: the tightest bound that the two
/// have. Ranks of one host often share a clock, and against a rank of another host neither is as certain.
pub struct PairClocks<'a> {
    collectives: &'a [Vec<Stay>],
    of_ranks: BTreeMap<u32, Vec<usize>>,
    /// Results for pairs already compared, with the lower rank first.
    known: BTreeMap<(u32, u32), Option<Lines>>,
}

/// Largest number of pairs compared: all pairs of 256 ranks.
const MAX_PAIRS: usize = 32_768;

impl<'a> PairClocks<'a> {
    /// `collectives`: those that synchronise, each as the stays of its ranks.
    pub fn new(collectives: &'a [Vec<Stay>]) -> Self {
        let mut of_ranks: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, stays) in collectives.iter().enumerate() {
            for stay in stays {
                of_ranks.entry(stay.rank).or_default().push(at);
            }
        }
        Self {
            collectives,
            of_ranks,
            known: BTreeMap::new(),
        }
    }

    /// Lead of the clock of a rank over that of another, at a time of the other's; `None`: they never met, or their
    /// meetings contradict each other.
    pub fn lead(&mut self, rank: u32, over: u32, at_ns: i64) -> Option<Offset> {
        let pair = (rank.min(over), rank.max(over));
        if !self.known.contains_key(&pair) {
            if self.known.len() >= MAX_PAIRS {
                return None;
            }
            let lines = self.compare(pair);
            self.known.insert(pair, lines);
        }
        // Lines are of the higher rank's clock over the lower's.
        let (low, high) = self.known.get(&pair)?.as_ref()?.bounds(at_ns);
        let (low, high) = if rank == pair.1 {
            (low, high)
        } else {
            (-high, -low)
        };
        Some(Offset::between(low, high))
    }

    fn compare(&self, (low, high): (u32, u32)) -> Option<Lines> {
        let (a, b) = (self.of_ranks.get(&low)?, self.of_ranks.get(&high)?);
        let mut shared = Vec::new();
        let (mut of_a, mut of_b) = (a.iter().peekable(), b.iter().peekable());
        while let (Some(x), Some(y)) = (of_a.peek(), of_b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => drop(of_a.next()),
                std::cmp::Ordering::Greater => drop(of_b.next()),
                std::cmp::Ordering::Equal => {
                    shared.push(**x);
                    of_a.next();
                    of_b.next();
                }
            }
        }
        let stays = shared.iter().filter_map(|at| {
            let all = &self.collectives[*at];
            let of = |rank: u32| all.iter().find(|stay| stay.rank == rank).copied();
            Some((of(high)?, of(low)?, shortest_ns(all)))
        });
        Lines::new(&stays.collect::<Vec<SharedStay>>())
    }
}

fn shortest_ns(stays: &[Stay]) -> i64 {
    let length = |stay: &Stay| stay.leave_ns.saturating_sub(stay.arrive_ns);
    stays.iter().map(length).min().unwrap_or(0).max(0)
}

#[cfg(test)]
#[path = "clock_offsets_tests.rs"]
mod tests;
