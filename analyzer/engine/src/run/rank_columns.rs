//! Columns of one table of several ranks, read rank by rank without the query engine.
//!
//! A column in memory holds differences to one number, so renumbering a rank's rows changes that number alone.

use std::sync::Arc;

use trueno_format::schema::{Column, Scope, Table};
use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};

use super::column_reader::ColumnReader;
use super::ranks::Member;
use crate::columns::{Kind, Packed, ReadBatches, ReadColumns};
use crate::cores;

/// The rank is the first column of each table, and in no file.
const RANK_COLUMN: usize = 0;

pub(super) struct RankColumns {
    parts: Vec<Arc<Part>>,
}

struct Part {
    rank: u32,
    reader: ColumnReader,
    /// The rank's own column for each column of the table, and what is added to its values. `None` if it lacks it.
    columns: Vec<Option<(usize, u64)>>,
}

impl RankColumns {
    /// `columns` begin with the rank. `None` if rows of a rank can be read by the query engine only.
    pub(super) fn new(
        members: &[Member],
        name: &str,
        table: Option<&Table>,
        columns: &[(String, Kind)],
    ) -> Option<Self> {
        let members = members.iter().filter(|of| of.run.rows_of(name) > 0);
        let part = |member| Part::new(member, name, table, columns).map(Arc::new);
        let parts = members.map(part).collect::<Option<Vec<_>>>()?;
        Some(Self { parts })
    }
}

impl Part {
    fn new(
        member: &Member,
        name: &str,
        table: Option<&Table>,
        columns: &[(String, Kind)],
    ) -> Option<Self> {
        if member.beyond.is_in(name) {
            return None;
        }
        let (reader, own) = member.run.column_reader(name)?;
        let part = |(name, kind): &(String, Kind)| {
            let at = own.iter().position(|(own, of)| own == name && of == kind);
            let known = table.and_then(|table| table.column(name));
            let by = known.map_or(Some(0), |column| shift(column, member))?;
            Some(at.map(|at| (at, by)))
        };
        let columns = columns.iter().map(part).collect::<Option<Vec<_>>>()?;
        Some(Self {
            rank: member.rank,
            reader,
            columns,
        })
    }

    /// The rank's own columns to read. There is always one, which has as many rows as all others.
    fn own(&self, columns: &[usize]) -> Vec<usize> {
        let own = columns.iter();
        let mut own: Vec<usize> = own.filter_map(|at| Some(self.columns[*at]?.0)).collect();
        if own.is_empty() {
            own.push(0);
        }
        own
    }

    /// The columns of a batch, from the rank's own.
    fn batch(&self, columns: &[usize], own: Vec<Packed>) -> Vec<Packed> {
        let rows = own.first().map_or(0, Packed::rows);
        let mut own = own.into_iter();
        let of_column = |at: &usize| {
            if *at == RANK_COLUMN {
                return Packed::same(rows, self.rank.into(), None);
            }
            let packed = self.columns[*at].and_then(|(_, by)| Some(own.next()?.shifted(by)));
            packed.unwrap_or_else(|| Packed::missing(rows))
        };
        columns.iter().map(of_column).collect()
    }

    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let own = self.reader.read(&self.own(columns))?;
        let count = own.first().map_or(0, Vec::len);
        let mut own: Vec<_> = own.into_iter().map(Vec::into_iter).collect();
        let mut read: Vec<Vec<Packed>> = columns.iter().map(|_| Vec::new()).collect();
        for _ in 0..count {
            let batch = own.iter_mut().filter_map(Iterator::next).collect();
            for (read, packed) in read.iter_mut().zip(self.batch(columns, batch)) {
                read.push(packed);
            }
        }
        Ok(read)
    }
}

/// What is added to the values of a column; `None` for texts that a rank has in another form than the job.
fn shift(column: &Column, member: &Member) -> Option<u64> {
    let rank = u64::from(member.rank);
    match column.scope() {
        Scope::Key => Some(rank << KEY_BITS),
        Scope::Place => Some(rank << PLACE_BITS),
        Scope::Time => Some(member.offset_ns.cast_unsigned()),
        Scope::PlaceName if rank > 0 => None,
        Scope::PlaceName | Scope::Value => Some(0),
    }
}

impl ReadColumns for RankColumns {
    fn read(&self, columns: &[usize]) -> Result<Vec<Vec<Packed>>, String> {
        let mut all: Vec<Vec<Packed>> = columns.iter().map(|_| Vec::new()).collect();
        for part in cores::map(&self.parts, |part| part.read(columns)) {
            for (all, read) in all.iter_mut().zip(part?) {
                all.extend(read);
            }
        }
        Ok(all)
    }

    fn open(&self, columns: &[usize]) -> Result<Option<Box<dyn ReadBatches>>, String> {
        // All files of a job at once are more than a process may open.
        let [part] = self.parts.as_slice() else {
            return Ok(None);
        };
        let Some(batches) = part.reader.open(&part.own(columns))? else {
            return Ok(None);
        };
        Ok(Some(Box::new(OpenedPart {
            part: Arc::clone(part),
            columns: columns.to_vec(),
            batches,
        })))
    }
}

struct OpenedPart {
    part: Arc<Part>,
    columns: Vec<usize>,
    batches: Box<dyn ReadBatches>,
}

impl ReadBatches for OpenedPart {
    fn count(&self) -> usize {
        self.batches.count()
    }

    fn batch(&self, number: usize) -> Result<Vec<Packed>, String> {
        let own = self.batches.batch(number)?;
        Ok(self.part.batch(&self.columns, own))
    }
}
