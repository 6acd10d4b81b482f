//! Owners of memory: the rows of bricks that were open, by name, layer and iteration.

use std::collections::BTreeMap;

use trueno_plugin::{Result, Run, rank};

/// Name of the owner if no row of bricks was open.
pub const OUTSIDE: &str = "outside bricks";
/// Name of the owner if the open row is not in the run.
pub const UNKNOWN: &str = "unknown row";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// `None` for [`OUTSIDE`] and [`UNKNOWN`].
    pub kind: Option<String>,
    pub name: String,
    pub layer: Option<i64>,
    pub iteration: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct Owners {
    rows: BTreeMap<u64, Owner>,
    calls: BTreeMap<(Option<u64>, String, String), u64>,
}

impl Owners {
    /// Reads inputs `owners`, and `calls` or `calls_of_window`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run, has_ranks: bool) -> Result<Self> {
        let table = run.table("owners")?;
        let (id, kind, name) = (table.u64("id")?, table.text("kind")?, table.text("name")?);
        let (iteration, layer) = (table.u64("iteration")?, table.i64("layer")?);
        let mut out = Self::default();
        for row in 0..table.rows() {
            let owner = Owner {
                kind: kind.get(row).map(str::to_owned),
                name: name.get(row).unwrap_or(UNKNOWN).to_owned(),
                layer: layer.get(row),
                iteration: iteration.get(row),
            };
            out.rows.insert(id.value(row), owner);
        }
        // In a part of the run, of the rows that lie there.
        let of_window = run.table("calls_of_window")?;
        let table = if of_window.is_missing() {
            run.table("calls")?
        } else {
            of_window
        };
        let (kind, name) = (table.text("kind")?, table.text("name")?);
        let (thread, calls) = (table.i64("thread")?, table.i64("calls")?);
        for row in 0..table.rows() {
            if let (Some(kind), Some(name)) = (kind.get(row), name.get(row)) {
                let rank = thread.get(row).filter(|_| has_ranks);
                let rank = rank.and_then(|thread| u64::try_from(rank::of_place(thread).0).ok());
                let key = (rank, kind.to_owned(), name.to_owned());
                *out.calls.entry(key).or_default() += u64::try_from(calls.value(row)).unwrap_or(0);
            }
        }
        Ok(out)
    }

    pub fn owner(&self, span: Option<u64>) -> Owner {
        let nobody = |name: &str| Owner {
            kind: None,
            name: name.to_owned(),
            layer: None,
            iteration: None,
        };
        match span {
            None => nobody(OUTSIDE),
            Some(span) => match self.rows.get(&span) {
                Some(owner) => owner.clone(),
                None => nobody(UNKNOWN),
            },
        }
    }

    /// Number of rows of that kind and name in the rank, or in a run without ranks.
    pub fn calls(&self, rank: Option<u64>, kind: &str, name: &str) -> Option<u64> {
        let key = (rank, kind.to_owned(), name.to_owned());
        self.calls.get(&key).copied()
    }
}
