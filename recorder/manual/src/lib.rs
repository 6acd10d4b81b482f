//! Manual pages, shell completions, the version and the levels of help of a command, from the definition of its command
//! line.
//!
//! The commands print them themselves, so those of an installed program always match it. Packages ship what the program
//! printed.

mod completions;
mod help;
mod pages;
mod version;

pub use completions::{CompletionArgs, completions};
pub use help::{HelpArgs, every_flag, parse};
pub use pages::{ManArgs, man};
pub use version::long_version;
