//! Bricks and kernels whose output tensors are, by their ids.

use trueno_plugin::{Result, Run};

use crate::inputs::Names;
use crate::rows::{NONE, Texts, numbers};

/// Rows of bricks or of kernels that tensors name.
pub struct Spans {
    /// In order; of equal ones the first counts.
    ids: Vec<(u64, u32)>,
    name: Vec<u32>,
    backend: Vec<u32>,
    ptx: Vec<u32>,
    /// Declared operations an element of the output; 0: not declared.
    steps: Vec<u64>,
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Span {
    pub name: u32,
    pub backend: u32,
    pub ptx: u32,
    pub steps: u64,
}

/// No row.
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
        let id = table.u64("id")?;
        let mut ids: Vec<(u64, u32)> = (0..table.rows())
            .filter_map(|row| Some((id.get(row)?, row as u32)))
            .collect();
        if !ids.is_sorted() {
            ids.sort_unstable();
        }
        Ok(Self {
            ids,
            name,
            backend,
            ptx,
            steps,
        })
    }

    /// Gives the row of an id. Neighbouring tensors name the same or the next one.
    pub fn finder(&self) -> impl FnMut(Option<u64>) -> Span + '_ {
        let mut last = 0;
        move |id| {
            let Some(id) = id else {
                return NOTHING;
            };
            let is = |at: usize| self.ids.get(at).is_some_and(|(of, _)| *of == id);
            // Not the last place itself if the one before it is equal, too: the first counts.
            let near = [last, last + 1].into_iter().find(|at| is(*at));
            let at = match near {
                Some(at) if at == 0 || !is(at - 1) => at,
                _ => self.ids.partition_point(|(of, _)| *of < id),
            };
            if !is(at) {
                return NOTHING;
            }
            last = at;
            let row = self.ids[at].1 as usize;
            Span {
                name: self.name[row],
                backend: self.backend[row],
                ptx: self.ptx[row],
                steps: self.steps[row],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever was asked for before, the row of an id is the first one that has it.
        #[test]
        fn the_first_row_of_an_id_is_found(
            mut ids in prop::collection::vec(0u64..12, 0..12),
            asked in prop::collection::vec(prop::option::of(0u64..14), 0..40),
        ) {
            ids.sort_unstable();
            let rows = 0..ids.len() as u32;
            let spans = Spans {
                ids: ids.iter().copied().zip(rows.clone()).collect(),
                name: rows.clone().collect(),
                backend: rows.clone().map(|row| row + 100).collect(),
                ptx: vec![NONE; ids.len()],
                steps: rows.map(u64::from).collect(),
            };
            let mut find = spans.finder();
            for id in asked {
                let found = find(id);
                let expected = id.and_then(|id| ids.iter().position(|of| *of == id));
                let name = expected.map_or(NONE, |row| row as u32);
                prop_assert_eq!(found.name, name);
                prop_assert_eq!(found.backend, expected.map_or(NONE, |row| row as u32 + 100));
                prop_assert_eq!(found.steps, expected.unwrap_or(0) as u64);
            }
        }
    }
}
