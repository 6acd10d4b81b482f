//! The timeline as data for the page: rows of numbers in few bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use trueno_model::timeline::Timeline;
use trueno_model::width;
use trueno_plugin::counted;

use super::data::printable;
use super::varint::varint;

/// Per row: intervals as gap since the one before, duration and name, each a varint; slices as a byte
/// of how full they are and two bytes of name.
pub(super) fn data(timeline: &Timeline) -> Value {
    let rows: Vec<Value> = timeline
        .rows
        .iter()
        .map(|row| {
            let mut spans = Vec::new();
            let mut reached_ns = timeline.from_ns;
            for span in &row.spans {
                varint(&mut spans, (span.start_ns - reached_ns).max(0) as u64);
                varint(&mut spans, span.dur_ns.max(0) as u64);
                varint(&mut spans, u64::from(span.name));
                reached_ns = span.start_ns + span.dur_ns;
            }
            let mut slices = Vec::new();
            for slice in &row.slices {
                let name = u16::try_from(slice.name).unwrap_or(u16::MAX);
                slices.push(slice.filled);
                slices.extend(name.to_le_bytes());
            }
            json!({
                "lane": width::printable(&row.lane),
                "depth": row.depth,
                "n": row.spans.len(),
                "spans": BASE64.encode(&spans),
                "slices": BASE64.encode(&slices),
            })
        })
        .collect();
    json!({
        "from": timeline.from_ns,
        "until": timeline.until_ns,
        "longer": timeline.longer_than_ns,
        "slices": timeline.slices,
        "spans": timeline.spans,
        "names": printable(timeline.names.iter().map(String::as_str)),
        "rows": rows,
    })
}

/// Notes below it: rows that are drawn one by one, those that are not, those left out.
pub(super) fn note(timeline: &Timeline) -> String {
    let count = |n: u64| {
        trueno_model::units::show(trueno_model::Cell::U64(n), trueno_model::units::Unit::None)
    };
    let mut note = match timeline.longer_than_ns {
        None => format!(
            "All {} intervals are drawn one by one.",
            count(timeline.spans)
        ),
        Some(longer) => {
            let kept: usize = timeline.rows.iter().map(|row| row.spans.len()).sum();
            format!(
                "The {} intervals longer than {} are drawn one by one; the other {} as how much of each {} of the wall they fill (paler: less), in the colour of the name with the most time in it.",
                count(kept as u64),
                trueno_model::units::duration(longer as f64),
                count(timeline.spans - kept as u64),
                trueno_model::units::duration(
                    (timeline.until_ns - timeline.from_ns) as f64 / timeline.slices.max(1) as f64
                ),
            )
        }
    };
    if timeline.lanes_left_out > 0 {
        note.push_str(&format!(
            " {} left out.",
            counted(
                timeline.lanes_left_out,
                "lane with less time is",
                "lanes with less time are"
            )
        ));
    }
    note
}
