//! Devices: what the time of each went into.

use std::collections::BTreeMap;

use trueno_plugin::{Result, Run, Table, TableBuilder};

use crate::facts::Facts;

/// Time of a device, split so that each instant counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Kernels that do not communicate.
    pub computation_ns: i64,
    /// Communication while nothing computes.
    pub communication_ns: i64,
    /// Copies while nothing else runs.
    pub copy_ns: i64,
    pub idle_ns: i64,
}

impl Split {
    pub fn busy_ns(&self) -> i64 {
        let communicates_ns = self.computation_ns.saturating_add(self.communication_ns);
        communicates_ns.saturating_add(self.copy_ns)
    }

    pub fn span_ns(&self) -> i64 {
        self.busy_ns().saturating_add(self.idle_ns)
    }
}

/// Causes of idle time from `device.idle`; `None` if no call shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// The next work had not been launched yet.
    pub not_queued_ns: Option<i64>,
    /// The host was in the call that launches the next work.
    pub launching_ns: Option<i64>,
    /// The next work had been launched before.
    pub not_started_ns: Option<i64>,
    /// The launching call was not recorded.
    pub not_known_ns: Option<i64>,
}

/// Recorded operations of one kind, and the sum of their durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub operations: u64,
    pub dur_ns: i64,
}

/// Recorded copies and fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    pub work: Work,
    /// Number of those that state their bytes, and the sum of these.
    pub stated: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Name in tables: `gpu0`.
    pub place: String,
    pub model: Option<String>,
    pub memory_bytes: Option<u64>,
    pub peak_bytes: Option<i64>,
    /// Numbers of its streams, in the order of lanes.
    pub streams: Vec<String>,
    /// From its first work to its last.
    pub span_ns: i64,
    pub busy_ns: i64,
    pub split: Split,
    pub causes: Causes,
    /// Number of idle gaps between its first work and its last, and the longest.
    pub gaps: u64,
    pub longest_gap_ns: i64,
    pub kernels: Work,
    pub copies: Copies,
}

/// Reads the devices in `device.idle`, and the split of the time from the first work of any to the last.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn read(run: &mut Run, memory: &Table, lanes: &Table) -> Result<(Vec<Device>, Option<Split>)> {
    let idle = run.table("idle")?;
    let ns = |name: &str| idle.i64(name);
    let mut devices = Vec::with_capacity(idle.rows());
    for (row, place) in idle.text("place")?.iter().enumerate() {
        devices.push(Device {
            place: place.unwrap_or_default().to_owned(),
            span_ns: ns("span_ns")?.get(row).unwrap_or(0),
            busy_ns: ns("busy_ns")?.get(row).unwrap_or(0),
            causes: Causes {
                not_queued_ns: ns("not_queued_ns")?.get(row),
                launching_ns: ns("launching_ns")?.get(row),
                not_started_ns: ns("not_started_ns")?.get(row),
                not_known_ns: ns("not_known_ns")?.get(row),
            },
            gaps: idle.u64("gaps")?.get(row).unwrap_or(0),
            longest_gap_ns: ns("longest_ns")?.get(row).unwrap_or(0),
            kernels: Work {
                operations: idle.u64("operations")?.get(row).unwrap_or(0),
                dur_ns: ns("dur_ns")?.get(row).unwrap_or(0),
            },
            ..Device::default()
        });
    }
    let splits = splits(&run.table("exposure")?)?;
    let copies = copies(&run.table("copies")?)?;
    let models = models(&run.table("devices")?)?;
    let peaks = peaks(memory)?;
    let mut streams = streams(lanes)?;
    for device in &mut devices {
        device.split = splits.get(&device.place).copied().unwrap_or_default();
        // What is no copy and no fill is a kernel.
        device.copies = copies.get(&device.place).copied().unwrap_or_default();
        let (kernels, copied) = (&mut device.kernels, device.copies.work);
        kernels.operations = kernels.operations.saturating_sub(copied.operations);
        kernels.dur_ns = kernels.dur_ns.saturating_sub(copied.dur_ns).max(0);
        device.streams = streams.remove(&device.place).unwrap_or_default();
        device.peak_bytes = peaks.get(&device.place).copied();
        if let Some((model, bytes)) = models.get(&device.place) {
            device.model.clone_from(model);
            device.memory_bytes = *bytes;
        }
    }
    Ok((devices, splits.get("all").copied()))
}

