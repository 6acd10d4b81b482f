//! Rows of a timeline: long intervals as they are, short ones summed up in slices of the time.

use trueno_model::timeline::{Row, Slice, Span, Timeline};

use super::Limits;
use super::read::{Interval, Lanes};

/// Rows of the lanes with the most time in intervals. The names are those of the lanes.
pub(super) fn levels(all: &Lanes, wall_ns: Option<i64>, limits: Limits) -> Timeline {
    let each = || all.lanes.iter().flat_map(|lane| &lane.intervals);
    let mut made = Timeline {
        spans: each().count() as u64,
        from_ns: each().map(|i| i.start_ns).min().unwrap_or(0).min(0),
        until_ns: each().map(|i| i.end_ns).max().unwrap_or(0),
        ..Timeline::default()
    };
    made.until_ns = made
        .until_ns
        .max(wall_ns.unwrap_or(0))
        .max(made.from_ns.saturating_add(1));

    let mut kept: Vec<usize> = (0..all.lanes.len()).collect();
    if kept.len() > limits.lanes {
        let busy = |lane: &usize| -> i128 {
            let of = all.lanes[*lane].intervals.iter();
            of.map(|i| i128::from(i.end_ns) - i128::from(i.start_ns))
                .sum()
        };
        kept.sort_by_key(|lane| (std::cmp::Reverse(busy(lane)), *lane));
        made.lanes_left_out = kept.split_off(limits.lanes).len();
        kept.sort_unstable();
    }
    made.longer_than_ns = longer_than(
        kept.iter().map(|lane| &*all.lanes[*lane].intervals),
        limits.spans,
    );

    // Depths first: how many rows there are decides how fine the slices can be.
    let depths: Vec<Vec<u8>> = kept
        .iter()
        .map(|lane| depths(&all.lanes[*lane].intervals, limits.depth))
        .collect();
    let deepest = |of: &Vec<u8>| {
        of.iter()
            .filter(|d| usize::from(**d) < limits.depth)
            .max()
            .map_or(0, |d| usize::from(*d) + 1)
    };
    let rows: usize = depths.iter().map(deepest).sum();
    made.slices = (limits.slices / rows.max(1))
        .next_power_of_two()
        .clamp(128, 4_096)
        / 2;
    for (lane, depths) in kept.iter().zip(&depths) {
        let lane = &all.lanes[*lane];
        let mut rows = vec![Row::default(); deepest(depths)];
        let mut short: Vec<Slices> = Vec::new();
        short.resize_with(rows.len(), Slices::default);
        for (interval, depth) in lane.intervals.iter().zip(depths) {
            let depth = usize::from(*depth);
            let Some(row) = rows.get_mut(depth) else {
                continue;
            };
            let dur_ns = interval.end_ns.saturating_sub(interval.start_ns);
            if made.longer_than_ns.is_none_or(|longer| dur_ns > longer) {
                row.spans.push(Span {
                    start_ns: interval.start_ns,
                    dur_ns,
                    name: interval.name,
                    id: interval.id,
                    detail: 0,
                });
            } else {
                short[depth].add(interval, &made);
            }
        }
        for (depth, (mut row, short)) in rows.into_iter().zip(short).enumerate() {
            row.slices = short.finish(&made);
            (row.lane, row.depth) = (lane.name.clone(), depth);
            made.rows.push(row);
        }
    }
    made
}

/// The duration that at most `count` intervals exceed; `None` if there are no more than `count`.
fn longer_than<'a>(lanes: impl Iterator<Item = &'a [Interval]>, count: usize) -> Option<i64> {
    let mut durations: Vec<i64> = lanes
        .flatten()
        .map(|i| i.end_ns.saturating_sub(i.start_ns))
        .collect();
    if durations.len() <= count {
        return None;
    }
    let at = durations.len() - 1 - count;
    let (_, found, _) = durations.select_nth_unstable(at);
    Some(*found)
}

/// The row of each interval, at most `most`: below the interval that contains it. An interval that outlasts the one
/// in which it began takes the row of the outermost ended one, so that chains of them do not get ever deeper.
/// Intervals of one row never overlap.
pub(super) fn depths(intervals: &[Interval], most: usize) -> Vec<u8> {
    let most = most.min(usize::from(u8::MAX));
    let mut ends: Vec<i64> = Vec::new();
    let mut depths = Vec::with_capacity(intervals.len());
    for interval in intervals {
        while ends
            .last()
            .is_some_and(|end_ns| *end_ns <= interval.start_ns)
        {
            ends.pop();
        }
        let outlasts = ends.last().is_some_and(|end_ns| *end_ns < interval.end_ns);
        let free = || ends.iter().position(|end_ns| *end_ns <= interval.start_ns);
        let depth = match if outlasts { free() } else { None } {
            Some(depth) => {
                ends[depth] = interval.end_ns;
                depth
            }
            None => {
                ends.push(interval.end_ns);
                ends.len() - 1
            }
        };
        depths.push(depth.min(most) as u8);
    }
    depths
}

