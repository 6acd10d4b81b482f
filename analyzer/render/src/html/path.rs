//! The critical path as data for the timeline: on which lane, from when to when, work or which wait.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use trueno_model::timeline::Timeline;
use trueno_model::{Report, width};
use trueno_plugin::Table;

use super::varint::varint;

/// Limit on pieces. More are summarized in [`SLICES`].
const MAX_PIECES: usize = 20_000;
/// Time slices; each shows the kind with the most time on the path.
const SLICES: usize = 4_000;

/// One piece, or adjacent pieces of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from_ns: i64,
    until_ns: i64,
    kind: usize,
}

/// `null` if the plugin returned no path. For each lane, pieces are varints: gap since the previous piece, duration
/// and kind. Summarized pieces may be on several lanes and belong to the lane "".
pub(super) fn data(report: &Report, timeline: &Timeline) -> Value {
    let Some(table) = table(report) else {
        return Value::Null;
    };
    let mut kinds: Vec<String> = Vec::new();
    let lanes = pieces(table, timeline, &mut kinds).unwrap_or_default();
    let count: usize = lanes.values().map(Vec::len).sum();
    let is_summed = count > MAX_PIECES;
    let lanes: Vec<Value> = lanes
        .into_iter()
        .map(|(lane, mut pieces)| {
            if is_summed {
                pieces = summed(&pieces, timeline, kinds.len());
            }
            let mut bytes = Vec::new();
            let mut reached_ns = timeline.from_ns;
            for piece in &pieces {
                varint(
                    &mut bytes,
                    piece.from_ns.saturating_sub(reached_ns).max(0) as u64,
                );
                varint(
                    &mut bytes,
                    piece.until_ns.saturating_sub(piece.from_ns).max(0) as u64,
                );
                varint(&mut bytes, piece.kind as u64);
                reached_ns = piece.until_ns;
            }
            json!({
                "lane": width::printable(&lane),
                "n": pieces.len(),
                "spans": BASE64.encode(&bytes),
            })
        })
        .collect();
    json!({ "kinds": kinds, "summed": is_summed, "lanes": lanes })
}

pub(super) fn table(report: &Report) -> Option<&Table> {
    let mut sections = report.sections.iter();
    let section = sections.find(|section| section.plugin == "critical_path")?;
    let mut tables = section.tables.iter();
    tables.find(|table| table.name() == "path" && table.rows() > 0)
}

/// Pieces of each lane in order of time. Adjacent pieces of one kind are merged.
fn pieces(
    table: &Table,
    timeline: &Timeline,
    kinds: &mut Vec<String>,
) -> Option<BTreeMap<String, Vec<Piece>>> {
    let (kind, lane) = (table.text("kind").ok()?, table.text("lane").ok()?);
    let (start, dur) = (table.i64("start_ns").ok()?, table.i64("dur_ns").ok()?);
    let mut lanes: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
    for row in 0..table.rows() {
        let (Some(from_ns), Some(dur_ns)) = (start.get(row), dur.get(row)) else {
            continue;
        };
        if dur_ns <= 0 {
            continue;
        }
        let word = kind.get(row).unwrap_or("?");
        let kind = kinds.iter().position(|known| known == word);
        let kind = kind.unwrap_or_else(|| {
            kinds.push(word.to_owned());
            kinds.len() - 1
        });
        let lane = lane.get(row).unwrap_or("");
        let lane = timeline.shared_lanes.get(lane).map_or(lane, String::as_str);
        let of = lanes.entry(lane.to_owned());
        let of = of.or_default();
        let until_ns = from_ns.saturating_add(dur_ns);
        match of.last_mut() {
            Some(last) if last.until_ns == from_ns && last.kind == kind => {
                last.until_ns = until_ns;
            }
            // Not in order: what overlaps what is there already is left out.
            Some(last) if last.until_ns > from_ns => {}
            _ => of.push(Piece {
                from_ns,
                until_ns,
                kind,
            }),
        }
    }
    Some(lanes)
}

