//! Spools of recorded CUDA programs.

use trueno_cupti::record::decode;
use trueno_cupti::spool::{Item, MAGIC, Reader};
use trueno_format::RecordedCeilings;
use trueno_import::cuda::spool::collect;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::frames::frames;
use crate::scratch;

/// Parses the bytes after the magic number, and once more as payloads of valid chunks.
pub fn items(bytes: &[u8]) -> bool {
    let raw = [MAGIC, bytes].concat();
    let (of_raw, _) = read(&raw);
    let spool = spool(bytes);
    let (count, is_whole) = read(&spool);
    assert!(
        of_raw <= raw.len() && count <= spool.len(),
        "more items than bytes"
    );
    let cut = &spool[..spool.len() - usize::from(spool.len() > MAGIC.len())];
    let (of_cut, cut_is_whole) = read(cut);
    assert!(of_cut <= count, "items of a chunk that is cut");
    assert!(
        !cut_is_whole || cut.len() == MAGIC.len() || cut.len() == spool.len(),
        "a cut is not seen"
    );
    is_whole && count > 0
}

fn read(spool: &[u8]) -> (usize, bool) {
    let mut count = 0;
    let reader = Reader::new(spool).expect("it begins as a spool");
    let damage = reader.read(|item| {
        if let Item::Record(bytes) = item {
            let _ = decode(bytes);
        }
        count += 1;
    });
    (count, damage.chunks == 0 && damage.cut_bytes == 0)
}

/// The bytes as chunks with correct lengths and hashes.
fn spool(bytes: &[u8]) -> Vec<u8> {
    let mut spool = MAGIC.to_vec();
    for (kind, payload) in frames(bytes) {
        let kind = u32::from(kind % 16);
        spool.extend_from_slice(&kind.to_le_bytes());
        spool.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        spool.extend_from_slice(&xxh3_64_with_seed(payload, kind.into()).to_le_bytes());
        spool.extend_from_slice(payload);
    }
    spool
}

/// Converts such a spool into a run.
pub fn run(bytes: &[u8]) -> bool {
    let folder = scratch::folder();
    let spools = folder.path().join("spools");
    std::fs::create_dir(&spools).expect("a folder");
    std::fs::write(spools.join("1.spool"), spool(bytes)).expect("a spool");
    let summary = collect(&spools, &folder.path().join("run"), false, &|_, _| {
        RecordedCeilings::default()
    });
    let Ok(summary) = summary else { return false };
    let tables = summary
        .runs
        .iter()
        .flat_map(|collected| collected.run.tables.values());
    let rows: u64 = tables.map(|table| table.rows).sum();
    assert!(
        rows <= 16 * bytes.len() as u64 + 64,
        "{rows} rows of {} bytes",
        bytes.len()
    );
    rows > 0
}
