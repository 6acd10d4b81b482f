//! Dumps of PyTorch's Flight Recorder: what each rank knew of its last collectives.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use trueno_analysis::collectives::Recorded;
use trueno_plugin::rank::of_place;
use trueno_plugin::{Result, Run, Table, TableBuilder, table_row};

use crate::inputs::FLIGHT;

table_row! {
    pub struct InstantRow<'a> {
        pub rank: u64,
        pub name: &'a str,
        pub time_ns: i64,
        pub arguments: &'a str,
    }
}

/// An instant of a dump as recorded.
struct Instant {
    rank: u32,
    name: String,
    time_ns: i64,
    arguments: String,
}

#[derive(Default)]
pub struct Instants(Vec<Instant>);

impl Instants {
    /// Reads the instants of a run.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn recorded(run: &mut Run) -> Result<Self> {
        let table = run.table(FLIGHT.name())?;
        if table.rows() == 0 {
            return Ok(Self::default());
        }
        let (names, threads) = (table.text("name")?, table.i64("thread")?);
        let (times, arguments) = (table.i64("time_ns")?, table.text("arguments")?);
        let instant = |row: usize| {
            Some(Instant {
                rank: u32::try_from(of_place(threads.get(row).unwrap_or(0)).0).ok()?,
                name: names.get(row)?.to_owned(),
                time_ns: times.get(row)?,
                arguments: arguments.get(row)?.to_owned(),
            })
        };
        Ok(Self((0..table.rows()).filter_map(instant).collect()))
    }

    /// Reads the instants of parts of ranks.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn merged(run: &mut Run) -> Result<Self> {
        let mut all = Vec::new();
        for row in run.table(FLIGHT.name())?.read::<InstantRow>()? {
            let row = row?;
            all.push(Instant {
                rank: u32::try_from(row.rank).unwrap_or(u32::MAX),
                name: row.name.to_owned(),
                time_ns: row.time_ns,
                arguments: row.arguments.to_owned(),
            });
        }
        Ok(Self(all))
    }

    pub fn table(&self) -> TableBuilder {
        let rows = self.0.iter().map(|of| InstantRow {
            rank: u64::from(of.rank),
            name: &of.name,
            time_ns: of.time_ns,
            arguments: &of.arguments,
        });
        Table::build("flight").rows(rows)
    }
}

/// Name and ranks of a process group. Groups of different ranks may have the same name.
pub type GroupKey = (String, Vec<u32>);

#[derive(Debug, Default)]
pub struct Group {
    pub description: String,
    /// Whether the dumps state its ranks. Otherwise they are those that used it.
    pub is_stated: bool,
    /// By rank: its collectives in the order of their numbers.
    pub collectives: BTreeMap<u32, BTreeMap<u64, Vec<Operation>>>,
    pub sends: Vec<(u32, Operation)>,
    /// The last number that a rank scheduled, as far as it is known.
    pub last_scheduled: BTreeMap<u32, u64>,
    pub last_completed: BTreeMap<u32, u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    pub name: String,
    pub number: u64,
    pub scheduled_ns: i64,
    pub is_completed: bool,
    /// PyTorch gave up waiting for it.
    pub timed_out: bool,
    pub timeout_ms: Option<i64>,
    pub place: Option<String>,
    pub input: Tensors,
    pub output: Tensors,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tensors {
    pub sizes: Vec<Vec<i64>>,
    pub dtypes: Vec<String>,
}

impl Tensors {
    /// `None` if a size is impossible.
    pub fn elements(&self) -> Option<u64> {
        let of_one = |sizes: &Vec<i64>| {
            let mut sizes = sizes.iter().map(|size| u64::try_from(*size).ok());
            sizes.try_fold(1_u64, |product, size| product.checked_mul(size?))
        };
        let mut all = self.sizes.iter().map(of_one);
        all.try_fold(0_u64, |sum, of_one| sum.checked_add(of_one?))
    }

