//! Rows of `stacks`: the functions that were open, by their callers.

use trueno_analysis::hash::FastMap;
use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::{Interner, Texts};
use trueno_plugin::{Result, Run};

use crate::function::Function;
use crate::sampled_waits;
use crate::sums::Line;
use crate::tree::{NONE, Tree};

/// The call tree. Nodes, functions and texts are numbers.
#[derive(Debug, Default)]
pub struct Stacks {
    index: IdIndex<u32>,
    pub tree: Tree,
    function: Vec<u32>,
    /// By node: itself, or for an inlined node the nearest caller that is not inlined.
    compiled: Vec<u32>,
    /// By node: false if a caller above it, direct or not, is the same function.
    is_outermost: Vec<bool>,
    /// Source file as a number, and line.
    line: Vec<Option<(u32, i64)>>,
    file: Vec<Option<u32>>,
    /// By node: true if the name of its function says that it only waits.
    waits: Vec<bool>,
    /// Name and module of each function. The first, [`UNKNOWN`], has neither.
    functions: Vec<(Option<u32>, Option<u32>)>,
    names: Texts,
    modules: Texts,
    files: Texts,
    pub missing: u64,
}

pub const UNKNOWN: u32 = 0;

impl Stacks {
    /// Reads the rows.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn read(run: &mut Run) -> Result<Self> {
        let mut out = Self::default();
        let names = out.names.read_distinct(run, "functions")?;
        let modules = out.modules.read_distinct(run, "modules")?;
        let files = out.files.read_distinct(run, "files")?;
        let table = run.table("stacks")?;
        let (id, caller) = (table.u64("id")?, table.u64("caller")?);
        let (function_id, module_id) = (table.i64("function_id")?, table.i64("module_id")?);
        let (file_id, line) = (table.i64("file_id")?, table.i64("line")?);
        let inlined = table.bool("inlined")?;
        let ids = || (0..table.rows()).filter_map(|row| Some((id.get(row)?, row as u32)));
        out.index = IdIndex::new(ids);
        let mut functions: Interner<(Option<u32>, Option<u32>)> = Interner::default();
        functions.number((None, None));
        let mut callers = Vec::with_capacity(table.rows());
        for row in 0..table.rows() {
            let known = |number: Option<i64>, of: &FastMap<i64, u32>| {
                number.and_then(|number| of.get(&number).copied())
            };
            let name = known(function_id.get(row), &names);
            let module = known(module_id.get(row), &modules);
            out.function.push(functions.number((name, module)));
            let file = known(file_id.get(row), &files);
            out.line.push(file.zip(line.get(row)));
            out.file.push(file);
            let of = caller.get(row).map(|id| out.index.get(id));
            out.missing += u64::from(of == Some(None));
            callers.push(of.flatten().unwrap_or(NONE));
        }
        out.tree = Tree::new(callers);
        out.is_outermost = out.tree.outermost(&out.function);
        let is_inlined = |node: u32| inlined.get(node as usize) == Some(true);
        out.compiled = out.tree.nearest(|node| !is_inlined(node));
        out.functions = functions.all().to_vec();
        out.waits = out.waits_by_node();
        Ok(out)
    }

    fn waits_by_node(&self) -> Vec<bool> {
        let mut known: FastMap<(u32, Option<u32>), bool> = FastMap::default();
        let places = self.function.iter().copied().zip(self.file.iter().copied());
        let waits = places.map(|(function, file)| {
            *known.entry((function, file)).or_insert_with(|| {
                let name = self.functions[function as usize].0;
                let file = file.map(|file| self.files.text(file));
                name.is_some_and(|name| sampled_waits::is_wait(self.names.text(name), file))
            })
        });
        waits.collect()
    }

    /// True of a node whose function only waits, by its name.
    pub fn waits(&self, node: u32) -> bool {
        self.waits.get(node as usize) == Some(&true)
    }

    pub fn file_of(&self, node: u32) -> Option<&str> {
        let file = (*self.file.get(node as usize)?)?;
        Some(self.files.text(file))
    }

    pub fn node(&self, id: u64) -> Option<u32> {
        self.index.get(id)
    }

    /// The nearest node, from this one upwards, that is not inlined: the function whose code contains it.
    pub fn compiled(&self, node: u32) -> u32 {
        match node {
            NONE => NONE,
            node => self.compiled[node as usize],
        }
    }

    /// Function of a node; [`UNKNOWN`] for [`NONE`].
    pub fn function_of(&self, node: u32) -> u32 {
        match node {
            NONE => UNKNOWN,
            node => self.function[node as usize],
        }
    }

    pub fn function(&self, number: u32) -> Function {
        let (name, module) = self.functions[number as usize];
        Function {
            name: name.map(|name| self.names.text(name).to_owned()),
            module: module.map(|module| self.modules.text(module).to_owned()),
        }
    }

    pub fn line_of(&self, node: u32) -> Option<Line> {
        let (file, line) = (*self.line.get(node as usize)?)?;
        Some(Line {
            file: self.files.text(file).to_owned(),
            line,
        })
    }

    /// Samples in which each function was on the stack, by function number. A recursive function counts once a
    /// sample.
    ///
    /// `counts` holds nodes with the samples in which each was the innermost. The work grows with the nodes above
    /// those, not with the samples.
    pub fn inclusive(&self, counts: &[(u32, u64)]) -> Vec<(u32, u64)> {
        let mut below = vec![0_u64; self.function.len()];
        let mut is_met = vec![false; self.function.len()];
        let mut met: Vec<u32> = Vec::new();
        let mut of_function = vec![0_u64; self.functions.len()];
        for &(node, count) in counts {
            if node == NONE {
                of_function[UNKNOWN as usize] += count;
                continue;
            }
            below[node as usize] += count;
            let mut at = node;
            while at != NONE && !std::mem::replace(&mut is_met[at as usize], true) {
                met.push(at);
                at = self.tree.caller[at as usize];
            }
        }
        // All that is below a node is added up before the node is.
        met.sort_unstable_by_key(|node| std::cmp::Reverse(self.tree.depth[*node as usize]));
        for node in met {
            let at = node as usize;
            if self.is_outermost[at] {
                of_function[self.function[at] as usize] += below[at];
            }
            let caller = self.tree.caller[at];
            if caller != NONE {
                below[caller as usize] += below[at];
            }
        }
        let numbered = (0_u32..).zip(of_function);
        numbered.filter(|(_, count)| *count > 0).collect()
    }
}
