//! The facts of the whole, from those of its ranks.
//!
//! | fact | of the whole |
//! | --- | --- |
//! | wall | from the first start to the last end on the common timeline; recorded only if that of every rank is |
//! | rows, lost, bytes, segments | summed |
//! | dropped | summed; not known if that of one rank is not |
//! | complete | if all ranks are there and are so; not known if that of one rank is not |
//! | clean end | if that of all ranks that are there is |
//! | state | the worst: unknown, failed, recording, recovered, finished |
//! | cost of a span | mean over the spans of all ranks; not known if that of one rank is not |
//! | clock's resolution | the coarsest |
//! | label, host, program, values | what all agree in; texts that differ are listed |
//! | run id | hash of the ids of the ranks |

use std::collections::{BTreeMap, BTreeSet, HashSet};

use trueno_format::schema;
use trueno_model::{
    ClockFacts, Coordinates, HostFacts, ProgramFacts, RankFacts, RunFacts, RunState, TableFacts,
    WallSource,
};
use xxhash_rust::xxh3::xxh3_64;

use super::ranks::Member;

/// Value of imported traces with the number of ranks of the job.
const WORLD_SIZE: &str = "trace.distributedInfo.world_size";
const MAX_LISTED: usize = 3;

/// Missing ranks: those below the largest, those below the world size of a trace, and those listed in the folder's
/// own `run.json`.
pub(super) fn missing(members: &[Member], lost: &[u32], expected: &BTreeSet<u32>) -> Vec<u32> {
    let there: BTreeSet<u32> = members
        .iter()
        .map(|member| member.rank)
        .chain(lost.iter().copied())
        .collect();
    let sizes = members.iter().filter_map(|member| {
        let size = member.run.facts().values.get(WORLD_SIZE)?;
        size.parse::<u32>().ok().filter(|size| *size <= 1 << 16)
    });
    let last = there.last().map_or(0, |last| last + 1);
    let size = sizes.chain([last]).max().unwrap_or(0);
    let all: BTreeSet<u32> = (0..size).chain(expected.iter().copied()).collect();
    all.difference(&there).copied().collect()
}

/// Combines the facts of the ranks. `is_whole` if none is missing.
pub(super) fn combine(members: &[Member], is_whole: bool) -> RunFacts {
    let all: Vec<&RunFacts> = members.iter().map(|member| member.run.facts()).collect();
    let left_out = |member: &Member| {
        member
            .beyond
            .rows
            .values()
            .copied()
            .fold(0, u64::saturating_add)
    };
    let lost = members.iter().map(left_out).fold(0, u64::saturating_add);
    let tables = tables(members);
    let (wall_ns, wall_source) = wall(members);
    let texts = |of: &dyn Fn(&RunFacts) -> Option<String>| listed(all.iter().map(|f| of(f)));
    let ids: Vec<&str> = all.iter().filter_map(|f| f.run_id.as_deref()).collect();
    RunFacts {
        run_id: Some(format!("{:016x}", xxh3_64(ids.join(" ").as_bytes()))),
        label: texts(&|facts| facts.label.clone()),
        directory: None,
        state: state(&all),
        clean_end: all.iter().all(|facts| facts.clean_end),
        complete: complete(&all, is_whole && lost == 0),
        wall_ns,
        wall_source,
        dropped: all
            .iter()
            .try_fold(0_u64, |sum, facts| Some(sum.saturating_add(facts.dropped?))),
        open: all.iter().map(|f| f.open).fold(0, u64::saturating_add),
        rows: tables
            .iter()
            .map(|table| table.rows_read)
            .fold(0, u64::saturating_add),
        rows_lost: all
            .iter()
            .map(|f| f.rows_lost)
            .fold(lost, u64::saturating_add),
        format_minor: all.iter().filter_map(|facts| facts.format_minor).max(),
        producer: texts(&|facts| facts.producer.clone()),
        host: HostFacts {
            name: texts(&|facts| facts.host.name.clone()),
            os: texts(&|facts| facts.host.os.clone()),
            kernel: texts(&|facts| facts.host.kernel.clone()),
            arch: texts(&|facts| facts.host.arch.clone()),
            cpu_model: texts(&|facts| facts.host.cpu_model.clone()),
            logical_cpus: common(all.iter().map(|facts| facts.host.logical_cpus)),
            memory_bytes: common(all.iter().map(|facts| facts.host.memory_bytes)),
            cpu_features: common(all.iter().map(|facts| facts.host.cpu_features.clone())),
        },
        program: ProgramFacts {
            argv: common(all.iter().map(|f| Some(f.program.argv.clone()))).unwrap_or_default(),
            pid: common(all.iter().map(|facts| facts.program.pid)),
        },
        clock: ClockFacts {
            source: texts(&|facts| facts.clock.source.clone()),
            ticks_per_second: common(all.iter().map(|facts| facts.clock.ticks_per_second)),
            resolution_ns: all
                .iter()
                .try_fold(0.0, |most, f| Some(f64::max(most, f.clock.resolution_ns?))),
            origin_realtime_ns: all
                .iter()
                .filter_map(|facts| facts.clock.origin_realtime_ns)
                .min(),
        },
        cost_ns_per_span: cost(&all),
        recorder_ns: sum(all.iter().map(|facts| facts.recorder_ns)),
        recorder_cpu_ns: sum(all.iter().map(|facts| facts.recorder_cpu_ns)),
        tables,
        values: values(&all),
        imports: all.iter().flat_map(|facts| facts.imports.clone()).collect(),
        joined: all.iter().flat_map(|facts| facts.joined.clone()).collect(),
        ranks: members.iter().map(rank).collect(),
    }
}

