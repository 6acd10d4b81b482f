//! Findings about memory.

use std::cmp::Reverse;
use trueno_analysis::producer::Producer;
use trueno_analysis::wording::{percent, short};

use trueno_plugin::{Finding, Severity, counted};

use crate::Options;
use crate::churn::Churn;
use crate::events::{Events, NO_TAG};
use crate::initial_live::{AllocatorState, TAG};
use crate::ledger::Suspect;
use crate::pools::Pool;
use crate::sample_weight::{blocks, number};

/// Fragmentation above this is reported, ...
pub const FRAGMENTATION_SHARE: f64 = 0.5;
/// ... if at least this share of the footprint is free.
pub const FREE_SHARE: f64 = 0.1;
/// Allocations per call are reported from this number of calls on.
pub const CALLS: u64 = 8;

/// The least share of what is reserved that is worth saying.
const UNUSED_SHARE: f64 = 0.01;

/// What an allocator holds and does not use.
pub fn unused(place: &str, state: &AllocatorState) -> Option<Finding> {
    let unused = state.reserved.checked_sub(state.allocated)?;
    let share = trueno_analysis::share(unused, state.reserved)?;
    if share < UNUSED_SHARE {
        return None;
    }
    let segments = state.in_free_segments.filter(|free| *free > 0);
    let segments = segments.map_or(String::new(), |free| {
        format!(", {} of it in segments without a block", bytes(free as f64))
    });
    let title = format!(
        "{place}: when last read, {} of the {} that its allocator had reserved were allocated, {} ({}) were not{segments}",
        bytes(state.allocated as f64),
        bytes(state.reserved as f64),
        bytes(unused as f64),
        percent(share)
    );
    Some(
        Finding::new("reserved_unused", Severity::Info, title)
            .detail("only segments without a block can be returned to the driver; what is free beside blocks waits for allocations that fit")
            .evidence(format!("SELECT time_ns, name, value FROM counters WHERE name LIKE '{place} %' ORDER BY time_ns")),
    )
}

/// An allocator's state is known, but nothing of how it came about.
pub fn no_history(producer: Producer) -> Finding {
    let title = "no allocation was recorded: who allocated the memory, and when, is not measurable";
    let mut finding = Finding::new("not_recorded", Severity::Info, title);
    if producer == Producer::PyTorch {
        finding.suggestion = Some(
            "call torch.cuda.memory._record_memory_history() before the work, and then _dump_snapshot".to_owned(),
        );
    }
    finding.evidence("SELECT COUNT(*) AS rows FROM allocations")
}

pub fn nothing_recorded(left_out_rows: u64, producer: Producer) -> Finding {
    let title = match left_out_rows {
        0 => "no allocation was recorded: memory is not measurable".to_owned(),
        rows => format!(
            "memory is not measurable: {} of allocations without a time, without bytes or of 0 bytes",
            counted(rows, "row", "rows")
        ),
    };
    let mut finding = Finding::new("not_recorded", Severity::Info, title);
    finding.suggestion = producer.record_memory().map(str::to_owned);
    finding.evidence("SELECT COUNT(*) AS rows FROM allocations")
}

pub fn of_place(events: &Events, pool: &Pool, churn: &[Churn], options: &Options) -> Vec<Finding> {
    let place = events.places[pool.place].name();
    let mut out = Vec::new();
    out.extend(peak(events, pool, &place));
    out.extend(growth(events, pool, &place, options));
    out.extend(fragmentation(pool, &place));
    out.extend(
        Suspect::ALL
            .iter()
            .filter_map(|why| suspect(events, pool, *why)),
    );
    out.extend(busiest(pool, churn, &place));
    out
}