/// Slices of a row, built from its short intervals in order of time.
#[derive(Default)]
struct Slices {
    done: Vec<Slice>,
    open: Vec<(u32, i64)>,
    at: usize,
}

impl Slices {
    fn add(&mut self, interval: &Interval, of: &Timeline) {
        let mut from_ns = interval.start_ns;
        // What takes no time still shows that it was there.
        let end_ns = interval.end_ns.max(from_ns.saturating_add(1));
        while from_ns < end_ns {
            let at = slice_at(from_ns, of);
            self.reach(at, of);
            let until_ns = end_ns.min(edge(at + 1, of).max(from_ns.saturating_add(1)));
            let ran_ns = until_ns.saturating_sub(from_ns);
            match self
                .open
                .iter_mut()
                .find(|(name, _)| *name == interval.name)
            {
                Some((_, ns)) => *ns = ns.saturating_add(ran_ns),
                None => self.open.push((interval.name, ran_ns)),
            }
            from_ns = until_ns;
        }
    }

    fn reach(&mut self, at: usize, of: &Timeline) {
        if self.done.is_empty() {
            self.done = vec![Slice::default(); of.slices];
        }
        if at == self.at {
            return;
        }
        self.close(of);
        self.at = at;
    }

    fn close(&mut self, of: &Timeline) {
        let sum = self.open.iter().map(|(_, ns)| *ns);
        let sum = sum.fold(0, i64::saturating_add);
        let most = self
            .open
            .iter()
            .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)));
        if let (Some((name, _)), Some(slice)) = (most, self.done.get_mut(self.at)) {
            let whole = edge(self.at + 1, of)
                .saturating_sub(edge(self.at, of))
                .max(1);
            let filled = (sum as f64 / whole as f64 * 255.0)
                .round()
                .clamp(1.0, 255.0);
            *slice = Slice {
                filled: filled as u8,
                name: *name,
            };
        }
        self.open.clear();
    }

    fn finish(mut self, of: &Timeline) -> Vec<Slice> {
        self.close(of);
        self.done
    }
}

fn slice_at(time_ns: i64, of: &Timeline) -> usize {
    let whole = i128::from(of.until_ns) - i128::from(of.from_ns);
    let after = i128::from(time_ns) - i128::from(of.from_ns);
    let at = after * of.slices as i128 / whole.max(1);
    (at.max(0) as usize).min(of.slices - 1)
}

fn edge(slice: usize, of: &Timeline) -> i64 {
    let whole = i128::from(of.until_ns) - i128::from(of.from_ns);
    // The first time that slice_at puts into this slice.
    let slices = of.slices as i128;
    let at = i128::from(of.from_ns) + (whole * slice as i128 + slices - 1) / slices;
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// Renumbers names by total time, longest first, and drops unused ones.
pub(super) fn keep_used_names(made: &mut Timeline, names: Vec<String>) {
    let mut time = vec![0_i128; names.len()];
    let width = made.until_ns.saturating_sub(made.from_ns) / made.slices.max(1) as i64;
    for row in &made.rows {
        for span in &row.spans {
            time[span.name as usize] += i128::from(span.dur_ns) + 1;
        }
        for slice in row.slices.iter().filter(|slice| slice.filled > 0) {
            time[slice.name as usize] += i128::from(width) * i128::from(slice.filled) / 255 + 1;
        }
    }
    let mut order: Vec<usize> = (0..names.len()).filter(|n| time[*n] > 0).collect();
    order.sort_by(|a, b| {
        time[*b]
            .cmp(&time[*a])
            .then_with(|| names[*a].cmp(&names[*b]))
    });
    let mut number = vec![0; names.len()];
    for (to, from) in order.iter().enumerate() {
        number[*from] = to as u32;
    }
    for row in &mut made.rows {
        for span in &mut row.spans {
            span.name = number[span.name as usize];
        }
        for slice in row.slices.iter_mut().filter(|slice| slice.filled > 0) {
            slice.name = number[slice.name as usize];
        }
    }
    made.names = order.into_iter().map(|n| names[n].clone()).collect();
}
