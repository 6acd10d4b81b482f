//! One run of one plugin: ask its queries, lend the results, take what it gives.

use polars::prelude::DataFrame;
use trueno_plugin::Table;
use trueno_plugin::abi;
use trueno_plugin::arrow::{ArrowArrayStream, export_stream};

use super::host::{Host, Taken};
use super::{Input, Plugin, frame};
use crate::query::{Database, QueryError, collect};

/// What a plugin may be asked over.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// Published tables of the run, and tables of plugins that ran before.
    pub subject: &'a Database,
    /// Published tables of the baseline run, if one was given.
    pub baseline: Option<&'a Database>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// The plugin finished.
    Finished(Taken),
    /// It could not, or gave something that could not be taken; what it gave before is kept.
    Failed {
        /// Why, for people.
        message: String,
        /// What was taken until then.
        taken: Taken,
    },
    /// It did not run, since something it needs is not there.
    Skipped {
        /// What is missing, for people.
        message: String,
    },
}

/// Why a plugin was not called.
enum Obstacle {
    /// Its query cannot be answered.
    Wrong(String),
    /// Something it needs was not given.
    Missing(String),
}

impl From<Obstacle> for Outcome {
    fn from(obstacle: Obstacle) -> Self {
        match obstacle {
            Obstacle::Wrong(message) => Outcome::Failed {
                message,
                taken: Taken::default(),
            },
            Obstacle::Missing(message) => Outcome::Skipped { message },
        }
    }
}

/// Runs `plugin` with `options`, a JSON object.
pub fn run(plugin: &Plugin, sources: Sources<'_>, options: &str) -> Outcome {
    let mut streams = Vec::with_capacity(plugin.descriptor.inputs.len());
    for input in &plugin.descriptor.inputs {
        match ask(input, sources) {
            Ok(Some(frame)) => streams.push(frame::lend(frame)),
            Ok(None) => streams.push(empty()),
            Err(obstacle) => return obstacle.into(),
        }
    }
    let (status, taken) = call(plugin.entry, streams, options);
    judge(status, taken)
}

/// The rows of one input; `None` when it is optional and its table is not there.
fn ask(input: &Input, sources: Sources<'_>) -> Result<Option<DataFrame>, Obstacle> {
    let database = match (input.baseline, sources.baseline) {
        (false, _) => sources.subject,
        (true, Some(baseline)) => baseline,
        (true, None) if input.optional => return Ok(None),
        (true, None) => {
            let message =
                "it compares with a second run, and none was given (hint: --baseline RUN)";
            return Err(Obstacle::Missing(message.to_owned()));
        }
    };
    let frame = match collect(database, &input.sql) {
        Ok(frame) => frame,
        Err(QueryError::UnknownTable { .. }) if input.optional => return Ok(None),
        Err(error) => return Err(Obstacle::Wrong(format!("input {}: {error}", input.name))),
    };
    match frame::to_closed_types(frame) {
        Ok(frame) => Ok(Some(frame)),
        Err(why) => Err(Obstacle::Wrong(format!("input {}: {why}", input.name))),
    }
}

/// A stream without columns and rows, which is how a missing optional table reads.
fn empty() -> ArrowArrayStream {
    let table = Table::from_columns("", Vec::new());
    table.map_or(ArrowArrayStream::released(), export_stream)
}

fn call(entry: abi::RunFn, streams: Vec<ArrowArrayStream>, options: &str) -> (abi::Status, Taken) {
    let host = Host::open();
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

fn judge(status: abi::Status, mut taken: Taken) -> Outcome {
    let said = taken
        .error
        .take()
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty());
    let rejected = std::mem::take(&mut taken.rejected);
    let message = match status {
        abi::OK if rejected.is_empty() => return Outcome::Finished(taken),
        abi::OK => None,
        abi::FAILED => Some(said.unwrap_or_else(|| "it failed and gave no reason".into())),
        abi::BAD_OPTION => {
            let text = said.unwrap_or_else(|| "it does not say which".into());
            Some(format!(
                "an option is wrong: {text} (hint: options are given as --set PLUGIN.KEY=VALUE)"
            ))
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
    Outcome::Failed { message, taken }
}
