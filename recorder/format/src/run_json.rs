//! `run.json`: who recorded what, when, on which machine, and how it ended.
//!
//! Readers do with few fields: only `format` and `state` must be there, and unknown
//! fields are ignored. Its last member is the hash of the text before it: see [`Seal`].

mod seal;

use std::collections::BTreeMap;

pub use seal::{Seal, resealed, sealed};
use serde::{Deserialize, Serialize};

/// Name of the file in the run directory; a folder without it is no run.
pub const RUN_JSON: &str = "run.json";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the types say it")]
pub struct RunJson {
    pub format: Format,
    #[serde(default)]
    pub producer: Producer,
    /// 16 hex digits, different for every run.
    #[serde(default)]
    pub run_id: String,
    #[serde(default)]
    pub label: Option<String>,
    pub state: State,
    #[serde(default)]
    pub program: Program,
    #[serde(default)]
    pub host: Host,
    #[serde(default)]
    pub clock: Clock,
    #[serde(default)]
    pub recorder: Options,
    /// From *recorder ready* (time 0) to `finish`; null while recording. In a recovered run
    /// the end of the last interval, as nobody measured the end of the run.
    #[serde(default)]
    pub wall_ns: Option<i64>,
    /// Tables with rows or drops.
    #[serde(default)]
    pub tables: BTreeMap<String, Table>,
    /// Rows not kept, all tables.
    #[serde(default)]
    pub dropped: u64,
    /// Rows that were still open when the recording ended, and are in no table; `problems` says on
    /// which threads.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// The run was made of another profiler's file, which says neither what was not kept nor
    /// when the recording ended: `dropped` means nothing then, and `wall_ns` is the end of the
    /// last event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// What the import of an imported run could not use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<ImportRecord>,
    /// Problems, in words. Of an imported run: parts of the file that are missing.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Facts that the program gave.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// Recovery, of a recovered run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Of a program that was recorded from outside, by an injected library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Rows that were added to the recording afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Joined>,
    /// The rolling window that the run is; `None`: everything was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// Source, of a run exported to Parquet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported_from: Option<ExportedFrom>,
}

/// The last part of a longer recording. What is older was discarded on request, and is no loss.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Requested length.
    pub last_ns: i64,
    /// Time 0 of the run, since the recording began.
    pub from_ns: i64,
    /// End of the run, since the recording began.
    pub recorded_ns: i64,
    /// Rows that were discarded, of all tables.
    pub discarded: u64,
    /// The window is shorter than requested, because its rows took more memory than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Kept {
    /// What it means, for people.
    pub fn text(&self) -> String {
        let held_ns = self.recorded_ns - self.from_ns;
        let (held, recorded) = (shown(held_ns), shown(self.recorded_ns));
        if self.from_ns <= 0 {
            let last = shown(self.last_ns);
            return format!("all {recorded} of the recording, which keeps the last {last}");
        }
        let rows = match self.discarded {
            1 => "1 earlier row was".to_owned(),
            rows => format!("{rows} earlier rows were"),
        };
        let why = match self.max_bytes {
            Some(bytes) => format!(
                " (the last {} were asked for, and take more than {} MiB)",
                shown(self.last_ns),
                bytes >> 20
            ),
            None => String::new(),
        };
        format!("the last {held} of {recorded}: {rows} discarded on request{why}")
    }
}

/// A time for people, to a tenth of a second or three digits.
fn shown(ns: i64) -> String {
    let seconds = ns.max(0) as f64 / 1e9;
    match seconds {
        seconds if seconds < 1.0 => format!("{} ms", (seconds * 1e3).round()),
        seconds if seconds < 60.0 => format!("{} s", (seconds * 10.0).round() / 10.0),
        seconds => {
            let seconds = seconds.round() as u64;
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            let parts = [(hours, "h"), (minutes, "min"), (seconds, "s")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            let parts: Vec<String> = parts
                .map(|(count, unit)| format!("{count} {unit}"))
                .collect();
            parts.join(" ")
        }
    }
}

/// What an import could not use of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImportRecord {
    /// Name of the file, without its folder.
    pub file: String,
    /// Its format, as `import --input-format` takes it.
    pub format: String,
    /// Records of the program's work that became no row, by reason.
    pub lost: BTreeMap<String, u64>,
    /// Warnings, in words.
    pub warnings: Vec<String>,
}

