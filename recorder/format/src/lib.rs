//! The run format of `trueno-analyze`, read and written.
//!
//! | module | holds |
//! |---|---|
//! | [`schema`] | the one list of tables and columns, and a struct for the rows of each |
//! | [`run_writer`] | runs whose rows come from elsewhere |
//! | [`segment`], [`embedded_hashes`], [`journal`], [`run_json`] | the files of a run |
//! | [`live`], [`ring`], [`record`], [`waiting_rows`] | what a recording keeps so that it survives its process |
//! | [`observe`] | how that is read while the process goes on, from outside |
//! | [`salvage`] | how that is read when the process is gone |
//! | [`columns`], [`table_writer`], [`record_rows`] | from records to batches |
//! | [`regular_file`] | the files of a run, opened only where they are files |
//! | [`run_directory`], [`folder`] | where a run may be made and what it may replace; its folder, held open |
//! | [`edit`] | a new run beside an old one, which then takes its place |
//!
//! The crate knows how runs look, not how they are recorded: it reads no clock for events and starts no thread.

#![allow(
    rustdoc::invalid_html_tags,
    reason = "docs of columns are what `tables` prints: `ptx/<hash>.ptx`"
)]
#![warn(missing_docs)]

mod brick;
mod calendar;
mod ceiling;
mod cell;
mod collective;
pub mod columns;
mod devices;
pub mod dropped_names;
pub mod edit;
pub mod embedded_hashes;
mod error;
mod file_lock;
pub mod file_size_signal;
pub mod folder;
pub mod held_file;
pub mod host;
pub mod journal;
pub mod kept_rows;
mod kernel_source;
mod launch;
pub mod live;
pub mod mapped_file;
pub mod mapping;
pub mod observe;
pub mod record;
pub mod record_rows;
pub mod regular_file;
pub mod ring;
pub mod row_counters;
pub mod run_directory;
pub mod run_files;
pub mod run_json;
pub mod run_writer;
pub mod salvage;
pub mod schema;
pub mod segment;
pub mod stacks;
pub mod table_writer;
pub mod text;
pub mod tile;
pub mod time_text;
pub mod timeline;
pub mod waiting_rows;

pub use brick::{BrickCategory, BrickId, fixed_texts};
pub use calendar::utc;
pub use ceiling::{Ceiling, CeilingKind, CeilingSource, RecordedCeilings, Source};
pub use collective::Collective;
pub use devices::{device_property, device_rows};
pub use error::Error;
pub use kernel_source::PtxHash;
pub use launch::Launch;
pub use tile::TileLevel;
