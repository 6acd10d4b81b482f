//! One run of one plugin: ask its queries, lend the results, take what it gives.

use polars::prelude::DataFrame;
use trueno_engine::closed_types;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_plugin::arrow::{ArrowArrayStream, export_stream};
use trueno_plugin::{Table, abi};

use super::host::{Host, Sink, Taken};
use super::{Execution, Input, Plugin, isolate, lazy_inputs};

/// Hint behind a wrong option in a report.
pub(super) const OPTION_HINT: &str = " (hint: options are given as --set PLUGIN.KEY=VALUE)";

/// Databases that a plugin's queries are asked of.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Published tables of the run, and tables of plugins that ran before.
    pub subject: &'a Database,
    /// Published tables of the baseline run, if one was given.
    pub baseline: Option<&'a Database>,
}

/// Outcome of a plugin's run.
#[derive(Debug)]
pub enum Outcome {
    /// The plugin finished.
    Finished(Taken),
    /// It could not, or gave something that could not be taken; what it gave before is kept.
    Failed {
        /// Kind of failure.
        kind: FailureKind,
        /// The reason, for people.
        message: String,
        /// Results taken until then.
        taken: Taken,
    },
    /// It did not run, since something it needs is not there.
    Skipped {
        /// The missing thing, for people.
        message: String,
    },
}

/// Kind of failure of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// One of its queries cannot be answered.
    Query,
    /// It said so itself.
    Reported,
    /// It said that an option is wrong.
    Option,
    /// A caught panic.
    Panic,
    /// It gave what cannot be taken, or broke another rule of the interface.
    Rejected,
    /// Its process came to an end: a crash, a limit, an exit.
    Ended,
}

/// The reason why a plugin was not called.
pub(super) enum Obstacle {
    /// Its query cannot be answered.
    Wrong(String),
    /// Something it needs was not given.
    Missing(String),
}

impl From<Obstacle> for Outcome {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Wrong(message) => Outcome::Failed {
                kind: FailureKind::Query,
                message,
                taken: Taken::default(),
            },
            Obstacle::Missing(message) => Outcome::Skipped { message },
        }
    }
}

/// Runs `plugin` with `options`, a JSON object. In this process each query is run when the plugin reads
/// its input: then no two of them are in memory, but for what the plugin keeps.
pub fn run(plugin: &Plugin, sources: Sources<'_>, options: &str) -> Outcome {
    if let Execution::InProcess(entry) = &plugin.execution {
        return lazy_inputs::run(plugin, *entry, sources, options);
    }
    match gather(plugin, sources) {
        Ok(inputs) => run_on(plugin, inputs, options),
        Err(outcome) => *outcome,
    }
}

/// The results of its queries, in their order.
///
/// # Errors
/// What becomes of the run when one cannot be answered.
pub fn gather(
    plugin: &Plugin,
    sources: Sources<'_>,
) -> Result<Vec<Option<DataFrame>>, Box<Outcome>> {
    let inputs = &plugin.descriptor.inputs;
    // Before anything is read: what is missing makes all that was read worth nothing.
    let missing = inputs
        .iter()
        .find_map(|input| database(input, sources).err());
    if let Some(obstacle) = missing {
        return Err(Box::new(obstacle.into()));
    }
    let answers = inputs.iter().map(|input| ask(input, sources));
    answers
        .collect::<Result<_, Obstacle>>()
        .map_err(|obstacle| Box::new(obstacle.into()))
}

/// Runs `plugin` on these inputs, in their order and of the closed types; `None`
/// is an optional one that is not there.
pub fn run_on(plugin: &Plugin, inputs: Vec<Option<DataFrame>>, options: &str) -> Outcome {
    match &plugin.execution {
        Execution::InProcess(entry) => {
            let streams = inputs
                .into_iter()
                .map(|frame| frame.map_or_else(empty, closed_types::lend))
                .collect();
            let (status, taken) = call(*entry, streams, options, None);
            judge(status, taken)
        }
        Execution::Isolated(limits) => isolate::run(&plugin.file, inputs, options, limits),
    }
}

/// Its function in this process, if it was loaded here.
pub(super) fn entry(plugin: &Plugin) -> Option<abi::RunFn> {
    match &plugin.execution {
        Execution::InProcess(entry) => Some(*entry),
        Execution::Isolated(_) => None,
    }
}

