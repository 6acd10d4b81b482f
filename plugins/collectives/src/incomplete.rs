//! Collectives that did not complete: who waits, who never came, and where ranks disagree.
//!
//! A dump says what its rank scheduled and what completed. It does not say why a rank never came: its program may be
//! elsewhere, or have ended.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::wording::time;
use trueno_plugin::{Finding, Result, Run, Severity, Table, TableBuilder};

use crate::flight::{Dumps, Group, GroupKey, Operation};

/// Operations whose ranks may have different sizes.
const UNEVEN: [&str; 9] = [
    "all_to_all",
    "alltoall",
    "alltoall_base",
    "all_gather_v",
    "reduce_scatter_v",
    "coalesced",
    "split",
    "send",
    "recv",
];
const MAX_FINDINGS: usize = 3;

/// An operation that did not complete on at least one rank.
#[derive(Debug, Default)]
pub struct Incomplete {
    group: String,
    description: String,
    /// Of a send or receive: among those of its group and rank.
    number: u64,
    operation: String,
    ranks: usize,
    waiting: Vec<u32>,
    /// Ranks whose dumps lack it.
    missing: Vec<u32>,
    /// Ranks without a dump.
    without_dump: Vec<u32>,
    /// Ranks whose dumps say nothing of the group, and may lack what completed.
    unclear: Vec<u32>,
    completed: Vec<u32>,
    since_ns: i64,
    waited_ns: i64,
    timed_out: bool,
    timeout_ms: Option<i64>,
    place: Option<String>,
    /// How ranks disagree in this or an earlier collective of the group.
    mismatch: Option<String>,
    /// Where the missing ranks wait meanwhile.
    elsewhere: Option<String>,
}

/// Finds what did not complete, and emits it.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, dumps: &Dumps) -> Result<()> {
    if dumps.ranks.is_empty() {
        return Ok(());
    }
    let all = find(dumps);
    run.emit(
        Table::build("dumps")
            .u64("ranks", [dumps.ranks.len() as u64])
            .u64("process_groups", [dumps.groups.len() as u64])
            .u64("operations", [dumps.operations])
            .u64("incomplete", [all.len() as u64]),
    )?;
    if !all.is_empty() {
        run.emit(table(&all, dumps))?;
    }
    // Of a single dump the number of its rank is not known.
    if dumps.is_job {
        run.emit(progress(dumps))?;
    }
    for one in all.iter().take(MAX_FINDINGS) {
        run.finding(one.finding(dumps))?;
    }
    let named: BTreeSet<&str> = all
        .iter()
        .filter_map(|one| one.mismatch.as_deref())
        .collect();
    for ((name, _), group) in &dumps.groups {
        let Some((_, text)) = mismatch(group, u64::MAX) else {
            continue;
        };
        if !named.contains(text.as_str()) {
            let title = format!("{}: {text}", group_name(name, &group.description));
            run.finding(Finding::new(
                "collective_mismatch",
                Severity::Warning,
                title,
            ))?;
        }
    }
    Ok(())
}

/// Causes first: what waits for a rank that waits elsewhere comes behind.
fn find(dumps: &Dumps) -> Vec<Incomplete> {
    let mut all: Vec<Incomplete> = Vec::new();
    for (key, group) in &dumps.groups {
        all.extend(collective(key, group, dumps));
        all.extend(sends(key, group, dumps));
    }
    // Where each rank waits.
    let mut waits: BTreeMap<u32, Vec<(usize, String)>> = BTreeMap::new();
    for (at, one) in all.iter().enumerate() {
        for rank in &one.waiting {
            waits.entry(*rank).or_default().push((at, one.name()));
        }
    }
    for (at, one) in all.iter_mut().enumerate() {
        let other = |rank: &u32| {
            let others = waits.get(rank).into_iter().flatten();
            let mut others = others.filter(|(other, _)| *other != at);
            others
                .next()
                .map(|(_, name)| format!("rank {rank} waits in {name}"))
        };
        let found: Vec<String> = one.missing.iter().filter_map(other).collect();
        if !found.is_empty() && found.len() == one.missing.len() {
            one.elsewhere = found.into_iter().next();
        }
    }
    all.sort_by_key(|one| {
        let is_effect = one.elsewhere.is_some() && one.mismatch.is_none();
        let (group, number) = (one.group.clone(), one.number);
        (
            is_effect,
            one.mismatch.is_none(),
            one.since_ns,
            group,
            number,
        )
    });
    all
}

