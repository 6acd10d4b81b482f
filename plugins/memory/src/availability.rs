//! Measures that could be taken, and why the rest could not.

use trueno_analysis::producer::Producer;
use trueno_analysis::wording::count;
use trueno_plugin::{Table, TableBuilder, agreeing, counted};

use crate::events::Events;
use crate::initial_live::InitialLive;
use crate::pools::Pool;
use crate::sample_weight::blocks;
use crate::trend::MIN_VALUES;

pub const NOT_MEASURABLE: &str = "not measurable";

pub const ESTIMATED: &str = "estimated from samples";

/// Place, measure, verdict, detail.
type Row = (Option<String>, &'static str, &'static str, String);

/// Table `measures`. `verdict` is measured, estimated from samples, not measurable, or cannot tell.
fn build(rows: &[Row]) -> TableBuilder {
    Table::build("measures")
        .text("place", rows.iter().map(|row| row.0.as_deref()))
        .text("measure", rows.iter().map(|row| row.1))
        .text("verdict", rows.iter().map(|row| row.2))
        .text("detail", rows.iter().map(|row| &row.3))
}

pub fn nothing_recorded(producer: Producer) -> TableBuilder {
    let hint = match producer {
        Producer::Recorder => " (hint: Recorder::allocation(tag, bytes, address))",
        Producer::PyTorch => " (hint: profile(profile_memory=True))",
        Producer::Nsight => " (hint: nsys profile --cuda-memory-usage=true)",
        _ => "",
    };
    build(&[(
        None,
        "live bytes",
        NOT_MEASURABLE,
        format!("no allocation was recorded{hint}"),
    )])
}

fn since(before: Option<&InitialLive>) -> String {
    let Some(before) = before else {
        return "since the recording began; what was live before is not known".to_owned();
    };
    let fits = match before.disagreeing {
        0 => format!("confirmed by {} totals of its allocator", before.totals),
        others => format!(
            "but {others} of {} totals of its allocator disagree with the rows",
            before.totals
        ),
    };
    format!("{} B were live before the first, {fits}", before.bytes)
}

pub fn table(
    events: &Events,
    pools: &[Pool],
    wall_ns: Option<i64>,
    producer: Producer,
) -> TableBuilder {
    let hint = |recorder: &str| match producer {
        Producer::Recorder => format!(" (hint: {recorder})"),
        _ => String::new(),
    };
    let no_address = format!(
        "no allocation has an address{}",
        hint("give it to Recorder::allocation")
    );
    let mut rows = Vec::new();
    for pool in pools {
        let mut add = |measure, verdict, detail: String| {
            rows.push((
                Some(events.places[pool.place].name()),
                measure,
                verdict,
                detail,
            ));
        };
        let sample_bytes = events.places[pool.place].sample_bytes();
        let measured = match sample_bytes {
            None => "measured",
            Some(_) => ESTIMATED,
        };
        let error = |variance: f64, bytes: i128| match sample_bytes {
            Some(mean) if bytes > 0 => format!(
                ", one in {mean} bytes on average; standard error {:.1} %",
                100.0 * variance.sqrt() / bytes as f64
            ),
            _ => String::new(),
        };
        match &pool.peak {
            Some(peak) => add(
                "live bytes",
                measured,
                format!(
                    "{}{}; {}",
                    counted(pool.rows, "row", "rows"),
                    error(pool.variances.1, peak.bytes),
                    since(events.initial_live[pool.place].as_ref())
                ),
            ),
            None => add(
                "live bytes",
                NOT_MEASURABLE,
                "only releases were recorded".to_owned(),
            ),
        }
        match wall_ns.filter(|wall| *wall > 0) {
            Some(_) => {
                let part = if events.window.is_some() {
                    "window"
                } else {
                    "run"
                };
                let error = error(pool.variances.0, pool.taken.1);
                add(
                    "rates",
                    measured,
                    format!("over the length of the {part}{error}"),
                );
            }
            None => add(
                "rates",
                NOT_MEASURABLE,
                "the length of the run is not known".to_owned(),
            ),
        }
        let paired: u128 = pool.lifetimes.0.values().map(|(blocks, _)| blocks).sum();
        let [paired, taken, with_address] = [paired, pool.taken.0, pool.with_address].map(blocks);
        match (with_address, paired) {
            (0, _) => add("lifetimes", NOT_MEASURABLE, no_address.clone()),
            (_, 0) => add(
                "lifetimes",
                NOT_MEASURABLE,
                "no release has the address of an allocation".to_owned(),
            ),
            _ => add(
                "lifetimes",
                measured,
                format!(
                    "{} of {} {} paired with a release",
                    count(paired),
                    counted(taken, "allocation", "allocations"),
                    agreeing(paired, "was", "were")
                ),
            ),
        }
        match with_address {
            _ if sample_bytes.is_some() => add(
                "fragmentation",
                NOT_MEASURABLE,
                "samples lack the addresses of most blocks (hint: record every allocation)"
                    .to_owned(),
            ),
            0 => add("fragmentation", NOT_MEASURABLE, no_address.clone()),
            _ if pool.fragments.iter().all(|of| of.1.largest_free.is_none()) => add(
                "fragmentation",
                NOT_MEASURABLE,
                "the segments of the allocator were not recorded".to_owned(),
            ),
            some => add(
                "fragmentation",
                "measured",
                format!(
                    "{} of {} {} an address",
                    count(some),
                    counted(taken, "allocation", "allocations"),
                    agreeing(some, "has", "have")
                ),
            ),
        }
        match pool.growth.first().map_or(0, |growth| growth.iterations) {
            few if few < MIN_VALUES => add(
                "growth",
                "cannot tell",
                format!(
                    "{}, {MIN_VALUES} are needed{}",
                    counted(few, "iteration", "iterations"),
                    hint("Recorder::iteration")
                ),
            ),
            iterations => add("growth", measured, format!("{iterations} iterations")),
        }
    }
    build(&rows)
}