/// Slices with a part of the path. Each has the kind with the most time in it.
fn summed(pieces: &[Piece], timeline: &Timeline, kinds: usize) -> Vec<Piece> {
    let whole_ns = timeline.until_ns.saturating_sub(timeline.from_ns).max(1);
    let edge = |slice: usize| {
        let part = i128::from(whole_ns) * slice as i128 / SLICES as i128;
        timeline.from_ns.saturating_add(part as i64)
    };
    let slice_of = |ns: i64| {
        let part =
            (i128::from(ns) - i128::from(timeline.from_ns)) * SLICES as i128 / i128::from(whole_ns);
        part.clamp(0, SLICES as i128 - 1) as usize
    };
    let mut sums = vec![0_i64; SLICES * kinds];
    for piece in pieces {
        for slice in slice_of(piece.from_ns)..=slice_of(piece.until_ns) {
            let from_ns = piece.from_ns.max(edge(slice));
            let until_ns = piece.until_ns.min(edge(slice + 1));
            let sum = &mut sums[slice * kinds + piece.kind];
            *sum = sum.saturating_add(until_ns.saturating_sub(from_ns).max(0));
        }
    }
    let mut out: Vec<Piece> = Vec::new();
    for slice in 0..SLICES {
        let of = &sums[slice * kinds..(slice + 1) * kinds];
        let most = (0..kinds).max_by_key(|kind| (of[*kind], std::cmp::Reverse(*kind)));
        let Some(kind) = most.filter(|kind| of[*kind] > 0) else {
            continue;
        };
        let (from_ns, until_ns) = (edge(slice), edge(slice + 1));
        match out.last_mut() {
            Some(last) if last.until_ns == from_ns && last.kind == kind => {
                last.until_ns = until_ns;
            }
            _ => out.push(Piece {
                from_ns,
                until_ns,
                kind,
            }),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn report(rows: &[(&str, Option<&str>, i64, i64)]) -> Report {
        let table = Table::build("path")
            .text("kind", rows.iter().map(|row| row.0))
            .text("lane", rows.iter().map(|row| row.1))
            .i64("start_ns", rows.iter().map(|row| row.2))
            .i64("dur_ns", rows.iter().map(|row| row.3))
            .finish()
            .unwrap();
        testing::report(vec![testing::section("critical_path", vec![table])])
    }

    fn timeline(until_ns: i64) -> Timeline {
        Timeline {
            until_ns,
            ..Timeline::default()
        }
    }

    #[test]
    fn pieces_stand_on_their_lanes_and_touching_ones_are_one() {
        let report = report(&[
            ("work", Some("a"), 0, 10),
            ("work", Some("a"), 10, 5),
            ("queue", Some("b"), 15, 5),
            ("work", None, 20, 80),
            ("work", Some("a"), 100, 0),
        ]);
        let mut kinds = Vec::new();
        let lanes = pieces(table(&report).unwrap(), &timeline(100), &mut kinds).unwrap();
        assert_eq!(kinds, ["work", "queue"]);
        let piece = |from_ns, until_ns, kind| Piece {
            from_ns,
            until_ns,
            kind,
        };
        assert_eq!(lanes["a"], [piece(0, 15, 0)]);
        assert_eq!(lanes["b"], [piece(15, 20, 1)]);
        assert_eq!(lanes[""], [piece(20, 100, 0)]);
        let made = data(&report, &timeline(100));
        assert_eq!(made["lanes"].as_array().unwrap().len(), 3);
        assert_eq!(made["summed"], false);
        assert_eq!(data(&testing::report(vec![]), &timeline(100)), Value::Null);
    }

    #[test]
    fn long_paths_are_summed_up_and_stay_small() {
        let rows: Vec<(&str, Option<&str>, i64, i64)> = (0..60_000)
            .map(|n| {
                (
                    ["work", "gap"][n % 2],
                    Some("a"),
                    n as i64 * 100,
                    [90, 10][n % 2],
                )
            })
            .collect();
        let made = data(&report(&rows), &timeline(6_000_000));
        assert_eq!(made["summed"], true);
        // Work has the most time everywhere, so it is one piece.
        assert_eq!(made["lanes"][0]["n"], 1);
    }
}
