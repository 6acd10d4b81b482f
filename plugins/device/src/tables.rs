//! The output tables.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::idle::{IdleParts, PlaceTimes};
use crate::launch::{NameKey, NameTotals};
use crate::operations::device_name;
use crate::sums::{LongGap, PlaceKey};

/// Table `idle`: each device, then its streams if it has several.
///
/// `stream`: null for the whole device; `span_ns`: from the first begin to the last end; `busy_ns`, `idle_ns`:
/// parts of the span; `idle_share`: idle / span; `not_queued_ns`, `launching_ns`, `not_started_ns`, `not_known_ns`:
/// parts of idle, see [`mod@crate::idle`], the first three null if no call shows them; `queue_mean`, `queue_max`:
/// operations launched but not started, see [`mod@crate::queue`], null without calls; `first_ns`, `last_ns`: ends
/// of the span; `dur_ns`: sum of the durations of its operations, which may overlap.
pub fn idle(places: &BTreeMap<PlaceKey, PlaceTimes>) -> TableBuilder {
    let places = || places.values();
    let share = |place: &PlaceTimes| {
        let span_ns = place.span_ns();
        (span_ns > 0).then(|| place.idle_ns() as f64 / span_ns as f64)
    };
    let part = |of: fn(&IdleParts) -> i64| places().map(move |place| place.parts.told(of));
    let mean = |place: &PlaceTimes| place.queue.and_then(|queue| queue.mean);
    let most = |place: &PlaceTimes| place.queue.map(|queue| queue.most);
    Table::build("idle")
        .text("place", places().map(|place| device_name(place.device)))
        .i64("stream", places().map(|place| place.stream))
        .i64("span_ns", places().map(PlaceTimes::span_ns))
        .i64("idle_ns", places().map(PlaceTimes::idle_ns))
        .f64("idle_share", places().map(share))
        .i64("not_queued_ns", part(|parts| parts.not_queued_ns))
        .i64("launching_ns", part(|parts| parts.launching_ns))
        .i64("not_started_ns", part(|parts| parts.not_started_ns))
        .i64(
            "not_known_ns",
            places().map(|place| place.parts.not_known_ns),
        )
        .u64("gaps", places().map(|place| place.gaps))
        .i64("longest_ns", places().map(|place| place.longest_ns))
        .i64("busy_ns", places().map(|place| place.busy_ns))
        .u64("operations", places().map(|place| place.operations))
        .f64("queue_mean", places().map(mean))
        .u64("queue_max", places().map(most))
        .i64("first_ns", places().map(|place| place.first_ns))
        .i64("last_ns", places().map(|place| place.last_ns))
        .i64("dur_ns", places().map(|place| place.dur_ns))
}

/// Table `launches`: each kernel name and transfer direction, by latency, longest first.
///
/// `kind`: kernel or transfer; `linked`: operations with a call and a stream, which all further columns but
/// `dur_ns` are about; `call_ns`: total time of the calls; `queued_ns`, `latency_ns`: sums, see [`crate::launch`];
/// `shorter`: operations that ran for less time than their latency; `dur_ns`: total time on the device.
pub fn launches(names: &BTreeMap<NameKey, NameTotals>) -> TableBuilder {
    let with_latency = |(name, of)| {
        let of: &NameTotals = of;
        (name, of, of.latency_ns(), of.latencies_ns.quantiles())
    };
    let mut rows: Vec<_> = names.iter().map(with_latency).collect();
    rows.sort_by_key(|(name, of, latency_ns, _)| (Reverse(*latency_ns), Reverse(of.dur_ns), *name));
    let linked = |of: &NameTotals, value: i64| (of.linked > 0).then_some(value);
    let kind = |is_transfer: bool| if is_transfer { "transfer" } else { "kernel" };
    Table::build("launches")
        .text("name", rows.iter().map(|row| &row.0.0))
        .text("kind", rows.iter().map(|row| kind(row.0.1)))
        .u64("operations", rows.iter().map(|row| row.1.operations))
        .u64("linked", rows.iter().map(|row| row.1.linked))
        .i64("latency_ns", rows.iter().map(|row| linked(row.1, row.2)))
        .i64(
            "latency_median_ns",
            rows.iter().map(|row| row.3.map(|of| of.median)),
        )
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
        .i64(
            "latency_max_ns",
            rows.iter().map(|row| row.3.map(|of| of.max)),
        )
}

/// Table `gaps`: the longest times in which a device did nothing.
///
/// `cause`: the largest part; `not_queued_ns`, `launching_ns`: parts, null without a call; `after`: name of the
/// operation that ended last before the gap; `next` and `id`: name and row of the one that ended it.
pub fn gaps(rows: &[LongGap]) -> TableBuilder {
    let part = |of: fn(&IdleParts) -> i64| rows.iter().map(move |row| row.parts.told(of));
    Table::build("gaps")
        .text("place", rows.iter().map(|row| device_name(row.device)))
        .i64("start_ns", rows.iter().map(|row| row.start_ns))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns))
        .text("cause", rows.iter().map(|row| row.parts.most()))
        .i64("not_queued_ns", part(|parts| parts.not_queued_ns))
        .i64("launching_ns", part(|parts| parts.launching_ns))
        .text("after", rows.iter().map(|row| &row.after))
        .text("next", rows.iter().map(|row| &row.next))
        .u64("id", rows.iter().map(|row| row.id))
}
