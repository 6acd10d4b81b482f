//! The rows of one run, and the texts of both.

use trueno_analysis::interner::Texts;
use trueno_plugin::{Column, ColumnType, Error, I64Column, Result, Run, Table, U64Column};

use crate::inputs::{Names, TEXT_COLUMNS};
use crate::samples::Samples;
use crate::spans::Spans;
use crate::statistics::Statistics;
use trueno_analysis::hash::FastMap;

pub const NONE: u32 = u32::MAX;

/// Kernel descriptions, by name and layer of their brick.
pub type Ran = FastMap<(u32, Option<i64>), Vec<String>>;

/// The rows of one run. Texts are numbers of [`Texts`].
pub struct Side {
    pub len: usize,
    /// False if the run does not exist.
    pub is_given: bool,
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
    /// Declared operations per output element; 0 if not declared.
    pub steps: Vec<u64>,
    pub span: U64Column,
    pub layer: I64Column,
    pub iteration: U64Column,
    pub position: U64Column,
    /// Only of the rows that need them. Loaded once it is known which do.
    pub statistics: Statistics,
    pub samples: Samples,
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
        let (len, is_given) = (rows.rows(), !rows.is_missing());
        let mut numbered = TEXT_COLUMNS.iter().zip(names.texts).map(|(column, list)| {
            let list = run.table(list)?;
            numbers(rows.i64(column)?, &list, texts)
        });
        let mut next = || numbered.next().unwrap_or_else(|| Ok(Vec::new()));
        let (name, dtype, shape, mut backend) = (next()?, next()?, next()?, next()?);
        drop(numbered);
        // Copied columns are freed before more is read.
        let mut columns = Columns {
            columns: rows.into_columns(),
            are_given: is_given,
        };
        for column in TEXT_COLUMNS {
            drop(columns.i64(column)?);
        }
        let (span, layer) = (columns.u64("span")?, columns.i64("layer")?);
        let (iteration, position) = (columns.u64("iteration")?, columns.u64("position")?);
        let thread = columns.i64("thread")?.into_values();
        let time_ns = columns.i64("time_ns")?.into_values();
        let hash = columns.u64("hash")?.into_values();
        let elements = columns.u64("elements")?.into_values();
        let bricks = Spans::bricks(run, names, texts)?;
        let kernels = Spans::kernels(run, names, texts)?;
        let (mut brick, mut kernel) = (Vec::with_capacity(len), Vec::with_capacity(len));
        let (mut ptx, mut steps) = (Vec::with_capacity(len), Vec::with_capacity(len));
        for (row, backend) in backend.iter_mut().enumerate() {
            let id = span.get(row);
            let (in_brick, in_kernel) = (bricks.find(id), kernels.find(id));
            if *backend == NONE {
                *backend = match in_brick.backend {
                    NONE => in_kernel.backend,
                    found => found,
                };
            }
            brick.push(in_brick.name);
            kernel.push(in_kernel.name);
            ptx.push(in_kernel.ptx);
            steps.push(in_brick.steps.max(in_kernel.steps));
        }
        let rank = |thread: &i64| {
            if has_ranks {
                trueno_plugin::rank::of_place(*thread).0 as u16
            } else {
                0
            }
        };
        Ok(Self {
            len,
            is_given,
            name,
            dtype,
            shape,
            backend,
            brick,
            kernel,
            ptx,
            rank: thread.iter().map(rank).collect(),
            steps,
            thread,
            time_ns,
            hash,
            elements,
            span,
            layer,
            iteration,
            position,
            statistics: Statistics::default(),
            samples: Samples::load(&run.table(names.samples)?)?,
            ran: ran(&run.table(names.ran)?, texts)?,
        })
    }

    pub fn samples(&self, row: usize) -> &[f64] {
        self.samples
            .get(self.thread[row], self.time_ns[row], self.hash[row])
    }

    /// Names of the kernels that computed a row: its own kernel, or those of its brick.
    pub fn kernels(&self, row: usize, texts: &Texts) -> Option<String> {
        if let Some(kernel) = texts.get(self.kernel[row]) {
            return Some(kernel.to_owned());
        }
        let ran = self.ran.get(&(self.brick[row], self.layer.get(row)))?;
        Some(ran.join(", "))
    }
}

/// A column of text numbers, mapped to the numbering that both runs share.
pub(crate) fn numbers(column: &I64Column, list: &Table, texts: &mut Texts) -> Result<Vec<u32>> {
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
    Ok(column.iter().map(number).collect())
}

/// The columns of a table, taken out one by one. If the table is missing, they are empty.
struct Columns {
    columns: Vec<(String, Column)>,
    are_given: bool,
}

impl Columns {
    fn take(&mut self, name: &str, ty: ColumnType) -> Result<Column> {
        if !self.are_given {
            return Ok(Column::new(ty));
        }
        let at = self.columns.iter().position(|(of, _)| of == name);
        let at = at.ok_or_else(|| Error::bad_input(format!("column `{name}` is missing")))?;
        Ok(self.columns.swap_remove(at).1)
    }

    fn i64(&mut self, name: &str) -> Result<I64Column> {
        match self.take(name, ColumnType::I64)? {
            Column::I64(column) => Ok(column),
            other => Err(wrong(name, &other)),
        }
    }

    fn u64(&mut self, name: &str) -> Result<U64Column> {
        match self.take(name, ColumnType::U64)? {
            Column::U64(column) => Ok(column),
            other => Err(wrong(name, &other)),
        }
    }
}

fn wrong(name: &str, found: &Column) -> Error {
    Error::bad_input(format!("column `{name}` is of type {}", found.ty()))
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
