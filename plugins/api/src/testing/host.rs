//! The host of a test: lends tables, keeps what it is given.

use std::ffi::c_void;

use crate::abi;
use crate::arrow::{ArrowArrayStream, export_batches, read_stream};
use crate::build::TableBuilder;
use crate::error::{Error, Result};
use crate::table::{Table, list};

use super::Output;

/// Small enough that larger tests get more than one batch.
const BATCH_ROWS: usize = 1000;

#[derive(Default)]
pub(super) struct Host {
    output: Output,
    error: String,
    /// Why an emission was refused. The plugin itself learns only that it was.
    refusal: Option<String>,
    cancelled: bool,
    is_final: bool,
}

impl Host {
    /// A host whose user cancels immediately.
    pub(super) fn cancelled() -> Self {
        Self {
            cancelled: true,
            ..Self::default()
        }
    }

    /// A host for merging: into the section of the report if `is_final`, else into one part.
    pub(super) fn merging(is_final: bool) -> Self {
        Self {
            is_final,
            ..Self::default()
        }
    }

    /// # Safety
    /// `call` obeys the header.
    pub(super) unsafe fn run(
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

/// A stream for each declared input, in the order of declaration.
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
