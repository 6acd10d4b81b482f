//! Tables and columns of an export, under all the names they have had.

use super::source::{Scan, Source, Times};
use crate::Notes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nvtx,
    Api,
    OsCall,
    Kernel,
    Memcpy,
    Memset,
    Sync,
    Event,
    Memory,
    Metric,
    Sample,
    Frame,
    Switch,
}

/// A group of columns, each with its alternative names.
type Columns = &'static [&'static [&'static str]];

const TIMES: Columns = &[&["start"], &["end"]];

/// A supported table, with its columns in the order in which the modules read them.
pub struct Known {
    kind: Kind,
    name: &'static str,
    /// What the run lacks without this table.
    gives: &'static str,
    /// Column groups, each column with its names, newest first. The first two columns are start and end.
    columns: &'static [Columns],
    /// Further columns, which only newer exports have. Nothing is reported if they are missing.
    newer: Columns,
}

/// Host tables. Ranges come first, so that on equal starts they precede what they enclose.
pub const HOST: [Known; 4] = [
    Known {
        kind: Kind::Nvtx,
        name: "NVTX_EVENTS",
        gives: "bricks",
        columns: &[
            TIMES,
            &[
                &["globalTid"],
                &["eventType"],
                &["text"],
                &["textId"],
                &["endGlobalTid"],
            ],
        ],
        newer: PAYLOAD,
    },
    Known {
        kind: Kind::Api,
        name: "CUPTI_ACTIVITY_KIND_RUNTIME",
        gives: "calls of CUDA, and what links kernels to their launches",
        columns: API,
        newer: &[],
    },
    Known {
        kind: Kind::Api,
        name: "CUPTI_ACTIVITY_KIND_DRIVER",
        gives: "",
        columns: API,
        newer: &[],
    },
    Known {
        kind: Kind::OsCall,
        name: "OSRT_API",
        gives: "",
        columns: &[TIMES, &[&["globalTid"], &["nameId"], &["returnValue"]]],
        newer: &[],
    },
];

/// Value of an NVTX range or mark, in one of these columns; several values come as JSON or as bytes.
const PAYLOAD: Columns = &[
    &["uint64Value"],
    &["int64Value"],
    &["doubleValue"],
    &["uint32Value"],
    &["int32Value"],
    &["floatValue"],
    &["jsonText"],
    &["jsonTextId"],
    &["binaryData"],
];

const API: &[Columns] = &[
    TIMES,
    &[
        &["globalTid"],
        &["nameId"],
        &["returnValue"],
        &["correlationId"],
    ],
];

/// Process, device and launch of device work.
const PLACE: Columns = &[
    &["deviceId"],
    &["contextId"],
    &["streamId"],
    &["correlationId"],
    &["globalPid"],
];

pub const DEVICE: [Known; 7] = [
    Known {
        kind: Kind::Kernel,
        name: "CUPTI_ACTIVITY_KIND_KERNEL",
        gives: "kernels",
        columns: &[
            TIMES,
            PLACE,
            &[
                &["demangledName", "shortName", "mangledName"],
                &["gridX"],
                &["gridY"],
                &["gridZ"],
                &["blockX"],
                &["blockY"],
                &["blockZ"],
                &["registersPerThread"],
                &["staticSharedMemory"],
                &["dynamicSharedMemory"],
                &["graphNodeId"],
            ],
        ],
        newer: &[],
    },
    Known {
        kind: Kind::Memcpy,
        name: "CUPTI_ACTIVITY_KIND_MEMCPY",
        gives: "copies",
        columns: &[
            TIMES,
            PLACE,
            &[&["bytes"], &["copyKind"], &["srcKind"], &["dstKind"]],
        ],
        newer: &[&["migrationCause"]],
    },
    Known {
        kind: Kind::Memset,
        name: "CUPTI_ACTIVITY_KIND_MEMSET",
        gives: "",
        columns: &[TIMES, PLACE, &[&["bytes"], &["memKind"]]],
        newer: &[],
    },
    Known {
        kind: Kind::Sync,
        name: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        gives: "waits for the device",
        columns: &[TIMES, PLACE, &[&["syncType"], &["eventId"]]],
        newer: &[&["eventSyncId"]],
    },
    Known {
        kind: Kind::Event,
        name: "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
        gives: "",
        columns: &[
            &[&["timestamp", "deviceTimestamp"], &[]],
            PLACE,
            &[&["eventId"]],
        ],
        newer: &[&["eventSyncId"]],
    },
    Known {
        kind: Kind::Memory,
        name: "CUDA_GPU_MEMORY_USAGE_EVENTS",
        gives: "",
        columns: &[
            // No stream: memory belongs to none.
            &[
                &["start"],
                &[],
                &["deviceId"],
                &["contextId"],
                &[],
                &["correlationId"],
                &["globalPid"],
            ],
            &[
                &["bytes"],
                &["memKind"],
                &["memoryOperationType"],
                &["address"],
                &["name"],
            ],
        ],
        newer: &[],
    },
    Known {
        kind: Kind::Metric,
        name: "GPU_METRICS",
        gives: "",
        columns: &[&[&["timestamp"], &[], &["typeId"], &["metricId"], &["value"]]],
        newer: &[],
    },
];

/// CPU samples, and the functions that were on the stack at each.
pub const SAMPLES: [Known; 2] = [
    Known {
        kind: Kind::Sample,
        name: "COMPOSITE_EVENTS",
        gives: "",
        columns: &[&[
            &["start"],
            &[],
            &["globalTid"],
            &["id"],
            &["cpu"],
            &["threadState"],
        ]],
        newer: &[],
    },
    Known {
        kind: Kind::Frame,
        name: "SAMPLING_CALLCHAINS",
        gives: "",
        columns: &[&[
            &["id"],
            &["stackDepth"],
            &["symbol"],
            &["module"],
            &["unresolved"],
            &["originalIP"],
            &["kernelMode"],
            &["specialEntry"],
        ]],
        newer: &[],
    },
];

/// Context switches of threads.
pub const SWITCHES: [Known; 1] = [Known {
    kind: Kind::Switch,
    name: "SCHED_EVENTS",
    gives: "",
    columns: &[&[&["start"], &[], &["globalTid"], &["isSchedIn"]]],
    newer: &[],
}];

const ABOUT: [&str; 9] = [
    "ENUM_",
    "NVTX_PAYLOAD_",
    "META_DATA_",
    "EXPORT_",
    "TARGET_INFO_",
    "ANALYSIS_",
    "StringIds",
    "Process",
    "Thread",
];
const READ_ELSEWHERE: [&str; 3] = ["PROCESSES", "DIAGNOSTIC_EVENT", "sqlite_sequence"];

#[derive(Clone, Debug)]
pub struct Found {
    pub kind: Kind,
    pub scan: Scan,
    /// Column and values of the rows that are activity. `None`: all rows are.
    pub activity: Option<(String, Vec<i64>)>,
}

/// The version of a known table: 1 without suffix, 3 with `_V3`. `None` if it is another table.
fn version(known: &str, name: &str) -> Option<u32> {
    match name.strip_prefix(known)? {
        "" => Some(1),
        suffix => suffix.strip_prefix("_V")?.parse().ok(),
    }
}

/// The actual name of a known table: the plain name if it has rows, else the newest version with rows. Usually an
/// export has only one of them.
pub fn present(known: &str, source: &dyn Source) -> Option<String> {
    let tables = source.tables().into_iter();
    let versions = tables.filter_map(|name| Some((version(known, &name)?, name)));
    let best =
        versions.max_by_key(|(version, name)| (source.rows(name) > 0, *version == 1, *version));
    best.map(|(_, name)| name)
}

impl Found {
    pub fn table(&self) -> &str {
        &self.scan.table
    }

    /// The columns with the times of activity. `None` if the table has no start.
    pub fn times(&self) -> Option<Times<'_>> {
        let column = |at: usize| self.scan.columns.get(at).and_then(Option::as_deref);
        let activity = self.activity.as_ref();
        Some(Times {
            start: column(0)?,
            end: column(1),
            only: activity.map(|(column, numbers)| (&**column, &**numbers)),
        })
    }
}