    /// `3×4 Float`.
    pub fn text(&self) -> String {
        let one = |sizes: &Vec<i64>| {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            sizes.join("×")
        };
        let sizes: Vec<String> = self.sizes.iter().take(3).map(one).collect();
        let more = if self.sizes.len() > 3 { ", …" } else { "" };
        let dtypes: BTreeSet<&str> = self.dtypes.iter().map(String::as_str).collect();
        let dtypes: Vec<&str> = dtypes.into_iter().collect();
        format!("{}{more} {}", sizes.join(", "), dtypes.join(", "))
            .trim()
            .to_owned()
    }
}

#[derive(Debug, Default)]
pub struct Dumps {
    pub groups: BTreeMap<GroupKey, Group>,
    /// Ranks with a dump, and the latest time in each.
    pub ranks: BTreeMap<u32, i64>,
    /// Whether the number of each rank is known: of a single file it is not.
    pub is_job: bool,
    pub operations: u64,
    /// Whether any of them completed. Otherwise the dumps may hold those alone that did not (`onlyActive`).
    pub has_completed: bool,
}

#[derive(Deserialize)]
struct EntryArguments {
    collective_seq_id: u64,
    #[serde(default)]
    p2p_seq_id: u64,
    process_group: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    is_p2p: bool,
    #[serde(default)]
    state: String,
    completed_after_ns: Option<i64>,
    timeout_ms: Option<i64>,
    #[serde(default)]
    retired: bool,
    #[serde(default)]
    input_sizes: Vec<Vec<i64>>,
    #[serde(default)]
    input_dtypes: Vec<String>,
    #[serde(default)]
    output_sizes: Vec<Vec<i64>>,
    #[serde(default)]
    output_dtypes: Vec<String>,
    place: Option<String>,
}

#[derive(Deserialize)]
struct GroupArguments {
    process_group: String,
    #[serde(default)]
    description: String,
    ranks: Option<Vec<u32>>,
    last_enqueued: Option<u64>,
    last_completed: Option<u64>,
}

impl Dumps {
    pub fn new(instants: &Instants, job: &Recorded) -> Self {
        let mut out = Self {
            is_job: job.ranks.len() > 1,
            ..Self::default()
        };
        let mut groups: Vec<(u32, GroupArguments)> = Vec::new();
        let mut entries: Vec<(u32, EntryArguments, &Instant)> = Vec::new();
        for instant in &instants.0 {
            let (rank, text) = (instant.rank, instant.arguments.as_str());
            let latest_ns = out.ranks.entry(rank).or_insert(instant.time_ns);
            *latest_ns = (*latest_ns).max(instant.time_ns);
            if let Ok(entry) = serde_json::from_str(text) {
                entries.push((rank, entry, instant));
            } else if let Ok(group) = serde_json::from_str(text) {
                groups.push((rank, group));
            }
        }
        // Ranks of groups by rank and name. Those that no dump states are those that used the name.
        let mut members: BTreeMap<(u32, &str), Vec<u32>> = BTreeMap::new();
        let mut users: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for (rank, group) in &groups {
            if let Some(ranks) = &group.ranks {
                let mut ranks = ranks.clone();
                ranks.sort_unstable();
                members.insert((*rank, &group.process_group), ranks);
            }
        }
        for (rank, entry, _) in &entries {
            if !members.contains_key(&(*rank, entry.process_group.as_str())) {
                users.entry(&entry.process_group).or_default().insert(*rank);
            }
        }
        let key = |rank: u32, name: &str| -> (GroupKey, bool) {
            match members.get(&(rank, name)) {
                Some(ranks) => ((name.to_owned(), ranks.clone()), true),
                None => {
                    let ranks = users.get(name).into_iter().flatten().copied();
                    ((name.to_owned(), ranks.collect()), false)
                }
            }
        };
        let mut all: BTreeMap<GroupKey, Group> = BTreeMap::new();
        for (rank, of, instant) in &entries {
            let (key, is_stated) = key(*rank, &of.process_group);
            let group = all.entry(key).or_default();
            group.is_stated = is_stated;
            group.description.clone_from(&of.description);
            out.operations += 1;
            let is_completed = of.completed_after_ns.is_some() || of.state == "completed";
            out.has_completed |= is_completed;
            let operation = Operation {
                name: short(&instant.name).to_owned(),
                number: if of.is_p2p {
                    of.p2p_seq_id
                } else {
                    of.collective_seq_id
                },
                scheduled_ns: instant.time_ns,
                is_completed,
                timed_out: of.retired && !is_completed,
                timeout_ms: of.timeout_ms,
                place: of.place.clone(),
                input: Tensors {
                    sizes: of.input_sizes.clone(),
                    dtypes: of.input_dtypes.clone(),
                },
                output: Tensors {
                    sizes: of.output_sizes.clone(),
                    dtypes: of.output_dtypes.clone(),
                },
            };
            if of.is_p2p {
                group.sends.push((*rank, operation));
                continue;
            }
            let number = operation.number;
            let last = group.last_scheduled.entry(*rank).or_insert(number);
            *last = (*last).max(number);
            if is_completed {
                let last = group.last_completed.entry(*rank).or_insert(number);
                *last = (*last).max(number);
            }
            let of_rank = group.collectives.entry(*rank).or_default();
            of_rank.entry(number).or_default().push(operation);
        }
        for (rank, of) in &groups {
            let (key, is_stated) = key(*rank, &of.process_group);
            if key.1.is_empty() {
                continue;
            }
            let group = all.entry(key).or_default();
            group.is_stated = is_stated;
            if group.description.is_empty() {
                group.description.clone_from(&of.description);
            }
            // The status counts sends and collectives alike.
            if !group.sends.is_empty() {
                continue;
            }
            for (last, of) in [
                (&mut group.last_scheduled, of.last_enqueued),
                (&mut group.last_completed, of.last_completed),
            ] {
                if let Some(number) = of {
                    let known = last.entry(*rank).or_insert(number);
                    *known = (*known).max(number);
                }
            }
        }
        out.groups = all;
        out
    }

    pub fn latest_ns(&self) -> i64 {
        self.ranks.values().copied().max().unwrap_or(0)
    }
}

/// `nccl:_all_gather_base` as `all_gather_base`.
fn short(name: &str) -> &str {
    let name = name.split_once(':').map_or(name, |(_, name)| name);
    name.strip_prefix('_').unwrap_or(name)
}