/// The first collective of a group that did not complete everywhere.
fn collective(key: &GroupKey, group: &Group, dumps: &Dumps) -> Option<Incomplete> {
    let open = |of_rank: &BTreeMap<u64, Vec<Operation>>| {
        let mut numbers = of_rank.iter();
        let open = numbers.find(|(_, all)| all.iter().any(|of| !of.is_completed));
        open.map(|(number, _)| *number)
    };
    let number = group.collectives.values().filter_map(open).min()?;
    let mut out = Incomplete {
        ranks: key.1.len(),
        number,
        ..Incomplete::new(key, group)
    };
    let mut waiting = Vec::new();
    for rank in &key.1 {
        if !dumps.is_job && !group.collectives.contains_key(rank) {
            // The only dump is of one of these ranks.
            continue;
        }
        if !dumps.ranks.contains_key(rank) {
            out.without_dump.push(*rank);
            continue;
        }
        let here = group.collectives.get(rank).and_then(|all| all.get(&number));
        let open = here.and_then(|all| all.iter().find(|of| !of.is_completed));
        let last = group.last_scheduled.get(rank);
        match (here, open) {
            (_, Some(open)) => {
                out.waiting.push(*rank);
                waiting.push(open);
            }
            (Some(_), None) => out.completed.push(*rank),
            // Its buffer may hold later ones only.
            (None, None) if last.is_some_and(|last| *last >= number) => out.completed.push(*rank),
            (None, None) if last.is_none() && !dumps.has_completed => out.unclear.push(*rank),
            (None, None) => out.missing.push(*rank),
        }
    }
    if !dumps.is_job {
        // The number of its rank is not known, so those of the others are not either.
        let own = group.collectives.values().next()?.get(&number)?;
        waiting = own.iter().filter(|of| !of.is_completed).collect();
        (out.waiting, out.missing) = Default::default();
        (out.without_dump, out.unclear) = Default::default();
    }
    out.wait(&waiting, dumps)?;
    out.mismatch = mismatch(group, number).map(|(_, text)| text);
    Some(out)
}

/// A send or receive that did not complete: its rank, whether it sends, and the operation.
type Open<'d> = (u32, bool, &'d Operation);

/// The first send or receive of each pair of ranks that did not complete.
fn sends(key: &GroupKey, group: &Group, dumps: &Dumps) -> Vec<Incomplete> {
    let global = |place: usize| key.1.get(place).copied().filter(|_| group.is_stated);
    // Source, destination and whether it is the send, by the ranks of the job.
    let of = |operation: &Operation| -> Option<(u32, u32, bool)> {
        let (kind, pair) = operation.name.split_once(' ')?;
        let (one, other) = pair.split_once("->").or_else(|| pair.split_once("<-"))?;
        let (one, other) = (global(one.parse().ok()?)?, global(other.parse().ok()?)?);
        match kind {
            "send" => Some((one, other, true)),
            "recv" => Some((other, one, false)),
            _ => None,
        }
    };
    let mut pairs: BTreeMap<(u32, u32), Vec<Open<'_>>> = BTreeMap::new();
    if !dumps.is_job {
        return Vec::new();
    }
    for (rank, operation) in group.sends.iter().filter(|(_, of)| !of.is_completed) {
        if let Some((from, to, is_send)) = of(operation) {
            let pair = pairs.entry((from, to)).or_default();
            pair.push((*rank, is_send, operation));
        }
    }
    let one = |((from, to), open): ((u32, u32), Vec<Open<'_>>)| {
        let has = |send: bool| open.iter().any(|(_, is_send, _)| *is_send == send);
        let mut out = Incomplete {
            ranks: 2,
            number: open.first()?.2.number,
            operation: format!("send from rank {from} to rank {to}"),
            ..Incomplete::new(key, group)
        };
        for (rank, is_there) in [(from, has(true)), (to, has(false))] {
            match (is_there, dumps.ranks.contains_key(&rank)) {
                (true, _) => out.waiting.push(rank),
                (false, true) => out.missing.push(rank),
                (false, false) => out.without_dump.push(rank),
            }
        }
        let operations: Vec<&Operation> = open.iter().map(|(.., operation)| *operation).collect();
        out.wait(&operations, dumps)?;
        Some(out)
    };
    pairs.into_iter().filter_map(one).collect()
}