/// The rows of one input; `None` when it is optional and its table is not there.
fn ask(input: &Input, sources: Sources<'_>) -> Result<Option<DataFrame>, Obstacle> {
    let Some(database) = database(input, sources)? else {
        return Ok(None);
    };
    let frame = match collect(database, &input.sql) {
        Ok(frame) => frame,
        Err(QueryError::UnknownTable { .. }) if input.optional => return Ok(None),
        Err(error) => return Err(Obstacle::Wrong(format!("input {}: {error}", input.name))),
    };
    match closed_types::to_closed_types(frame) {
        Ok(frame) => Ok(Some(frame)),
        Err(why) => Err(Obstacle::Wrong(format!("input {}: {why}", input.name))),
    }
}

/// The database an input is asked of; `None` when it is optional and of a run that is not there.
pub(super) fn database<'a>(
    input: &Input,
    sources: Sources<'a>,
) -> Result<Option<&'a Database>, Obstacle> {
    match (input.baseline, sources.baseline) {
        (false, _) => Ok(Some(sources.subject)),
        (true, Some(baseline)) => Ok(Some(baseline)),
        (true, None) if input.optional => Ok(None),
        (true, None) => {
            let message =
                "it compares with a second run, and none was given (hint: --baseline RUN)";
            Err(Obstacle::Missing(message.to_owned()))
        }
    }
}

/// A stream without columns and rows, which is how a missing optional table reads.
pub(super) fn empty() -> ArrowArrayStream {
    let table = Table::from_columns("", Vec::new());
    table.map_or(ArrowArrayStream::released(), export_stream)
}

pub(super) fn call(
    entry: abi::RunFn,
    streams: Vec<ArrowArrayStream>,
    options: &str,
    sink: Option<Sink>,
) -> (abi::Status, Taken) {
    let host = Host::open_to(sink);
    // As the host itself, these small things are never freed; the streams in them are released below.
    let places: &'static [*mut ArrowArrayStream] = Box::leak(
        streams
            .into_iter()
            .map(|stream| Box::into_raw(Box::new(stream)))
            .collect(),
    );
    let options: &'static str = Box::leak(options.to_owned().into_boxed_str());
    let lent: &'static abi::Run = Box::leak(Box::new(host.lent(options, places)));
    // SAFETY: everything lent outlives the call, and the entry came from a checked descriptor.
    let status = unsafe { entry(lent) };
    for place in places {
        // SAFETY: the place is ours and stays allocated; a stream that was moved out of it is left released.
        drop(unsafe { ArrowArrayStream::take(*place) });
    }
    (status, host.close())
}

pub(super) fn judge(status: abi::Status, mut taken: Taken) -> Outcome {
    let said = taken
        .error
        .take()
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty());
    let rejected = std::mem::take(&mut taken.rejected);
    let kind = match status {
        _ if !rejected.is_empty() => FailureKind::Rejected,
        abi::PANICKED => FailureKind::Panic,
        abi::BAD_OPTION => FailureKind::Option,
        abi::FAILED | abi::BAD_INPUT if said.is_some() => FailureKind::Reported,
        _ => FailureKind::Rejected,
    };
    let message = match status {
        abi::OK if rejected.is_empty() => return Outcome::Finished(taken),
        abi::OK => None,
        abi::FAILED => Some(said.unwrap_or_else(|| "it failed and gave no reason".into())),
        abi::BAD_OPTION => {
            let text = said.unwrap_or_else(|| "it does not say which".into());
            Some(format!("an option is wrong: {text}{OPTION_HINT}"))
        }
        abi::BAD_INPUT => Some(format!(
            "its input is not as it needs it: {}",
            said.unwrap_or_else(|| "it does not say how".into())
        )),
        abi::CANCELLED => Some("it stopped early, though nobody asked it to".into()),
        abi::PANICKED => Some(match said {
            Some(text) if text.starts_with("panicked") => text,
            Some(text) => format!("panicked: {text}"),
            None => "panicked, and gave no message".into(),
        }),
        other => {
            let text = said.map_or(String::new(), |text| format!(": {text}"));
            Some(format!("it returned the unknown status {other}{text}"))
        }
    };
    let message = match (message, rejected.is_empty()) {
        (Some(message), true) => message,
        (Some(message), false) if rejected.iter().any(|why| message.contains(why.as_str())) => {
            message
        }
        (Some(message), false) => format!("{message}; not taken: {}", rejected.join("; ")),
        (None, _) => format!("what it gave could not be taken: {}", rejected.join("; ")),
    };
    Outcome::Failed {
        kind,
        message,
        taken,
    }
}
