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

use std::path::Path;

use trueno_format::run_writer::RunWriter;

use super::document::{self, Failure, Shape};
use super::scanner::Scanner;
use crate::mended::Mended;
use crate::source::Source;
use crate::{Error, Notes, Options};
pub(super) use mark::Mark;
pub use mark::{FORMAT_VERSION, MARK};
use rows::Rows;

/// Reads an export once its mark was found. Returns the length of the run in nanoseconds.
pub(super) fn import(
    path: &Path,
    options: &Options,
    mark: &Mark,
    into: &mut RunWriter,
    notes: &mut Notes,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<i64>, Error> {
    mark.check(path)?;
    let source = Source::open(path, options, progress)?;
    let packing = source.packing();
    let mut scanner = Scanner::new(Mended::as_it_stands(source));
    let mut shape = Shape::default();
    let mut rows = Rows::new(into, notes);
    let read = document::read(&mut scanner, &mut shape, &mut rows);
    rows.end();
    match read {
        // The mark is known; no sink of these rows looks for another.
        Ok(()) | Err(Failure::Enough) => {}
        Err(Failure::Import(error)) => return Err(error),
        Err(Failure::Stop(stop)) => {
            let text = shape.stopped(path, stop, packing, options)?;
            notes.cut_short(into, text);
        }
    }
    if !shape.has_events {
        return Err(shape.no_trace(path));
    }
    let hash = document::end(scanner, &shape, path, notes)?;
    Ok(mark.describe(hash, into.run(), notes))
}
