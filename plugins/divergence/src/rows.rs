//! The rows of one run, and the texts of both.

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::Texts;
use trueno_plugin::{I64Slice, Result, Run, Table};

use crate::inputs::{Names, TEXT_COLUMNS};
use crate::narrow::{Narrow, NarrowOptions};
use crate::order::{Place, Places};
use crate::samples::Samples;
use crate::spans::{Span, Spans};

pub const NONE: u32 = u32::MAX;

/// Kernel descriptions, by name and layer of their brick.
pub type Ran = FastMap<(u32, Option<i64>), Vec<String>>;

/// What few distinct rows have in common with many others. Texts are numbers of [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    pub name: u32,
    pub dtype: u32,
    pub shape: u32,
    pub backend: u32,
    pub brick: u32,
    pub kernel: u32,
    pub ptx: u32,
    pub rank: u16,
    pub thread: i64,
    /// Number of rank and thread among those of all runs.
    pub lane: u32,
    pub elements: u64,
    /// Declared operations per output element; 0 if not declared.
    pub steps: u64,
}

/// The rows of one run.
#[derive(Default)]
pub struct Side {
    pub len: usize,
    /// False if the run does not exist.
    pub is_given: bool,
    pub hash: Vec<u64>,
    pub span: NarrowOptions,
    pub samples: Samples,
    /// Number of each row's place. Taken by [`order::Rows`](crate::order::Rows).
    pub place: Narrow,
    tensors: Vec<Tensor>,
    tensor: Narrow,
    time_ns: Narrow,
    ran: Ran,
}

/// What the sides number alike.
#[derive(Default)]
pub struct Numbers {
    pub places: Places,
    lanes: FastMap<(u16, i64), u32>,
}

/// A tensor as its row has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Recorded {
    texts: [Option<i64>; TEXT_COLUMNS.len()],
    thread: i64,
    elements: u64,
    in_brick: u32,
    in_kernel: u32,
}

/// What rows of a run refer to. Read of all runs before the rows of the first: what finding them takes is free again then.
pub struct Context {
    has_ranks: bool,
    /// Numbers of the texts of [`TEXT_COLUMNS`].
    lists: Vec<IdIndex<u32>>,
    bricks: Spans,
    kernels: Spans,
    ran: Ran,
}

impl Context {
    /// Reads that of one run.
    ///
    /// # Errors
    /// A column is missing or of another type.
    pub fn load(run: &mut Run, names: &Names, texts: &mut Texts) -> Result<Self> {
        let has_ranks = !run.table(names.ranks)?.is_empty();
        let mut lists = Vec::with_capacity(TEXT_COLUMNS.len());
        for list in &names.texts[..TEXT_COLUMNS.len()] {
            lists.push(text_numbers(&run.table(list)?, texts)?);
        }
        Ok(Self {
            has_ranks,
            lists,
            bricks: Spans::bricks(run, names, texts)?,
            kernels: Spans::kernels(run, names, texts)?,
            ran: ran(&run.table(names.ran)?, texts)?,
        })
    }
}

