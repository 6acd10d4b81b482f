//! The host's end of one run: the callbacks, and what they took.
//!
//! A callback is C code to its caller, so none lets a panic out. What a host
//! lends for a run stays allocated for good (some hundred bytes a plugin): a
//! thread that a plugin left behind meets a closed door, not freed memory.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use trueno_model::Finding;
use trueno_plugin::abi::{self, Str};
use trueno_plugin::arrow::{ArrowArrayStream, read_stream};
use trueno_plugin::{Chart, Table};

use super::descriptor::Stage;

pub const MAX_TABLES: usize = 1_000;
pub const MAX_COLUMNS: usize = 10_000;
pub const MAX_FINDINGS: usize = 100_000;
/// Limit on rejections in the report, so that one plugin cannot fill it.
const MAX_REJECTIONS_KEPT: usize = 8;
const MAX_TEXT_BYTES: usize = 64 << 20;

#[derive(Debug, Default)]
pub struct PluginOutput {
    /// In order of emission, with unique names.
    pub tables: Vec<Table>,
    pub findings: Vec<Finding>,
    pub charts: Vec<Chart>,
    pub error: Option<String>,
    pub rejected: Vec<String>,
    /// Note on output that it should not have written; only known for isolated plugins.
    pub wrote: Option<String>,
}

