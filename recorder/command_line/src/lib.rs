//! What the two commands share: manual pages, shell completions, the version and the levels of help, all from the
//! definition of the command line, and the debug log.
//!
//! The commands print them themselves, so those of an installed program always match it. Packages ship what the program
//! printed.

mod completions;
mod debug_log;
mod help;
mod pages;
mod version;

pub use completions::{CompletionArgs, completions};
pub use debug_log::start_debug_log;
pub use help::{HelpArgs, every_flag, parse};
pub use pages::{ManArgs, man};
pub use version::long_version;