impl Side {
    /// Reads the rows of one run.
    ///
    /// # Errors
    /// A column is missing or of another type, or the user wants to stop.
    pub fn load(
        run: &mut Run,
        names: &Names,
        context: Context,
        numbers: &mut Numbers,
    ) -> Result<Self> {
        let Context {
            has_ranks,
            lists,
            bricks,
            kernels,
            ran,
        } = context;
        let mut side = Self {
            ran,
            ..Self::default()
        };
        let mut batches = run.batches(names.rows)?;
        side.is_given = !batches.is_missing();
        let mut known = Known::default();
        let mut last_span = (None, bricks.find(None), kernels.find(None));
        while let Some(batch) = batches.next_batch()? {
            let mut texts: [Option<I64Slice<'_>>; TEXT_COLUMNS.len()] = Default::default();
            for (column, name) in texts.iter_mut().zip(TEXT_COLUMNS) {
                *column = Some(batch.i64(name)?);
            }
            let (span, layer) = (batch.u64("span")?, batch.i64("layer")?);
            let (iteration, position) = (batch.u64("iteration")?, batch.u64("position")?);
            let (thread, time_ns) = (batch.i64("thread")?, batch.i64("time_ns")?);
            let (hash, elements) = (batch.u64("hash")?, batch.u64("elements")?);
            for row in 0..batch.rows() {
                let id = span.get(row);
                if last_span.0 != id {
                    last_span = (id, bricks.find(id), kernels.find(id));
                }
                let recorded = Recorded {
                    texts: texts.map(|column| column?.get(row)),
                    thread: thread.get(row).unwrap_or(0),
                    elements: elements.get(row).unwrap_or(0),
                    in_brick: last_span.1,
                    in_kernel: last_span.2,
                };
                let tensor = known.number(recorded, |recorded| {
                    let spans = [
                        bricks.get(recorded.in_brick),
                        kernels.get(recorded.in_kernel),
                    ];
                    side.tensors.push(tensor(
                        recorded,
                        spans,
                        &lists,
                        has_ranks,
                        &mut numbers.lanes,
                    ));
                });
                side.tensor.push(u64::from(tensor));
                side.time_ns
                    .push(time_ns.get(row).unwrap_or(0).cast_unsigned());
                side.hash.push(hash.get(row).unwrap_or(0));
                side.span.push(id);
                let place = Place {
                    rank: side.tensors[tensor as usize].rank,
                    iteration: iteration.get(row),
                    position: position.get(row),
                    layer: layer.get(row),
                };
                side.place.push(u64::from(numbers.places.number(place)));
            }
            run.check_cancelled()?;
        }
        drop(batches);
        side.len = side.hash.len();
        side.hash.shrink_to_fit();
        side.samples = Samples::load(&run.table(names.samples)?)?;
        Ok(side)
    }

    #[inline]
    pub fn tensor(&self, row: usize) -> &Tensor {
        &self.tensors[self.tensor.get(row) as usize]
    }

    #[inline]
    pub fn time_ns(&self, row: usize) -> i64 {
        self.time_ns.get(row).cast_signed()
    }

    /// Thread, time and hash, by which a row is found in other inputs.
    pub fn key(&self, row: usize) -> (i64, i64, u64) {
        (self.tensor(row).thread, self.time_ns(row), self.hash[row])
    }

    pub fn samples(&self, row: usize) -> &[f64] {
        self.samples.get(self.key(row))
    }

    /// Names of the kernels that computed a row of a layer: its own kernel, or those of its brick.
    pub fn kernels(&self, row: usize, layer: Option<i64>, texts: &Texts) -> Option<String> {
        let tensor = self.tensor(row);
        if let Some(kernel) = texts.get(tensor.kernel) {
            return Some(kernel.to_owned());
        }
        let ran = self.ran.get(&(tensor.brick, layer))?;
        Some(ran.join(", "))
    }
}

/// Numbers of recorded tensors.
#[derive(Default)]
struct Known {
    all: Vec<Recorded>,
    numbers: FastMap<Recorded, u32>,
    last: u32,
    /// By tensor: the one that followed it last time. Layers follow each other, and so do their tensors.
    next: Vec<u32>,
}

impl Known {
    #[inline]
    fn number(&mut self, recorded: Recorded, mut add: impl FnMut(Recorded)) -> u32 {
        let next = self.next.get(self.last as usize).copied().unwrap_or(NONE);
        let number = match self.all.get(next as usize) {
            Some(known) if *known == recorded => next,
            _ => {
                let new = self.all.len() as u32;
                let number = *self.numbers.entry(recorded).or_insert(new);
                if number == new {
                    self.all.push(recorded);
                    self.next.push(NONE);
                    add(recorded);
                }
                self.next[self.last as usize] = number;
                number
            }
        };
        self.last = number;
        number
    }
}

fn tensor(
    recorded: Recorded,
    [in_brick, in_kernel]: [Span; 2],
    lists: &[IdIndex<u32>],
    has_ranks: bool,
    lanes: &mut FastMap<(u16, i64), u32>,
) -> Tensor {
    let text = |nth: usize| numbered(&lists[nth], recorded.texts[nth]);
    let backend = match [text(3), in_brick.backend, in_kernel.backend] {
        [NONE, NONE, of_kernel] => of_kernel,
        [NONE, of_brick, _] => of_brick,
        [own, ..] => own,
    };
    let rank = if has_ranks {
        trueno_plugin::rank::of_place(recorded.thread).0 as u16
    } else {
        0
    };
    let next = lanes.len() as u32;
    Tensor {
        name: text(0),
        dtype: text(1),
        shape: text(2),
        backend,
        brick: in_brick.name,
        kernel: in_kernel.name,
        ptx: in_kernel.ptx,
        rank,
        thread: recorded.thread,
        lane: *lanes.entry((rank, recorded.thread)).or_insert(next),
        elements: recorded.elements,
        steps: in_brick.steps.max(in_kernel.steps),
    }
}

/// From the text numbers of a column to the numbering that the runs share.
pub(crate) fn text_numbers(list: &Table, texts: &mut Texts) -> Result<IdIndex<u32>> {
    let (ids, text) = (list.i64("id")?, list.text("text")?);
    // By text: the numbers decide between rows of one time, and the list has no order.
    let mut named: Vec<(&str, i64)> = (0..list.rows())
        .filter_map(|row| Some((text.get(row)?, ids.get(row)?)))
        .collect();
    named.sort_unstable();
    let numbers: Vec<(u64, u32)> = named
        .into_iter()
        .map(|(text, id)| (id.cast_unsigned(), texts.number(text)))
        .collect();
    Ok(IdIndex::new(|| numbers.iter().copied()))
}

pub(crate) fn numbered(list: &IdIndex<u32>, id: Option<i64>) -> u32 {
    id.and_then(|id| list.get(id.cast_unsigned()))
        .unwrap_or(NONE)
}

fn ran(table: &Table, texts: &mut Texts) -> Result<Ran> {
    let (brick, layer) = (table.text("brick")?, table.i64("layer")?);
    let (kernel, backend, ptx) = (
        table.text("kernel")?,
        table.text("backend")?,
        table.text("ptx_hash")?,
    );
    let mut ran: FastMap<_, Vec<String>> = FastMap::default();
    for row in 0..table.rows() {
        let mut words = kernel.get(row).unwrap_or("?").to_owned();
        if let Some(backend) = backend.get(row) {
            words.push_str(&format!(" on {backend}"));
        }
        if let Some(ptx) = ptx.get(row) {
            words.push_str(&format!(" ptx {ptx}"));
        }
        let key = (texts.number(brick.get(row).unwrap_or("")), layer.get(row));
        ran.entry(key).or_default().push(words);
    }
    for words in ran.values_mut() {
        words.sort();
        words.dedup();
    }
    Ok(ran)
}
