//! Run a plugin inside a test: no host, no library to load.
//!
//! Tables still cross as Arrow C streams and the run goes through the function
//! that a host would call, so what passes here passes there. Queries are not
//! run: an input table stands for the result of its query.

mod concatenation;
mod described;
mod host;

pub use described::{merge_descriptor, part_descriptor, run_descriptor};

use crate::build::TableBuilder;
use crate::chart::Chart;
use crate::error::Result;
use crate::export;
use crate::finding::Finding;
use crate::plugin::{Input, Parts, Plugin};
use crate::table::{Table, list};

use concatenation::rows_of_parts;
use host::Host;

/// Output of a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The tables, in the order of emission.
    pub tables: Vec<Table>,
    /// The findings, in the order of emission.
    pub findings: Vec<Finding>,
    /// The charts, in the order of emission.
    pub charts: Vec<Chart>,
}

impl Output {
    /// The emitted table of that name.
    ///
    /// # Panics
    /// If there is none; the message lists those there are.
    #[track_caller]
    pub fn table(&self, name: &str) -> &Table {
        match self.tables.iter().find(|table| table.name() == name) {
            Some(table) => table,
            None => panic!(
                "no table `{name}` was emitted, only {}",
                list(self.tables.iter().map(Table::name))
            ),
        }
    }

    /// The first finding of that code.
    pub fn finding(&self, code: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == code)
    }
}

/// Runs a plugin on these inputs, by name; optional ones may be left out.
/// `options` is a JSON object, as a user would give it; `"{}"` for none.
///
/// # Errors
/// The plugin's own error, a panic included; an input that is not declared
/// or not given; an emission that a host would refuse.
pub fn run<P: Plugin>(
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    // SAFETY: `call` obeys the header.
    unsafe { Host::default().run(export::call::<P>, &declared(P::INPUTS), inputs, options) }
}

/// Runs a plugin like [`run`], cancelled from the start.
///
/// # Errors
/// As [`run`]; [`Error::Cancelled`](crate::Error::Cancelled) if the plugin checks for it.
pub fn run_cancelled<P: Plugin>(
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    // SAFETY: `call` obeys the header.
    unsafe { Host::cancelled().run(export::call::<P>, &declared(P::INPUTS), inputs, options) }
}

/// Makes the part of one rank; arguments as for [`run`].
///
/// # Errors
/// As [`run`].
pub fn part<P: Parts>(
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    // SAFETY: `part` obeys the header.
    unsafe { Host::default().run(export::part::<P>, &declared(P::INPUTS), inputs, options) }
}

/// Compares merged parts with the whole, in several groupings: merged at once, and after the first or the last `cut`
/// of them were merged separately. `others` makes the further inputs of [`Parts::MERGE_INPUTS`].
///
/// # Errors
/// A merge fails, or differs from [`Plugin::run`] over all rows; the text says which.
pub fn check_parts<P: Parts>(
    parts: &[Output],
    cut: usize,
    others: impl Fn() -> Vec<TableBuilder>,
    options: &str,
    whole: &Output,
) -> Result<()> {
    let (first, rest) = parts.split_at(cut.min(parts.len()));
    let one = |of: &[Output]| -> Result<Vec<Output>> {
        match of {
            [] => Ok(Vec::new()),
            of => Ok(vec![merge::<P>(of, others(), options, false)?]),
        }
    };
    let groupings = [
        ("at once", parts.to_vec()),
        ("after the first", [&one(first)?, rest].concat()),
        ("after the last", [first, &one(rest)?].concat()),
    ];
    for (which, parts) in groupings {
        let merged = merge::<P>(&parts, others(), options, true)?;
        if merged != *whole {
            return Err(crate::Error::failed(format!(
                "merged {which} it is {merged:#?}\n-- over all rows\n{whole:#?}"
            )));
        }
    }
    Ok(())
}

/// Merges parts; if `is_final`, into what [`Plugin::run`] emits. Other arguments as for [`run`].
///
/// An input of [`Parts::MERGE_INPUTS`] gets the rows of the parts' tables with its name, in order;
/// `others` are further inputs.
///
/// # Errors
/// As [`run`]; parts whose tables differ in their columns.
pub fn merge<P: Parts>(
    parts: &[Output],
    others: impl IntoIterator<Item = TableBuilder>,
    options: &str,
    is_final: bool,
) -> Result<Output> {
    let declared = declared(P::MERGE_INPUTS);
    let inputs = rows_of_parts(&declared, parts, others)?;
    // SAFETY: `merge` obeys the header.
    unsafe { Host::merging(is_final).run(export::merge::<P>, &declared, inputs, options) }
}

fn declared(inputs: &'static [Input]) -> Vec<(&'static str, bool)> {
    inputs
        .iter()
        .map(|input| (input.name(), input.is_optional()))
        .collect()
}