pub enum Emitted<'a> {
    Table(&'a Table),
    Finding(&'a str),
}

/// Receives each result as soon as it is accepted.
pub type Sink = Box<dyn Fn(Emitted<'_>)>;

impl PluginOutput {
    /// Errors if the table cannot be added to the earlier ones.
    pub fn check_table(&self, table: &Table) -> Result<(), String> {
        let name = table.name();
        if !trueno_plugin::is_identifier(name) {
            return Err(format!(
                "the table name {name:?} does not fit [a-z][a-z0-9_]*"
            ));
        }
        if self.tables.iter().any(|earlier| earlier.name() == name) {
            return Err(format!(
                "table {name} was emitted twice; the first one is kept"
            ));
        }
        if self.tables.len() == MAX_TABLES {
            return Err(format!("table {name}: more than {MAX_TABLES} tables"));
        }
        match table.columns().len() {
            0 => return Err(format!("table {name} has no columns")),
            n if n > MAX_COLUMNS => {
                return Err(format!(
                    "table {name} has {n} columns, at most {MAX_COLUMNS} are taken"
                ));
            }
            _ => {}
        }
        if table.columns().any(|(column, _)| column.is_empty()) {
            return Err(format!("table {name} has a column without a name"));
        }
        Ok(())
    }

    /// Applies the rules of the callbacks to the final message of a process, which may send anything.
    pub fn take_end(
        &mut self,
        mut charts: Vec<Chart>,
        error: Option<String>,
        mut rejected: Vec<String>,
    ) {
        rejected.truncate(MAX_REJECTIONS_KEPT + 1);
        charts.truncate(MAX_FINDINGS);
        charts.retain(|chart| match chart.check() {
            Ok(()) => true,
            Err(why) => {
                rejected.push(why.to_string());
                false
            }
        });
        (self.charts, self.error, self.rejected) = (charts, error, rejected);
        self.drop_charts_of_nothing();
        self.rejected.truncate(MAX_REJECTIONS_KEPT + 1);
    }

    /// Drops charts without a table. A chart may come before its table, so this is only known at the end.
    fn drop_charts_of_nothing(&mut self) {
        let PluginOutput {
            tables,
            charts,
            rejected,
            ..
        } = self;
        charts.retain(|chart| {
            let lines = chart.lines.iter().flat_map(|lines| {
                let columns = [Some(&lines.x), Some(&lines.y), lines.series.as_ref()];
                columns
                    .into_iter()
                    .flatten()
                    .map(|column| (lines.table.as_str(), column.as_str()))
            });
            let mut columns = chart
                .columns()
                .map(|column| (chart.table.as_str(), column))
                .chain(lines);
            let unknown = columns.find(|(table, column)| {
                !tables.iter().any(|t| t.name() == *table && t.has(column))
            });
            if let Some((table, column)) = unknown
                && rejected.len() < MAX_REJECTIONS_KEPT
            {
                rejected.push(format!(
                    "chart \"{}\": there is no column {column} of a table {table}",
                    chart.title
                ));
            }
            unknown.is_none()
        });
    }
}

pub struct Host {
    thread: ThreadId,
    open: AtomicBool,
    called_from_elsewhere: AtomicBool,
    taken: RefCell<PluginOutput>,
    sink: Option<Sink>,
}

// SAFETY: `taken` and `sink` are only touched by the thread named in `thread`; the rest is atomic or never changes.
unsafe impl Sync for Host {}

impl Host {
    /// A host for a run on this thread. Never freed: see the top of this file.
    #[cfg(test)]
    pub fn open() -> &'static Host {
        Host::open_to(None)
    }

    pub fn open_to(sink: Option<Sink>) -> &'static Host {
        Box::leak(Box::new(Host {
            thread: std::thread::current().id(),
            open: AtomicBool::new(true),
            called_from_elsewhere: AtomicBool::new(false),
            taken: RefCell::default(),
            sink,
        }))
    }

    /// Ends the run and returns the results. Later calls of the plugin are rejected.
    pub fn close(&self) -> PluginOutput {
        self.open.store(false, Ordering::Release);
        let mut taken = self.taken.take();
        taken.drop_charts_of_nothing();
        if self.called_from_elsewhere.load(Ordering::Acquire) {
            taken.rejected.push(
                "it called the analyzer from a thread of its own, which is not allowed".into(),
            );
        }
        taken
    }

    pub fn lent(
        &'static self,
        options: &'static str,
        inputs: &'static [*mut ArrowArrayStream],
        stage: Stage,
    ) -> abi::Run {
        abi::Run {
            struct_size: size_of::<abi::Run>() as u32,
            reserved: 0,
            host: std::ptr::from_ref(self).cast_mut().cast(),
            options: Str::lend(options),
            inputs: inputs.as_ptr(),
            input_count: inputs.len(),
            emit_table: Some(emit_table),
            emit_finding: Some(emit_finding),
            emit_chart: Some(emit_chart),
            set_error: Some(set_error),
            cancelled: Some(cancelled),
            is_final: u32::from(stage == Stage::Final),
            reserved_1: 0,
        }
    }

    fn tell(&self, emitted: Emitted<'_>) {
        if let Some(sink) = &self.sink {
            sink(emitted);
        }
    }

    fn accepts(&self) -> bool {
        if std::thread::current().id() != self.thread {
            self.called_from_elsewhere.store(true, Ordering::Release);
            return false;
        }
        self.open.load(Ordering::Acquire)
    }

    /// Runs `take` on the results so far. Records and returns a rejection.
    fn guard(&self, take: impl FnOnce(&mut PluginOutput) -> Result<(), String>) -> abi::Status {
        if !self.accepts() {
            return abi::FAILED;
        }
        // Nothing of the plugin's runs inside `take`, so there is no second borrow.
        let done = catch_unwind(AssertUnwindSafe(|| take(&mut self.taken.borrow_mut())))
            .unwrap_or_else(|_| {
                Err("the analyzer panicked while taking it (this is a bug of the analyzer)".into())
            });
        match done {
            Ok(()) => abi::OK,
            Err(why) => {
                if let Ok(mut taken) = self.taken.try_borrow_mut()
                    && taken.rejected.len() < MAX_REJECTIONS_KEPT
                {
                    taken.rejected.push(why);
                }
                abi::FAILED
            }
        }
    }
}

/// # Safety
/// `host` is null or the pointer of [`Host::lent`].
unsafe fn host<'a>(host: *mut c_void) -> Option<&'a Host> {
    // SAFETY: hosts are never freed and only shared references to them are made.
    unsafe { host.cast::<Host>().as_ref() }
}

