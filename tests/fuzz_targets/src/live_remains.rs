//! Remains of a recording whose process died: log, rings, waiting rows, counts, and the journal beside them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use trueno_format::live::{COUNTS, LIVE, LOG, parse_log, ring_name, rows_name};
use trueno_format::mapped_file::HEADER_BYTES;
use trueno_format::ring::RingHeader;
use trueno_format::run_json::{RUN_JSON, RunJson};
use trueno_format::schema::TABLES;
use trueno_format::segment::BATCH_ROWS;
use trueno_format::waiting_rows::{COLUMN_STRIDE, MAGIC_ROWS, VALUES_AT, rows_words};
use trueno_format::{journal, salvage};

use crate::frames::{frames, word};
use crate::journal::sealed;
use crate::scratch;

const VERSION: u32 = 1;
/// Number of bytes of its page that a ring's header uses.
const RING_HEADER: usize = size_of::<RingHeader>();
const RECORD: usize = 64;
const MAX_WAITING: usize = 64;

/// Parses lines of the log as they are, and once more with correct hashes.
pub fn log(bytes: &[u8]) -> bool {
    let (entries, damaged) = parse_log(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(
        entries.len() + damaged as usize <= lines,
        "more entries than lines"
    );
    let text = sealed_lines(bytes);
    let (entries, damaged) = parse_log(&text);
    assert_eq!(
        entries.len() + damaged as usize,
        text.split_inclusive(|byte| *byte == b'\n').count()
    );
    !entries.is_empty()
}

fn sealed_lines(lines: &[u8]) -> Vec<u8> {
    let lines = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .flat_map(|line| [sealed(line), b"\n".to_vec()].concat())
        .collect()
}

/// Parts of a run that was still being recorded:
///
/// | kind | part |
/// |---|---|
/// | 0 | lines of the log |
/// | 1 | a ring: size, then what differs from the header and the records of an empty one |
/// | 2 | waiting rows: table, header, first values, rows |
/// | 3 | counts |
/// | 4 | lines of the journal |
/// | 5 | any other file, by its name |
pub fn remains(bytes: &[u8]) -> bool {
    let folder = scratch::folder();
    let run = folder.path();
    let live = run.join(LIVE);
    fs::create_dir(&live).expect("a folder");
    let json = serde_json::to_vec(&RunJson::default()).expect("a run is JSON");
    fs::write(run.join(RUN_JSON), json).expect("room for run.json");
    let (mut log, mut lines, mut rings, mut most) = (Vec::new(), Vec::new(), 0, 64);
    for (kind, part) in frames(bytes) {
        match kind % 6 {
            0 => log.extend(sealed_lines(part)),
            1 if rings < 4 => {
                rings += 1;
                most += ring(&live.join(ring_name(rings)), part);
            }
            2 => {
                waiting(&live, part);
                most += MAX_WAITING;
            }
            3 => fs::write(live.join(COUNTS), part).expect("room for counts"),
            4 => lines.extend(sealed_lines(part)),
            5 => other(&live, part),
            _ => {}
        }
    }
    most += log.len() + TABLES.len();
    fs::write(live.join(LOG), log).expect("room for the log");
    fs::write(run.join(journal::JOURNAL), lines).expect("room for the journal");
    let Ok(Some(salvaged)) = salvage::read(run) else {
        return false;
    };
    let mut rows = 0;
    for segment in &salvaged.segments {
        let of_batches: u64 = segment.batches.iter().map(|batch| batch.rows).sum();
        assert_eq!(of_batches, segment.rows, "rows of {}", segment.table);
        let bytes: u64 = segment.lines("x").iter().map(|line| line.bytes).sum();
        assert_eq!(bytes, segment.bytes.len() as u64, "chunks without holes");
        check_segment(segment);
        rows += segment.rows as usize;
    }
    assert!(
        rows <= most,
        "{rows} rows of {} bytes, expected at most {most}",
        bytes.len()
    );
    rows > 0
}

/// Reads the segment with Arrow, which must find the same rows.
#[cfg(feature = "engine")]
fn check_segment(segment: &salvage::SalvagedSegment) {
    let bytes = std::io::Cursor::new(&segment.bytes);
    let reader = arrow_ipc::reader::FileReader::try_new(bytes, None).expect("a segment");
    let rows: usize = reader.map(|batch| batch.expect("a batch").num_rows()).sum();
    assert_eq!(
        rows as u64, segment.rows,
        "rows of {} in Arrow",
        segment.table
    );
}

#[cfg(not(feature = "engine"))]
fn check_segment(_: &salvage::SalvagedSegment) {}

/// Writes a ring file and returns the maximum number of rows it can hold.
fn ring(path: &Path, part: &[u8]) -> usize {
    let Some((size, part)) = part.split_first() else {
        return 0;
    };
    let capacity = 1_usize << (size % 6);
    let mut file = vec![0; HEADER_BYTES + capacity * RECORD];
    file[..8].copy_from_slice(b"trueRING");
    file[8..12].copy_from_slice(&VERSION.to_le_bytes());
    file[12..16].copy_from_slice(&(RECORD as u32).to_le_bytes());
    file[16..24].copy_from_slice(&(capacity as u64).to_le_bytes());
    // A thread has it.
    file[24] = 1;
    // The header takes less than a page: what is not used of it is left out.
    let (header, records) = part.split_at(part.len().min(RING_HEADER));
    for (to, byte) in file.iter_mut().zip(header) {
        *to ^= byte;
    }
    for (to, byte) in file[HEADER_BYTES..].iter_mut().zip(records) {
        *to = *byte;
    }
    let cut = file.len() - usize::from(size / 64) * 17;
    fs::write(path, &file[..cut]).expect("room for a ring");
    6 * capacity
}

fn waiting(live: &Path, part: &[u8]) {
    let Some((number, part)) = part.split_first() else {
        return;
    };
    let table = TABLES[usize::from(*number) % TABLES.len()];
    let columns = table.columns.len() - usize::from(*number >= 240);
    let file = File::create(live.join(rows_name(table.name))).expect("a file");
    let put = |words: &[u64], at: usize| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all_at(&bytes, at as u64).expect("room for rows");
    };
    let end = HEADER_BYTES + rows_words(columns) * 8;
    file.set_len(end as u64).expect("room for rows");
    let kind = u64::from(VERSION) | (columns as u64) << 32;
    let (batches, varies) = (word(part, 0) & 0xff, word(part, 8));
    put(
        &[
            MAGIC_ROWS,
            kind,
            BATCH_ROWS as u64,
            u64::from(*number),
            batches,
            varies,
        ],
        0,
    );
    let first: Vec<u64> = (0..=columns)
        .map(|column| word(part, 16 + 8 * column))
        .collect();
    put(&first, HEADER_BYTES + 8 * BATCH_ROWS);
    let rows = part.get(16 + 8 * first.len()..).unwrap_or_default();
    for (row, bytes) in rows.chunks(8 * (columns + 2)).take(MAX_WAITING).enumerate() {
        // Most rows are the writer's own.
        put(&[!word(bytes, 0)], HEADER_BYTES + 8 * row);
        for column in (0..=columns).filter(|column| varies >> column & 1 == 1) {
            let place = VALUES_AT + column * COLUMN_STRIDE + row;
            put(&[word(bytes, 8 + 8 * column)], HEADER_BYTES + 8 * place);
        }
    }
}

/// Writes a file with a valid name but arbitrary content.
fn other(live: &Path, part: &[u8]) {
    const NAMES: [&str; 4] = ["x.ring", "4294967296.ring", "bricks.rows", "000002.ring"];
    let Some((name, part)) = part.split_first() else {
        return;
    };
    fs::write(live.join(NAMES[usize::from(*name) % NAMES.len()]), part).expect("room for it");
}
