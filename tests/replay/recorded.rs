//! Work, calls and waits of a run, as its tables have them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::harness::Dir;

/// A kernel, copy or fill.
pub struct Work {
    pub device: i64,
    pub stream: Option<i64>,
    pub start_ns: i64,
    pub end_ns: i64,
    pub is_kernel: bool,
    /// Index of its launch; `None` if not recorded.
    pub call: Option<usize>,
    /// True if it was launched before the first recorded call.
    pub is_before_window: bool,
    /// True if its call does not return before it has ended.
    pub blocks: bool,
}

pub struct Call {
    pub thread: i64,
    pub start_ns: i64,
    pub end_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Device(Option<i64>),
    Stream(Option<i64>, i64),
    Unknown,
}

pub struct Recorded {
    pub work: Vec<Work>,
    pub calls: Vec<Call>,
    pub waits: Vec<(Call, Target)>,
    /// End of the last row of each thread.
    pub ends: BTreeMap<i64, i64>,
}

fn rows(dir: &Dir, run: &Path, sql: &str) -> Vec<Value> {
    let run = run.to_str().expect("a path in UTF-8");
    let done = dir
        .command(&["query", run, sql, "--format", "json"])
        .exits(0);
    match done.stdout.trim() {
        "" => Vec::new(),
        _ => done.json().as_array().expect("rows").clone(),
    }
}

fn number(row: &Value, name: &str) -> i64 {
    row[name].as_i64().unwrap_or(-1)
}

fn call(row: &Value) -> Call {
    let start_ns = number(row, "start_ns");
    Call {
        thread: number(row, "thread"),
        start_ns,
        end_ns: start_ns + number(row, "dur_ns").max(0),
    }
}

impl Recorded {
    pub fn read(dir: &Dir, run: &Path) -> Self {
        let mut out = Self {
            work: Vec::new(),
            calls: Vec::new(),
            waits: Vec::new(),
            ends: BTreeMap::new(),
        };
        let mut of_correlation: BTreeMap<i64, usize> = BTreeMap::new();
        let sql = "SELECT thread, start_ns, dur_ns, correlation FROM calls ORDER BY start_ns, dur_ns DESC";
        for row in rows(dir, run, sql) {
            if let Some(correlation) = row["correlation"].as_i64() {
                // Of a call and the driver's within it, the outer.
                of_correlation.entry(correlation).or_insert(out.calls.len());
            }
            out.calls.push(call(&row));
        }
        let first = of_correlation.keys().next().copied().unwrap_or(i64::MIN);
        let kernels = "SELECT device, stream, start_ns, dur_ns, correlation, true AS is_kernel, false AS blocks \
             FROM kernels WHERE device IS NOT NULL";
        let transfers = "SELECT device, stream, start_ns, dur_ns, correlation, false AS is_kernel, \
             direction <> 'memset' AND (COALESCE(NOT is_async, false) OR COALESCE(src_kind = 'pageable', false) \
             OR COALESCE(dst_kind = 'pageable', false)) AS blocks FROM transfers WHERE device IS NOT NULL";
        for row in [rows(dir, run, kernels), rows(dir, run, transfers)].concat() {
            let correlation = row["correlation"].as_i64();
            let call = correlation.and_then(|id| of_correlation.get(&id).copied());
            let start_ns = number(&row, "start_ns");
            out.work.push(Work {
                device: number(&row, "device"),
                stream: row["stream"].as_i64(),
                start_ns,
                end_ns: start_ns + number(&row, "dur_ns").max(0),
                is_kernel: row["is_kernel"] == true,
                call,
                is_before_window: call.is_none() && correlation.is_some_and(|id| id < first),
                blocks: row["blocks"] == true,
            });
        }
        out.work.sort_by_key(|work| (work.start_ns, work.end_ns));
        let sql = "SELECT thread, kind, device, stream, start_ns, dur_ns FROM syncs \
             WHERE thread IS NOT NULL AND kind IN ('device', 'stream', 'event')";
        for row in rows(dir, run, sql) {
            let device = row["device"].as_i64();
            let target = match (row["kind"].as_str(), row["stream"].as_i64()) {
                (Some("device"), _) => Target::Device(device),
                (Some("stream"), Some(stream)) => Target::Stream(device, stream),
                _ => Target::Unknown,
            };
            out.waits.push((call(&row), target));
        }
        for table in ["calls", "syncs", "bricks"] {
            let sql = format!(
                "SELECT thread, MAX(start_ns + dur_ns) AS end_ns FROM {table} WHERE thread IS NOT NULL GROUP BY thread"
            );
            for row in rows(dir, run, &sql) {
                let end_ns = out.ends.entry(number(&row, "thread")).or_default();
                *end_ns = number(&row, "end_ns").max(*end_ns);
            }
        }
        out
    }
}
