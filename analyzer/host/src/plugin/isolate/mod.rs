//! A plugin in a process of its own.
//!
//! The analyzer starts itself once more with a hidden command. The child gets one
//! memory file (its job, and the inputs as Arrow IPC), loads the library, calls
//! it through the same interface as ever, and sends back each table as soon as
//! it is emitted, then findings, charts and the status, as messages with a
//! hash. What the plugin writes to its standard output never meets them. A
//! crash, an endless loop, an `exit` costs what had not been sent yet.
//!
//! The memory file is the child's standard input (pages are given back as they are read), its standard output a
//! pipe for messages, which it takes for itself before the library is loaded; it then enters a sandbox. Libraries that are isolated are never
//! loaded by the parent, not even for their descriptors.
//!
//! A plugin in Python is always isolated: its child becomes an interpreter (`python`).

#[cfg(target_os = "linux")]
mod captured_output;
#[cfg(target_os = "linux")]
mod child;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod columns;
#[cfg(target_os = "linux")]
mod crash;
#[cfg(target_os = "linux")]
mod exit_reason;
#[cfg(target_os = "linux")]
mod input_reader;
pub(super) mod limits;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod python;
#[cfg(target_os = "linux")]
mod request;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod tables;
#[cfg(target_os = "linux")]
mod watch;

pub(crate) use columns::to_bytes;

/// Entry points for fuzzing, not part of the interface.
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod fuzzing {
    pub use super::message::{Kind, head};
    pub use super::process::output_from;
}

pub use limits::{Isolation, Limits, Which, memory_of_this_machine, size};

#[cfg(not(target_os = "linux"))]
use std::path::Path;

use trueno_engine::closed_types::ClosedRows;

use super::descriptor::{Descriptor, Stage};
use super::linked::{Code, Linked};
use super::outcome::Outcome;

pub const AVAILABLE: bool = cfg!(target_os = "linux");

/// Parts of the sandbox that this kernel lacks, for users; `None` if it has all.
pub fn missing() -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    return sandbox::missing();
    #[cfg(not(target_os = "linux"))]
    return None;
}

/// Loads the plugin in a process of its own and returns its descriptor.
///
/// # Errors
/// The reason for its being no plugin, or the end of the process that loaded it.
pub fn describe(code: &Code, limits: &Limits) -> Result<Descriptor, String> {
    #[cfg(target_os = "linux")]
    return process::describe(code, limits);
    #[cfg(not(target_os = "linux"))]
    return Err(unavailable(&code.file, limits));
}

/// Runs the plugin. An input that is `None` is an optional one that is missing.
pub fn run(
    code: &Code,
    stage: Stage,
    inputs: Vec<Option<ClosedRows>>,
    options: &str,
    limits: &Limits,
) -> Outcome {
    #[cfg(target_os = "linux")]
    return process::run(code, stage, inputs, options, limits);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (stage, inputs, options);
        Outcome::Failed {
            kind: super::outcome::FailureKind::Ended,
            message: unavailable(&code.file, limits),
            taken: Default::default(),
        }
    }
}

/// Runs the child's job, for a library or a linked plugin. Does not return.
///
/// # Errors
/// It was not started by the analyzer, or the way back to it is closed.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
pub fn serve(linked: &[Linked]) -> Result<std::convert::Infallible, String> {
    #[cfg(target_os = "linux")]
    return child::serve(linked);
    #[cfg(not(target_os = "linux"))]
    return Err("plugins cannot be isolated on this system".into());
}

#[cfg(not(target_os = "linux"))]
fn unavailable(file: &Path, _limits: &Limits) -> String {
    format!(
        "{}: plugins cannot be isolated on this system (hint: --no-isolate)",
        file.display()
    )
}
