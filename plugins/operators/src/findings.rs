//! Findings: coverage, the largest loss below the roof, and what lies above one.

use trueno_analysis::intervals::SaturatingSum;
use trueno_analysis::wording::time;
use trueno_plugin::{Finding, Severity, counted};

use crate::device_time::Totals;
use crate::groups::TimedOn;
use crate::nominal::Named;
use crate::roofs::Roofs;
use crate::rows::{NO_NETWORK, Row};

pub fn no_shapes() -> Finding {
    Finding::new(
        "no_shapes",
        Severity::Info,
        "no operator shapes are recorded, so FLOPs and bytes are not known",
    )
    .suggestion("torch.profiler.profile(record_shapes=True) records them")
}

/// All findings. `rows` must be sorted by time.
pub fn findings(rows: &[Row], device: &Totals, on: Option<TimedOn>, roofs: &Roofs) -> Vec<Finding> {
    let mut out = Vec::new();
    out.extend(recomputed(device));
    out.extend(coverage(rows, device));
    out.extend(nominal(&roofs.sheets, rows, roofs.achievable_share));
    out.extend(no_ceilings(rows, &roofs.without_sheet));
    out.extend(above(rows, on));
    out
}

/// From this share of the linked device time on, recomputed work is reported.
const RECOMPUTED: f64 = 0.01;

fn recomputed(device: &Totals) -> Option<Finding> {
    let linked_ns = device.total_ns.saturating_sub(device.not_linked_ns);
    let share = device.recomputed_ns as f64 / linked_ns as f64;
    if linked_ns <= 0 || share < RECOMPUTED {
        return None;
    }
    let title = format!(
        "activation checkpointing computes {} of device work again, {:.1} % of what recorded operators launched",
        time(device.recomputed_ns),
        100.0 * share
    );
    Some(
        Finding::new("recomputed", Severity::Info, title)
            .detail("launched within CheckpointFunctionBackward or the hooks of torch/utils/checkpoint.py")
            .evidence("SELECT name, calls, recomputed_calls, device_ns FROM operators.by_shape WHERE recomputed_calls > 0")
            .suggestion("where memory allows, checkpoint fewer layers, or only those whose activations are large and cheap to compute (selective checkpointing)"),
    )
}

fn coverage(rows: &[Row], device: &Totals) -> Option<Finding> {
    let linked_ns = device.total_ns.saturating_sub(device.not_linked_ns);
    if linked_ns <= 0 {
        return None;
    }
    let share = |part: i64, of: i64| 100.0 * part as f64 / of as f64;
    let title = format!(
        "FLOPs and bytes are known for {:.1} % of the device time launched by recorded operators",
        share(device.modelled_ns, linked_ns)
    );
    let worst = rows.iter().filter(|row| row.work.is_err());
    let worst = worst.max_by_key(|row| row.sums.not_modelled_ns);
    let worst = worst.filter(|row| share(row.sums.not_modelled_ns, linked_ns) >= 0.1);
    let mut detail = Vec::new();
    if let Some(row) = worst {
        let name = &row.name;
        let of = share(row.sums.not_modelled_ns, linked_ns);
        detail.push(format!("most of the rest is {name}, {of:.1} %"));
    }
    let without_shapes_ns = linked_ns.saturating_sub(device.with_signature_ns);
    if share(without_shapes_ns, linked_ns) >= 0.1 {
        detail.push(format!(
            "{:.1} % was launched by operators without recorded shapes (torch.profiler.profile(record_shapes=True) records them)",
            share(without_shapes_ns, linked_ns)
        ));
    }
    if device.not_linked_ns > 0 {
        let not_linked = share(device.not_linked_ns, device.total_ns);
        detail.push(format!(
            "{not_linked:.1} % of all device time was launched outside recorded rows, mostly before the recording, \
             and has no shapes"
        ));
        if device.inferred_ns > 0 {
            detail.push(format!(
                "{:.1} % of all device time is assigned the shapes of later calls, whose kernels come in the same order \
                 (inferred)",
                share(device.inferred_ns, device.total_ns)
            ));
        }
    }
    Some(
        Finding::new("coverage", Severity::Info, title)
            .detail(detail.join("; "))
            .evidence("SELECT name, calls, device_ns, reason FROM operators.not_modelled"),
    )
}

