//! Checks for a driver and a device, before cudarc is called: cudarc panics without a driver.

pub use trueno_cupti::driver::{Driver, DriverError};

/// The names that are searched for the driver's library, in this order: cudarc opens the first of its own list, which
/// these begin and end, and what is asked here must be what it opens.
pub const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// The driver of this machine, found as cudarc will find it; never panics.
///
/// # Errors
/// [`DriverError::NoLibrary`].
pub fn find() -> Result<Driver, DriverError> {
    Driver::find_as(&NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_driver_gets_an_error_and_no_panic() {
        match find().and_then(|driver| driver.devices().map(|count| (driver, count))) {
            Err(DriverError::NoLibrary { searched }) => {
                assert_eq!(searched.len(), NAMES.len());
                assert!(searched[1].contains("libcuda.so.1"), "{searched:?}");
            }
            // A machine with a driver: whatever it says, it was said and did not panic.
            Err(other) => assert!(!other.to_string().is_empty()),
            Ok((driver, count)) => assert!(driver.check_device(count as usize).is_err()),
        }
    }
}
