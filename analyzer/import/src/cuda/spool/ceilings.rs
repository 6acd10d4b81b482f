//! Ceilings of the recording's devices, where the caller has any.

use super::build::Build;
use trueno_recorder::{Ceiling, RecordedCeilings};
use crate::Error;
use trueno_recorder::run_writer::Cell;

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
    let table = build.table("ceilings")?;
    let cells = [
        build.text(&ceiling.device),
        build.text(ceiling.kind.name()),
        build.maybe(ceiling.level.as_deref()),
        build.maybe(ceiling.precision.as_deref()),
        ceiling.threads.map(u64::from).into(),
        Cell::F64(ceiling.value),
        build.text(ceiling.unit()),
        build.text(ceiling.source.name()),
        build.maybe(ceiling.operation.as_deref()),
        ceiling.median.into(),
        ceiling.spread.into(),
        ceiling.repetitions.map(u64::from).into(),
        ceiling.settled.map_or(Cell::Null, Cell::Bool),
        ceiling.earlier.into(),
    ];
    Ok(build.into.row(table, &cells)?)
}
