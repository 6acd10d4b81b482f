//! Calls of modules, and the kernels launched in each.

use std::collections::HashMap;

use trueno_analysis::id_index::IdIndex;
use trueno_analysis::window::Window;
use trueno_plugin::{Input, Result, Run, table_row};

use crate::PREFIX;

const NAMES: &str =
    "SELECT DISTINCT name_id AS id, name AS text FROM bricks WHERE name LIKE 'nn.Module: %'";
const MODULES: &str = "SELECT id, name_id, start_ns, dur_ns FROM bricks WHERE name LIKE 'nn.Module: %' ORDER BY start_ns, id";

/// If the run has no modules, only `names` is read; of a rank without modules, also `kernels`.
pub const INPUTS: [Input; 5] = [
    Input::sql("names", NAMES),
    Input::sql("modules", MODULES),
    Input::sql("parents", "SELECT id, parent FROM bricks"),
    Input::sql(
        "kernels",
        "SELECT brick, start_ns, dur_ns FROM kernels WHERE device IS NOT NULL AND valid",
    ),
    Window::INPUT,
];

table_row! {
    struct Text<'a> {
        id: i64,
        text: &'a str,
    }
}

table_row! {
    struct ModuleRow {
        id: u64,
        name_id: i64,
        start_ns: i64,
        dur_ns: i64,
    }
}

table_row! {
    struct ParentRow {
        id: u64,
        parent: Option<u64>,
    }
}

table_row! {
    struct KernelRow {
        brick: Option<u64>,
        start_ns: i64,
        dur_ns: i64,
    }
}

#[derive(Clone, Debug, Default)]
pub struct Call {
    pub name: String,
    pub outer: Option<usize>,
    pub in_window: bool,
    pub host_ns: i64,
    pub inner_host_ns: i64,
    /// Kernels launched by it, but not by a module inside it.
    pub own_kernels: u64,
    pub own_device_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Calls {
    pub calls: Vec<Call>,
    /// False if the run has no kernel on a device. Then all device times are unknown.
    pub has_device_work: bool,
    pub device_ns: i64,
    /// Time of the kernels launched outside any module.
    pub outside_ns: i64,
}

/// Names of modules by their number; empty if the run has none.
pub struct Names(HashMap<i64, String>);

impl Names {
    pub fn read(run: &mut Run) -> Result<Self> {
        let names = run.table("names")?;
        let names = names.read::<Text<'_>>()?;
        let names = names.map(|row| row.map(|row| (row.id, row.text.to_owned())));
        Ok(Self(names.collect::<Result<_>>()?))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn name(&self, id: i64) -> &str {
        let name = self.0.get(&id).map_or("", String::as_str);
        name.strip_prefix(PREFIX).unwrap_or(name)
    }
}

impl Calls {
    /// # Errors
    /// An input lacks a column, or has it in another type or null.
    pub fn load(run: &mut Run, names: &Names) -> Result<Self> {
        let window = Window::read(run)?;
        let clipped_ns = |start_ns: i64, dur_ns: i64| {
            let end_ns = start_ns.saturating_add(dur_ns.max(0));
            match &window {
                Some(window) => window
                    .clip(start_ns, end_ns)
                    .map(|(start, end)| end.saturating_sub(start)),
                None => Some(dur_ns.max(0)),
            }
        };

        let mut calls = Vec::new();
        let mut ids = Vec::new();
        for row in run.table("modules")?.read::<ModuleRow>()? {
            let row = row?;
            let host_ns = clipped_ns(row.start_ns, row.dur_ns);
            ids.push(row.id);
            calls.push(Call {
                name: names.name(row.name_id).to_owned(),
                in_window: host_ns.is_some(),
                host_ns: host_ns.unwrap_or(0),
                ..Call::default()
            });
        }
        run.check_cancelled()?;
        let enclosing = if ids.is_empty() {
            Enclosing::default()
        } else {
            Enclosing::load(run, &ids)?
        };
        for (at, id) in ids.iter().enumerate() {
            // Damaged runs have rows around themselves.
            let outer = enclosing.around(*id).filter(|outer| *outer != at);
            calls[at].outer = outer;
            let host_ns = calls[at].host_ns;
            if let Some(outer) = outer {
                let inner_ns = &mut calls[outer].inner_host_ns;
                *inner_ns = inner_ns.saturating_add(host_ns);
            }
        }

        let mut all = Self {
            calls,
            ..Self::default()
        };
        for row in run.table("kernels")?.read::<KernelRow>()? {
            let row = row?;
            all.has_device_work = true;
            let Some(ns) = clipped_ns(row.start_ns, row.dur_ns) else {
                continue;
            };
            all.device_ns = all.device_ns.saturating_add(ns);
            match row.brick.and_then(|brick| enclosing.of(brick)) {
                Some(at) => {
                    let call = &mut all.calls[at];
                    call.own_kernels += 1;
                    call.own_device_ns = call.own_device_ns.saturating_add(ns);
                }
                None => all.outside_ns = all.outside_ns.saturating_add(ns),
            }
        }
        Ok(all)
    }

