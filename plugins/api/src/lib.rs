//! Write an analysis for trueno-analyze: tables in; tables, findings and charts out.
//!
//! A whole plugin:
//!
//! ```
//! use trueno_plugin::{Finding, Input, Plugin, Result, Run, Severity, Table, export};
//!
//! struct Longest;
//!
//! impl Plugin for Longest {
//!     const ID: &'static str = "longest";
//!     const SUMMARY: &'static str = "The brick that took longest.";
//!     const INPUTS: &'static [Input] =
//!         &[Input::sql("bricks", "SELECT name, dur_ns FROM bricks WHERE kind = 'brick' ORDER BY start_ns, id")];
//!     type Options = ();
//!
//!     fn run(run: &mut Run, _options: ()) -> Result<()> {
//!         let bricks = run.table("bricks")?;
//!         let (name, dur_ns) = (bricks.text("name")?, bricks.i64("dur_ns")?);
//!         let Some(longest) = (0..bricks.rows()).max_by_key(|row| dur_ns.get(*row)) else {
//!             return Ok(());
//!         };
//!         run.emit(Table::build("longest").text("name", [name.get(longest)]).i64("dur_ns", [dur_ns.get(longest)]))?;
//!         run.finding(Finding::new("longest", Severity::Info, format!("{} took longest", name.value(longest))))
//!     }
//! }
//!
//! export!(Longest);
//!
//! // In a test, without a host:
//! # fn main() -> Result<()> {
//! let bricks = Table::build("bricks").text("name", ["RmsNorm", "QkvProjection"]).i64("dur_ns", [10, 90]);
//! let output = trueno_plugin::testing::run::<Longest>([bricks], "{}")?;
//! assert_eq!(output.table("longest").to_string(), "name           dur_ns\nQkvProjection      90\n");
//! # Ok(())
//! # }
//! ```
//!
//! A plugin lists [`Input`]s, which are queries; the host runs them. [`Run`]
//! reads their results as [`Table`]s of typed columns, or as [`Batches`] where
//! each row is looked at once, and takes what the plugin found: tables
//! ([`Table::build`]), a [`Finding`], a [`Chart`]. [`table_row!`] declares a struct
//! whose fields are the columns of a table, for both ways.
//! Heavy relational work belongs into the queries; what remains is the one
//! pass over sorted columns that SQL cannot say.
//!
//! The library is a `cdylib` named `trueno_plugin_<id>`. Rules, debugging and
//! the promises of the ABI: `plugins/README.md`; the C header: `include/`.
//! Hosts use [`abi`] and [`arrow`].

pub mod abi;
pub mod arrow;
mod arrow_c;
mod batch;
mod batches;
mod bits;
mod build;
mod chart;
mod column;
mod counted;
mod error;
#[doc(hidden)]
pub mod export;
mod finding;
pub mod headers;
mod options;
mod panic;
mod percent;
mod plugin;
pub mod rank;
mod row;
mod run;
mod slice;
mod table;
pub mod testing;
mod text;
mod validity;

pub use batch::Batch;
pub use batches::Batches;
pub use build::{TableBuilder, is_identifier};
pub use chart::{Chart, ChartKind, Lines, Scale};
pub use column::{
    BoolColumn, Column, ColumnType, F64Column, I64Column, IntoCell, PlainColumn, U64Column,
};
pub use counted::{agreeing, counted, grouped};
pub use error::{Error, Result};
pub use finding::{Evidence, Finding, Severity};
pub use percent::percent;
pub use plugin::{Input, Parts, Plugin};
pub use row::{Cell, TableRow};
pub use run::Run;
pub use slice::{BoolSlice, ColumnSlice, F64Slice, I64Slice, PlainSlice, TextSlice, U64Slice};
pub use table::Table;
pub use text::{IntoText, TextColumn};
