//! Trace-event JSON that `trueno-analyze export chrome` wrote, back into the rows of its run.
//!
//! Nothing is worked out here: the category of an event is the table, and the columns stand in
//! its arguments under their names, or in the member [`MARK`] where arguments mean something
//! else to a viewer. Rows come in the order of the file and are written at once.
//!
//! | event | row |
//! | --- | --- |
//! | `X`, `i` | times from `ts` and `dur`, a name that is never null from `name`, else `args` |
//! | `b`, `s`, `M trueno_row` | `args` |
//! | `C`, `M thread_name` | member `trueno`; a counter's time from `ts` |
//! | `e`, `f`, other `M` | none: for viewers |
//!
//! Sources of kernels, which are files beside the tables, stand in the member [`MARK`] of the first
//! row of `ptx` that names them.
//!
//! Lost, as the format cannot hold them: the bits of a NaN, and times beyond 146 years.

mod cell;
mod event;
mod mark;
mod rows;

use super::document::{self, Failure, Shape};
use super::scanner::Scanner;
use crate::mended::Mended;
use crate::{Error, Import};
pub(super) use mark::Mark;
pub use mark::{FORMAT_VERSION, MARK};
use rows::Rows;

/// Reads an export once its mark was found. Returns the length of the run in nanoseconds.
pub(super) fn import(mark: &Mark, mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let (path, options) = (import.path, import.options);
    mark.check(path)?;
    let source = import.open()?;
    let packing = source.packing();
    let mut scanner = Scanner::new(Mended::as_it_stands(source));
    let mut shape = Shape::default();
    let mut rows = Rows::new(import.into, import.notes);
    let read = document::read(&mut scanner, &mut shape, &mut rows);
    rows.end();
    match read {
        // The mark is known; no sink of these rows looks for another.
        Ok(()) | Err(Failure::Enough) => {}
        Err(Failure::Import(error)) => return Err(error),
        Err(Failure::Stop(stop)) => {
            let text = shape.stopped(path, stop, packing, options)?;
            import.problem(text);
        }
    }
    if !shape.has_events {
        return Err(shape.no_trace(path));
    }
    let hash = document::end(scanner, &shape, import.notes)?;
    Ok(mark.describe(hash, import.into.run(), import.notes))
}
