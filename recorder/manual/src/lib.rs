//! Manual pages, shell completions and the version of a command, made of the definition of its command line.
//!
//! The commands themselves print them, so that those of an installed program are always its own, whoever installed it and
//! how; packages keep what the program printed.

mod completions;
mod pages;
mod version;

pub use completions::{CompletionArgs, completions};
pub use pages::{ManArgs, man};
pub use version::long_version;