pub fn left_out(zero_rows: u64, broken_rows: u64) -> Option<Finding> {
    let left_out = zero_rows.saturating_add(broken_rows);
    if left_out == 0 {
        return None;
    }
    let title = counted(
        left_out,
        "row of allocations is left out",
        "rows of allocations are left out",
    );
    let detail = format!("{zero_rows} of 0 bytes, {broken_rows} without a time or without bytes");
    Some(
        Finding::new("left_out", Severity::Info, title)
            .detail(detail)
            .evidence(
                "SELECT * FROM allocations WHERE bytes = 0 OR bytes IS NULL OR time_ns IS NULL",
            ),
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Bytes for people, in powers of 1000 as in reports.
pub fn bytes(bytes: f64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    if bytes.abs() < 1000.0 {
        return format!("{bytes:.0} B");
    }
    let (mut value, mut unit) = (bytes / 1000.0, 0);
    while value.abs() >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.2} {}", units[unit])
}

/// The name of an owner in a sentence; tables have it in full.
fn owner(name: &str) -> String {
    match name {
        NO_TAG => "untagged".to_owned(),
        TAG => TAG.to_owned(),
        name => short(name),
    }
}

fn peak(events: &Events, pool: &Pool, place: &str) -> Option<Finding> {
    let peak = pool.peak.as_ref()?;
    let (tag, most) = peak
        .ledger
        .by_tag()
        .iter()
        .max_by_key(|(tag, live)| (**live, Reverse(**tag)))?;
    let since = match events.initial_live[pool.place] {
        Some(_) => "at the peak",
        None => "at the peak since the recording began",
    };
    let owner = owner(events.tag_name(*tag));
    let mut title = format!(
        "{place}: {} live {since}, {} of it {owner}",
        bytes(peak.bytes as f64),
        bytes(*most as f64)
    );
    let before = peak.ledger.by_tag().get(&events.initial_tag);
    if let Some(before) = before.filter(|live| **live > 0 && *tag != events.initial_tag) {
        title.push_str(&format!(", {} {TAG}", bytes(*before as f64)));
    }
    let twice = pool
        .fragments
        .iter()
        .find(|(moment, found)| *moment == "peak" && found.twice > 0);
    let finding = Finding::new("peak", Severity::Info, title).evidence(format!(
        "SELECT tag, name, layer, iteration, bytes FROM memory.peak_owners WHERE place = {} ORDER BY bytes DESC",
        quoted(place)
    ));
    Some(match twice {
        None => finding,
        Some((_, found)) => finding.detail(format!(
            "{} of them are in more than one block, such as a pool and an allocation from it, and are counted in each",
            bytes(found.twice as f64)
        )),
    })
}

fn growth(events: &Events, pool: &Pool, place: &str, options: &Options) -> Vec<Finding> {
    let grows = |growth: &&crate::growth::Growth| {
        growth.verdict(options.p) == "grows"
            && growth
                .share()
                .is_none_or(|share| share >= options.growth_share)
    };
    let tagged = pool.growth.iter().any(|growth| growth.tag.is_some());
    pool.growth
        .iter()
        .filter(|growth| growth.tag.is_some() == tagged)
        .filter(grows)
        .filter_map(|growth| {
            let trend = growth.trend?;
            let of = growth.tag.map_or("all tags", |tag| events.tag_name(tag));
            let what = growth
                .tag
                .map_or("all tags".to_owned(), |tag| owner(events.tag_name(tag)));
            let title = format!(
                "{place}: {what} grows by {} per iteration over {} iterations (p = {:.2e})",
                bytes(trend.slope),
                growth.iterations,
                trend.p
            );
            Some(
                Finding::new("growth", Severity::Warning, title)
                    .detail("live bytes at the ends of iterations: Theil–Sen's slope, Mann–Kendall's test")
                    .suggestion("check whether it must keep this memory, as a cache does up to its limit; if not, free it")
                    .evidence(format!(
                        "SELECT * FROM memory.growth WHERE place = {} AND tag = {}",
                        quoted(place),
                        quoted(of)
                    )),
            )
        })
        .collect()
}

fn fragmentation(pool: &Pool, place: &str) -> Option<Finding> {
    let (_, found) = pool
        .fragments
        .iter()
        .find(|(moment, _)| *moment == "peak")?;
    let (share, free) = (found.share()?, found.free_share()?);
    if share <= FRAGMENTATION_SHARE || free < FREE_SHARE {
        return None;
    }
    let (whole, detail) = if found.is_reserved {
        (
            "that its allocator had reserved",
            "free is what was reserved and not allocated, without whole segments, which the allocator can return; a piece lies within one segment",
        )
    } else {
        (
            "of addresses used so far",
            "whether the allocator kept this memory or returned it to the system was not recorded; only what it kept is fragmented",
        )
    };
    let title = format!(
        "{place}: at the peak, {} of the {} {whole} were free, in pieces of at most {}",
        bytes(found.free() as f64),
        bytes(found.footprint as f64),
        bytes(found.largest_free? as f64)
    );
    Some(
        Finding::new("fragmentation", Severity::Info, title)
            .detail(detail)
            .suggestion(
                "if it kept the memory, allocate blocks of similar size and lifetime from one pool",
            )
            .evidence(format!(
                "SELECT * FROM memory.fragmentation WHERE place = {}",
                quoted(place)
            )),
    )
}

pub fn rows_missing(dropped: Option<u64>) -> Option<Finding> {
    let rows = dropped.filter(|rows| *rows > 0)?;
    let title = format!(
        "the recorder dropped {}: live bytes may be too high or too low",
        counted(rows, "row", "rows")
    );
    Some(
        Finding::new("rows_missing", Severity::Warning, title)
            .detail("rows of all tables; if allocations are among them, a missing release looks like memory that was not released")
            .suggestion("raise Builder::growth_bytes, or record with Overflow::Block, or only samples of the allocations")
            .evidence("SELECT severity, code, text FROM problems"),
    )
}

fn suspect(events: &Events, pool: &Pool, why: Suspect) -> Option<Finding> {
    let rows = pool.count(why);
    if rows == 0 {
        return None;
    }
    let place = events.places[pool.place];
    let (is_heap, place) = (place.heap.is_some(), place.name());
    if is_heap && why == Suspect::Unmatched {
        let title =
            format!("{place}: {rows} releases are of memory allocated before the recording began");
        return Some(
            Finding::new("allocated_before", Severity::Info, title)
                .detail("or by the recorder itself; they do not affect any figure")
                .evidence(format!(
                    "SELECT * FROM memory.suspects WHERE place = {} AND reason = {}",
                    quoted(&place),
                    quoted(why.name())
                )),
        );
    }
    let (code, severity, what, detail) = match why {
        Suspect::Unmatched => (
            "release_without_allocation",
            Severity::Warning,
            "releases are of addresses with no recorded allocation",
            "they do not affect any figure: the allocation was before the recording, had no address, or its row is lost",
        ),
        Suspect::Doubled => (
            "doubled_address",
            Severity::Warning,
            "allocations are at addresses where their tag already has a block",
            "the earlier block counts as released, without a lifetime: its release was not recorded",
        ),
        Suspect::OtherTag => (
            "other_tag",
            Severity::Info,
            "releases have a different tag than their allocation",
            "they are paired by address, and count for the tag of the allocation",
        ),
        Suspect::OtherSize => (
            "other_size",
            Severity::Info,
            "releases have a different size than their allocation",
            "the whole allocation counts as released",
        ),
        Suspect::Negative => (
            "negative_live",
            Severity::Warning,
            "releases bring live bytes below zero",
            "more was freed than recorded as allocated; live bytes and the peak are too low by that much",
        ),
    };
    Some(
        Finding::new(code, severity, format!("{place}: {rows} {what}"))
            .detail(detail)
            .suggestion("record every allocation and release, with its address, from the start of the program")
            .evidence(format!(
                "SELECT * FROM memory.suspects WHERE place = {} AND reason = {}",
                quoted(&place),
                quoted(why.name())
            )),
    )
}

/// Reports the name with the most allocations among those that allocate in every call.
fn busiest(pool: &Pool, churn: &[Churn], place: &str) -> Option<Finding> {
    let often = |row: &&Churn| {
        let calls = row.calls.unwrap_or(0);
        row.place == pool.place
            && calls >= CALLS
            && blocks(row.taken.0) >= calls
            && matches!(row.kind.as_deref(), Some("brick" | "function" | "task"))
    };
    let row = churn.iter().find(often)?;
    let title = format!(
        "{place}: {} allocates {} per call, {:.1} times",
        short(&row.name),
        bytes(row.per_call(row.taken.1 as f64)?),
        row.per_call(number(row.taken.0))?
    );
    Some(
        Finding::new("churn", Severity::Info, title)
            .suggestion("reuse its buffers between calls")
            .evidence(format!(
                "SELECT * FROM memory.by_brick WHERE place = {} ORDER BY allocations DESC, name",
                quoted(place)
            )),
    )
}
