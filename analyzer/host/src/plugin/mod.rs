//! Plugins: where they are found, how they are loaded, how they are run.

mod call;
mod descriptor;
mod find;
#[cfg(target_os = "linux")]
mod foreign_output;
mod host;
mod inputs;
pub mod isolate;
mod lazy_inputs;
mod load;
mod option_schema;
mod outcome;
mod permissions;
mod registry;
mod run;

pub use descriptor::{Descriptor, Execution, Functions, Input, Plugin, Stage};
pub use find::{
    Candidate, FindError, Found, PATH_VARIABLE, Place, Refused, Search, Shadowed, find, id_of,
};
#[cfg(target_os = "linux")]
pub use foreign_output::write_to_own_stderr;
pub use host::Taken;
pub use inputs::{Sources, gather};
pub use load::{LoadError, load};
pub use option_schema::{OptionSchema, known_options, refused_options};
pub use outcome::{FailureKind, Outcome};
pub use registry::{Entry, Registry, RegistryError, Status};
pub use run::{run, run_on};

/// Writes to standard error, where a plugin's own output goes as well on this system.
///
/// # Errors
/// It cannot be written to.
#[cfg(not(target_os = "linux"))]
pub fn write_to_own_stderr(text: &str) -> std::io::Result<()> {
    std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes())
}