/// The supported tables that exist, with the names of their columns. Missing ones are noted, all in one line each.
pub fn resolve(known: &[Known], source: &dyn Source, notes: &mut Notes) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut missing, mut incomplete) = (Vec::new(), Vec::new());
    for table in known {
        let name = present(table.name, source);
        let there = name.as_deref().and_then(|name| source.columns(name));
        let (Some(name), Some(there)) = (&name, there) else {
            if !table.gives.is_empty() {
                missing.push(format!("no table {}: no {}", table.name, table.gives));
            }
            continue;
        };
        let (mut columns, mut absent) = (Vec::new(), Vec::new());
        let known = table.columns.iter().copied().flatten();
        for (at, names) in known.chain(table.newer).enumerate() {
            let column = names.iter().find(|name| there.iter().any(|c| c == *name));
            let is_new = at >= table.columns.iter().map(|group| group.len()).sum();
            if let (None, Some(expected), false) = (column, names.first(), is_new) {
                absent.push(*expected);
            }
            columns.push(column.map(|column| (*column).to_owned()));
        }
        if !absent.is_empty() {
            incomplete.push(format!("{name} has no {}", absent.join(", ")));
        }
        let (kind, table) = (table.kind, name.clone());
        found.push(Found {
            kind,
            scan: Scan { table, columns },
            activity: None,
        });
    }
    if !missing.is_empty() {
        notes.warn(missing.join("; "));
    }
    if !incomplete.is_empty() {
        notes.warn(format!(
            "columns that other versions have are missing, and null: {}",
            incomplete.join("; ")
        ));
    }
    found
}

