//! The output tables.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::idle::{Gap, Parts, Place};
use crate::launch::NameTotals;
use crate::operations::{Loaded, Name, device_name};

/// Table `idle`: each device, then its streams where it has several.
///
/// `place`: the device; `stream`: null for all of it; `span_ns`: from the first begin to the last end; `idle_ns`: none
/// was running; `idle_share`: idle / span; `not_asked_ns`, `launching_ns`, `asked_before_ns`, `not_known_ns`: parts of
/// idle, see [`mod@crate::idle`], the first three null where no call tells them; `gaps`; `longest_ns`; `busy_ns`: the rest of the span; `operations`; `queue_mean`,
/// `queue_max`: operations asked for and not begun, see [`mod@crate::queue`], null without calls; `first_ns`, `last_ns`:
/// of the span.
pub fn idle(places: &[Place]) -> TableBuilder {
    let share = |place: &Place| {
        let span_ns = place.span_ns();
        (span_ns > 0).then(|| place.idle_ns() as f64 / span_ns as f64)
    };
    let parts: Vec<Parts> = places.iter().map(Place::parts).collect();
    let part = |of: fn(&Parts) -> i64| parts.iter().map(|all| all.told(of)).collect::<Vec<_>>();
    let longest = |place: &Place| place.gaps.iter().map(Gap::dur_ns).max();
    let mean = |place: &Place| place.queue.and_then(|queue| queue.mean);
    let most = |place: &Place| place.queue.map(|queue| queue.most);
    Table::build("idle")
        .text(
            "place",
            places.iter().map(|place| device_name(place.device)),
        )
        .i64("stream", places.iter().map(|place| place.stream))
        .i64("span_ns", places.iter().map(Place::span_ns))
        .i64("idle_ns", places.iter().map(Place::idle_ns))
        .f64("idle_share", places.iter().map(share))
        .i64("not_asked_ns", part(|parts| parts.not_asked_ns))
        .i64("launching_ns", part(|parts| parts.launching_ns))
        .i64("asked_before_ns", part(|parts| parts.asked_before_ns))
        .i64("not_known_ns", parts.iter().map(|parts| parts.not_known_ns))
        .u64("gaps", places.iter().map(|place| place.gaps.len() as u64))
        .i64("longest_ns", places.iter().map(longest))
        .i64("busy_ns", places.iter().map(|place| place.busy_ns))
        .u64("operations", places.iter().map(|place| place.operations))
        .f64("queue_mean", places.iter().map(mean))
        .u64("queue_max", places.iter().map(most))
        .i64("first_ns", places.iter().map(|place| place.first_ns))
        .i64("last_ns", places.iter().map(|place| place.last_ns))
}

/// Table `launches`: each name of a kernel and each direction of a transfer, by its latency, longest first.
///
/// `name`; `kind`: kernel or transfer; `operations`; `linked`: those with a call and a stream, which all that follows is about, but
/// `dur_ns`; `call_ns`: Σ time of the calls; `queued_ns`, `latency_ns`: Σ, see [`crate::launch`]; `latency_median_ns`,
/// `latency_max_ns`; `shorter`: operations that ran for less time than their latency; `dur_ns`: Σ time on the device.
pub fn launches(loaded: &Loaded, names: &BTreeMap<u32, NameTotals>) -> TableBuilder {
    let mut rows: Vec<(&Name, &NameTotals)> = names
        .iter()
        .filter_map(|(number, of)| Some((loaded.names.get(*number as usize)?, of)))
        .collect();
    rows.sort_by_key(|(name, of)| {
        let name = (&name.text, name.is_transfer);
        (Reverse(of.latency_ns()), Reverse(of.dur_ns), name)
    });
    let quantiles = || rows.iter().map(|row| row.1.quantiles());
    let linked = |of: &NameTotals, value: i64| (of.linked > 0).then_some(value);
    let kind = |is_transfer: bool| if is_transfer { "transfer" } else { "kernel" };
    Table::build("launches")
        .text("name", rows.iter().map(|row| &row.0.text))
        .text("kind", rows.iter().map(|row| kind(row.0.is_transfer)))
        .u64("operations", rows.iter().map(|row| row.1.operations))
        .u64("linked", rows.iter().map(|row| row.1.linked))
        .i64(
            "latency_ns",
            rows.iter().map(|row| linked(row.1, row.1.latency_ns())),
        )
        .i64("latency_median_ns", quantiles().map(|of| Some(of?.median)))
        .i64(
            "queued_ns",
            rows.iter().map(|row| linked(row.1, row.1.queued_ns)),
        )
        .i64(
            "call_ns",
            rows.iter().map(|row| linked(row.1, row.1.call_ns)),
        )
        .i64("dur_ns", rows.iter().map(|row| row.1.dur_ns))
        .u64(
            "shorter",
            rows.iter()
                .map(|row| (row.1.linked > 0).then_some(row.1.shorter)),
        )
        .i64("latency_max_ns", quantiles().map(|of| Some(of?.max)))
}

/// Table `gaps`: the longest times in which a device did nothing.
///
/// `place`; `start_ns`; `dur_ns`; `cause`: where most of it lies; `not_asked_ns`, `launching_ns`: parts, null without a call; `after`: the
/// name of the operation that had ended last; `next`: of the one that ended it; `id`: the row of the latter.
pub fn gaps(loaded: &Loaded, places: &[Place], most: usize) -> TableBuilder {
    let devices = places.iter().filter(|place| place.stream.is_none());
    let mut rows: Vec<(i64, &Gap)> = devices
        .flat_map(|place| place.gaps.iter().map(|gap| (place.device, gap)))
        .collect();
    rows.sort_by_key(|(device, gap)| (Reverse(gap.dur_ns()), *device, gap.start_ns));
    rows.truncate(most);
    let name = |number: u32| loaded.names.get(number as usize).map(|name| &name.text);
    Table::build("gaps")
        .text("place", rows.iter().map(|row| device_name(row.0)))
        .i64("start_ns", rows.iter().map(|row| row.1.start_ns))
        .i64("dur_ns", rows.iter().map(|row| row.1.dur_ns()))
        .text("cause", rows.iter().map(|row| row.1.parts.most()))
        .i64(
            "not_asked_ns",
            rows.iter()
                .map(|row| row.1.parts.told(|parts| parts.not_asked_ns)),
        )
        .i64(
            "launching_ns",
            rows.iter()
                .map(|row| row.1.parts.told(|parts| parts.launching_ns)),
        )
        .text("after", rows.iter().map(|row| name(row.1.after.name)))
        .text("next", rows.iter().map(|row| name(row.1.next.name)))
        .u64("id", rows.iter().map(|row| row.1.next.id))
}