    /// The module and all around it, the outermost first: `Encoder_0/Layer_3/Linear_7`.
    pub fn path(&self, call: usize) -> String {
        let mut names = vec![self.calls[call].name.as_str()];
        names.extend(
            self.around(call)
                .map(|outer| self.calls[outer].name.as_str()),
        );
        names.reverse();
        names.join("/")
    }

    /// Enclosing calls, the innermost first.
    pub fn around(&self, call: usize) -> impl Iterator<Item = usize> + '_ {
        let outer = move |call: &usize| self.calls[*call].outer;
        std::iter::successors(outer(&call), outer).take(self.calls.len())
    }
}

/// The innermost call of a module around each row of `bricks`.
#[derive(Default)]
struct Enclosing {
    rows: IdIndex<u32>,
    parents: Vec<Option<u64>>,
    calls: Vec<Option<usize>>,
}

impl Enclosing {
    fn load(run: &mut Run, modules: &[u64]) -> Result<Self> {
        let table = run.table("parents")?;
        let mut ids = Vec::with_capacity(table.rows());
        let mut parents = Vec::with_capacity(table.rows());
        for row in table.read::<ParentRow>()? {
            let row = row?;
            ids.push(row.id);
            parents.push(row.parent);
        }
        let rows: IdIndex<u32> = IdIndex::new(|| ids.iter().copied().zip(0..));
        let mut calls: Vec<Option<Option<usize>>> = vec![None; ids.len()];
        for (call, id) in modules.iter().enumerate() {
            if let Some(row) = rows.get(*id) {
                calls[row as usize] = Some(Some(call));
            }
        }
        // Each row once: up to the first one that is known, and what is known there goes to all below.
        let mut below = Vec::new();
        for row in 0..ids.len() {
            let mut at = Some(row);
            while let Some(row) = at.filter(|row| calls[*row].is_none()) {
                // A row that is its own ancestor lies in nothing.
                calls[row] = Some(None);
                below.push(row);
                at = parents[row]
                    .and_then(|id| rows.get(id))
                    .map(|row| row as usize);
            }
            let found = at.and_then(|row| calls[row]).flatten();
            for row in below.drain(..) {
                calls[row] = Some(found);
            }
        }
        Ok(Self {
            rows,
            parents,
            calls: calls.into_iter().map(Option::flatten).collect(),
        })
    }

    fn of(&self, brick: u64) -> Option<usize> {
        self.calls[self.rows.get(brick)? as usize]
    }

    /// The call around the row. Its own call, if it is one, does not count.
    fn around(&self, brick: u64) -> Option<usize> {
        self.of(self.parents[self.rows.get(brick)? as usize]?)
    }
}
