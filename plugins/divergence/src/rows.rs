//! The rows of one run, and the texts of both.

use trueno_plugin::{F64Column, I64Column, Result, Run, Table, U64Column};

use crate::hash::FastMap;
use crate::inputs::{Names, TEXT_COLUMNS};
use crate::samples::Samples;

/// No text, or no row.
pub const NONE: u32 = u32::MAX;

/// Texts of both runs by one numbering.
#[derive(Default)]
pub struct Texts {
    texts: Vec<String>,
    numbers: FastMap<String, u32>,
}

impl Texts {
    /// Its number; a new one when it was not seen before.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The text of a number, `None` for [`NONE`].
    pub fn get(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }

    /// All of them, by number.
    pub fn all(&self) -> &[String] {
        &self.texts
    }
}

/// Kernels in words, by the name and layer of their brick.
pub type Ran = FastMap<(u32, Option<i64>), Vec<String>>;

/// The rows of one run. Texts are numbers of [`Texts`].
pub struct Side {
    /// How many.
    pub len: usize,
    /// Whether there is such a run at all.
    pub is_given: bool,
    /// Tensor.
    pub name: Vec<u32>,
    pub dtype: Vec<u32>,
    pub shape: Vec<u32>,
    pub backend: Vec<u32>,
    pub brick: Vec<u32>,
    pub kernel: Vec<u32>,
    pub ptx: Vec<u32>,
    pub rank: Vec<u16>,
    pub thread: Vec<i64>,
    pub time_ns: Vec<i64>,
    pub hash: Vec<u64>,
    pub elements: Vec<u64>,
    /// Declared operations an element of the output; 0: not declared.
    pub steps: Vec<u64>,
    pub span: U64Column,
    pub layer: I64Column,
    pub iteration: U64Column,
    pub position: U64Column,
    pub nan_count: U64Column,
    pub inf_count: U64Column,
    pub zero_count: U64Column,
    pub min: F64Column,
    pub max: F64Column,
    pub absmax: F64Column,
    pub mean: F64Column,
    pub l2: F64Column,
    pub samples: Samples,
    /// Kernels by the name and layer of their brick, each in words.
    pub ran: Ran,
}

impl Side {
    /// Reads one run.
    ///
    /// # Errors
    /// A column is missing or of another type.
    pub fn load(run: &mut Run, names: &Names, texts: &mut Texts) -> Result<Self> {
        let has_ranks = !run.table(names.ranks)?.is_empty();
        let rows = run.table(names.rows)?;
        let mut columns = Vec::with_capacity(TEXT_COLUMNS.len());
        for (column, input) in TEXT_COLUMNS.iter().zip(names.texts) {
            columns.push(renumbered(&rows, column, &run.table(input)?, texts)?);
        }
        let mut columns = columns.into_iter();
        let mut next = || columns.next().unwrap_or_default();
        let [
            name,
            dtype,
            shape,
            backend,
            brick,
            brick_backend,
            kernel,
            kernel_backend,
            ptx,
        ] = std::array::from_fn(|_| next());
        let first_of = |a: Vec<u32>, b: &[u32], c: &[u32]| {
            let pick = |(at, own)| {
                if own != NONE {
                    own
                } else if b[at] != NONE {
                    b[at]
                } else {
                    c[at]
                }
            };
            a.into_iter().enumerate().map(pick).collect()
        };
        let thread = rows.i64("thread")?.values().to_vec();
        let rank = |thread: &i64| {
            if has_ranks {
                trueno_plugin::rank::of_place(*thread).0 as u16
            } else {
                0
            }
        };
        Ok(Self {
            len: rows.rows(),
            is_given: !rows.is_missing(),
            backend: first_of(backend, &brick_backend, &kernel_backend),
            name,
            dtype,
            shape,
            brick,
            kernel,
            ptx,
            rank: thread.iter().map(rank).collect(),
            steps: steps(&rows)?,
            thread,
            time_ns: rows.i64("time_ns")?.values().to_vec(),
            hash: rows.u64("hash")?.values().to_vec(),
            elements: rows.u64("elements")?.values().to_vec(),
            span: rows.u64("span")?.clone(),
            layer: rows.i64("layer")?.clone(),
            iteration: rows.u64("iteration")?.clone(),
            position: rows.u64("position")?.clone(),
            nan_count: rows.u64("nan_count")?.clone(),
            inf_count: rows.u64("inf_count")?.clone(),
            zero_count: rows.u64("zero_count")?.clone(),
            min: rows.f64("min")?.clone(),
            max: rows.f64("max")?.clone(),
            absmax: rows.f64("absmax")?.clone(),
            mean: rows.f64("mean")?.clone(),
            l2: rows.f64("l2")?.clone(),
            samples: Samples::load(&run.table(names.samples)?)?,
            ran: ran(&run.table(names.ran)?, texts)?,
        })
    }

    /// Sampled values of a row.
    pub fn samples(&self, row: usize) -> &[f64] {
        self.samples
            .get(self.thread[row], self.time_ns[row], self.hash[row])
    }

    /// Who computed a row, in words: its own kernel, or those of its brick.
    pub fn kernels(&self, row: usize, texts: &Texts) -> Option<String> {
        if let Some(kernel) = texts.get(self.kernel[row]) {
            return Some(kernel.to_owned());
        }
        let ran = self.ran.get(&(self.brick[row], self.layer.get(row)))?;
        Some(ran.join(", "))
    }
}

/// A column of text numbers, in the numbering of both runs.
fn renumbered(rows: &Table, column: &str, list: &Table, texts: &mut Texts) -> Result<Vec<u32>> {
    let (ids, text) = (list.i64("id")?, list.text("text")?);
    // By text: the numbers decide between rows of one time, and the list has no order.
    let mut named: Vec<(&str, i64)> = (0..list.rows())
        .filter_map(|row| Some((text.get(row)?, ids.get(row)?)))
        .collect();
    named.sort_unstable();
    let mut to = FastMap::default();
    for (text, id) in named {
        to.insert(id, texts.number(text));
    }
    let number = |id: Option<i64>| id.and_then(|id| to.get(&id).copied()).unwrap_or(NONE);
    Ok(rows.i64(column)?.iter().map(number).collect())
}

fn steps(rows: &Table) -> Result<Vec<u64>> {
    let of = |flops: &str, elements: &str| -> Result<Vec<u64>> {
        let (flops, elements) = (rows.u64(flops)?, rows.u64(elements)?);
        let each = |row| match (flops.get(row), elements.get(row)) {
            (Some(flops), Some(elements)) if elements > 0 => flops.div_ceil(elements).max(1),
            _ => 0,
        };
        Ok((0..rows.rows()).map(each).collect())
    };
    let kernels = of("kernel_flops", "kernel_elements")?;
    let mut all = of("brick_flops", "brick_elements")?;
    for (steps, kernel) in all.iter_mut().zip(kernels) {
        *steps = (*steps).max(kernel);
    }
    Ok(all)
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
