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
mod linked;
mod load;
mod option_schema;
mod outcome;
mod own_output;
mod permissions;
mod registry;
mod run;

pub use descriptor::{Descriptor, Execution, Functions, Input, Plugin, Stage};
pub use find::{
    Candidate, FindError, Found, PATH_VARIABLE, Place, Refused, Search, Shadowed, find, id_of,
};
#[cfg(target_os = "linux")]
pub use foreign_output::OwnScreen;
pub use host::PluginOutput;
pub use inputs::{Sources, gather};
pub use linked::{Code, Linked};
pub use load::{LoadError, load};
pub use option_schema::{OptionSchema, known_options, refused_options};
pub use outcome::{FailureKind, Outcome};
pub use own_output::OwnOutput;
pub use registry::{Entry, Registry, RegistryError, Status};
pub use run::{run, run_on};
