//! Ceilings of the recording's devices, where the caller has any.

use trueno_format::RecordedCeilings;

use super::build::Build;
use crate::Error;

/// Ceilings of a device, by its number in the recording and its UUID as NVIDIA's tools print it.
pub type CeilingsOfDevice<'a> = &'a dyn Fn(u32, &str) -> RecordedCeilings;

/// Writes the ceilings of each device, under its number in this recording.
pub fn write(build: &mut Build, of_device: CeilingsOfDevice<'_>) -> Result<(), Error> {
    let devices = build.from.devices.values();
    // A part of a device has other ceilings than the whole, and a UUID of its own.
    let found: Vec<RecordedCeilings> = devices
        .filter_map(|device| Some(of_device(device.device, &device.own_uuid()?)))
        .collect();
    for RecordedCeilings { ceilings, values } in found {
        for ceiling in &ceilings {
            build.into.add_ceiling(ceiling)?;
        }
        build.into.run().values.extend(values);
    }
    Ok(())
}
