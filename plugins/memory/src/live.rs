//! Live bytes over time, thinned to a fixed number of points without losing a peak.

use std::collections::{BTreeMap, BTreeSet};

use trueno_plugin::{Table, TableBuilder};

use crate::Options;
use crate::events::Events;
use crate::pools::{Pool, Step, cell};

/// One slot of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Time of the most: the slot's begin, if nothing in it exceeds what was live before.
    pub time_ns: i64,
    /// The most in the slot, what was live at its begin included.
    pub most: i128,
    /// Live bytes at its end.
    pub last: i128,
}

/// The slots of `[from, to]`, `count` of equal width, that say something: those with a change, their
/// neighbours, the first and the last. `changes` are by time and lie in the window.
pub fn thin(changes: &[(i64, i128)], from: i64, to: i64, count: u64) -> Vec<Point> {
    let count = i128::from(count.max(1));
    let width = (i128::from(to) - i128::from(from) + 1).max(1);
    // The slot of a time, and the first time of a slot.
    let slot = |time: i64| (i128::from(time) - i128::from(from)) * count / width;
    let begin = |slot: i128| (i128::from(from) + (slot * width + count - 1) / count) as i64;
    let slots = count.min(width);
    let count_of = |at: i128| (at >= 0 && at < count).then_some(at);
    let mut points: BTreeMap<i128, Point> = BTreeMap::new();
    let mut live = 0_i128;
    let mut wanted: Vec<i128> = vec![0, count - 1];
    wanted.extend(changes.iter().flat_map(|(time, _)| {
        let at = slot(*time);
        [at - 1, at, at + 1].into_iter().filter_map(count_of)
    }));
    wanted.sort_unstable();
    wanted.dedup();
    // With fewer nanoseconds than slots, some slots hold no time at all.
    if slots < count {
        wanted.retain(|at| slot(begin(*at)) == *at && begin(*at) <= to);
    }
    let mut next = 0;
    for at in wanted {
        let mut point = Point {
            time_ns: begin(at),
            most: live,
            last: live,
        };
        while next < changes.len() && slot(changes[next].0) <= at {
            live += changes[next].1;
            if live > point.most {
                point.most = live;
                point.time_ns = changes[next].0;
            }
            next += 1;
        }
        point.last = live;
        points.insert(at, point);
    }
    points.into_values().collect()
}

/// A line of the chart.
struct Series {
    place: String,
    tag: String,
    points: Vec<Point>,
}

/// Table `live`: of each place all tags together, and, where there are several, the tags with the
/// highest peaks one by one and the others as one.
///
/// `series`: place and tag, for the chart; `place`; `tag`; `time_ns`; `live_bytes`: the most in a
/// slot of time; `end_bytes`: at the end of the slot. Slots are `points` equal parts of the run or window;
/// those in which nothing changes, nor beside them, are left out.
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
        let mut add = |tag: String, changes: Vec<(i64, i128)>| {
            all.push(Series {
                place: place.clone(),
                tag,
                points: thin(&changes, from, to, options.points),
            });
        };
        let change = |step: &Step| (step.time_ns, step.delta);
        let peaks = peaks(pool);
        if peaks.len() > 1 {
            add(
                "all tags".to_owned(),
                pool.steps.iter().map(change).collect(),
            );
        }
        let alone = match usize::try_from(options.tags).unwrap_or(usize::MAX) {
            most if peaks.len() <= most => peaks.len(),
            most => most,
        };
        for (tag, _) in &peaks[..alone] {
            let of_tag = pool.steps.iter().filter(|step| step.tag == *tag);
            add(
                events.tag_name(*tag).to_owned(),
                of_tag.map(change).collect(),
            );
        }
        let others: BTreeSet<usize> = peaks[alone..].iter().map(|(tag, _)| *tag).collect();
        if !others.is_empty() {
            let of_others = pool.steps.iter().filter(|step| others.contains(&step.tag));
            add("other tags".to_owned(), of_others.map(change).collect());
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

/// Tags with the most bytes each ever had live, the highest first.
pub fn peaks(pool: &Pool) -> Vec<(usize, i128)> {
    let mut by_tag: BTreeMap<usize, (i128, i128)> = BTreeMap::new();
    for step in &pool.steps {
        let (live, most) = by_tag.entry(step.tag).or_default();
        *live += step.delta;
        *most = (*most).max(*live);
    }
    let mut out: Vec<(usize, i128)> = by_tag
        .into_iter()
        .map(|(tag, (_, most))| (tag, most))
        .collect();
    out.sort_by_key(|(tag, most)| (std::cmp::Reverse(*most), *tag));
    out
}
