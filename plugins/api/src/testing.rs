//! Run a plugin inside a test: no host, no library to load.
//!
//! Tables still cross as Arrow C streams and the run goes through the function
//! that a host would call, so what passes here passes there. Queries are not
//! run: an input table stands for the result of its query.

use std::ffi::c_void;

use crate::abi;
use crate::arrow::{ArrowArrayStream, export_batches, read_stream};
use crate::build::TableBuilder;
use crate::chart::Chart;
use crate::column::{Column, ColumnType};
use crate::error::{Error, Result};
use crate::export;
use crate::finding::Finding;
use crate::plugin::{Input, Parts, Plugin};
use crate::table::{Table, list};

/// Rows of a batch, so that larger tests see more than one.
const BATCH_ROWS: usize = 1000;

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

/// As [`run`], by a user who wants to stop at once.
///
/// # Errors
/// As [`run`]; [`Error::Cancelled`] from a plugin that asks.
pub fn run_cancelled<P: Plugin>(
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    let host = Host {
        cancelled: true,
        ..Host::default()
    };
    // SAFETY: `call` obeys the header.
    unsafe { host.run(export::call::<P>, &declared(P::INPUTS), inputs, options) }
}

/// The part of one rank, as [`run`].
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

/// Merges parts, as [`run`]; if `is_final`, into what [`Plugin::run`] emits.
///
/// An input of [`Parts::MERGE_INPUTS`] gets the rows of the tables of its own name, of one part after the other;
/// `others` are its further inputs.
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
    let names = declared.iter().map(|(name, _)| *name);
    let of_parts = names.filter_map(|name| {
        let tables = parts.iter().flat_map(|part| &part.tables);
        concatenated(name, tables.filter(|table| table.name() == name))
    });
    let inputs: Vec<TableBuilder> = of_parts
        .chain(others.into_iter().map(Ok))
        .collect::<Result<_>>()?;
    let host = Host {
        is_final,
        ..Host::default()
    };
    // SAFETY: `merge` obeys the header.
    unsafe { host.run(export::merge::<P>, &declared, inputs, options) }
}

/// The rows of these tables; `None` of no table.
fn concatenated<'a>(
    name: &str,
    tables: impl Iterator<Item = &'a Table>,
) -> Option<Result<TableBuilder>> {
    let tables: Vec<&Table> = tables.collect();
    let first = tables.first()?;
    let names = |table: &Table| -> Vec<String> {
        let columns = table
            .columns()
            .map(|(name, column)| format!("{name} {}", column.ty()));
        columns.collect()
    };
    if let Some(other) = tables.iter().find(|table| names(table) != names(first)) {
        return Some(Err(Error::failed(format!(
            "parts differ in the columns of {name}: {:?} and {:?}",
            names(first),
            names(other)
        ))));
    }
    let columns = first.columns().map(|(column, of_first)| {
        let all = tables.iter().filter_map(|table| table.column(column).ok());
        (column, of_first.ty(), all.collect::<Vec<&Column>>())
    });
    let mut builder = Table::build(name);
    for (column, ty, all) in columns {
        macro_rules! cells {
            ($kind:ident) => {
                all.iter().flat_map(|column| match column {
                    Column::$kind(cells) => cells.iter().collect::<Vec<_>>(),
                    _ => Vec::new(),
                })
            };
        }
        builder = match ty {
            ColumnType::I64 => builder.i64(column, cells!(I64)),
            ColumnType::U64 => builder.u64(column, cells!(U64)),
            ColumnType::F64 => builder.f64(column, cells!(F64)),
            ColumnType::Bool => builder.bool(column, cells!(Bool)),
            ColumnType::Text => builder.text(column, cells!(Text)),
        };
    }
    Some(Ok(builder))
}

/// As [`run`], for a plugin in any language, by its descriptor.
///
/// # Errors
/// As [`run`].
///
/// # Safety
/// `plugin` is a descriptor that obeys the header, of size 1.0 at least.
pub unsafe fn run_descriptor(
    plugin: *const abi::Plugin,
    inputs: impl IntoIterator<Item = TableBuilder>,
    options: &str,
) -> Result<Output> {
    // SAFETY: the caller vouches for the descriptor and all it points to.
    let plugin = unsafe { &*plugin };
    let input = |i: usize| {
        // SAFETY: as above; `i` is below the count.
        let (name, flags) = unsafe {
            let input = *plugin.inputs.add(i);
            ((*input).name.to_string_lossy(), (*input).flags)
        };
        (name, flags & abi::INPUT_OPTIONAL != 0)
    };
    let names: Vec<_> = (0..plugin.input_count).map(input).collect();
    let names: Vec<_> = names
        .iter()
        .map(|(name, optional)| (&**name, *optional))
        .collect();
    let Some(call) = plugin.run else {
        return Err(Error::failed("the descriptor has no run"));
    };
    // SAFETY: the caller vouches for `run`.
    unsafe { Host::default().run(call, &names, inputs, options) }
}

/// Name, and whether it may be left out.
fn declared(inputs: &'static [Input]) -> Vec<(&'static str, bool)> {
    inputs
        .iter()
        .map(|input| (input.name(), input.is_optional()))
        .collect()
}

