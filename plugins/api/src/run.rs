//! One run of a plugin, as the plugin sees it.

use crate::abi;
use crate::arrow::{self, ArrowArrayStream, StreamReader};
use crate::batches::Batches;
use crate::build::TableBuilder;
use crate::chart::Chart;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::plugin::Input;
use crate::table::{Table, list};

/// The host's side of one run: tables in; tables, findings and charts out.
#[derive(Debug)]
pub struct Run {
    host: abi::Run,
    raw: *const abi::Run,
    inputs: &'static [Input],
    taken: Vec<bool>,
}

impl Run {
    /// # Safety
    /// `raw` is valid for the life of the value and at least of size 1.0; its
    /// pointers obey the rules of the header.
    pub(crate) unsafe fn new(raw: *const abi::Run, inputs: &'static [Input]) -> Result<Self> {
        // SAFETY: the caller vouches for `raw`: at least of size 1.0, and as long as it says.
        let host = unsafe { of_host(raw) };
        if host.input_count < inputs.len() || (host.inputs.is_null() && !inputs.is_empty()) {
            return Err(Error::bad_input(format!(
                "the host lent {} inputs, the plugin declares {}",
                host.input_count,
                inputs.len()
            )));
        }
        Ok(Self {
            host,
            raw,
            inputs,
            taken: vec![false; inputs.len()],
        })
    }

    /// Reads an input, all batches of it, into contiguous columns that the
    /// plugin owns. An input can be read once.
    ///
    /// # Errors
    /// It is not among [`Plugin::INPUTS`](crate::Plugin::INPUTS) (of a merging,
    /// [`Parts::MERGE_INPUTS`](crate::Parts::MERGE_INPUTS)), was read before, or its stream is broken.
    pub fn table(&mut self, name: &str) -> Result<Table> {
        let (input, stream) = self.input(name)?;
        // SAFETY: the host lent a stream that obeys the interface; it is moved out.
        let table = unsafe { arrow::read_stream(stream) };
        let table = table.map_err(|error| error.of_input(name))?;
        if input.is_optional() && table.columns().len() == 0 {
            return Ok(Table::missing(name));
        }
        Ok(table.with_name(name))
    }

    /// An input batch by batch, as the host lends it, for a single pass. An input can be read
    /// only once.
    ///
    /// # Errors
    /// As for [`table`](Self::table). Errors of a batch are returned when it is read.
    pub fn batches(&mut self, name: &str) -> Result<Batches> {
        let (input, stream) = self.input(name)?;
        // SAFETY: as in `table`.
        let reader = unsafe { StreamReader::open(stream) };
        let reader = reader.map_err(|error| error.of_input(name))?;
        Ok(Batches::new(name, reader, input.is_optional()))
    }

    /// Marks an input as read; returns it with the location of its stream.
    fn input(&mut self, name: &str) -> Result<(Input, *mut ArrowArrayStream)> {
        let Some(index) = self.inputs.iter().position(|input| input.name() == name) else {
            return Err(Error::failed(format!(
                "`{name}` is not an input of this plugin (its INPUTS are {})",
                list(self.inputs.iter().map(Input::name))
            )));
        };
        if std::mem::replace(&mut self.taken[index], true) {
            return Err(Error::failed(format!(
                "input `{name}` was read before (hint: keep the table)"
            )));
        }
        // SAFETY: index is below input_count, checked in `new`; the host keeps the
        // streams alive for the run.
        let stream = unsafe { *self.host.inputs.add(index) };
        Ok((self.inputs[index], stream))
    }