fn nominal(devices: &[Named], rows: &[Row], achievable_share: f64) -> Option<Finding> {
    let is_used = |row: &Row| row.placed().is_some_and(|place| place.source == "nominal");
    let first = devices.first().filter(|_| rows.iter().any(is_used))?;
    let mut detail = first.source.clone();
    if achievable_share < 1.0 {
        detail += &format!(
            "; {:.0} % of it counts as the roof",
            achievable_share * 100.0
        );
    }
    Some(
        Finding::new(
            "nominal_roof",
            Severity::Info,
            format!("the roofs are nominal, from the data sheet of {}", first.name),
        )
        .detail(detail)
        .suggestion("measure ceilings on that device (`trueno-record peaks --gpu`) to replace them; --set operators.achievable_share=0.8 lowers nominal ones"),
    )
}

/// Reports rows without ceilings, with the reason that accounts for most of their time.
fn no_ceilings(rows: &[Row], without_sheet: &[(String, Vec<String>)]) -> Option<Finding> {
    let is_missing = |why: &&String| {
        !why.starts_with("above the roof") && *why != "no work" && *why != NO_NETWORK
    };
    let missing: Vec<&String> = rows
        .iter()
        .filter_map(|row| row.place.as_ref()?.as_ref().err())
        .filter(is_missing)
        .collect();
    let first = missing.first()?;
    let title = format!(
        "{} no place below a roof",
        counted(missing.len(), "shape has", "shapes have")
    );
    Some(
        Finding::new("no_ceiling", Severity::Info, title)
            .detail(match without_sheet.first() {
                Some((name, near)) => format!("{first}; {}", no_sheet(name, near)),
                None => (*first).clone(),
            })
            .suggestion("add the ceilings of that machine with `trueno-record peaks --into RUN` (for a GPU: `peaks --gpu`, before recording), or use nominal ones with --set operators.nominal=true"),
    )
}

const NEAR: usize = 3;

fn no_sheet(name: &str, near: &[String]) -> String {
    if near.is_empty() {
        return format!("no data sheet for {name}");
    }
    let near = &near[..near.len().min(NEAR)];
    format!(
        "no data sheet for {name}; near it, with other units or clocks: {}",
        near.join(", ")
    )
}

/// From this share of the operators' time on, what is above the roof puts the roof in doubt.
const MUCH: f64 = 0.05;

fn above(rows: &[Row], on: Option<TimedOn>) -> Option<Finding> {
    let is_above = |row: &&Row| {
        let why = row.place.as_ref().and_then(|place| place.as_ref().err());
        // An operator around others may work on several devices' parts of its tensors.
        row.sums.counted_ns > 0 && why.is_some_and(|why| why.starts_with("above the roof"))
    };
    let above: Vec<&Row> = rows.iter().filter(is_above).collect();
    let first = above.first()?;
    let counted_ns = |row: &Row| row.sums.counted_ns;
    let above_ns = above.iter().map(|row| counted_ns(row)).saturating_sum();
    let all_ns = rows.iter().map(counted_ns).saturating_sum();
    // Small tensors lie in caches.
    let severity = match above_ns as f64 >= MUCH * all_ns as f64 {
        true => Severity::Warning,
        false => Severity::Info,
    };
    let title = format!(
        "{} faster than the roof allows, the first is {}",
        counted(above.len(), "shape is", "shapes are"),
        first.name
    );
    let detail = match on {
        Some(TimedOn::Host) => "its data may lie in a cache, or the ceilings are of fewer threads",
        _ => {
            "its data may lie in a cache, its matrix products may have run in TF32, or the ceilings are not those of this device"
        }
    };
    Some(
        Finding::new("above_roof", severity, title)
            .detail(detail)
            .evidence("SELECT name, input_dims, device_ns, reason FROM operators.by_shape WHERE reason LIKE 'above%'"),
    )
}
