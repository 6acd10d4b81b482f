//! OpenTelemetry traces as OTLP/JSON: one trace, a span for each interval.
//!
//! Ids come from the run's and the rows' own; times are nanoseconds since the
//! Unix epoch; all columns are attributes `trueno.<column>`; explicit
//! dependencies are links of the span that had to wait.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

use polars::prelude::{AnyValue, DataFrame};
use serde_json::json;
use trueno_engine::frame::{i64_at, text_at, u64_at};
use trueno_engine::run::Run;
use xxhash_rust::xxh3::xxh3_64;

use super::error::ExportError;
use super::exporter::{Exporter, Written};
use super::json::text;
use super::rows::{self, Source};

/// OpenTelemetry traces as JSON.
#[derive(Debug)]
pub(super) struct Otlp;

impl Exporter for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry traces as OTLP/JSON"
    }

    fn write(&self, run: &Run, to: &mut dyn Write) -> Result<Written, ExportError> {
        write(&Source::open(run)?, to)?;
        Ok(Written::default())
    }
}

/// Writes the whole file.
fn write(source: &Source<'_>, to: &mut dyn Write) -> Result<(), ExportError> {
    let facts = source.run.facts();
    let Some(origin_ns) = facts.clock.origin_realtime_ns else {
        let text = "the run does not say when it began, and OTLP has no other times (hint: run.json lacks clock.origin_realtime_ns)";
        return Err(ExportError::Lacking(text.to_owned()));
    };
    let run_id = facts.run_id.clone().unwrap_or_default();
    let trace = format!(
        "{:016x}{:016x}",
        u64::from_str_radix(&run_id, 16).unwrap_or_else(|_| xxh3_64(b"run")),
        xxh3_64(run_id.as_bytes())
    );
    let mut links: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    if let Some(edges) = source.table("edges") {
        source.each(&edges, |frame| {
            for row in 0..frame.height() {
                if let (Some(from), Some(to)) =
                    (u64_at(frame, "from", row), u64_at(frame, "to", row))
                {
                    let kind = text_at(frame, "kind", row).unwrap_or("?").to_owned();
                    links.entry(to).or_default().push((from, kind));
                }
            }
            Ok(())
        })?;
    }
    let service = facts.label.as_deref().unwrap_or("trueno");
    let attribute = |key: &str, value: Option<&str>| json!({"key": key, "value": {"stringValue": value.unwrap_or_default()}});
    let resource = json!({"attributes": [
        attribute("service.name", Some(service)),
        attribute("service.instance.id", Some(&run_id)),
        attribute("host.name", facts.host.name.as_deref()),
    ]});
    write!(
        to,
        "{{\"resourceSpans\":[{{\"resource\":{resource},\"scopeSpans\":["
    )?;
    let mut line = String::new();
    let tables = source.interval_tables().filter(|t| t.rows > 0);
    for (number, table) in tables.enumerate() {
        let comma = if number == 0 { "" } else { "," };
        write!(
            to,
            "{comma}{{\"scope\":{{\"name\":\"trueno.{}\"}},\"spans\":[",
            table.name
        )?;
        let mut first = true;
        source.each(&table, |frame| {
            for row in 0..frame.height() {
                line.clear();
                line.push_str(if first { "\n" } else { ",\n" });
                first = false;
                let id = u64_at(frame, "id", row).unwrap_or(0);
                let parent = u64_at(frame, "parent", row).or_else(|| u64_at(frame, "brick", row));
                let start_ns = origin_ns.saturating_add(i64_at(frame, "start_ns", row).unwrap_or(0)).max(0);
                let end_ns = start_ns.saturating_add(i64_at(frame, "dur_ns", row).unwrap_or(0).max(0));
                let _ = write!(line, "{{\"traceId\":\"{trace}\",\"spanId\":\"{id:016x}\"");
                if let Some(parent) = parent {
                    let _ = write!(line, ",\"parentSpanId\":\"{parent:016x}\"");
                }
                line.push_str(",\"name\":");
                text(&mut line, &rows::span_name(&table.name, frame, row));
                let _ = write!(line, ",\"kind\":1,\"startTimeUnixNano\":\"{start_ns}\",\"endTimeUnixNano\":\"{end_ns}\",\"attributes\":[");
                attributes(&mut line, frame, row);
                line.push(']');
                if let Some(links) = links.get(&id) {
                    line.push_str(",\"links\":[");
                    for (i, (from, kind)) in links.iter().enumerate() {
                        let comma = if i == 0 { "" } else { "," };
                        let _ = write!(line, "{comma}{{\"traceId\":\"{trace}\",\"spanId\":\"{from:016x}\",\"attributes\":[{}]}}", attribute("trueno.kind", Some(kind)));
                    }
                    line.push(']');
                }
                line.push('}');
                to.write_all(line.as_bytes())?;
            }
            Ok(())
        })?;
        to.write_all(b"]}")?;
    }
    to.write_all(b"]}]}\n")?;
    Ok(())
}

/// All columns that the span itself does not tell; 64-bit integers are texts in OTLP/JSON.
fn attributes(out: &mut String, frame: &DataFrame, row: usize) {
    const TOLD: [&str; 4] = ["id", "name", "start_ns", "dur_ns"];
    let mut comma = "";
    for column in frame
        .columns()
        .iter()
        .filter(|c| !TOLD.contains(&c.name().as_str()))
    {
        let Ok(value) = column.get(row) else { continue };
        let value = match value {
            AnyValue::Null => continue,
            AnyValue::Boolean(value) => json!({"boolValue": value}),
            AnyValue::String(value) => json!({"stringValue": value}),
            AnyValue::Float64(value) => json!({"doubleValue": value}),
            other => json!({"intValue": other.to_string()}),
        };
        let _ = write!(
            out,
            "{comma}{{\"key\":\"trueno.{}\",\"value\":{value}}}",
            column.name()
        );
        comma = ",";
    }
}
