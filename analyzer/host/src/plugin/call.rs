//! One call of a plugin in this process: lends its inputs, takes what it gives, judges how it ended.

use trueno_plugin::arrow::{ArrowArrayStream, export_stream};
use trueno_plugin::{Table, abi};

use super::descriptor::{Execution, Plugin, Stage};
use super::host::{Host, PluginOutput, Sink};
use super::outcome::{FailureKind, Outcome};

pub(super) const OPTION_HINT: &str = " (hint: options are given as --set PLUGIN.KEY=VALUE)";

/// The function for a stage, if the plugin is loaded in this process.
pub(super) fn entry(plugin: &Plugin, stage: Stage) -> Option<abi::RunFn> {
    match &plugin.execution {
        Execution::InProcess(functions) => Some(functions.of(stage)),
        Execution::Isolated(_) => None,
    }
}

/// A stream without columns and rows, which stands for a missing optional table.
pub(super) fn empty() -> ArrowArrayStream {
    let table = Table::from_columns("", Vec::new());
    table.map_or(ArrowArrayStream::released(), export_stream)
}

pub(super) fn call(
    entry: abi::RunFn,
    streams: Vec<ArrowArrayStream>,
    options: &str,
    stage: Stage,
    sink: Option<Sink>,
) -> (abi::Status, PluginOutput) {
    let host = Host::open_to(sink);
    // As the host itself, these small things are never freed; the streams in them are released below.
    let places: &'static [*mut ArrowArrayStream] = Box::leak(
        streams
            .into_iter()
            .map(|stream| Box::into_raw(Box::new(stream)))
            .collect(),
    );
    let options: &'static str = Box::leak(options.to_owned().into_boxed_str());
    let lent: &'static abi::Run = Box::leak(Box::new(host.lent(options, places, stage)));
    // SAFETY: everything lent outlives the call, and the entry came from a checked descriptor.
    let status = unsafe { entry(lent) };
    for place in places {
        // SAFETY: the place is ours and stays allocated; a stream that was moved out of it is left released.
        drop(unsafe { ArrowArrayStream::take(*place) });
    }
    (status, host.close())
}

pub(super) fn judge(status: abi::Status, mut taken: PluginOutput) -> Outcome {
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
            "it cannot use its input: {}",
            said.unwrap_or_else(|| "it does not say how".into())
        )),
        abi::CANCELLED => Some("it stopped early without being cancelled".into()),
        abi::PANICKED => Some(match said {
            Some(text) if text.starts_with("panicked") || text.starts_with("raised ") => text,
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
        (Some(message), false) => format!("{message}; rejected: {}", rejected.join("; ")),
        (None, _) => format!("its output was rejected: {}", rejected.join("; ")),
    };
    Outcome::Failed {
        kind,
        message,
        taken,
    }
}
