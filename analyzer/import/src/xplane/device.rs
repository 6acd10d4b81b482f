//! Devices: work of streams and cores, and what is drawn over it.

use std::cmp::Reverse;

use trueno_analysis::vendors::{DeviceLane, device_lane, xla_operation};
use trueno_format::schema::{AnnotationRow, CounterRow, DeviceRow, KernelRow, TransferRow};

use super::details::{dimensions, direction, number, word};
use super::flows::Placed;
use super::host::work;
use super::messages::{XLine, XPlane};
use super::plane::Event;
use super::rows::Rows;
use super::stats::{Value, name_of};
use crate::Error;
use crate::cuda::cupti_enums::Direction;

pub fn write(
    device: u32,
    plane: &XPlane,
    lines: Vec<(&XLine, Vec<Event<'_>>)>,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    describe(device, plane, rows)?;
    for (at, (line, mut events)) in lines.into_iter().enumerate() {
        events.sort_by_key(|event| (event.start_ns, Reverse(event.end_ns)));
        let place = rows.new_place();
        // A stream of a GPU has its own number; cores of others have none.
        let stream = u32::try_from(line.id)
            .ok()
            .filter(|_| line.name.starts_with(b"Stream"));
        let stream = stream.unwrap_or(at as u32);
        let name = String::from_utf8_lossy(&line.name);
        let kind = device_lane(&name);
        for (at, event) in events.iter().enumerate() {
            if kind == DeviceLane::Readings {
                counter(event, rows)?;
                continue;
            }
            let next = events.get(at + 1);
            let holds_next = next
                .is_some_and(|next| next.end_ns <= event.end_ns && next.start_ns < event.end_ns);
            if kind == DeviceLane::Repeated || holds_next {
                annotation(event, device, stream, rows)?;
                continue;
            }
            let row = rows.new_row(place);
            rows.flows.take(
                event,
                Placed {
                    row,
                    thread: place,
                    start_ns: event.start_ns,
                    end_ns: event.end_ns,
                },
            );
            let copied = event
                .stat("memcpy_details")
                .or(event.stat("Memset_details"));
            match copied.and_then(Value::text) {
                Some(details) => {
                    let details = String::from_utf8_lossy(details).into_owned();
                    transfer(event, row, device, stream, &details, rows)?;
                }
                None => kernel(event, row, device, stream, rows)?,
            }
        }
    }
    Ok(())
}

fn describe(device: u32, plane: &XPlane, rows: &mut Rows<'_>) -> Result<(), Error> {
    let stat = |name: &str| {
        let mut stats = plane.stats.iter();
        let stat = stats.find(|stat| name_of(plane, stat) == name.as_bytes())?;
        Value::new(plane, stat)
    };
    let text = |name| {
        let text = stat(name).and_then(Value::text);
        text.map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let plane_name = String::from_utf8_lossy(&plane.name).into_owned();
    let name = text("device_type_string").unwrap_or_else(|| match text("device_vendor") {
        Some(vendor) => format!("{vendor} GPU ({plane_name})"),
        None => plane_name,
    });
    let version = |name: &str| stat(name).and_then(Value::unsigned);
    let row = DeviceRow {
        device: rows.import.text(&format!("gpu:{device}")),
        name: Some(rows.import.text(&name)),
        memory_bytes: stat("memory_size").and_then(Value::unsigned),
        multiprocessors: stat("core_count")
            .and_then(Value::unsigned)
            .and_then(|count| u32::try_from(count).ok()),
        compute_capability: version("compute_cap_major")
            .zip(version("compute_cap_minor"))
            .map(|(major, minor)| rows.import.text(&format!("{major}.{minor}"))),
    };
    rows.import.add(&row)
}

fn counter(event: &Event<'_>, rows: &mut Rows<'_>) -> Result<(), Error> {
    let Some(value) = event.stat("counter_value").and_then(Value::number) else {
        rows.import.notes.skip("counter without a value");
        return Ok(());
    };
    let row = CounterRow {
        time_ns: event.start_ns - rows.origin_ns,
        name: rows.import.text(&event.name()),
        value,
        source: rows.import.text("measured"),
        ..CounterRow::default()
    };
    rows.import.add(&row)
}

fn annotation(
    event: &Event<'_>,
    device: u32,
    stream: u32,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    let row = AnnotationRow {
        kind: rows.import.text("device"),
        name: rows.import.text(&event.name()),
        device: Some(device),
        stream: Some(stream),
        time_ns: event.start_ns - rows.origin_ns,
        dur_ns: Some(event.end_ns - event.start_ns),
        ..AnnotationRow::default()
    };
    rows.import.add(&row)
}

fn kernel(
    event: &Event<'_>,
    id: u64,
    device: u32,
    stream: u32,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    let details = event.stat("kernel_details").and_then(Value::text);
    let details = String::from_utf8_lossy(details.unwrap_or_default()).into_owned();
    let part = |of: Option<[u32; 3]>, at: usize| of.map(|of| of[at]);
    let (grid, block) = (dimensions(&details, "grid"), dimensions(&details, "block"));
    let (flops, bytes) = work(event);
    let declared = (flops.is_some() || bytes.is_some()).then(|| rows.import.text("declared"));
    let name = event.name();
    // ROCm names the descriptor.
    let name = name.strip_suffix(".kd").unwrap_or(&name);
    let operation = event.stat("hlo_category").and_then(Value::text);
    let operation = operation.map(String::from_utf8_lossy);
    let row = KernelRow {
        id,
        name: rows.import.text(&xla_operation(name, operation.as_deref())),
        device: Some(device),
        stream: Some(stream),
        correlation: event.stat("correlation_id").and_then(Value::unsigned),
        start_ns: event.start_ns - rows.origin_ns,
        dur_ns: event.end_ns - event.start_ns,
        timing: rows.import.text("device"),
        grid_x: part(grid, 0),
        grid_y: part(grid, 1),
        grid_z: part(grid, 2),
        block_x: part(block, 0),
        block_y: part(block, 1),
        block_z: part(block, 2),
        registers: number(&details, "regs"),
        smem_static: number(&details, "static_shared"),
        smem_dynamic: number(&details, "dynamic_shared"),
        occupancy_percent: number(&details, "occ_pct"),
        flops,
        bytes,
        work_source: declared,
        ..KernelRow::default()
    };
    rows.import.add(&row)?;
    let columns = [
        "correlation_id",
        "kernel_details",
        "flops",
        "bytes_accessed",
    ];
    rows.attributes(id, event.all_stats(), &columns)
}

fn transfer(
    event: &Event<'_>,
    id: u64,
    device: u32,
    stream: u32,
    details: &str,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    let name = event.name();
    let kinds = [word(details, "kind_src"), word(details, "kind_dst")];
    let direction = direction(&name, kinds[0], kinds[1]).unwrap_or_else(|| {
        rows.import
            .notes
            .warn("copies of an unknown kind have the direction unknown");
        Direction::Unknown.name()
    });
    let known = ["pageable", "pinned", "device", "managed", "array"];
    let [source, target] = kinds.map(|kind| {
        let kind = kind.filter(|kind| known.contains(kind));
        kind.map(|kind| rows.import.text(kind))
    });
    let row = TransferRow {
        id,
        direction: rows.import.text(direction),
        bytes: number(details, "size"),
        src_kind: source,
        dst_kind: target,
        is_async: number::<u8>(details, "async").map(|is| is != 0),
        device: Some(device),
        stream: Some(stream),
        start_ns: event.start_ns - rows.origin_ns,
        dur_ns: event.end_ns - event.start_ns,
        timing: rows.import.text("device"),
        correlation: event.stat("correlation_id").and_then(Value::unsigned),
        ..TransferRow::default()
    };
    rows.import.add(&row)
}
