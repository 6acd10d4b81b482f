//! Rows that a killed recorder left in `live/`, as further segments of its run.

use std::collections::BTreeMap;
use std::path::Path;

use trueno_format::salvage::{self, CutBatch, Salvaged, SalvagedSegment};
use trueno_model::{Problem, RunFacts};

use super::journal::{Chunk, ChunkKind, Journal};
use super::layout::SegmentFile;
use super::rebuild;
use super::segment::{Segment, SegmentState, Source};

/// Reads what a dead writer left behind. `None` if there is nothing.
pub(super) fn read(dir: &Path, problems: &mut Vec<Problem>) -> Option<Salvaged> {
    let rest = match salvage::read(dir) {
        Ok(rest) => rest?,
        Err(error) => {
            let text = format!("what the recorder left in live/ is lost: {error}");
            problems.push(Problem::error("live_damaged", text));
            return None;
        }
    };
    // A line was cut before its batch was written: the rows are among the rest.
    problems.retain(|problem| problem.code != "journal_cut");
    let damaged = rest.problems.iter();
    problems.extend(damaged.map(|text| Problem::error("live_damaged", text.clone())));
    Some(rest)
}

/// Removes chunks from the journal that were announced but not written before the process died; no row is lost with
/// them. Bytes from there on are not part of the segment.
pub(super) fn take_back_cut(
    journal: &mut Journal,
    files: &mut BTreeMap<String, SegmentFile>,
    cut: &[CutBatch],
) {
    for (name, chunks) in &mut journal.segments {
        let Some(file) = files.get_mut(name).filter(|file| file.open) else {
            // Announced, and the file was not even made.
            chunks.retain(|chunk| !is_cut(name, chunk, cut));
            continue;
        };
        while let Some(last) = chunks.last() {
            let unwritten = last.kind != ChunkKind::Batch && last.end() > file.bytes;
            if !unwritten && !is_cut(name, last, cut) {
                break;
            }
            file.bytes = file.bytes.min(last.offset);
            chunks.pop();
        }
    }
}

fn is_cut(name: &str, chunk: &Chunk, cut: &[CutBatch]) -> bool {
    chunk.kind == ChunkKind::Batch
        && cut
            .iter()
            .any(|batch| batch.segment == name && batch.offset == chunk.offset)
}

pub(super) fn segments(rest: &Salvaged) -> Vec<Segment> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut segment = |left: &SalvagedSegment| {
        let number = numbers.entry(left.table).or_default();
        *number += 1;
        segment(format!("live: {} #{number}", left.table), left)
    };
    rest.segments.iter().map(&mut segment).collect()
}

fn segment(name: String, left: &SalvagedSegment) -> Segment {
    let bytes = left.bytes.len() as u64;
    match frame(left) {
        Ok(source) => Segment {
            name,
            table: left.table.to_owned(),
            state: SegmentState::Live,
            verified: true,
            rows_expected: Some(left.rows),
            rows_read: left.rows,
            bytes,
            faults: Vec::new(),
            unwritten_rows: 0,
            source,
            content: None,
        },
        Err(reason) => Segment {
            table: left.table.to_owned(),
            ..Segment::lost(&name, bytes, Some(left.rows), reason)
        },
    }
}

fn frame(left: &SalvagedSegment) -> Result<Source, String> {
    let (Some(first), Some(last)) = (left.batches.first(), left.batches.last()) else {
        return Err("there are no batches".to_owned());
    };
    let part = |from: u64, to: u64| {
        left.bytes
            .get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    };
    let head = part(0, first.offset).ok_or("its head is cut")?;
    let batches = part(first.offset, last.offset + last.bytes).ok_or("its batches are cut")?;
    let mut dictionaries: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (column, texts) in left.batches.iter().flat_map(|batch| &batch.new) {
        let texts = texts.iter().map(String::as_str);
        dictionaries.entry(column).or_default().extend(texts);
    }
    let schema = rebuild::schema_of_head(head)?;
    rebuild::rebuild(&schema, batches, &dictionaries).map(Source::Frame)
}

/// Facts that the recorder knew but that are missing in `run.json`.
pub(super) fn complete_facts(facts: &mut RunFacts, rest: &Salvaged, crash_safe: Option<bool>) {
    facts.values.extend(rest.values.clone());
    if let (Some(kept), Some(origin_ns)) = (&rest.kept, &mut facts.clock.origin_realtime_ns) {
        // Time 0 is the beginning of the window.
        *origin_ns += kept.from_ns;
    }
    facts.clock.ticks_per_second = rest.ticks_per_second.or(facts.clock.ticks_per_second);
    if crash_safe != Some(false) && rest.problems.is_empty() {
        let dropped = rest.dropped.values().copied();
        facts.dropped = Some(dropped.fold(0, u64::saturating_add));
    }
}
