//! Ceilings of the recording's devices, where the caller has any.

use trueno_format::schema::CeilingRow;
use trueno_format::{Ceiling, RecordedCeilings};

use super::build::Build;
use crate::Error;

/// Ceilings of a device, by its number in the recording and its UUID.
pub type CeilingsOfDevice<'a> = &'a dyn Fn(u32, &[u8; 16]) -> RecordedCeilings;

/// Writes the ceilings of each device, under the number it has in this recording.
pub fn write(build: &mut Build, of_device: CeilingsOfDevice<'_>) -> Result<(), Error> {
    let devices = build.from.devices.values();
    // A part of a device has other ceilings than the whole, and both have one UUID here.
    let whole = devices.filter(|device| device.is_mig.unwrap_or(0) == 0);
    let found: Vec<RecordedCeilings> = whole
        .map(|device| of_device(device.device, &device.uuid))
        .collect();
    for RecordedCeilings { ceilings, values } in found {
        for ceiling in &ceilings {
            row(build, ceiling)?;
        }
        build.into.run().values.extend(values);
    }
    Ok(())
}

fn row(build: &mut Build, ceiling: &Ceiling) -> Result<(), Error> {
    let row = CeilingRow {
        device: build.text(&ceiling.device),
        kind: build.text(ceiling.kind.name()),
        level: build.maybe(ceiling.level.as_deref()),
        precision: build.maybe(ceiling.precision.as_deref()),
        threads: ceiling.threads,
        value: ceiling.value,
        unit: build.text(ceiling.unit()),
        source: build.text(ceiling.source.name()),
        operation: build.maybe(ceiling.operation.as_deref()),
        median: ceiling.median,
        spread: ceiling.spread,
        repetitions: ceiling.repetitions,
        settled: ceiling.settled,
        earlier: ceiling.earlier,
    };
    build.add(&row)
}