/// Completeness of a recording by an injected library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capture {
    /// Level of detail that was asked for: `kernels`, `edges` or `full`.
    pub level: String,
    /// The program ended in a way that let all records be brought in.
    pub clean_end: bool,
    /// The end waited for the devices.
    pub synchronized: bool,
    /// Version of CUPTI, as it numbers itself: 130001 is 13.0.1. `None`: CUPTI did not record.
    pub cupti_version: Option<u32>,
    /// Path at which CUPTI was found.
    pub cupti_path: Option<String>,
    /// Version of the driver: 13000 is 13.0.
    pub driver_version: Option<u32>,
    /// Kinds of records that were made.
    pub enabled: Vec<String>,
    /// Kinds that were asked for and refused, with the reason: it is missing, and not because there was none.
    pub refused: BTreeMap<String, String>,
    /// Functions whose calls were not recorded.
    pub muted: Vec<String>,
    /// Records that were decoded, by kind.
    pub records: BTreeMap<String, u64>,
    /// Records that could not be decoded, by reason.
    pub unreadable: BTreeMap<String, u64>,
    /// Records that could not become a sound row, by kind and reason.
    pub invalid: BTreeMap<String, u64>,
    /// Records that CUPTI dropped, of all kinds together; it does not say which.
    pub dropped: u64,
    /// Chunks of the recorder's own file that were damaged.
    pub damaged_chunks: u64,
    /// Bytes at its end that were cut.
    pub cut_bytes: u64,
    /// Overhead of CUPTI itself, by its own records.
    pub overhead_ns: BTreeMap<String, u64>,
    /// Devices, in words.
    pub devices: Vec<String>,
}

/// Rows that were measured otherwise, by another tool or later, and added to a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Joined {
    /// Tool that measured them; `counters.source` of its rows.
    pub tool: String,
    /// Name of its file; empty: there was none.
    pub file: String,
    /// XXH3-64 of the file, 16 hex digits.
    pub xxh3: String,
    /// Segments that were added.
    pub segments: Vec<String>,
    /// Rows that got something, by table.
    pub matched: BTreeMap<String, u64>,
    /// Rows that were not joined, by reason.
    pub left_out: BTreeMap<String, u64>,
}

/// Source of an exported run, and what was said of it then: its own files are whole
/// even where those of its source were not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportedFrom {
    /// The `run_id` of the source.
    pub run_id: String,
    /// The format of the source.
    pub format: Option<Format>,
    /// Program that exported it.
    pub by: Producer,
    /// State of the source; null: its `run.json` could not be read.
    pub state: Option<State>,
    /// The source was complete: nothing dropped or lost, all of it verified; `None`: not known.
    pub complete: Option<bool>,
    /// Its recorder ended as it should.
    pub clean_end: bool,
    /// Length of the source.
    pub wall_ns: Option<i64>,
    /// Origin of `wall_ns`: `recorded`, `last_event` or `none`.
    pub wall_source: String,
    /// Rows dropped at recording; null: not known.
    pub dropped: Option<u64>,
    /// Tables whose number of lost rows is not known.
    pub loss_not_known: Vec<String>,
    /// Problems of the source.
    pub problems: Vec<SourceProblem>,
}

/// One thing that was wrong with the source of an exported run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceProblem {
    /// `info`, `warning` or `error`.
    pub severity: String,
    /// Stable name of the case.
    pub code: String,
    /// Message for people.
    pub text: String,
}

/// Findings of the recovery of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recovery {
    /// Rows that lay in no segment when the process ended.
    pub rows_from_live: u64,
    /// The counts of dropped rows hold until the process ended; otherwise they are
    /// those of the last sealing.
    pub dropped_known: bool,
    /// Tables whose number of lost rows is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loss_not_known: Vec<String>,
}

/// Name and version of the format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// [`crate::schema::FORMAT_NAME`].
    pub name: String,
    /// A newer one must be refused.
    pub major: u32,
    /// A newer one has more tables or columns.
    pub minor: u32,
}

/// Program that wrote the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Producer {
    pub name: String,
    pub version: String,
}

/// State of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Not ended yet, or ended by a crash.
    #[default]
    Recording,
    /// All segments are sealed.
    Finished,
    /// The writer stopped early; `problems` says why.
    Failed,
    /// The process ended before `finish`. The remaining data was recovered afterwards, and all segments are
    /// sealed.
    Recovered,
}

/// The recorded process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Program {
    #[serde(default)]
    pub argv: Vec<String>,
    #[serde(default)]
    pub pid: Option<u32>,
}

/// The machine; what is unknown is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
#[serde(default)]
pub struct Host {
    pub name: Option<String>,
    pub os: Option<String>,
    pub kernel: Option<String>,
    pub arch: Option<String>,
    pub cpu_model: Option<String>,
    /// Microcode of the processor; not in older runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// Processors that the process may use.
    pub logical_cpus: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Features that decide which kernels can run.
    pub cpu_features: Option<Vec<String>>,
}

