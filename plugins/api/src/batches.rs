//! An input, batch by batch.

use std::fmt;

use crate::arrow::{ArrowArrayStream, StreamReader};
use crate::batch::Batch;
use crate::column::ColumnType;
use crate::error::Result;

/// An input, batch by batch, for plugins that read its rows once and need not hold the table.
///
/// [`Run::batches`](crate::Run::batches) opens one. The batches have the rows of
/// [`Run::table`](crate::Run::table) in the same order. Their sizes have no meaning.
///
/// ```
/// # use trueno_plugin::{Input, Plugin, Result, Run, Table};
/// # struct Busy;
/// # impl Plugin for Busy {
/// #     const ID: &'static str = "busy";
/// #     const SUMMARY: &'static str = "Sum of durations.";
/// #     const INPUTS: &'static [Input] = &[Input::sql("bricks", "SELECT dur_ns FROM bricks")];
/// #     type Options = ();
/// fn run(run: &mut Run, _options: ()) -> Result<()> {
///     let mut busy_ns = 0;
///     let mut bricks = run.batches("bricks")?;
///     while let Some(batch) = bricks.next_batch()? {
///         busy_ns += batch.i64("dur_ns")?.iter().flatten().sum::<i64>();
///     }
///     run.emit(Table::build("busy").i64("busy_ns", [busy_ns]))
/// }
/// # }
/// # fn main() -> Result<()> {
/// # let bricks = Table::build("bricks").i64("dur_ns", [Some(10), None, Some(90)]);
/// # let output = trueno_plugin::testing::run::<Busy>([bricks], "{}")?;
/// # assert_eq!(output.table("busy").i64("busy_ns")?.values(), [100]);
/// # Ok(())
/// # }
/// ```
pub struct Batches {
    /// Name of the input; empty for a stream without one.
    name: String,
    reader: StreamReader,
    is_missing: bool,
}

impl Batches {
    pub(crate) fn new(name: &str, reader: StreamReader, is_optional: bool) -> Self {
        let is_missing = is_optional && reader.fields().is_empty();
        Self {
            name: name.to_owned(),
            reader,
            is_missing,
        }
    }

    /// The batches of a stream, which is moved out of its place.
    ///
    /// # Errors
    /// As for [`read_stream`](crate::arrow::read_stream), as far as its schema tells.
    ///
    /// # Safety
    /// `stream` is null or points to a stream whose callbacks and buffers obey the
    /// Arrow C interfaces.
    pub unsafe fn of_stream(stream: *mut ArrowArrayStream) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let reader = unsafe { StreamReader::open(stream) }?;
        Ok(Self::new("", reader, false))
    }

    /// Name of the input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether this is an optional input whose table does not exist. It has no batches.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    /// Name and type of each column, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, ColumnType)> + '_ {
        let fields = self.reader.fields().iter();
        fields.map(|(name, ty)| (name.as_str(), *ty))
    }

    /// Returns whether there is such a column.
    pub fn has(&self, column: &str) -> bool {
        self.columns().any(|(name, _)| name == column)
    }

    /// The next rows, at least one; `None`: that was all. The batch before is given back.
    ///
    /// # Errors
    /// The stream is broken.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let name = &self.name;
        let batch = self
            .reader
            .next_batch()
            .map_err(|error| error.of_input(name))?;
        Ok(batch.map(|batch| Batch { name, ..batch }))
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_struct("Batches");
        list.field("name", &self.name);
        list.field("columns", &self.reader.fields())
            .finish_non_exhaustive()
    }
}
