//! Ceilings of the recording's devices, where the caller has any.

use trueno_format::RecordedCeilings;

use super::build::Build;
use crate::Error;

/// Returns the ceilings of a device, by its number in the recording and its UUID.
pub type CeilingsOfDevice<'a> = &'a dyn Fn(u32, &[u8; 16]) -> RecordedCeilings;

/// Writes the ceilings of each device, under its number in this recording.
pub fn write(build: &mut Build, of_device: CeilingsOfDevice<'_>) -> Result<(), Error> {
    let devices = build.from.devices.values();
    // A part of a device has other ceilings than the whole, and both have one UUID here.
    let whole = devices.filter(|device| device.is_mig.unwrap_or(0) == 0);
    let found: Vec<RecordedCeilings> = whole
        .map(|device| of_device(device.device, &device.uuid))
        .collect();
    for RecordedCeilings { ceilings, values } in found {
        for ceiling in &ceilings {
            build.into.add_ceiling(ceiling)?;
        }
        build.into.run().values.extend(values);
    }
    Ok(())
}
