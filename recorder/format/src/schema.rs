//! The one list of tables and columns of a run directory, and the rows made from it.
//!
//! `tables` is the list. From it come what is known of a table when the program runs ([`TABLES`]), a number for
//! each ([`TableId`]) and a struct for its rows ([`KernelRow`] and so on), which the writer takes: a column that is
//! added there is a field everywhere. The analyzer's catalog publishes the list, and the documentation is printed
//! from it.
//!
//! All times are `i64` nanoseconds on the run's own timeline (0 = the recorder was ready); ids are `u64`, unique
//! within the run over all tables; a null means *not recorded*, never zero.

mod cell;
mod declare;
mod tables;

pub use cell::{CellSink, Field, Value};
pub use tables::*;

/// Name of the format, first thing in `run.json`.
pub const FORMAT_NAME: &str = "trueno-run";
/// Raised by a change that an old reader would misread.
pub const FORMAT_MAJOR: u32 = 1;
/// Raised by a release that adds tables or columns.
pub const FORMAT_MINOR: u32 = 11;

/// Storage type of a column in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// Signed 64-bit integer.
    I64,
    /// IEEE 754 double.
    F64,
    /// One bit.
    Bool,
    /// UTF-8 text behind a dictionary with signed 32-bit keys.
    Text,
}

impl ColumnType {
    /// The word of listings and pages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
            Self::Bool => "bool",
            Self::Text => "text",
        }
    }
}

/// Origin of a column's values (invariant 2 of ARCHITECTURE.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Read from a clock, a counter or a pass over the data.
    Measured,
    /// Stated by the program.
    Declared,
    /// Names or locates the row: ids, names, kinds.
    Identity,
}

/// The thing that a value refers to, and so what becomes of it where runs are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Names or links rows of one run: ids and references to them, correlations, events.
    Key,
    /// Number of a thread or a device of one run.
    Place,
    /// Name of a device: `cpu`, `gpu:<number>`.
    PlaceName,
    /// A time on the run's own timeline.
    Time,
    /// Means the same in every run.
    Value,
}

/// Provenance and scope of a column in one word, which each column of the list must state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// An identity of scope [`Scope::Key`].
    Key,
    /// An identity of scope [`Scope::Place`].
    Place,
    /// An identity of scope [`Scope::PlaceName`].
    PlaceName,
    /// A measured time of scope [`Scope::Time`].
    Time,
    Identity,
    Measured,
    Declared,
}

impl Role {
    const fn provenance(self) -> Provenance {
        match self {
            Self::Key | Self::Place | Self::PlaceName | Self::Identity => Provenance::Identity,
            Self::Time | Self::Measured => Provenance::Measured,
            Self::Declared => Provenance::Declared,
        }
    }

    const fn scope(self) -> Scope {
        match self {
            Self::Key => Scope::Key,
            Self::Place => Scope::Place,
            Self::PlaceName => Scope::PlaceName,
            Self::Time => Scope::Time,
            Self::Identity | Self::Measured | Self::Declared => Scope::Value,
        }
    }
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name, with its unit as suffix where it has one.
    pub name: &'static str,
    /// Storage type.
    pub ty: ColumnType,
    /// A row may lack it.
    pub nullable: bool,
    /// Origin of its values.
    pub provenance: Provenance,
    /// Description for people, in one line.
    pub doc: &'static str,
    scope: Scope,
}

impl Column {
    const fn new<T: Field>(name: &'static str, role: Role, doc: &'static str) -> Self {
        Self {
            name,
            ty: T::TYPE,
            nullable: T::NULLABLE,
            provenance: role.provenance(),
            doc,
            scope: role.scope(),
        }
    }

    /// True if values are hardly ever repeated: ids of rows, and times.
    pub(crate) fn is_distinct(&self) -> bool {
        self.name == "id" || self.scope == Scope::Time
    }

    /// The thing that its values refer to.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Unit of its values, which its name says; `None`: they are names, numbers of things, or what `unit` of the row
    /// says.
    pub fn unit(&self) -> Option<&'static str> {
        let is_number = !matches!(self.ty, ColumnType::Text | ColumnType::Bool);
        [
            ("_ns", "ns"),
            ("ticks", "ticks"),
            ("bytes", "bytes"),
            ("smem", "bytes"),
            ("flops", "FLOP"),
            ("percent", "%"),
        ]
        .into_iter()
        .find(|(part, _)| is_number && self.name.contains(part))
        .map(|(_, unit)| unit)
    }
}

/// The lane on which a row lies: a host thread, or a stream of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneRule {
    /// Its thread.
    Thread,
    /// The stream of its device, or its thread if it has no device.
    StreamElseThread,
    /// The thread that waits, or the stream of its device if it has none.
    ThreadElseStream,
}

/// One table: a folder of numbered segments.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name and folder.
    pub name: &'static str,
    /// Description for people, in one line.
    pub doc: &'static str,
    /// The columns in file order.
    pub columns: &'static [Column],
    /// The lane of its rows; `None`: they lie on none.
    pub lane: Option<LaneRule>,
    /// Rows of a lane lie in one another.
    pub nests: bool,
    /// Columns that name a row for people: the first that is not null.
    pub labels: &'static [&'static str],
    /// The recorder fills it by itself, whatever the program does.
    pub is_own: bool,
}

impl Table {
    const fn new(name: &'static str, doc: &'static str, columns: &'static [Column]) -> Self {
        Self {
            name,
            doc,
            columns,
            lane: None,
            nests: false,
            labels: &[],
            is_own: false,
        }
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Index of the column with that name, which must exist. Used in constants, so that a wrong name does not
    /// compile.
    pub(crate) const fn position(&self, name: &str) -> usize {
        let mut at = 0;
        while !is_same(self.columns[at].name, name) {
            at += 1;
        }
        at
    }

    /// True if its rows last: they have `start_ns` and `dur_ns`.
    pub fn is_interval(&self) -> bool {
        self.time_column() == Some("start_ns") && self.column("dur_ns").is_some()
    }

    /// True if its rows are what the program did at some time; others say what those refer to, or are the recorder's own.
    pub fn is_event(&self) -> bool {
        !self.is_own && self.time_column().is_some()
    }

    /// The column that says when a row was, or when it began.
    pub fn time_column(&self) -> Option<&'static str> {
        let mut times = self.columns.iter().filter(|c| c.scope == Scope::Time);
        times.next().map(|column| column.name)
    }

    /// The first of [`Table::labels`].
    pub fn label(&self) -> Option<&'static str> {
        self.labels.first().copied()
    }
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// A row of a table, made from the schema: a field for each column.
pub trait TableRow {
    /// The table that it is a row of.
    const TABLE: TableId;

    /// Passes its cells to `sink`, in the order of the columns.
    fn put_into(&self, sink: &mut impl CellSink);
}

/// The table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|t| t.name == name)
}

/// The tables whose rows are intervals, the outer ones first.
pub fn interval_tables() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().filter(|table| table.is_interval())
}

#[cfg(test)]
mod tests;