/// The recorder's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// `tsc`, `monotonic` or `cntvct`.
    pub source: String,
    /// Measured over the whole run.
    pub ticks_per_second: Option<f64>,
    /// Time 0 in nanoseconds since the Unix epoch.
    pub origin_realtime_ns: i64,
    /// Smallest step between successive readings, measured when the recorder was made;
    /// shorter intervals cannot be told from none.
    pub resolution_ns: Option<f64>,
}

/// Options of the recorder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Records in a thread's ring.
    pub ring_records: u64,
    /// `drop`, `block` or `grow`.
    pub overflow: String,
    /// Most memory for rings that follow full ones, of all threads together; `None`: rings did not grow, or an older
    /// recorder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth_bytes: Option<u64>,
    /// `none`, `deferred`, `per_layer` or `immediate`.
    pub sync_mode: String,
    /// Sampling period N: every Nth checksum of a name was recorded; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum_every: Option<u64>,
    /// Blocks of the program's allocator that were recorded; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocations: Option<String>,
    /// Tensors of an earlier run: of those with the same hash, only the hash was recorded; `None`: all was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum_baseline: Option<u64>,
    /// Counters of the CPU around bricks; `None`: none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perf: Option<Perf>,
    /// Tables that were not recorded.
    pub tables_off: Vec<String>,
    /// Cost of one span to its thread: the best of a few rounds of empty spans on a scratch
    /// ring, when the recorder was made.
    pub cost_ns_per_span: Option<f64>,
    /// Time that the recorder itself took, beside that of spans; `None`: an older recorder, or another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_time: Option<OwnTime>,
    /// Completed events survive the death of the process; `problems` says why not.
    pub crash_safe: Option<bool>,
    /// Length of the rolling window; `None`: everything is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_last_ns: Option<i64>,
}

/// Time of the recorder itself, measured as it passed, with its page faults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnTime {
    /// Threads that began to record.
    pub threads: u64,
    /// Their first and last moments in the recorder, of all together.
    pub threads_ns: u64,
    /// Time in which threads made longer rings, or waited for the writer, of all together.
    pub room_ns: u64,
    /// CPU time of the writer's thread.
    pub writer_cpu_ns: Option<u64>,
}

/// Counters of the CPU that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Perf {
    /// Events in the order asked for.
    pub events: Vec<PerfEvent>,
    /// Cost to a thread of reading them at both ends of a brick, beside the rows; null: none is counted.
    pub cost_ns_per_brick: Option<f64>,
}

/// One counter of the CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerfEvent {
    /// `counters.name` of its rows.
    pub name: String,
    /// `counted`, `not on all threads` or `not available`.
    pub state: String,
    /// Reason why it is not counted.
    pub reason: Option<String>,
    /// Readings of a counter that ran all the time.
    pub measured: u64,
    /// Readings that were scaled, as events shared a counter; their `source` is `computed`.
    pub scaled: u64,
    /// Bricks for which the counter never ran: they have no row.
    pub not_counted: u64,
}

/// Size of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    /// Rows in segments.
    pub rows: u64,
    /// Files.
    pub segments: u64,
    /// Their length together.
    pub bytes: u64,
    /// Rows not kept.
    pub dropped: u64,
    /// The names that most of them had; rows of others, and rows without a name, are in `dropped` alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped_names: BTreeMap<String, u64>,
    /// Rows that were written and could not be recovered; they are in no segment.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Rows that left a rolling window. None of them is lost.
    #[serde(skip_serializing_if = "is_zero")]
    pub discarded: u64,
}

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_says_how_much_of_the_recording_it_is() {
        let mut kept = Kept {
            last_ns: 30_000_000_000,
            from_ns: 690_000_000_000,
            recorded_ns: 720_000_000_000,
            discarded: 12,
            max_bytes: None,
        };
        let text = "the last 30 s of 12 min: 12 earlier rows were discarded on request";
        assert_eq!(kept.text(), text);
        kept.from_ns += 17_500_000_000;
        kept.max_bytes = Some(64 << 20);
        kept.discarded = 1;
        assert_eq!(
            kept.text(),
            "the last 12.5 s of 12 min: 1 earlier row was discarded on request (the last 30 s were asked for, and take more \
             than 64 MiB)"
        );
        kept.from_ns = 0;
        kept.recorded_ns = 250_000_000;
        let text = "all 250 ms of the recording, which keeps the last 30 s";
        assert_eq!(kept.text(), text);
    }
}
