//! Bricks and kernels whose output tensors are, by their ids.

use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::Texts;
use trueno_plugin::{Result, Run, U64Column};

use crate::inputs::Names;
use crate::rows::{NONE, numbers};

/// Bricks or kernels that tensors refer to.
pub struct Spans {
    /// Rows by id. If two share an id, the first wins.
    ids: IdIndex<u32>,
    name: Vec<u32>,
    backend: Vec<u32>,
    ptx: Vec<u32>,
    /// Declared operations per output element; 0 if not declared.
    steps: Vec<u64>,
}

#[derive(Clone, Copy)]
pub struct Span {
    pub name: u32,
    pub backend: u32,
    pub ptx: u32,
    pub steps: u64,
}

const NOTHING: Span = Span {
    name: NONE,
    backend: NONE,
    ptx: NONE,
    steps: 0,
};

impl Spans {
    /// The bricks.
    ///
    /// # Errors
    /// A column is missing or of another type.
    pub fn bricks(run: &mut Run, names: &Names, texts: &mut Texts) -> Result<Self> {
        let [_, _, _, _, name, backend, ..] = names.texts;
        Self::load(run, names.of_bricks, [name, backend], None, texts)
    }

    /// The kernels.
    ///
    /// # Errors
    /// As above.
    pub fn kernels(run: &mut Run, names: &Names, texts: &mut Texts) -> Result<Self> {
        let [.., name, backend, ptx] = names.texts;
        Self::load(run, names.of_kernels, [name, backend], Some(ptx), texts)
    }

    fn load(
        run: &mut Run,
        input: &str,
        [name, backend]: [&str; 2],
        ptx: Option<&str>,
        texts: &mut Texts,
    ) -> Result<Self> {
        let table = run.table(input)?;
        let mut of = |column: &str, list: &str| -> Result<Vec<u32>> {
            numbers(table.i64(column)?, &run.table(list)?, texts)
        };
        let (name, backend) = (of("name", name)?, of("backend", backend)?);
        let ptx = match ptx {
            Some(list) => of("ptx", list)?,
            None => vec![NONE; table.rows()],
        };
        let (flops, elements) = (table.u64("flops")?, table.u64("elements")?);
        let each = |row| match (flops.get(row), elements.get(row)) {
            (Some(flops), Some(elements)) if elements > 0 => flops.div_ceil(elements).max(1),
            _ => 0,
        };
        let steps = (0..table.rows()).map(each).collect();
        Ok(Self {
            ids: first_rows(table.u64("id")?),
            name,
            backend,
            ptx,
            steps,
        })
    }

    pub fn find(&self, id: Option<u64>) -> Span {
        let Some(row) = id.and_then(|id| self.ids.get(id)) else {
            return NOTHING;
        };
        let row = row as usize;
        Span {
            name: self.name[row],
            backend: self.backend[row],
            ptx: self.ptx[row],
            steps: self.steps[row],
        }
    }
}

/// Rows by id, walked backwards: the last one walked wins, and the first of equal ids should.
fn first_rows(ids: &U64Column) -> IdIndex<u32> {
    let row = |row| Some((ids.get(row)?, row as u32));
    IdIndex::new(|| (0..ids.len()).rev().filter_map(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_row_of_an_id_is_found(ids in prop::collection::vec(prop::option::of(0u64..12), 0..12)) {
            let found = first_rows(&ids.iter().copied().collect());
            for id in 0..14 {
                let expected = ids.iter().position(|of| *of == Some(id));
                prop_assert_eq!(found.get(id), expected.map(|row| row as u32));
            }
        }
    }
}