pub fn name_the_rest(source: &dyn Source, read: &[Found], notes: &mut Notes) {
    for table in source.tables() {
        let is_read = read.iter().any(|found| found.table() == table)
            || READ_ELSEWHERE.contains(&table.as_str())
            || ABOUT.iter().any(|prefix| table.starts_with(prefix));
        let rows = source.rows(&table);
        if is_read || rows == 0 {
            continue;
        }
        let mut known = HOST.iter().chain(&DEVICE).chain(&SAMPLES).chain(&SWITCHES);
        if let Some(known) = known.find(|known| version(known.name, &table).is_some()) {
            let reason = format!("table {table}: another version of {} was read", known.name);
            notes.left_out.insert(reason, rows);
        } else {
            notes.skip_many(&format!("table {table}: has no place in a run"), rows);
        }
    }
}

pub fn earliest<'t>(
    source: &mut dyn Source,
    tables: impl Iterator<Item = &'t Found>,
) -> Result<(Option<i64>, Vec<String>), crate::Error> {
    let mut earliest: Option<i64> = None;
    let mut all_damage = Vec::new();
    for found in tables {
        // Devices are sampled from before the program began until after it ended.
        if found.kind == Kind::Metric {
            continue;
        }
        let Some(times) = found.times() else {
            continue;
        };
        // Also where only some rows count: it recovers a damaged table.
        let (mut first, damage) = source.earliest(found.table(), times.start, times.end)?;
        all_damage.extend(damage);
        if times.only.is_some() {
            first = None;
            let mut visit = |start_ns, _| first = first.into_iter().chain([start_ns]).min();
            all_damage.extend(source.times(found.table(), times, &mut visit)?);
        }
        // An event that was not reached has the time 0.
        let first = first.filter(|first| found.kind != Kind::Event || *first != 0);
        earliest = earliest.into_iter().chain(first).min();
    }
    Ok((earliest, all_damage))
}
