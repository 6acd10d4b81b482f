//! The report model as data: facts of a run, problems, sections, findings, timelines.
//!
//! Whatever makes a report and whatever shows one meet here. The crate knows neither the query engine
//! nor any form of output, so that renderers and statistics build without the engine.

mod catalog;
pub mod categories;
mod cell;
pub mod csv;
pub mod evidence;
pub mod exit;
mod facts;
mod format_ranks;
mod losses;
pub mod name_groups;
mod problem;
mod report;
mod severity;
pub mod shapes;
pub use trueno_format::time_text;
pub mod timeline;
pub mod units;
pub mod width;
mod window;

pub use catalog::{ColumnInfo, TableInfo};
pub use cell::Cell;
pub use facts::{
    ClockFacts, Coordinates, HostFacts, ProgramFacts, RankFacts, RunFacts, RunState, TableFacts,
    WallSource,
};
pub use format_ranks::{rank_numbers, ranks};
pub use losses::Losses;
pub use problem::{
    CHANGED_WHILE_READ, IMPORT, IMPORT_CUT, IMPORT_LEFT_OUT, LIVE_ROWS, Level, NOT_VERIFIED,
    Problem, RECORDER, RUN_JSON_CHANGED,
};
pub use report::{Finding, Header, HeaderWindow, NOT_COMPARABLE, Report, Section, SectionStatus};
pub use severity::{Rated, Severity};
pub use window::Window;
