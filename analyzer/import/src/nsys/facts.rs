//! Facts that an export states of itself, its machine and its threads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use trueno_format::schema::{DiagnosticRow, StreamRow, ThreadRow};

use super::context::Context;
use super::source::{Scan, Source, Value};
use super::threads::pid;
use crate::Error;
use crate::cuda::cupti_enums::stream_kind;

pub fn read(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    context.into.run().clock.source = "nsys".to_owned();
    session(source, context)?;
    export(source, context)?;
    machine(source, context)?;
    devices(source, context)?;
    streams(source, context)?;
    diagnostics(source, context)
}

type Take<'t> = dyn FnMut(&mut Context<'_>, &[Value<'_>]) -> Result<(), Error> + 't;

/// Visits the rows of a table. Any column may be missing.
pub fn each(
    source: &mut dyn Source,
    table: &str,
    columns: &[&str],
    context: &mut Context<'_>,
    visit: &mut Take<'_>,
) -> Result<(), Error> {
    let Some(there) = source.columns(table) else {
        return Ok(());
    };
    let columns: Vec<_> = columns
        .iter()
        .map(|name| there.iter().find(|column| column == name).cloned())
        .collect();
    let scan = Scan {
        table: table.to_owned(),
        columns,
    };
    let damage = source.merged(&[scan], &mut |_, values| visit(context, values))?;
    context.damaged(damage);
    Ok(())
}

fn session(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    let table = "TARGET_INFO_SESSION_START_TIME";
    each(
        source,
        table,
        &["utcEpochNs"],
        context,
        &mut |context, values| {
            if let [Value::Int(epoch)] = values {
                let origin = epoch.saturating_add(context.origin_ns);
                context.into.run().clock.origin_realtime_ns = origin;
            }
            Ok(())
        },
    )
}

fn export(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    for table in ["EXPORT_META_DATA", "META_DATA_EXPORT"] {
        each(
            source,
            table,
            &["name", "value"],
            context,
            &mut |context, values| {
                if let [Value::Text(name), Value::Text(value)] = values {
                    let name = match &**name {
                        "EXPORT_PRODUCT_VERSION" => "nsys.product_version",
                        "EXPORT_SCHEMA_VERSION" => "nsys.schema_version",
                        _ => return Ok(()),
                    };
                    context
                        .into
                        .run()
                        .values
                        .insert(name.to_owned(), value.clone().into_owned());
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn machine(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    let table = "TARGET_INFO_SYSTEM_ENV";
    each(
        source,
        table,
        &["name", "value"],
        context,
        &mut |context, values| {
            if let [Value::Text(name), Value::Text(value)] = values
                && !value.is_empty()
            {
                let host = &mut context.into.run().host;
                let value = value.clone().into_owned();
                match &**name {
                    "Hostname" => host.name = Some(value),
                    "OsDescription" => host.os = Some(value),
                    "SoftwareReleaseVersion" => host.kernel = Some(value),
                    "CpuArchitecture" => host.arch = Some(value),
                    "CpuDescription" => host.cpu_model = Some(value),
                    "CpuCores" => host.logical_cpus = value.parse().ok(),
                    "NvDriverVersion" => {
                        context
                            .into
                            .run()
                            .values
                            .insert("gpu.driver_version".to_owned(), value);
                    }
                    _ => {}
                }
            }
            Ok(())
        },
    )
}

/// Columns, and the facts they hold.
type DeviceColumns = &'static [(&'static str, &'static str)];

const DEVICES: [(&str, DeviceColumns); 2] = [
    (
        "TARGET_INFO_GPU",
        &[
            ("name", "name"),
            ("chipName", "chip"),
            ("uuid", "uuid"),
            ("smCount", "multiprocessors"),
            ("totalMemory", "memory_bytes"),
            ("memoryBandwidth", "nominal_bandwidth_bytes_per_s"),
            ("clockRate", "nominal_clock_hz"),
            ("computeMajor", "compute_capability_major"),
            ("computeMinor", "compute_capability_minor"),
        ],
    ),
    // Of older exports, whose other table has the name alone.
    (
        "TARGET_INFO_CUDA_GPU",
        &[
            ("name", "name"),
            ("numMultiprocessors", "multiprocessors"),
            ("globalMemorySize", "memory_bytes"),
            ("computeCapabilityMajor", "compute_capability_major"),
            ("computeCapabilityMinor", "compute_capability_minor"),
        ],
    ),
];

/// Columns with a device's number: `deviceId` in older exports.
const DEVICE_IDS: [&str; 2] = ["id", "deviceId"];

fn devices(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    for (table, facts) in DEVICES {
        let columns = facts.iter().map(|(column, _)| *column);
        let columns: Vec<&str> = DEVICE_IDS.into_iter().chain(columns).collect();
        each(source, table, &columns, context, &mut |context, values| {
            let ([Value::Int(id), _, values @ ..] | [_, Value::Int(id), values @ ..]) = values
            else {
                return Ok(());
            };
            for ((_, name), value) in facts.iter().zip(values) {
                let value = match value {
                    Value::Int(value) => value.to_string(),
                    Value::Text(text) => text.clone().into_owned(),
                    _ => continue,
                };
                let known = &mut context.into.run().values;
                known.entry(format!("gpu:{id}.{name}")).or_insert(value);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Streams, and which of them synchronize with a device's default stream; no other table says that.
fn streams(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    let mut devices: HashMap<(i64, i64), i64> = HashMap::new();
    let columns = ["processId", "contextId", "deviceId"];
    let table = "TARGET_INFO_CUDA_CONTEXT_INFO";
    each(source, table, &columns, context, &mut |_, values| {
        if let [Value::Int(process), Value::Int(of), Value::Int(device)] = values {
            devices.insert((*process, *of), *device);
        }
        Ok(())
    })?;
    let mut rows: BTreeSet<(u32, u32, &str, Option<i64>)> = BTreeSet::new();
    let columns = ["processId", "contextId", "streamId", "flag", "priority"];
    let table = "TARGET_INFO_CUDA_STREAM";
    each(source, table, &columns, context, &mut |context, values| {
        let [
            Value::Int(process),
            Value::Int(of),
            Value::Int(stream),
            Value::Int(flag),
            priority,
        ] = values
        else {
            return Ok(());
        };
        let Some(kind) = stream_kind(*flag) else {
            return Ok(());
        };
        // Signed, and written as if it were not.
        let priority = match priority {
            Value::Int(priority) => Some(i64::from(*priority as i32)),
            _ => None,
        };
        let device = devices.get(&(*process, *of)).copied();
        if let (Some(device), Ok(stream)) = (device, u32::try_from(*stream))
            && let Some(number) = context.known_stream(*process, *of, device, stream)
            && let Ok(device) = u32::try_from(device)
        {
            rows.insert((device, number, kind, priority));
        }
        Ok(())
    })?;
    for (device, stream, kind, priority) in rows {
        let row = StreamRow {
            device: Some(device),
            stream,
            kind: Some(context.text(kind)),
            priority,
        };
        context.add(&row)?;
    }
    Ok(())
}

/// Messages of the profiler, of which those that differ only by numbers are one.
#[derive(Default)]
struct Messages {
    /// By their text without numbers: the first in the order of the file, and how many there are.
    all: BTreeMap<String, (usize, String, u64)>,
}

impl Messages {
    fn add(&mut self, text: &str) {
        let mut key = String::with_capacity(text.len());
        for character in text.chars() {
            let is_digit = character.is_ascii_digit();
            let shown = if is_digit { '0' } else { character };
            if !(is_digit && key.ends_with('0')) {
                key.push(shown);
            }
        }
        let place = self.all.len();
        let (_, _, count) = self
            .all
            .entry(key)
            .or_insert_with(|| (place, text.to_owned(), 0));
        *count += 1;
    }

    fn warn(self, context: &mut Context<'_>) {
        let mut all: Vec<_> = self.all.into_values().collect();
        all.sort_unstable();
        for (_, text, count) in all {
            let others = if count > 1 {
                format!(" ({count} messages that differ at most by numbers)")
            } else {
                String::new()
            };
            // A note is one line.
            let line = text.replace("\\n", " ");
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            context
                .notes
                .warn(format!("the profiler said: {line}{others}"));
        }
    }
}

fn diagnostics(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    let mut messages = Messages::default();
    let columns = ["timestamp", "severity", "text", "globalPid"];
    each(
        source,
        "DIAGNOSTIC_EVENT",
        &columns,
        context,
        &mut |context, values| {
            context.visited("DIAGNOSTIC_EVENT");
            let [time, severity, Value::Text(text), global] = values else {
                context.notes.skip("DIAGNOSTIC_EVENT: no text");
                return Ok(());
            };
            let time_ns = match time {
                Value::Int(time) => time.checked_sub(context.origin_ns),
                _ => None,
            };
            let processes = &context.threads.pids;
            // Messages of the session name process 0, those of the tool a negative one.
            let process = match global {
                Value::Int(global) if *global > 0 => Some(pid(*global)).filter(|pid| *pid != 0),
                _ => None,
            };
            let is_analysed = process.is_none_or(|process| processes.contains(&process));
            let text = match process {
                Some(process) if processes.as_slice() != [process] && !processes.is_empty() => {
                    format!("process {process}: {text}")
                }
                _ => text.to_string(),
            };
            let severity = match severity {
                Value::Int(2) if is_analysed => "warning",
                Value::Int(3) if is_analysed => "error",
                _ => "info",
            };
            if severity != "info" {
                messages.add(&text);
            }
            let row = DiagnosticRow {
                time_ns,
                severity: context.text(severity),
                code: context.text("nsys"),
                text: context.text(&text),
                count: 1,
            };
            context.add(&row)
        },
    )?;
    messages.warn(context);
    Ok(())
}

pub fn threads(source: &mut dyn Source, context: &mut Context<'_>) -> Result<(), Error> {
    let mut names: HashMap<i64, String> = HashMap::new();
    each(
        source,
        "ThreadNames",
        &["globalTid", "nameId"],
        context,
        &mut |context, values| {
            if let [Value::Int(thread), Value::Int(name)] = values
                && let Some(name) = context.string(Some(*name))
            {
                names.insert(*thread, name.to_owned());
            }
            Ok(())
        },
    )?;
    let several = context.threads.pids.len() > 1;
    if let [pid] = context.threads.pids[..] {
        context.into.run().program.pid = Some(pid).filter(|pid| *pid != 0);
    }
    for (number, thread) in context.threads.list.clone().into_iter().enumerate() {
        let name = thread.global.and_then(|global| {
            let name = names.get(&global);
            match (several, name) {
                (false, name) => name.cloned(),
                (true, Some(name)) => Some(format!("{name} ({})", pid(global))),
                (true, None) => Some(format!("process {}", pid(global))),
            }
        });
        let row = ThreadRow {
            thread: number as u32,
            name: name.map(|name| context.text(&name)),
            os_id: thread.os_id(),
            start_ns: Some(thread.start_ns),
            ..ThreadRow::default()
        };
        context.add(&row)?;
    }
    Ok(())
}
