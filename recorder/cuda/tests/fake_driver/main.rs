//! The recorder on a driver without a device: `recorder/testing/fakes/driver_api.c`, found through the loader's path. A
//! test runs its body in a process of its own, so that the driver's counts are its own.

#[macro_use]
mod fake;

mod examples;
mod failures;
mod injected;
mod modes;
mod order;
mod rows;
mod times;