/// The first collective in which ranks of a group disagree, up to this number.
fn mismatch(group: &Group, until: u64) -> Option<(u64, String)> {
    let numbers = group.collectives.values().flat_map(BTreeMap::keys);
    let numbers: BTreeSet<u64> = numbers.copied().filter(|number| *number <= until).collect();
    numbers.into_iter().find_map(|number| {
        let mut calls: BTreeMap<Call, (u32, &Operation)> = BTreeMap::new();
        for (rank, all) in &group.collectives {
            // Of several in one group call, the order of all must agree. The first tells.
            if let Some(operation) = all.get(&number).and_then(|all| all.first()) {
                calls
                    .entry(Call::of(operation))
                    .or_insert((*rank, operation));
            }
        }
        if calls.len() < 2 {
            return None;
        }
        let mut calls: Vec<(u32, &Operation)> = calls.into_values().collect();
        calls.sort_by_key(|(rank, _)| *rank);
        let text = |(rank, of): &(u32, &Operation)| {
            let tensors = if of.name == "scatter" {
                &of.output
            } else {
                &of.input
            };
            let tensors = match tensors.text() {
                text if text.is_empty() => String::new(),
                text => format!(" of {text}"),
            };
            format!("{}{tensors} on rank {rank}", of.name)
        };
        let texts: Vec<String> = calls.iter().take(2).map(text).collect();
        Some((
            number,
            format!("number {number} is {}", texts.join(", but ")),
        ))
    })
}

/// What all ranks of a collective must have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    name: String,
    elements: Option<u64>,
    dtypes: Vec<String>,
}

impl Call {
    fn of(operation: &Operation) -> Self {
        let name = operation.name.clone();
        let kind = name.split(' ').next().unwrap_or_default();
        let tensors = if kind == "scatter" {
            &operation.output
        } else {
            &operation.input
        };
        let is_even = !UNEVEN.contains(&kind) && !tensors.sizes.is_empty();
        let of = |is_even: bool| is_even.then_some(tensors);
        Self {
            elements: of(is_even).and_then(|tensors| tensors.elements()),
            dtypes: of(is_even).map_or(Vec::new(), |tensors| tensors.dtypes.clone()),
            name,
        }
    }
}

fn group_name(name: &str, description: &str) -> String {
    match description {
        "" | "undefined" => format!("process group {name}"),
        description => format!("process group {name} ({description})"),
    }
}

/// `rank 3`, `ranks 0–6, 9`.
fn ranks_text(ranks: &[u32]) -> String {
    const MAX_PARTS: usize = 6;
    let parts: Vec<String> = ranks
        .chunk_by(|a, b| a + 1 == *b)
        .map(|part| match part {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}–{last}"),
            [] => String::new(),
        })
        .collect();
    let more = if parts.len() > MAX_PARTS { ", …" } else { "" };
    let shown = &parts[..parts.len().min(MAX_PARTS)];
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}{more}", shown.join(", "))
}

impl Incomplete {
    fn new((name, _): &GroupKey, group: &Group) -> Self {
        Self {
            group: name.clone(),
            description: group.description.clone(),
            ..Self::default()
        }
    }

    /// Takes the times of the operations that wait. `None` if there are none.
    fn wait(&mut self, waiting: &[&Operation], dumps: &Dumps) -> Option<()> {
        let first = waiting.iter().min_by_key(|of| of.scheduled_ns)?;
        if self.operation.is_empty() {
            self.operation.clone_from(&first.name);
        }
        self.since_ns = first.scheduled_ns;
        self.waited_ns = dumps.latest_ns().saturating_sub(first.scheduled_ns);
        self.place.clone_from(&first.place);
        self.timeout_ms = first.timeout_ms;
        self.timed_out = waiting.iter().any(|of| of.timed_out);
        Some(())
    }

    fn name(&self) -> String {
        let group = group_name(&self.group, &self.description);
        if self.operation.starts_with("send from") {
            return format!("the {} in {group}", self.operation);
        }
        format!("{} number {} of {group}", self.operation, self.number)
    }

    fn sentence(&self, dumps: &Dumps) -> String {
        let mut parts = Vec::new();
        if !self.missing.is_empty() {
            let ranks = ranks_text(&self.missing);
            parts.push(format!("{ranks} never scheduled it"));
        }
        parts.extend(self.elsewhere.clone());
        if !self.without_dump.is_empty() {
            parts.push(format!(
                "there is no dump of {}",
                ranks_text(&self.without_dump)
            ));
        }
        if !self.unclear.is_empty() {
            let ranks = ranks_text(&self.unclear);
            parts.push(format!("the dumps do not say whether {ranks} scheduled it"));
        }
        if let Some(mismatch) = &self.mismatch {
            parts.push(mismatch.clone());
        }
        if parts.is_empty() && dumps.is_job {
            parts.push("all of its ranks scheduled it".to_owned());
        }
        let span = match self.waited_ns {
            1.. => format!(" for at least {}", time(self.waited_ns)),
            _ => String::new(),
        };
        parts.push(match self.waiting.as_slice() {
            [] => format!("a rank waits{span}"),
            [rank] => format!("rank {rank} waits{span}"),
            ranks => format!("{} wait{span}", ranks_text(ranks)),
        });
        if let Some(timeout_ms) = self.timeout_ms.filter(|_| self.timed_out) {
            let timeout = time(timeout_ms.saturating_mul(1_000_000));
            parts.push(format!("PyTorch gave up after {timeout}"));
        }
        format!("{} did not complete: {}", self.name(), parts.join(", "))
    }

