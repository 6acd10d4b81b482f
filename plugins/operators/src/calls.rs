//! Calls of operators, and what nests in them.

use std::collections::BTreeSet;

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_operator_model::Models;
use trueno_plugin::{Result, Run};

use crate::inputs::Side;
use crate::ranks::Ranks;

pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index of the enclosing row, or [`NONE`].
    pub parent: u32,
    pub name: u32,
    /// Index into [`Calls::signatures`], or [`NONE`].
    pub signature: u32,
    pub dur_ns: i64,
    pub below_ns: i64,
    pub is_in_window: bool,
}

impl Call {
    pub fn self_ns(&self) -> i64 {
        self.dur_ns.saturating_sub(self.below_ns)
    }
}

/// Recorded shapes and arguments, each a JSON list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recorded {
    pub dims: Option<String>,
    pub types: Option<String>,
    pub strides: Option<String>,
    /// Values of the arguments that are not tensors.
    pub concrete: Option<String>,
}

#[derive(Debug, Default)]
pub struct Calls {
    /// False where nothing is reported of the run, whatever its rows are.
    pub are_read: bool,
    pub rows: Vec<Call>,
    pub places: IdIndex<u32>,
    pub names: Texts,
    pub signatures: Vec<Recorded>,
    pub signature_ranks: Vec<u64>,
    /// Ranks with signatures or with PyTorch operators. Device time of other ranks needs no shapes.
    pub ranks_with_operators: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutSignatures {
    Nothing,
    /// The rows of a PyTorch run: another rank may have signatures, and coverage includes both.
    PyTorch,
}

impl Calls {
    /// Reads the inputs. Without signatures only those and the names, unless `without` says otherwise; also without
    /// operators of PyTorch and of `models`, since nothing is reported of such a run.
    ///
    /// # Errors
    /// The models cannot be made, or an input lacks a column or has it in another type.
    pub fn load<'m>(
        run: &mut Run,
        side: Side,
        ranks: Ranks,
        window: Option<Window>,
        without: WithoutSignatures,
        models: impl FnOnce() -> Result<&'m Models>,
    ) -> Result<Self> {
        let mut out = Self::default();
        let numbers = out.read_signatures(run, side, ranks)?;
        if numbers.is_empty() && side == Side::Baseline {
            return Ok(out);
        }
        let names = out.names.read_distinct(run, &side.input("brick_names"))?;
        let is_wanted = without == WithoutSignatures::PyTorch && out.is_pytorch();
        if numbers.is_empty() && !is_wanted {
            return Ok(out);
        }
        if without == WithoutSignatures::Nothing && side == Side::Run && !out.is_pytorch() {
            let models = models()?;
            if !out.names.all().iter().any(|name| models.has_rule(name)) {
                return Ok(out);
            }
        }
        out.are_read = true;
        out.read_rows(run, side, ranks, &numbers, &names, window)?;
        Ok(out)
    }

    pub fn is_pytorch(&self) -> bool {
        self.names.all().iter().any(|name| is_of_pytorch(name))
    }

    /// Maps signature numbers to indexes into `signatures`.
    fn read_signatures(
        &mut self,
        run: &mut Run,
        side: Side,
        ranks: Ranks,
    ) -> Result<FastMap<u64, u32>> {
        let table = run.table(&side.input("signatures"))?;
        let mut numbers = FastMap::default();
        if table.is_missing() || table.is_empty() {
            return Ok(numbers);
        }
        let id = table.u64("id")?;
        let [dims, types] = [table.text("input_dims")?, table.text("input_types")?];
        let [strides, concrete] = [table.text("input_strides")?, table.text("concrete_inputs")?];
        for row in 0..table.rows() {
            let text = |of: Option<&str>| of.map(str::to_owned);
            if let Some(id) = id.get(row) {
                numbers.insert(id, self.signatures.len() as u32);
                self.signature_ranks.push(ranks.of_key(id));
                self.signatures.push(Recorded {
                    dims: text(dims.get(row)),
                    types: text(types.get(row)),
                    strides: text(strides.get(row)),
                    concrete: text(concrete.get(row)),
                });
            }
        }
        Ok(numbers)
    }

    fn read_rows(
        &mut self,
        run: &mut Run,
        side: Side,
        ranks: Ranks,
        numbers: &FastMap<u64, u32>,
        names: &FastMap<i64, u32>,
        window: Option<Window>,
    ) -> Result<()> {
        let of_pytorch: Vec<bool> = self.names.all().iter().map(|n| is_of_pytorch(n)).collect();
        self.ranks_with_operators = self.signature_ranks.iter().copied().collect();
        let (mut ids, mut around) = (Vec::new(), Vec::new());
        let mut batches = run.batches(&side.input("bricks"))?;
        while let Some(batch) = batches.next_batch()? {
            let (id, parent, thread) =
                (batch.u64("id")?, batch.u64("parent")?, batch.i64("thread")?);
            let (start, dur) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
            let (name, signature) = (batch.i64("name_id")?, batch.u64("signature")?);
            for row in 0..batch.rows() {
                let known = || Some((id.get(row)?, *names.get(&name.get(row)?)?, dur.get(row)?));
                let Some((id, name, dur_ns)) = known() else {
                    continue;
                };
                let signature = signature.get(row).and_then(|id| numbers.get(&id));
                let start_ns = start.get(row).unwrap_or(0);
                if of_pytorch[name as usize] {
                    self.ranks_with_operators.insert(ranks.of_key(id));
                }
                ids.push(id);
                around.push((parent.get(row), thread.get(row)));
                self.rows.push(Call {
                    parent: NONE,
                    name,
                    signature: signature.copied().unwrap_or(NONE),
                    dur_ns,
                    below_ns: 0,
                    is_in_window: window.is_none_or(|window| window.has(start_ns)),
                });
            }
        }
        self.places = IdIndex::new(|| ids.iter().copied().zip(0..));
        for at in 0..self.rows.len() {
            let (parent, thread) = around[at];
            let Some(parent) = parent.and_then(|id| self.places.get(id)) else {
                continue;
            };
            self.rows[at].parent = parent;
            // A task runs beside the row that it belongs to.
            if around[parent as usize].1 == thread {
                let dur_ns = self.rows[at].dur_ns;
                let below_ns = &mut self.rows[parent as usize].below_ns;
                *below_ns = below_ns.saturating_add(dur_ns);
            }
        }
        Ok(())
    }

    /// The row and all enclosing rows, innermost first.
    pub fn outwards(&self, place: u32) -> impl Iterator<Item = u32> {
        // As many as there are rows at most: damaged runs may hold circles.
        let mut at = place;
        std::iter::from_fn(move || {
            let found = at;
            at = self.rows.get(found as usize)?.parent;
            Some(found)
        })
        .take(MAX_DEPTH)
    }
}

fn is_of_pytorch(name: &str) -> bool {
    name.starts_with("aten::")
}

/// Guards against cyclic parents: rows do not nest deeper in real programs.
const MAX_DEPTH: usize = 10_000;