fn splits(exposure: &Table) -> Result<BTreeMap<String, Split>> {
    let rows = exposure.text("scope")?.iter();
    let rows = rows.zip(exposure.text("kind")?.iter());
    let mut splits: BTreeMap<String, Split> = BTreeMap::new();
    for ((scope, kind), ns) in rows.zip(exposure.i64("split_ns")?.iter()) {
        let split = splits
            .entry(scope.unwrap_or_default().to_owned())
            .or_default();
        let part = match kind {
            Some("computation") => &mut split.computation_ns,
            Some("communication") => &mut split.communication_ns,
            Some("copy") => &mut split.copy_ns,
            _ => &mut split.idle_ns,
        };
        *part = part.saturating_add(ns.unwrap_or(0));
    }
    Ok(splits)
}

/// Copies and fills of each device, over all directions.
fn copies(table: &Table) -> Result<BTreeMap<String, Copies>> {
    let (operations, dur_ns) = (table.u64("operations")?, table.i64("dur_ns")?);
    let (stated, bytes) = (table.u64("stated")?, table.u64("bytes")?);
    let mut all: BTreeMap<String, Copies> = BTreeMap::new();
    for (row, place) in table.text("place")?.iter().enumerate() {
        let of = all.entry(place.unwrap_or_default().to_owned()).or_default();
        let add = |sum: &mut u64, more: Option<u64>| *sum = sum.saturating_add(more.unwrap_or(0));
        add(&mut of.work.operations, operations.get(row));
        add(&mut of.stated, stated.get(row));
        add(&mut of.bytes, bytes.get(row));
        let more_ns = dur_ns.get(row).unwrap_or(0);
        of.work.dur_ns = of.work.dur_ns.saturating_add(more_ns);
    }
    Ok(all)
}

type Model = (Option<String>, Option<u64>);

/// Model and memory by device name. Table `devices` writes `gpu:0`, and numbers devices within each rank.
fn models(table: &Table) -> Result<BTreeMap<String, Model>> {
    let (places, names) = (table.text("device")?, table.text("name")?);
    let bytes = table.u64("memory_bytes")?;
    let rank = |row: usize| match table.column("rank") {
        Ok(trueno_plugin::Column::I64(ranks)) => ranks.get(row).unwrap_or(0),
        Ok(trueno_plugin::Column::U64(ranks)) => ranks.get(row).map_or(0, |rank| rank as i64),
        _ => 0,
    };
    let mut models = BTreeMap::new();
    for row in 0..table.rows() {
        let place = places.get(row).unwrap_or_default().replace(':', "");
        let place = match rank(row) {
            0 => place,
            rank => format!("rank {rank} {place}"),
        };
        let model = names.get(row).filter(|name| !name.trim().is_empty());
        models.insert(place, (model.map(str::to_owned), bytes.get(row)));
    }
    Ok(models)
}

fn peaks(table: &Table) -> Result<BTreeMap<String, i64>> {
    let rows = table.text("place")?.iter();
    let rows = rows.zip(table.i64("peak_bytes")?.iter());
    Ok(rows
        .filter_map(|(place, bytes)| Some((place?.to_owned(), bytes?)))
        .collect())
}

const MAX_NUMBERED: usize = 4;

fn stream_numbers(device: &Device) -> Option<String> {
    let streams = &device.streams;
    (1..=MAX_NUMBERED)
        .contains(&streams.len())
        .then(|| streams.join(", "))
}

