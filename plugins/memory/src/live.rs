//! Live bytes over time, thinned to a fixed number of points without losing a peak.

use std::collections::{BTreeMap, BTreeSet};

use trueno_plugin::{Table, TableBuilder};

use crate::Options;
use crate::events::Events;
use crate::pools::{Pool, cell};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Time of the maximum, or the start of the slot if nothing in it exceeds what was live before.
    pub time_ns: i64,
    /// Maximum in the slot, including what was live at its start.
    pub most: i128,
    pub last: i128,
}

/// Divides `[from, to]` into `count` equal slots and returns those with a change, their neighbours, the first and
/// the last. `changes` must be sorted by time and lie in the window.
pub fn thin(
    changes: impl Iterator<Item = (i64, i128)> + Clone,
    from: i64,
    to: i64,
    count: u64,
) -> Vec<Point> {
    let slots = Slots::new(from, to, count);
    let count = i128::from(count.max(1));
    let count_of = |at: i128| (at >= 0 && at < count).then_some(at);
    let mut points: BTreeMap<i128, Point> = BTreeMap::new();
    let mut live = 0_i128;
    let mut wanted: Vec<i128> = vec![0, count - 1];
    let mut last = None;
    for (time, _) in changes.clone() {
        let at = slots.of(time);
        if last != Some(at) {
            wanted.extend([at - 1, at, at + 1].into_iter().filter_map(count_of));
            last = Some(at);
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    // With fewer nanoseconds than slots, some slots hold no time at all.
    if count > slots.width {
        wanted.retain(|at| slots.of(slots.begin(*at)) == *at && slots.begin(*at) <= to);
    }
    let mut changes = changes.peekable();
    for at in wanted {
        let mut point = Point {
            time_ns: slots.begin(at),
            most: live,
            last: live,
        };
        while let Some((time, delta)) = changes.next_if(|(time, _)| slots.of(*time) <= at) {
            live += delta;
            if live > point.most {
                point.most = live;
                point.time_ns = time;
            }
        }
        point.last = live;
        points.insert(at, point);
    }
    points.into_values().collect()
}

struct Slots {
    from: i64,
    width: i128,
    count: i128,
    /// Width and count if their product fits into 64 bits.
    narrow: Option<(u64, u64)>,
}

impl Slots {
    fn new(from: i64, to: i64, count: u64) -> Self {
        let count = count.max(1);
        let width = (i128::from(to) - i128::from(from) + 1).max(1);
        let narrow = u64::try_from(width).ok();
        let narrow = narrow.filter(|width| width.checked_mul(count).is_some());
        Self {
            from,
            width,
            count: i128::from(count),
            narrow: narrow.map(|width| (width, count)),
        }
    }

    fn of(&self, time: i64) -> i128 {
        let after = i128::from(time) - i128::from(self.from);
        match (self.narrow, u64::try_from(after)) {
            (Some((width, count)), Ok(after)) if after < width => i128::from(after * count / width),
            _ => after * self.count / self.width,
        }
    }

    fn begin(&self, slot: i128) -> i64 {
        (i128::from(self.from) + (slot * self.width + self.count - 1) / self.count) as i64
    }
}

struct Series {
    place: String,
    tag: String,
    points: Vec<Point>,
}

/// Table `live`: for each place all tags together and, if there are several, the tags with the highest peaks and
/// the other tags as one. `live_bytes` is the maximum in a slot of time, `end_bytes` what is live at its end. Slots
/// are `points` equal parts of the run or window. Slots without a change in them or next to them are left out.
pub fn table(
    events: &Events,
    pools: &[Pool],
    wall_ns: Option<i64>,
    options: &Options,
) -> TableBuilder {
    let times = || {
        pools
            .iter()
            .flat_map(|pool| pool.steps.iter().map(|step| step.time_ns))
    };
    let (from, to) = if let Some(window) = events.window {
        (window.from_ns, window.until_ns)
    } else {
        let last = times().max().unwrap_or(0);
        (
            times().min().unwrap_or(0).min(0),
            last.max(wall_ns.unwrap_or(0)),
        )
    };
    let mut all = Vec::new();
    for pool in pools {
        let place = events.places[pool.place].name();
        let mut add = |tag: &str, is_part: &dyn Fn(usize) -> bool| {
            let steps = pool.steps.iter().filter(|step| is_part(step.tag as usize));
            let changes = steps.map(|step| (step.time_ns, i128::from(step.delta)));
            all.push(Series {
                place: place.clone(),
                tag: tag.to_owned(),
                points: thin(changes, from, to, options.points),
            });
        };
        let peaks = peaks(pool);
        if peaks.len() > 1 {
            add("all tags", &|_| true);
        }
        let alone = match usize::try_from(options.tags).unwrap_or(usize::MAX) {
            most if peaks.len() <= most => peaks.len(),
            most => most,
        };
        for (tag, _) in &peaks[..alone] {
            add(events.tag_name(*tag), &|other| other == *tag);
        }
        let others: BTreeSet<usize> = peaks[alone..].iter().map(|(tag, _)| *tag).collect();
        if !others.is_empty() {
            add("other tags", &|tag| others.contains(&tag));
        }
    }
    let rows: Vec<(&Series, &Point)> = all
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| (series, point)))
        .collect();
    Table::build("live")
        .text(
            "series",
            rows.iter()
                .map(|row| format!("{} {}", row.0.place, row.0.tag)),
        )
        .text("place", rows.iter().map(|row| &row.0.place))
        .text("tag", rows.iter().map(|row| &row.0.tag))
        .i64("time_ns", rows.iter().map(|row| row.1.time_ns))
        .i64("live_bytes", rows.iter().map(|row| cell(row.1.most)))
        .i64("end_bytes", rows.iter().map(|row| cell(row.1.last)))
}

/// Tags with their highest live bytes, highest first.
pub fn peaks(pool: &Pool) -> Vec<(usize, i128)> {
    let mut by_tag: BTreeMap<usize, (i128, i128)> = BTreeMap::new();
    for same in pool.steps.chunk_by(|a, b| a.tag == b.tag) {
        let (live, most) = by_tag.entry(same[0].tag as usize).or_default();
        for step in same {
            *live += i128::from(step.delta);
            *most = (*most).max(*live);
        }
    }
    let mut out: Vec<(usize, i128)> = by_tag
        .into_iter()
        .map(|(tag, (_, most))| (tag, most))
        .collect();
    out.sort_by_key(|(tag, most)| (std::cmp::Reverse(*most), *tag));
    out
}
