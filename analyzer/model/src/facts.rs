//! Facts of a run: its own word, and what was found when it was opened.

use std::collections::BTreeMap;

use serde::Serialize;
use trueno_format::run_json::{ImportRecord, Joined};
use trueno_format::schema;

/// State of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Being written, or its writer ended without saying so.
    Recording,
    /// The recorder finished and sealed everything.
    Finished,
    /// The writer stopped early, and said so.
    Failed,
    /// The process ended without finishing; what it had left was put in order afterwards.
    Recovered,
    /// `run.json` is missing or cannot be read.
    Unknown,
}

impl RunState {
    /// The lower-case word used in tables and JSON.
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

/// Source of a wall time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WallSource {
    /// The recorder measured it, from "ready" to `finish()`.
    Recorded,
    /// End of the last interval that could be read.
    LastEvent,
    /// There is neither.
    None,
}

impl WallSource {
    /// The word used in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            WallSource::Recorded => "recorded",
            WallSource::LastEvent => "last_event",
            WallSource::None => "none",
        }
    }
}

/// The machine, as far as the recorder could tell. `None`: not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostFacts {
    pub name: Option<String>,
    pub os: Option<String>,
    pub kernel: Option<String>,
    pub arch: Option<String>,
    pub cpu_model: Option<String>,
    pub logical_cpus: Option<u64>,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
    pub cpu_features: Option<Vec<String>>,
}

/// The program that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramFacts {
    /// Its command line.
    pub argv: Vec<String>,
    /// Its process id.
    pub pid: Option<u32>,
}

/// The recorder's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClockFacts {
    /// `tsc`, `monotonic` or `cntvct`.
    pub source: Option<String>,
    /// Ticks a second of a counter; `None` where the clock counts nanoseconds or it is not known.
    pub ticks_per_second: Option<f64>,
    /// Smallest step between successive readings, nanoseconds, measured by the recorder.
    pub resolution_ns: Option<f64>,
    /// Time 0 of the run, nanoseconds since the Unix epoch.
    pub origin_realtime_ns: Option<i64>,
}

/// One table of a run, as found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableFacts {
    /// Name of the table.
    pub name: String,
    /// Rows that can be read.
    pub rows_read: u64,
    /// Rows the recorder wrote, as far as journal or `run.json` tell.
    pub rows_expected: Option<u64>,
    /// Rows that were written and cannot be read; `None`: not known.
    pub rows_lost: Option<u64>,
    /// Size of the segment files, bytes.
    pub bytes: u64,
    /// Number of segments, those that are lost included.
    pub segments: u64,
    /// Rows the recorder dropped, as `run.json` says; `None`: not known.
    pub dropped: Option<u64>,
}

/// Everything about a run that is not a table of events.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFacts {
    /// Identity given by the recorder.
    pub run_id: Option<String>,
    /// Label given by the program.
    pub label: Option<String>,
    /// Name of the run directory.
    #[serde(skip)]
    pub directory: Option<String>,
    /// State of the recording.
    pub state: RunState,
    /// Tells whether the recorder ended as it should: finished, with nothing left open.
    pub clean_end: bool,
    /// Finished or recovered, nothing dropped, nothing left open, nothing lost, every segment verified;
    /// `None`: nothing speaks against it, but how many rows were dropped is not known.
    pub complete: Option<bool>,
    /// Wall time of the run, nanoseconds; see `wall_source`.
    pub wall_ns: Option<i64>,
    /// Source of `wall_ns`.
    pub wall_source: WallSource,
    /// Rows dropped at recording, all tables; `None`: not known.
    pub dropped: Option<u64>,
    /// Rows that were still open when the recording ended, and are in no table.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u64,
    /// Rows that can be read, all tables.
    pub rows: u64,
    /// Rows known to have been written that cannot be read, all tables.
    pub rows_lost: u64,
    /// Minor version of the format; `None`: not known.
    pub format_minor: Option<u32>,
    /// Name and version of the writer.
    pub producer: Option<String>,
    pub host: HostFacts,
    pub program: ProgramFacts,
    pub clock: ClockFacts,
    /// Cost of one span to the program, measured by the recorder, nanoseconds.
    pub cost_ns_per_span: Option<f64>,
    /// Tables with rows, losses or drops: those of the format first, in its order, then others by name.
    pub tables: Vec<TableFacts>,
    /// Metadata the program gave.
    pub values: BTreeMap<String, String>,
    /// What the imports of an imported run could not use: one entry for a run, one for each imported rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<ImportRecord>,
    /// Measurements of other tools, added afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Joined>,
    /// The ranks that could be opened, where the run holds ranks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFacts>,
}

impl RunFacts {
    /// The label, else the name of the run directory.
    pub fn title(&self) -> &str {
        let label = self.label.as_deref().filter(|label| !label.is_empty());
        let named = label.or(self.directory.as_deref());
        named.or(self.run_id.as_deref()).unwrap_or("run")
    }

    /// Rows of what the program did, all tables.
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

    /// Rows of the tables of intervals: what the cost of one is multiplied with.
    pub fn intervals(&self) -> u64 {
        let is_interval = |table: &&TableFacts| {
            schema::table(&table.name).is_some_and(schema::Table::is_interval)
        };
        let tables = self.tables.iter().filter(is_interval);
        tables
            .map(|table| table.rows_read)
            .fold(0, u64::saturating_add)
    }

    /// True if there is a table of which it is not known how many rows were lost: [`RunFacts::rows_lost`] are at least
    /// those.
    pub fn lost_uncounted(&self) -> bool {
        self.tables.iter().any(|table| table.rows_lost.is_none())
    }
}

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}

/// One rank of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankFacts {
    pub rank: u32,
    /// Identity given by its recorder.
    pub run_id: Option<String>,
    /// Label given by its program.
    pub label: Option<String>,
    /// State of its recording.
    pub state: RunState,
    /// Tells whether it is complete by itself; `None`: not known.
    pub complete: Option<bool>,
    /// Its time 0 on the timeline of the whole, nanoseconds.
    pub offset_ns: i64,
    /// Its time 0, nanoseconds since the Unix epoch; `None`: not known, and `offset_ns` a guess.
    pub origin_realtime_ns: Option<i64>,
    /// Its wall time, nanoseconds.
    pub wall_ns: Option<i64>,
    /// Its rows that can be read.
    pub rows: u64,
    /// Rows dropped when it was recorded; `None`: not known.
    pub dropped: Option<u64>,
    pub host_name: Option<String>,
    /// Its place among the groups of a hybrid-parallel job, as its recorder states it.
    #[serde(skip_serializing_if = "Coordinates::is_empty")]
    pub coordinates: Coordinates,
}

/// Place of a rank in a hybrid-parallel job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coordinates {
    /// Pipeline stage.
    pub pipeline: Option<u64>,
    /// Among the ranks that have the same part of the model.
    pub data: Option<u64>,
    /// Among the ranks that share each layer.
    pub tensor: Option<u64>,
}

impl Coordinates {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