    fn finding(&self, dumps: &Dumps) -> Finding {
        let mut detail = Vec::new();
        if let Some(place) = &self.place {
            detail.push(format!(
                "waiting since {} of the timeline, scheduled at {place}",
                time(self.since_ns)
            ));
        } else {
            detail.push(format!(
                "waiting since {} of the timeline",
                time(self.since_ns)
            ));
        }
        if !self.completed.is_empty() {
            detail.push(format!("it completed on {}", ranks_text(&self.completed)));
        }
        if !dumps.is_job {
            detail.push(
                "this is the dump of one rank: those of all ranks say who is missing".to_owned(),
            );
        }
        let suggestion = match (
            &self.mismatch,
            self.missing.first(),
            self.without_dump.first(),
        ) {
            (Some(_), ..) => {
                "make all ranks of the group call the same collectives in the same order".to_owned()
            }
            (None, Some(rank), _) => {
                format!("see where the program of rank {rank} is (`py-spy dump`), and its log")
            }
            (None, None, Some(rank)) => format!("see whether rank {rank} still runs, and its log"),
            (None, None, None) if dumps.is_job => {
                "all ranks are there: see the network, and errors of NCCL (`NCCL_DEBUG=WARN`)"
                    .to_owned()
            }
            (None, None, None) => "import the dumps of all ranks as one job".to_owned(),
        };
        let evidence = "SELECT * FROM collectives.incomplete";
        Finding::new(
            "incomplete_collective",
            Severity::Warning,
            self.sentence(dumps),
        )
        .detail(detail.join("; "))
        .suggestion(suggestion)
        .evidence(evidence)
    }
}

fn table(all: &[Incomplete], dumps: &Dumps) -> TableBuilder {
    let rows = || all.iter();
    let list = |of: fn(&Incomplete) -> &Vec<u32>| {
        rows().map(move |one| {
            let ranks = of(one);
            (!ranks.is_empty()).then(|| ranks_text(ranks))
        })
    };
    Table::build("incomplete")
        .text("sentence", rows().map(|one| one.sentence(dumps)))
        .text("process_group", rows().map(|one| Some(one.group.as_str())))
        .text(
            "description",
            rows().map(|one| Some(one.description.as_str())),
        )
        .u64("number", rows().map(|one| one.number))
        .text("operation", rows().map(|one| Some(one.operation.as_str())))
        .u64("ranks", rows().map(|one| one.ranks as u64))
        .text("waiting", list(|one| &one.waiting))
        .text("missing", list(|one| &one.missing))
        .text("without_dump", list(|one| &one.without_dump))
        .text("unclear", list(|one| &one.unclear))
        .text("completed", list(|one| &one.completed))
        .i64("since_ns", rows().map(|one| one.since_ns))
        .i64("waited_ns", rows().map(|one| one.waited_ns))
        .bool("timed_out", rows().map(|one| one.timed_out))
        .i64("timeout_ms", rows().map(|one| one.timeout_ms))
        .text("mismatch", rows().map(|one| one.mismatch.as_deref()))
        .text("elsewhere", rows().map(|one| one.elsewhere.as_deref()))
        .text("place", rows().map(|one| one.place.as_deref()))
}

/// Table `progress`: how far each rank came in each process group.
fn progress(dumps: &Dumps) -> TableBuilder {
    let mut rows = Vec::new();
    for ((name, ranks), group) in &dumps.groups {
        for rank in ranks.iter().filter(|rank| dumps.ranks.contains_key(rank)) {
            rows.push((name.as_str(), group, *rank));
        }
    }
    let rows = || rows.iter();
    let last = |(_, group, rank): &(&str, &Group, u32)| -> Option<String> {
        let all = group.collectives.get(rank)?.values().last()?;
        Some(all.first()?.name.clone())
    };
    Table::build("progress")
        .text("process_group", rows().map(|row| Some(row.0)))
        .text(
            "description",
            rows().map(|row| Some(row.1.description.as_str())),
        )
        .u64("rank", rows().map(|row| u64::from(row.2)))
        .u64(
            "last_scheduled",
            rows().map(|row| row.1.last_scheduled.get(&row.2).copied()),
        )
        .u64(
            "last_completed",
            rows().map(|row| row.1.last_completed.get(&row.2).copied()),
        )
        .text("last_operation", rows().map(last))
}