/// Streams of each device, from lanes named `gpu0/stream 7`, or `rank 0 gpu0/stream 7` in a job. A stream that was not
/// recorded is a `?`.
fn streams(lanes: &Table) -> Result<BTreeMap<String, Vec<String>>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for lane in lanes.text("lane")?.iter().flatten() {
        let parts = lane.rsplit_once("/stream ");
        if let Some((place, stream)) = parts.filter(|(_, stream)| *stream != "?") {
            let place = place.strip_prefix("rank 0 ").unwrap_or(place);
            let of = out.entry(place.to_owned()).or_default();
            of.push(stream.to_owned());
        }
    }
    Ok(out)
}

/// Table `devices`: one row for each device with work.
///
/// `span_ns`: from its first work to its last; `wall_share`: busy / wall; `computation_ns`, `communication_ns`,
/// `copy_ns`, `idle_ns`: each instant of the span once (`device.exposure`); `not_queued_ns`, `launching_ns`,
/// `not_started_ns`, `not_known_ns`: parts of idle (`device.idle`); `outside_ns`: wall time before its first and
/// after its last work; `peak_bytes`, `memory_bytes`: largest use and size of its memory; `kernels`, `copies`: recorded
/// kernels, and copies and fills; `kernels_ns`, `copies_ns`: sums of their durations, which may overlap;
/// `copies_stated`, `copies_bytes`: copies and fills that state their bytes, and the sum of these, null if none does;
/// `streams`: the number of its streams; `stream_numbers`: these, if there are at most four.
pub fn table(facts: &Facts) -> TableBuilder {
    let rows = &facts.devices;
    let ns = |of: fn(&Device) -> i64| rows.iter().map(of).collect::<Vec<_>>();
    let cause = |of: fn(&Causes) -> Option<i64>| rows.iter().map(move |row| of(&row.causes));
    let outside = |row: &Device| Some(facts.wall_ns?.saturating_sub(row.span_ns).max(0));
    Table::build("devices")
        .text("place", rows.iter().map(|row| &row.place))
        .text("model", rows.iter().map(|row| row.model.as_deref()))
        .i64("span_ns", ns(|row| row.span_ns))
        .i64("busy_ns", ns(|row| row.busy_ns))
        .f64(
            "wall_share",
            rows.iter().map(|row| facts.share(row.busy_ns)),
        )
        .i64("computation_ns", ns(|row| row.split.computation_ns))
        .i64("communication_ns", ns(|row| row.split.communication_ns))
        .i64("copy_ns", ns(|row| row.split.copy_ns))
        .i64("idle_ns", ns(|row| row.split.idle_ns))
        .i64("not_queued_ns", cause(|causes| causes.not_queued_ns))
        .i64("launching_ns", cause(|causes| causes.launching_ns))
        .i64("not_started_ns", cause(|causes| causes.not_started_ns))
        .i64("not_known_ns", cause(|causes| causes.not_known_ns))
        .i64("outside_ns", rows.iter().map(outside))
        .i64("peak_bytes", rows.iter().map(|row| row.peak_bytes))
        .u64("memory_bytes", rows.iter().map(|row| row.memory_bytes))
        .u64("kernels", rows.iter().map(|row| row.kernels.operations))
        .i64("kernels_ns", ns(|row| row.kernels.dur_ns))
        .u64("copies", rows.iter().map(|row| row.copies.work.operations))
        .i64("copies_ns", ns(|row| row.copies.work.dur_ns))
        .u64(
            "streams",
            rows.iter()
                .map(|row| Some(row.streams.len() as u64).filter(|streams| *streams > 0)),
        )
        .text("stream_numbers", rows.iter().map(stream_numbers))
        .u64("copies_stated", rows.iter().map(|row| row.copies.stated))
        .u64(
            "copies_bytes",
            rows.iter()
                .map(|row| (row.copies.stated > 0).then_some(row.copies.bytes)),
        )
}
