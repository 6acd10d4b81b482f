//! Facts of a run: its own word, and what was found when it was opened.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trueno_format::run_json::{ImportRecord, Joined};
use trueno_format::schema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Still being written, or the writer ended without a final state.
    Recording,
    Finished,
    /// The writer stopped early because of an error.
    Failed,
    /// The process ended without finishing. The files were repaired afterwards.
    Recovered,
    Unknown,
}

impl RunState {
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Recording => "recording",
            RunState::Finished => "finished",
            RunState::Failed => "failed",
            RunState::Recovered => "recovered",
            RunState::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WallSource {
    /// Measured by the recorder, from "ready" to `finish()`.
    Recorded,
    LastEvent,
    None,
}

impl WallSource {
    pub fn as_str(self) -> &'static str {
        match self {
            WallSource::Recorded => "recorded",
            WallSource::LastEvent => "last_event",
            WallSource::None => "none",
        }
    }
}

/// The machine; `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: Option<String>,
    pub os: Option<String>,
    pub kernel: Option<String>,
    pub arch: Option<String>,
    pub cpu_model: Option<String>,
    pub logical_cpus: Option<u64>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    pub cpu_features: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramFacts {
    pub argv: Vec<String>,
    pub pid: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// `tsc`, `monotonic` or `cntvct`.
    pub source: Option<String>,
    /// Frequency of a counter; `None` if the clock counts nanoseconds or the frequency is unknown.
    pub ticks_per_second: Option<f64>,
    /// Smallest step between readings in nanoseconds, measured by the recorder.
    pub resolution_ns: Option<f64>,
    /// Time 0 of the run in nanoseconds since the Unix epoch.
    pub origin_realtime_ns: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableFacts {
    pub name: String,
    pub rows_read: u64,
    /// Rows that the recorder wrote, from the journal or `run.json`.
    pub rows_expected: Option<u64>,
    /// Written rows that cannot be read; `None` if unknown.
    pub rows_lost: Option<u64>,
    pub bytes: u64,
    /// Includes lost segments.
    pub segments: u64,
    /// Rows that the recorder dropped, from `run.json`; `None` if unknown.
    pub dropped: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    pub run_id: Option<String>,
    pub label: Option<String>,
    #[serde(skip)]
    pub directory: Option<String>,
    pub state: RunState,
    /// The recorder finished, and left no row open.
    pub clean_end: bool,
    /// Finished or recovered, nothing dropped, open or lost, and every segment verified. `None` if nothing
    /// contradicts that, but the number of dropped rows is unknown.
    pub complete: Option<bool>,
    /// Wall time in nanoseconds; see `wall_source`.
    pub wall_ns: Option<i64>,
    pub wall_source: WallSource,
    /// Rows dropped during recording in all tables; `None` if unknown.
    pub dropped: Option<u64>,
    /// Rows that were open when the recording ended. They are in no table.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Readable rows in all tables.
    pub rows: u64,
    /// Written rows that cannot be read, in all tables.
    pub rows_lost: u64,
    pub format_minor: Option<u32>,
    pub producer: Option<String>,
    pub host: HostFacts,
    pub program: ProgramFacts,
    pub clock: ClockFacts,
    /// Cost of one span to the program in nanoseconds, measured by the recorder.
    pub cost_ns_per_span: Option<f64>,
    /// Time that the recorder took on the program's threads beside spans, measured by the recorder, nanoseconds.
    #[serde(skip)]
    pub recorder_ns: Option<u64>,
    /// CPU time of the recorder's own thread, nanoseconds.
    #[serde(skip)]
    pub recorder_cpu_ns: Option<u64>,
    /// Tables with rows, losses or drops: first those of the format in its order, then others by name.
    pub tables: Vec<TableFacts>,
    pub values: BTreeMap<String, String>,
    /// What imports could not use: one entry for a run, or one for each imported rank.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<ImportRecord>,
    /// Measurements of other tools that were added later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Joined>,
    /// Ranks that could be opened, if the run is a job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFacts>,
}

impl RunFacts {
    /// The label, else the name of the run directory, else the id.
    pub fn title(&self) -> &str {
        let label = self.label.as_deref().filter(|label| !label.is_empty());
        let named = label.or(self.directory.as_deref());
        named.or(self.run_id.as_deref()).unwrap_or("run")
    }

    pub fn events(&self) -> u64 {
        let is_event =
            |table: &&TableFacts| schema::table(&table.name).is_none_or(schema::Table::is_event);
        let tables = self.tables.iter().filter(is_event);
        tables
            .map(|table| table.rows_read)
            .fold(0, u64::saturating_add)
    }

    /// Records of the program's work that imports left out.
    pub fn import_lost(&self) -> u64 {
        let counts = self.imports.iter().flat_map(|import| import.lost.values());
        counts.copied().fold(0, u64::saturating_add)
    }

    /// Rows in interval tables, to be multiplied by the cost of a span.
    pub fn intervals(&self) -> u64 {
        let is_interval = |table: &&TableFacts| {
            schema::table(&table.name).is_some_and(schema::Table::is_interval)
        };
        let tables = self.tables.iter().filter(is_interval);
        tables
            .map(|table| table.rows_read)
            .fold(0, u64::saturating_add)
    }

    /// Whether the number of lost rows is unknown for some table. [`RunFacts::rows_lost`] is a lower bound
    /// then.
    pub fn lost_uncounted(&self) -> bool {
        self.tables.iter().any(|table| table.rows_lost.is_none())
    }
}

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}

/// One rank of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankFacts {
    pub rank: u32,
    pub run_id: Option<String>,
    pub label: Option<String>,
    pub state: RunState,
    /// Whether it is complete on its own; `None` if unknown.
    pub complete: Option<bool>,
    /// Its time 0 on the job's timeline, in nanoseconds.
    pub offset_ns: i64,
    /// Its time 0 in nanoseconds since the Unix epoch. `None` if unknown; `offset_ns` is then a guess.
    pub origin_realtime_ns: Option<i64>,
    /// In nanoseconds.
    pub wall_ns: Option<i64>,
    pub rows: u64,
    pub dropped: Option<u64>,
    pub host_name: Option<String>,
    #[serde(default, skip_serializing_if = "Coordinates::is_empty")]
    pub coordinates: Coordinates,
}

/// Position of a rank in a hybrid-parallel job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinates {
    pub pipeline: Option<u64>,
    /// Index among the ranks with the same part of the model.
    pub data: Option<u64>,
    /// Index among the ranks that share each layer.
    pub tensor: Option<u64>,
}

impl Coordinates {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