#[derive(Default)]
struct Host {
    output: Output,
    error: String,
    /// Reason that an emission was refused; the plugin itself learns only that it was.
    refusal: Option<String>,
    cancelled: bool,
    is_final: bool,
}

impl Host {
    /// # Safety
    /// `call` obeys the header.
    unsafe fn run(
        mut self,
        call: abi::RunFn,
        declared: &[(&str, bool)],
        inputs: impl IntoIterator<Item = TableBuilder>,
        options: &str,
    ) -> Result<Output> {
        let mut streams = lend(declared, inputs)?;
        let pointers: Vec<*mut ArrowArrayStream> =
            streams.iter_mut().map(|stream| &raw mut *stream).collect();
        let run = abi::Run {
            struct_size: size_of::<abi::Run>() as u32,
            reserved: 0,
            host: (&raw mut self).cast(),
            options: abi::Str::lend(options),
            inputs: pointers.as_ptr(),
            input_count: pointers.len(),
            emit_table: Some(emit_table),
            emit_finding: Some(emit_finding),
            emit_chart: Some(emit_chart),
            set_error: Some(set_error),
            cancelled: Some(cancelled),
            is_final: u32::from(self.is_final),
            reserved_1: 0,
        };
        // SAFETY: everything `run` points to lives until the call returns.
        let status = unsafe { call(&run) };
        match (status, self.refusal) {
            (abi::OK, None) => Ok(self.output),
            (abi::OK, Some(refusal)) => Err(Error::failed(refusal)),
            (_, Some(refusal)) => Err(Error::from_status(
                status,
                format!("{}: {refusal}", self.error),
            )),
            (_, None) => Err(Error::from_status(status, self.error)),
        }
    }

    fn answer(&mut self, outcome: Result<()>) -> abi::Status {
        match outcome {
            Ok(()) => abi::OK,
            Err(error) => {
                self.refusal.get_or_insert(error.to_string());
                abi::FAILED
            }
        }
    }
}

/// A stream for each declared input, in order.
fn lend(
    declared: &[(&str, bool)],
    given: impl IntoIterator<Item = TableBuilder>,
) -> Result<Vec<ArrowArrayStream>> {
    let mut given: Vec<Table> = given
        .into_iter()
        .map(TableBuilder::finish)
        .collect::<Result<_>>()?;
    let mut streams = Vec::with_capacity(declared.len());
    for (name, optional) in declared {
        let table = match given.iter().position(|table| table.name() == *name) {
            Some(at) => given.swap_remove(at),
            None if *optional => Table::missing(*name),
            None => {
                return Err(Error::failed(format!(
                    "input `{name}` was not given (hint: only optional ones may be left out)"
                )));
            }
        };
        streams.push(export_batches(table, BATCH_ROWS));
    }
    match given.first() {
        Some(table) => Err(Error::failed(format!(
            "`{}` is not an input of this plugin, or was given twice (its INPUTS are {})",
            table.name(),
            list(declared.iter().map(|(name, _)| *name))
        ))),
        None => Ok(streams),
    }
}

/// # Safety
/// `host` is the pointer that [`Host::run`] put into the run.
unsafe fn host<'a>(host: *mut c_void) -> &'a mut Host {
    // SAFETY: the Host lives through the call, and a plugin calls back one call at a time.
    unsafe { &mut *host.cast::<Host>() }
}

unsafe extern "C" fn emit_table(
    to: *mut c_void,
    name: abi::Str,
    stream: *mut ArrowArrayStream,
) -> abi::Status {
    // SAFETY: `to` is our own pointer; name and stream are the plugin's for the length of the call.
    let (host, name, table) = unsafe { (host(to), name.to_string_lossy(), read_stream(stream)) };
    let outcome = table.and_then(|table| {
        if host
            .output
            .tables
            .iter()
            .any(|earlier| earlier.name() == name)
        {
            return Err(Error::failed(format!("table `{name}` was emitted twice")));
        }
        host.output.tables.push(table.with_name(name));
        Ok(())
    });
    host.answer(outcome)
}

unsafe extern "C" fn emit_finding(to: *mut c_void, json: abi::Str) -> abi::Status {
    // SAFETY: as in emit_table.
    let (host, json) = unsafe { (host(to), json.bytes()) };
    let outcome = serde_json::from_slice(json).map(|finding| host.output.findings.push(finding));
    host.answer(
        outcome.map_err(|error| Error::failed(format!("the finding does not parse: {error}"))),
    )
}

unsafe extern "C" fn emit_chart(to: *mut c_void, json: abi::Str) -> abi::Status {
    // SAFETY: as in emit_table.
    let (host, json) = unsafe { (host(to), json.bytes()) };
    let outcome = serde_json::from_slice(json).map(|chart| host.output.charts.push(chart));
    host.answer(
        outcome.map_err(|error| Error::failed(format!("the chart does not parse: {error}"))),
    )
}

unsafe extern "C" fn set_error(to: *mut c_void, message: abi::Str) {
    // SAFETY: as in emit_table.
    let (host, message) = unsafe { (host(to), message.to_string_lossy()) };
    host.error = message.into_owned();
}

unsafe extern "C" fn cancelled(to: *mut c_void) -> i32 {
    // SAFETY: as in emit_table.
    i32::from(unsafe { host(to) }.cancelled)
}
