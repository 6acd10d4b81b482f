//! Runs in the formats of other programs, and as Parquet.
//!
//! Every exporter reads tables through one reader, in order and in parts, so that
//! memory does not grow with the file that is written. An exporter is a file that implements [`Exporter`] and a
//! line of [`EXPORTERS`], from which the command line is made; Parquet alone writes a folder, and [`OTLP`] alone is also
//! sent elsewhere.

mod chrome;
mod error;
mod exporter;
mod flamegraph;
mod folded;
mod json;
mod otlp;
mod parquet;
mod perfetto;
mod rows;
mod sampled_stacks;
mod stack_pictures;
mod stacks;

pub use error::ExportError;
pub use exporter::{Exporter, Written};
pub use otlp::{Endpoint, Pushed, push};
pub use parquet::{
    Sizes as ParquetSizes, StoredColumn, StoredTable, TableFolder, to_folder, to_table_folders,
};
pub use stack_pictures::{StackPictures, stack_pictures};
pub use stacks::DEEPEST;

pub static EXPORTERS: [&dyn Exporter; 8] = [
    &chrome::Chrome,
    &perfetto::Perfetto,
    &folded::Folded,
    &flamegraph::Flamegraph,
    &folded::FoldedSamples,
    &flamegraph::FlamegraphOfSamples,
    &folded::FoldedWaits,
    &flamegraph::FlamegraphOfWaits,
];

/// OTLP as a file. [`push`] sends the same spans.
pub static OTLP: &dyn Exporter = &otlp::Otlp;

pub fn exporter(name: &str) -> Option<&'static dyn Exporter> {
    EXPORTERS.into_iter().find(|each| each.name() == name)
}
