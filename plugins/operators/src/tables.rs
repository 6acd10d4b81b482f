//! The output tables.

use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::device_time::Totals;
use crate::groups::{Sums, TimedOn};
use crate::rows::{Place, Row, Total};

/// Table `coverage`: one row with the device time summed over kernels and copies. `linked_share` was launched in a
/// known row, `with_shapes_share` in an operator with shapes, `modelled_share` in an operator with a model or is
/// attributed to one (`inferred_ns`, see [`crate::before_recording`]). `linked_modelled_share` is the modelled
/// share of the linked part. `recomputed_ns` was launched by what activation checkpointing computes again.
pub fn coverage(device: &Totals) -> TableBuilder {
    let share = |part: i64| (device.total_ns > 0).then(|| part as f64 / device.total_ns as f64);
    let one = |value: i64| std::iter::once(value);
    let linked_ns = device.total_ns.saturating_sub(device.not_linked_ns);
    let inferred_ns = device.inferred_ns;
    let modelled_ns = device.modelled_ns.saturating_add(inferred_ns);
    Table::build("coverage")
        .f64("modelled_share", [share(modelled_ns)])
        .f64(
            "linked_modelled_share",
            [(linked_ns > 0).then(|| device.modelled_ns as f64 / linked_ns as f64)],
        )
        .i64("modelled_ns", one(modelled_ns))
        .i64("inferred_ns", one(inferred_ns))
        .i64(
            "not_modelled_ns",
            one(device.total_ns.saturating_sub(modelled_ns)),
        )
        .i64("recomputed_ns", one(device.recomputed_ns))
        .i64("device_ns", one(device.total_ns))
        .f64("with_shapes_share", [share(device.with_signature_ns)])
        .f64("linked_share", [share(linked_ns)])
        .u64("operations", [device.count])
        .u64("left_out", [device.left_out])
}

/// Table `by_shape`: a row for each operator and signature, most counted time first. FLOPs, bytes and rates are
/// those of the timed calls: calls with device work, or all calls in a run without devices. `host_self_ns` excludes
/// nested rows. `device_ns` is the union of the kernels and copies that a call and its nested calls launched,
/// summed over calls. `counted_ns` is the part not launched by a modelled operator within the call, so that sums
/// over rows count nothing twice. `device` is `cpu` or `gpu:<number>`. `roof_ns` is the time at the roof,
/// `recoverable_ns` the rest.
pub fn by_shape(rows: &[Row], on: Option<TimedOn>) -> TableBuilder {
    let totals: Vec<Option<Total>> = rows.iter().map(|row| row.total(on?)).collect();
    let work = |row: &Row| row.work.as_ref().ok().cloned();
    let rate = |of: fn(&Total) -> f64| {
        let rates = totals
            .iter()
            .map(move |total| total.map(|t| t.per_s(of(&t))));
        rates.collect::<Vec<_>>()
    };
    let reason = |row: &Row| match (&row.work, &row.place) {
        (Err(why), _) | (_, Some(Err(why))) => Some(why.clone()),
        _ => None,
    };
    let place = |of: fn(&Place) -> f64| {
        let places = rows.iter().map(move |row| row.placed().map(of));
        places.collect::<Vec<_>>()
    };
    let total = |of: fn(&Total) -> f64| totals.iter().map(move |total| total.as_ref().map(of));
    let table = Table::build("by_shape")
        .text("name", rows.iter().map(|row| row.name.as_str()))
        .text(
            "input_dims",
            rows.iter().map(|row| row.recorded.dims.clone()),
        )
        .text(
            "input_types",
            rows.iter().map(|row| row.recorded.types.clone()),
        )
        .u64("calls", rows.iter().map(|row| row.sums.calls))
        .i64("device_ns", rows.iter().map(|row| device_ns(&row.sums)))
        .i64("counted_ns", rows.iter().map(|row| counted_ns(&row.sums)))
        .f64("efficiency_share", place(|place| place.efficiency))
        .text(
            "bound_by",
            rows.iter()
                .map(|row| row.placed().map(|place| place.bound.name())),
        )
        .f64("flops_per_s", rate(|total| total.flops))
        .f64("bytes_per_s", rate(|total| total.bytes))
        .f64(
            "recoverable_ns",
            rows.iter()
                .map(|row| Some(row.total(on?)?.time_ns as f64 - row.placed()?.roof_ns)),
        )
        .text(
            "category",
            rows.iter().map(|row| work(row).map(|work| work.family)),
        )
        .i64("host_self_ns", rows.iter().map(|row| row.sums.host_self_ns))
        .i64("host_ns", rows.iter().map(|row| row.sums.host_ns))
        .u64(
            "recomputed_calls",
            rows.iter().map(|row| row.sums.recomputed_calls),
        );
    let device = |row: &Row| match on {
        Some(TimedOn::Device) => Some(format!("gpu:{}", row.sums.device)),
        _ => Some("cpu".to_owned()),
    };
    table
        .text(
            "device",
            rows.iter()
                .map(|row| row.total(on?).and_then(|_| device(row))),
        )
        .text(
            "timed_on",
            rows.iter()
                .map(|row| row.total(on?).and(on).map(TimedOn::name)),
        )
        .f64("flops", total(|total| total.flops))
        .f64("moved_bytes", total(|total| total.bytes))
        .f64(
            "flops_per_byte",
            totals.iter().map(|total| total.and_then(|t| t.intensity())),
        )
        .text(
            "precision",
            rows.iter()
                .map(|row| work(row).and_then(|work| work.precision)),
        )
        .f64("distance_share", place(|place| 1.0 - place.efficiency))
        .f64("roof_ns", place(|place| place.roof_ns))
        .text(
            "roof_source",
            rows.iter()
                .map(|row| row.placed().map(|place| place.source.clone())),
        )
        .text(
            "concrete_inputs",
            rows.iter().map(|row| row.recorded.concrete.clone()),
        )
        .text(
            "model",
            rows.iter().map(|row| work(row).map(|work| work.rule)),
        )
        .text(
            "assumption",
            rows.iter().map(|row| work(row).map(|work| work.assumption)),
        )
        .text("reason", rows.iter().map(reason))
}

