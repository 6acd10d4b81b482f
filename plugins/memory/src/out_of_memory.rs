//! Requests that the allocator of a device could not meet, with its state at that moment.

use std::collections::BTreeMap;

use serde::Deserialize;
use trueno_analysis::window::Window;
use trueno_plugin::{Finding, Result, Run, Severity, Table, TableBuilder, rank};

use crate::events::Place;
use crate::findings::bytes;
use crate::initial_live::{Totals, last_before};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    pub time_ns: i64,
    pub requested: i64,
    /// What the driver had left.
    pub device_free: Option<i64>,
    pub live: Option<i64>,
    pub reserved: Option<i64>,
    /// The largest free piece beside blocks; `None`: the segments are not known.
    pub largest_free: Option<i64>,
}

#[derive(Deserialize)]
struct Arguments {
    bytes: i64,
    device_free: Option<i64>,
}

impl OutOfMemory {
    /// Reads input `failed_requests`, by place and time.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn load(
        run: &mut Run,
        totals: &Totals,
        has_ranks: bool,
        window: Option<Window>,
    ) -> Result<BTreeMap<Place, Vec<Self>>> {
        let table = run.table("failed_requests")?;
        let (device, time) = (table.i64("device")?, table.i64("time_ns")?);
        let arguments = table.text("arguments")?;
        let mut out: BTreeMap<Place, Vec<Self>> = BTreeMap::new();
        for row in 0..table.rows() {
            let (Some(device), Some(time_ns)) = (device.get(row), time.get(row)) else {
                continue;
            };
            let arguments = arguments.get(row).unwrap_or_default();
            let Ok(stated) = serde_json::from_str::<Arguments>(arguments) else {
                continue;
            };
            if window.is_some_and(|window| !(window.from_ns..window.until_ns).contains(&time_ns)) {
                continue;
            }
            let (rank, device) = if has_ranks {
                let (rank, device) = rank::of_place(device);
                (u64::try_from(rank).ok(), device)
            } else {
                (None, device)
            };
            let place = Place {
                rank,
                device: Some(device),
                heap: None,
            };
            let allocator = totals.of_place(place);
            let until_ns = time_ns.saturating_add(1);
            out.entry(place).or_default().push(Self {
                time_ns,
                requested: stated.bytes,
                device_free: stated.device_free,
                live: last_before(&allocator.allocated, until_ns),
                reserved: last_before(&allocator.reserved, until_ns),
                largest_free: allocator
                    .segments(time_ns..until_ns)
                    .map(|of| of.largest_piece),
            });
        }
        Ok(out)
    }

    /// Reserved bytes that were not allocated.
    fn unused(&self) -> Option<i64> {
        Some(self.reserved?.saturating_sub(self.live?).max(0))
    }

    fn sentence(&self, place: &str) -> String {
        let mut parts = vec![format!("{} requested", bytes(self.requested as f64))];
        let mut add = |value: Option<i64>, what: &str| {
            parts.extend(value.map(|value| format!("{} {what}", bytes(value as f64))));
        };
        add(self.device_free, "free on the device");
        add(self.live, "live");
        add(self.unused(), "reserved and not allocated");
        format!("{place} ran out of memory: {}", parts.join(", "))
    }
}

/// The first failure of a place.
pub fn finding(place: &str, all: &[OutOfMemory]) -> Option<Finding> {
    let first = all.first()?;
    let title = match all.len() {
        1 => first.sentence(place),
        times => format!("{}, first of {times} times", first.sentence(place)),
    };
    let quoted = trueno_analysis::wording::quoted(place);
    Some(
        Finding::new("out_of_memory", Severity::Error, title)
            .suggestion("free what is not needed (memory.peak_owners lists it), or request less: smaller batches, recomputed activations")
            .evidence(format!(
                "SELECT * FROM memory.out_of_memory WHERE place = '{quoted}' ORDER BY time_ns"
            )),
    )
}

/// Table `out_of_memory`: a row for each request that the allocator could not meet. `device_free_bytes`: what the driver had
/// left. `live_bytes`, `reserved_bytes`: what the allocator held then. `largest_free_bytes`: the largest free piece beside
/// blocks, within one segment. `sentence`: the same in words. Null is not known.
pub fn table(all: &BTreeMap<Place, Vec<OutOfMemory>>) -> TableBuilder {
    let rows: Vec<(String, &OutOfMemory)> = all
        .iter()
        .flat_map(|(place, all)| all.iter().map(|one| (place.name(), one)))
        .collect();
    let of = |cell: fn(&OutOfMemory) -> Option<i64>| rows.iter().map(move |row| cell(row.1));
    Table::build("out_of_memory")
        .text("place", rows.iter().map(|row| &row.0))
        .i64("time_ns", of(|one| Some(one.time_ns)))
        .i64("requested_bytes", of(|one| Some(one.requested)))
        .i64("device_free_bytes", of(|one| one.device_free))
        .i64("live_bytes", of(|one| one.live))
        .i64("reserved_bytes", of(|one| one.reserved))
        .i64("largest_free_bytes", of(|one| one.largest_free))
        .text("sentence", rows.iter().map(|row| row.1.sentence(&row.0)))
}