fn complete(all: &[&RunFacts], is_whole: bool) -> Option<bool> {
    let is_lacking = all.iter().any(|facts| facts.complete == Some(false));
    if !is_whole || is_lacking {
        return Some(false);
    }
    all.iter().try_fold(true, |_, facts| facts.complete)
}

fn rank(member: &Member) -> RankFacts {
    let facts = member.run.facts();
    RankFacts {
        rank: member.rank,
        run_id: facts.run_id.clone(),
        label: facts.label.clone(),
        state: facts.state,
        complete: facts.complete,
        offset_ns: member.offset_ns,
        origin_realtime_ns: facts.clock.origin_realtime_ns,
        wall_ns: facts.wall_ns,
        rows: facts.rows,
        dropped: facts.dropped,
        host_name: facts.host.name.clone(),
        coordinates: coordinates(facts),
    }
}

fn coordinates(facts: &RunFacts) -> Coordinates {
    let number = |name: &str| facts.values.get(name)?.parse().ok();
    Coordinates {
        pipeline: number("parallel.pipeline"),
        data: number("parallel.data"),
        tensor: number("parallel.tensor"),
    }
}

fn wall(members: &[Member]) -> (Option<i64>, WallSource) {
    let end = |member: &Member| {
        let wall_ns = member.run.facts().wall_ns?;
        Some(member.offset_ns.saturating_add(wall_ns))
    };
    let wall_ns = members.iter().filter_map(end).max();
    let recorded = |member: &Member| member.run.facts().wall_source == WallSource::Recorded;
    let source = match wall_ns {
        None => WallSource::None,
        Some(_) if members.iter().all(recorded) => WallSource::Recorded,
        Some(_) => WallSource::LastEvent,
    };
    (wall_ns, source)
}

fn state(all: &[&RunFacts]) -> RunState {
    let order = [
        RunState::Unknown,
        RunState::Failed,
        RunState::Recording,
        RunState::Recovered,
    ];
    let worst = order
        .into_iter()
        .find(|state| all.iter().any(|facts| facts.state == *state));
    worst.unwrap_or(RunState::Finished)
}

fn tables(members: &[Member]) -> Vec<TableFacts> {
    let mut tables: BTreeMap<String, TableFacts> = BTreeMap::new();
    let plus = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    for member in members {
        for found in &member.run.facts().tables {
            let beyond = member.beyond.rows.get(found.name.as_str());
            let beyond = beyond.copied().unwrap_or(0);
            let mut found = found.clone();
            found.rows_read = found.rows_read.saturating_sub(beyond);
            found.rows_lost = plus(found.rows_lost, Some(beyond));
            let Some(table) = tables.get_mut(&found.name) else {
                tables.insert(found.name.clone(), found);
                continue;
            };
            table.rows_read = table.rows_read.saturating_add(found.rows_read);
            table.rows_expected = plus(table.rows_expected, found.rows_expected);
            table.rows_lost = plus(table.rows_lost, found.rows_lost);
            table.bytes += found.bytes;
            table.segments += found.segments;
            table.dropped = plus(table.dropped, found.dropped);
        }
    }
    let mut ordered: Vec<TableFacts> = schema::TABLES
        .iter()
        .filter_map(|table| tables.remove(table.name))
        .collect();
    ordered.extend(tables.into_values());
    ordered
}

/// Mean over all spans, so that multiplying by their number gives the total over the ranks.
fn cost(all: &[&RunFacts]) -> Option<f64> {
    let (mut cost_ns, mut spans) = (0.0, 0.0);
    for facts in all {
        let count = facts.intervals() as f64;
        if count > 0.0 {
            (cost_ns, spans) = (cost_ns + facts.cost_ns_per_span? * count, spans + count);
        }
    }
    (spans > 0.0).then(|| cost_ns / spans)
}

/// The sum over all ranks; `None`: one of them does not have it.
fn sum(mut all: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    all.try_fold(0, |sum: u64, ns| Some(sum.saturating_add(ns?)))
}

fn common<T: PartialEq>(mut all: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first))
        .then_some(first)
}

fn listed(all: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut known: HashSet<String> = HashSet::new();
    let mut texts: Vec<String> = all
        .flatten()
        .filter(|text| known.insert(text.clone()))
        .collect();
    let more = texts.len().saturating_sub(MAX_LISTED);
    texts.truncate(MAX_LISTED);
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn values(all: &[&RunFacts]) -> BTreeMap<String, String> {
    let keys: BTreeSet<&String> = all.iter().flat_map(|facts| facts.values.keys()).collect();
    let value = |key: &String| listed(all.iter().map(|facts| facts.values.get(key).cloned()));
    keys.into_iter()
        .filter_map(|key| Some((key.clone(), value(key)?)))
        .collect()
}
