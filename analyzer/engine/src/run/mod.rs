//! Opens run directories. Nothing else in the analyzer touches a run's files.
//!
//! `layout` lists the files, `manifest` and `journal` read what the recorder
//! wrote about them, `live_segments` takes what it had not come to write, `verify` compares bytes with hashes, `read` decides what
//! can be read of a segment, `rebuild` makes tables of its good parts, and
//! `columns` gives tables their published columns. `completeness` sums it all up. `export_view` hands out
//! what an export writes down, and `exported` what it says of its source.
//! `recover` and `append` make new runs out of old ones.
//! `ranks` opens a folder of runs as one, `job_catalog` some of them as parts of it.

mod append;
mod changed_files;
mod column_reader;
mod columns;
mod completeness;
mod embedded_hashes;
mod error;
mod export_view;
mod exported;
mod extent;
mod given_ceilings;
mod hash_of_files;
mod ipc;
mod job_catalog;
mod journal;
mod layout;
mod live_segments;
mod lz4;
mod manifest;
mod open;
mod rank_alignment;
mod rank_columns;
mod rank_facts;
mod rank_folders;
mod rank_keys;
mod rank_published;
mod rank_tables;
mod ranks;
mod read;
mod rebuild;
mod recover;
mod scan;
mod segment;
mod segment_errors;
mod sources;
mod table_folder;
mod tables;
mod verify;

pub use append::{AddError, Adding};
pub use changed_files::FilesAtOnce;
pub use error::RunError;
pub use hash_of_files::add_content;
pub use job_catalog::JobCatalog;
pub use open::Run;
pub use rank_folders::is_run;
pub use recover::{Damage, RecoverError, Recovered, Recovery, recover};
pub use sources::SourceError;
pub use table_folder::{TABLES_JSON, foreign_in_table_folder, is_table_folder};