    /// Emits a table. Others can query it as `<id>.<name>`.
    ///
    /// # Errors
    /// The table does not hold together ([`TableBuilder::finish`]), or the host refuses it.
    pub fn emit(&mut self, table: TableBuilder) -> Result<()> {
        let table = table.finish()?;
        let name = table.name().to_owned();
        let mut stream: ArrowArrayStream = arrow::export_stream(table);
        let Some(emit_table) = self.host.emit_table else {
            return Err(no_callback("emit_table"));
        };
        // SAFETY: called on the thread of the run with the host's own argument. The host
        // moves the stream out; were it to leave it, dropping it here releases it.
        let status = unsafe { emit_table(self.host.host, abi::Str::lend(&name), &mut stream) };
        accepted(status, || format!("table `{name}`"))
    }

    /// Emits a finding.
    ///
    /// # Errors
    /// The host refuses it.
    pub fn finding(&mut self, finding: Finding) -> Result<()> {
        let Some(emit_finding) = self.host.emit_finding else {
            return Err(no_callback("emit_finding"));
        };
        let json = json(&finding)?;
        // SAFETY: called on the thread of the run with the host's own argument; the text outlives the call.
        let status = unsafe { emit_finding(self.host.host, abi::Str::lend(&json)) };
        accepted(status, || format!("finding `{}`", finding.code))
    }

    /// Emits a chart specification.
    ///
    /// # Errors
    /// It lacks a column that its kind needs ([`Chart::check`]), or the host refuses it.
    pub fn chart(&mut self, chart: Chart) -> Result<()> {
        chart.check()?;
        let Some(emit_chart) = self.host.emit_chart else {
            return Err(no_callback("emit_chart"));
        };
        let json = json(&chart)?;
        // SAFETY: as in `finding`.
        let status = unsafe { emit_chart(self.host.host, abi::Str::lend(&json)) };
        accepted(status, || format!("chart \"{}\"", chart.title))
    }

    /// Returns whether the user cancelled. Check it in long loops, every few thousand rows, and
    /// return [`Error::Cancelled`].
    pub fn cancelled(&self) -> bool {
        // SAFETY: called on the thread of the run with the host's own argument.
        self.host
            .cancelled
            .is_some_and(|cancelled| unsafe { cancelled(self.host.host) } != 0)
    }

    /// Like [`cancelled`](Self::cancelled), as an error for `?`.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn check_cancelled(&self) -> Result<()> {
        if self.cancelled() {
            Err(Error::Cancelled)
        } else {
            Ok(())
        }
    }

    /// Returns whether [`Parts::merge`](crate::Parts::merge) must emit the section of the report.
    /// Otherwise its tables are merged again. Always false in [`Plugin::run`](crate::Plugin::run)
    /// and [`Parts::part`](crate::Parts::part).
    pub fn is_final(&self) -> bool {
        self.host.is_final != 0
    }

    /// The struct the host passed, for what this crate does not cover.
    pub fn as_raw(&self) -> *const abi::Run {
        self.raw
    }
}

/// The host's struct, with zeros for what a host of an older version does not have.
///
/// # Safety
/// `raw` is valid, at least of size 1.0, and as long as its `struct_size` says.
unsafe fn of_host(raw: *const abi::Run) -> abi::Run {
    // SAFETY: the caller vouches for it; struct_size is the first field of every version.
    let size = unsafe { (*raw).struct_size } as usize;
    let mut host = std::mem::MaybeUninit::<abi::Run>::zeroed();
    // SAFETY: no more bytes than either side has; all fields of a run may be zero, and those of
    // size 1.0 are copied.
    unsafe {
        std::ptr::copy_nonoverlapping(
            raw.cast::<u8>(),
            host.as_mut_ptr().cast::<u8>(),
            size.min(size_of::<abi::Run>()),
        );
        host.assume_init()
    }
}

fn no_callback(which: &str) -> Error {
    Error::failed(format!("the host gave no {which} callback"))
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::failed(format!("could not be written as JSON: {error}")))
}

fn accepted(status: abi::Status, what: impl Fn() -> String) -> Result<()> {
    match status {
        abi::OK => Ok(()),
        abi::CANCELLED => Err(Error::Cancelled),
        _ => Err(Error::failed(format!(
            "the host refused {} (status {status})",
            what()
        ))),
    }
}
