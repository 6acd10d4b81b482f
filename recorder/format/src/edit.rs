//! A new run beside an old one, which then takes its place.
//!
//! A finished run is never changed where it stands. The new one is put together in a hidden folder beside it: files
//! that stay are hard links ([`link_or_copy`]), new rows are further segments ([`added_rows`]), `run.json` comes last.
//! Then both change places in one `renameat2` ([`exchange`]). So whenever a program is stopped, the run's path holds
//! the old run or the new one, and the folder that is left over says in its `run.json` whose it is.

pub mod added_rows;
mod file;
mod link_or_copy;
mod stage;
mod swap;

pub use crate::file_lock::FileLock;
pub use file::{FileError, remove_run, write_synced};
pub use link_or_copy::{link_or_copy, next_segment};
pub use stage::{Stage, StageError};
pub use swap::{exchange, put_in_place, rename_new, sync_parent};

use crate::journal::JOURNAL;
use crate::live::LIVE;
use crate::run_json::RUN_JSON;

/// `run.json` until it is whole.
pub const NEW_RUN_JSON: &str = "run.json.tmp";
/// Entries of a run that an edited one has in another form, or not at all.
pub const NOT_LINKED: [&str; 4] = [RUN_JSON, NEW_RUN_JSON, JOURNAL, LIVE];
