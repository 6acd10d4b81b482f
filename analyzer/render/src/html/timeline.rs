//! The timeline as data for the page: rows of numbers in few bytes.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use trueno_display_names::DisplayNames;
use trueno_model::timeline::{Curve, Timeline};
use trueno_model::width;
use trueno_plugin::counted;

use super::data::printable;
use super::varint::varint;

/// Per row, spans are varints: gap since the previous one, duration, name and detail. Slices are a byte of fill
/// level and two bytes of name. Links are two varints: the index of the first end as difference to the previous
/// link, and the distance to the other end in zigzag encoding.
pub(super) fn data(timeline: &Timeline) -> Value {
    let rows: Vec<Value> = timeline
        .rows
        .iter()
        .map(|row| {
            let mut spans = Vec::new();
            let mut reached_ns = timeline.from_ns;
            for span in &row.spans {
                varint(
                    &mut spans,
                    span.start_ns.saturating_sub(reached_ns).max(0) as u64,
                );
                varint(&mut spans, span.dur_ns.max(0) as u64);
                varint(&mut spans, u64::from(span.name));
                varint(&mut spans, u64::from(span.detail));
                reached_ns = span.start_ns.saturating_add(span.dur_ns);
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
    let mut links = Vec::new();
    let mut before = 0;
    for link in &timeline.links {
        varint(&mut links, u64::from(link.from - before));
        let far = i64::from(link.to) - i64::from(link.from);
        varint(&mut links, ((far << 1) ^ (far >> 63)) as u64);
        before = link.from;
    }
    let category = |name: &Option<String>| {
        name.as_deref()
            .map(|name| width::printable(name).into_owned())
    };
    let categories: Vec<Option<String>> = timeline.categories.iter().map(category).collect();
    let names: Vec<Cow<'_, str>> = timeline
        .names
        .iter()
        .map(|name| width::printable(name))
        .collect();
    let short = DisplayNames::new(names.iter().map(AsRef::as_ref));
    let short = names.iter().map(|name| (name, short.shown(name)));
    let short = short.enumerate().filter(|(_, (name, short))| name != short);
    let short: Map<String, Value> = short
        .map(|(at, (_, short))| (at.to_string(), short.into()))
        .collect();
    let curves: Vec<Value> = timeline.curves.iter().map(curve).collect();
    json!({
        "curves": curves,
        "from": timeline.from_ns,
        "until": timeline.until_ns,
        "longer": timeline.longer_than_ns,
        "slices": timeline.slices,
        "spans": timeline.spans,
        "names": names,
        "short": short,
        "categories": categories,
        "details": printable(timeline.details.iter().map(String::as_str)),
        "links": BASE64.encode(&links),
        "rows": rows,
    })
}

/// Times as differences to the previous one, zigzag-encoded varints. Values as little-endian floats of 32 bits.
fn curve(curve: &Curve) -> Value {
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let mut before_ns = 0;
    for (time_ns, value) in &curve.changes {
        let gap = time_ns.saturating_sub(before_ns);
        varint(&mut times, ((gap << 1) ^ (gap >> 63)) as u64);
        before_ns = *time_ns;
        values.extend((*value as f32).to_le_bytes());
    }
    json!({
        "name": width::printable(&curve.name),
        "unit": curve.unit.as_deref().map(width::printable),
        "after": curve.after,
        "slice": curve.slice_ns,
        "times": BASE64.encode(&times),
        "values": BASE64.encode(&values),
    })
}

/// Notes below the timeline: rows drawn individually, rows summarized, and rows left out.
pub(super) fn note(timeline: &Timeline) -> String {
    let count = |n: u64| {
        trueno_model::units::show(trueno_model::Cell::U64(n), trueno_model::units::Unit::None)
    };
    let mut note = match timeline.longer_than_ns {
        None if timeline.spans == 1 => "The only interval is drawn.".to_owned(),
        None => format!(
            "All {} intervals are drawn one by one.",
            count(timeline.spans)
        ),
        Some(longer) => {
            let kept: usize = timeline.rows.iter().map(|row| row.spans.len()).sum();
            format!(
                "The {} intervals longer than {} are drawn one by one; the other {} are drawn as the share of each {} that they fill (paler: less), in the colour of the name with the most time.",
                count(kept as u64),
                trueno_model::units::duration(longer as f64),
                count(timeline.spans - kept as u64),
                trueno_model::units::duration(
                    timeline.until_ns.saturating_sub(timeline.from_ns) as f64
                        / timeline.slices.max(1) as f64
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
    if timeline
        .curves
        .iter()
        .any(|of| of.name.ends_with(" queued"))
    {
        note.push_str(
            " Queued: work whose launch has returned and that has not begun. In flight: from the launch to the end of the work.",
        );
    }
    note
}

#[cfg(test)]
mod tests {
    use trueno_model::timeline::Link;

    use super::*;

    #[test]
    fn links_are_kept_as_steps_forward_and_distances_both_ways() {
        let timeline = Timeline {
            links: [(3, 1), (3, 300), (200, 201)]
                .map(|(from, to)| Link { from, to })
                .to_vec(),
            ..Timeline::default()
        };
        let bytes = BASE64
            .decode(data(&timeline)["links"].as_str().unwrap())
            .unwrap();
        let far = 2 * 297;
        assert_eq!(
            bytes,
            [
                3,
                3,
                0,
                far as u8 & 0x7f | 0x80,
                (far >> 7) as u8,
                197 & 0x7f | 0x80,
                1,
                2
            ]
        );
    }
}