#[derive(Clone, Debug, Default)]
pub struct Group {
    pub shapes: u64,
    pub sums: Sums,
    pub work: Option<Total>,
    pub at_roof: Option<(f64, i64)>,
}

impl Group {
    fn add(&mut self, row: &Row, total: Option<Total>) {
        self.shapes += 1;
        self.sums.add(&row.sums);
        let Some(total) = total else { return };
        let none = Total {
            flops: 0.0,
            bytes: 0.0,
            time_ns: 0,
        };
        let sum = self.work.get_or_insert(none);
        sum.flops += total.flops;
        sum.bytes += total.bytes;
        sum.time_ns = sum.time_ns.saturating_add(total.time_ns);
        if let Some(place) = row.placed() {
            let (roof_ns, time_ns) = self.at_roof.get_or_insert((0.0, 0));
            *roof_ns += total.time_ns as f64 * place.efficiency;
            *time_ns = time_ns.saturating_add(total.time_ns);
        }
    }
}

pub fn grouped(
    rows: &[Row],
    key: impl Fn(&Row) -> Option<String>,
    total: impl Fn(&Row) -> Option<Total>,
) -> Vec<(String, Group)> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for row in rows {
        if let Some(key) = key(row) {
            groups.entry(key).or_default().add(row, total(row));
        }
    }
    let mut out: Vec<(String, Group)> = groups.into_iter().collect();
    // By name where they are equal: the sort is stable.
    out.sort_by_key(|(_, group)| std::cmp::Reverse((group.sums.device_ns, group.sums.host_ns)));
    out
}

/// Tables `by_name` and `by_category`, with columns as in `by_shape`. `inferred_ns` is work launched before the
/// recording that is attributed here; no other column includes it. Work and rates of `by_category` are those of the
/// counted part.
pub fn groups(table: &str, first: &str, groups: &[(String, Group)]) -> TableBuilder {
    let all = || groups.iter().map(|(_, group)| group);
    let rate = |of: fn(&Total) -> f64| {
        let rates = all().map(move |group| {
            group
                .work
                .filter(|w| w.time_ns > 0)
                .map(|w| w.per_s(of(&w)))
        });
        rates.collect::<Vec<_>>()
    };
    Table::build(table)
        .text(first, groups.iter().map(|(name, _)| name.as_str()))
        .u64("shapes", all().map(|group| group.shapes))
        .u64("calls", all().map(|group| group.sums.calls))
        .i64("host_self_ns", all().map(|group| group.sums.host_self_ns))
        .i64("device_ns", all().map(|group| device_ns(&group.sums)))
        .i64("counted_ns", all().map(|group| counted_ns(&group.sums)))
        .i64("inferred_ns", all().map(|group| inferred_ns(&group.sums)))
        .f64(
            "flops",
            all().map(|group| group.work.map(|work| work.flops)),
        )
        .f64(
            "moved_bytes",
            all().map(|group| group.work.map(|work| work.bytes)),
        )
        .f64(
            "flops_per_byte",
            all().map(|group| group.work.and_then(|work| work.intensity())),
        )
        .f64("flops_per_s", rate(|total| total.flops))
        .f64("bytes_per_s", rate(|total| total.bytes))
        .f64(
            "efficiency_share",
            all().map(|group| {
                group
                    .at_roof
                    .map(|(roof_ns, time_ns)| roof_ns / time_ns as f64)
            }),
        )
        .f64(
            "recoverable_ns",
            all().map(|group| {
                group
                    .at_roof
                    .map(|(roof_ns, time_ns)| time_ns as f64 - roof_ns)
            }),
        )
}

/// Table `not_modelled`: operators with unknown work, by the device time that no model accounts for, longest first.
pub fn not_modelled(rows: &[Row]) -> TableBuilder {
    let mut sums: BTreeMap<(&str, &str), Sums> = BTreeMap::new();
    for row in rows {
        if let Err(why) = &row.work {
            let key = (row.name.as_str(), why.as_str());
            sums.entry(key).or_default().add(&row.sums);
        }
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, sums)| std::cmp::Reverse((sums.not_modelled_ns, sums.calls)));
    Table::build("not_modelled")
        .text("name", rows.iter().map(|((name, _), _)| *name))
        .u64("calls", rows.iter().map(|(_, sums)| sums.calls))
        .i64(
            "device_ns",
            rows.iter().map(|(_, sums)| sums.not_modelled_ns),
        )
        .i64(
            "host_self_ns",
            rows.iter().map(|(_, sums)| sums.host_self_ns),
        )
        .text("reason", rows.iter().map(|((_, why), _)| *why))
}

fn device_ns(sums: &Sums) -> Option<i64> {
    (sums.device_calls > 0).then_some(sums.device_ns)
}

fn inferred_ns(sums: &Sums) -> Option<i64> {
    (sums.inferred_ns > 0).then_some(sums.inferred_ns)
}

fn counted_ns(sums: &Sums) -> Option<i64> {
    (sums.counted_calls > 0).then_some(sums.counted_ns)
}
