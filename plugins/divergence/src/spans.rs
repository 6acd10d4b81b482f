//! Bricks and kernels whose output tensors are, by their ids.

use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::{Interner, Texts};
use trueno_plugin::{Result, Run};

use crate::inputs::Names;
use crate::rows::{NONE, numbered, text_numbers};

/// Bricks or kernels that tensors refer to.
pub struct Spans {
    /// Number of what is known of each. If two share an id, the first wins.
    ids: IdIndex<u32>,
    spans: Interner<Span>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    pub name: u32,
    pub backend: u32,
    pub ptx: u32,
    /// Declared operations per output element; 0 if not declared.
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
        let names = text_numbers(&run.table(name)?, texts)?;
        let backends = text_numbers(&run.table(backend)?, texts)?;
        let hashes = match ptx {
            Some(list) => Some(text_numbers(&run.table(list)?, texts)?),
            None => None,
        };
        let (mut ids, mut spans) = (IdIndex::default(), Interner::default());
        let mut batches = run.batches(input)?;
        while let Some(batch) = batches.next_batch()? {
            let (id, name) = (batch.u64("id")?, batch.i64("name")?);
            let (backend, ptx) = (
                batch.i64("backend")?,
                hashes.as_ref().map(|_| batch.i64("ptx")),
            );
            let ptx = ptx.transpose()?;
            let (flops, elements) = (batch.u64("flops")?, batch.u64("elements")?);
            for row in 0..batch.rows() {
                let Some(id) = id.get(row) else { continue };
                let hash = hashes.as_ref().zip(ptx);
                let span = spans.number(Span {
                    name: numbered(&names, name.get(row)),
                    backend: numbered(&backends, backend.get(row)),
                    ptx: hash.map_or(NONE, |(list, ptx)| numbered(list, ptx.get(row))),
                    steps: match (flops.get(row), elements.get(row)) {
                        (Some(flops), Some(elements)) if elements > 0 => {
                            flops.div_ceil(elements).max(1)
                        }
                        _ => 0,
                    },
                });
                ids.insert_first(id, span);
            }
        }
        Ok(Self { ids, spans })
    }

    /// Number of the span with an id, for [`get`](Self::get); [`NONE`] if it is not known.
    pub fn find(&self, id: Option<u64>) -> u32 {
        id.and_then(|id| self.ids.get(id)).unwrap_or(NONE)
    }

    pub fn get(&self, number: u32) -> Span {
        self.spans
            .all()
            .get(number as usize)
            .copied()
            .unwrap_or(NOTHING)
    }
}