/// # Safety
/// `text` obeys the contract of `trueno_str`.
unsafe fn utf8<'a>(text: Str, what: &str) -> Result<&'a str, String> {
    if text.len > MAX_TEXT_BYTES {
        return Err(format!(
            "the {what} is {} bytes long, at most {MAX_TEXT_BYTES} are taken",
            text.len
        ));
    }
    if text.ptr.is_null() && text.len > 0 {
        return Err(format!(
            "the {what} is {} bytes at a null pointer",
            text.len
        ));
    }
    // SAFETY: passed on to the caller.
    std::str::from_utf8(unsafe { text.bytes() }).map_err(|_| format!("the {what} is not UTF-8"))
}

unsafe extern "C" fn emit_table(
    at: *mut c_void,
    name: Str,
    stream: *mut ArrowArrayStream,
) -> abi::Status {
    // SAFETY: the plugin passes on the pointer it was lent.
    let Some(host) = (unsafe { host(at) }) else {
        return abi::FAILED;
    };
    if !host.accepts() {
        // Ours even so: it is released here.
        // SAFETY: the plugin vouches for its stream.
        drop(unsafe { stream.as_mut().map(|stream| ArrowArrayStream::take(stream)) });
        return abi::FAILED;
    }
    // Drained before anything else is looked at, and outside of `guard`: the stream is
    // code of the plugin's, which may call back.
    // SAFETY: the plugin vouches for its stream.
    let table = catch_unwind(AssertUnwindSafe(|| unsafe { read_stream(stream) }));
    host.guard(|taken| {
        // SAFETY: the text lives for the call.
        let name = unsafe { utf8(name, "name of a table")? };
        let table = table
            .map_err(|_| format!("table {name}: the analyzer panicked while reading it"))?
            .map_err(|error| format!("table {name}: {error}"))?
            .with_name(name);
        taken.check_table(&table)?;
        host.tell(Emitted::Table(&table));
        taken.tables.push(table);
        Ok(())
    })
}

unsafe extern "C" fn emit_finding(at: *mut c_void, json: Str) -> abi::Status {
    // SAFETY: the plugin passes on the pointer it was lent.
    let Some(host) = (unsafe { host(at) }) else {
        return abi::FAILED;
    };
    host.guard(|taken| {
        // SAFETY: the text lives for the call.
        let json = unsafe { utf8(json, "finding")? };
        let finding = serde_json::from_str(json)
            .map_err(|error| format!("a finding cannot be read: {error}"))?;
        if taken.findings.len() == MAX_FINDINGS {
            return Err(format!("more than {MAX_FINDINGS} findings"));
        }
        host.tell(Emitted::Finding(json));
        taken.findings.push(finding);
        Ok(())
    })
}

unsafe extern "C" fn emit_chart(at: *mut c_void, json: Str) -> abi::Status {
    // SAFETY: the plugin passes on the pointer it was lent.
    let Some(host) = (unsafe { host(at) }) else {
        return abi::FAILED;
    };
    host.guard(|taken| {
        // SAFETY: the text lives for the call.
        let json = unsafe { utf8(json, "chart")? };
        let chart: Chart = serde_json::from_str(json)
            .map_err(|error| format!("a chart cannot be read: {error}"))?;
        chart.check().map_err(|error| error.to_string())?;
        if taken.charts.len() == MAX_FINDINGS {
            return Err(format!("more than {MAX_FINDINGS} charts"));
        }
        taken.charts.push(chart);
        Ok(())
    })
}

unsafe extern "C" fn set_error(at: *mut c_void, message: Str) {
    // SAFETY: the plugin passes on the pointer it was lent.
    let Some(host) = (unsafe { host(at) }) else {
        return;
    };
    host.guard(|taken| {
        if message.len > MAX_TEXT_BYTES || (message.ptr.is_null() && message.len > 0) {
            return Err(format!("its error message claims {} bytes", message.len));
        }
        // Lossy: a message with broken text still says more than none.
        // SAFETY: the text lives for the call.
        taken.error = Some(unsafe { message.to_string_lossy() }.into_owned());
        Ok(())
    });
}

unsafe extern "C" fn cancelled(_at: *mut c_void) -> i32 {
    // Nothing asks a run to stop yet; the process as a whole is stopped by the user.
    0
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
