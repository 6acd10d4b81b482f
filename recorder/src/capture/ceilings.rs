//! What the devices of a recording can do at most, where that was measured before.

use super::build::Build;
use crate::error::Error;
use crate::peaks::NotKept;
use crate::peaks::gpu::{GpuPeaks, uuid_text};
use crate::run_writer::Cell;

/// The ceilings that `trueno-record peaks --gpu` kept for a device, under the number it has in this recording.
pub fn write(build: &mut Build) -> Result<(), Error> {
    let devices = build.from.devices.values();
    // A part of a device has other ceilings than the whole, and both have one UUID here.
    let whole = devices.filter(|device| device.is_mig.unwrap_or(0) == 0);
    let devices: Vec<(u32, String)> = whole
        .map(|device| (device.device, uuid_text(&device.uuid)))
        .collect();
    for (number, uuid) in devices {
        match GpuPeaks::kept(&uuid) {
            Ok(peaks) => of_device(build, number, &peaks)?,
            Err(NotKept::Missing { .. } | NotKept::NoFolder) => {}
            Err(problem) => {
                let key = format!("peaks.gpu:{number}");
                let text = format!("not available: {problem}");
                build.into.run().values.insert(key, text);
            }
        }
    }
    Ok(())
}

fn of_device(build: &mut Build, number: u32, peaks: &GpuPeaks) -> Result<(), Error> {
    let table = build.table("ceilings")?;
    for ceiling in &peaks.ceilings {
        let cells = [
            build.text(&format!("gpu:{number}")),
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
        build.into.row(table, &cells)?;
    }
    let values = &mut build.into.run().values;
    values.insert(format!("peaks.gpu:{number}"), peaks.in_words());
    if !peaks.notes.is_empty() {
        values.insert(format!("peaks.gpu:{number}.notes"), peaks.notes.join("; "));
    }
    Ok(())
}
