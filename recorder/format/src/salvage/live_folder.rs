//! The folder `live/` of a dead writer: its log, rings and counts, as they were found.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::ceiling::Ceiling;
use crate::collective::Collective;
use crate::dropped_names::NamedRows;
use crate::error::Error;
use crate::kernel_source::PtxHash;
use crate::live::{COUNTS, Entry, LOG, LiveCounts, LoggedThread, read_log};
use crate::mapped_file::{FileKind, HEADER_BYTES};
use crate::mapping::Mapping;
use crate::ring::{Ring, RingHeader};
use crate::row_counters::RowCounters;
use crate::schema::{TABLES, TableId};
use crate::text::{SITE, Site, Text, TextTable};
use crate::timeline::{ClockReading, Knot};

/// Larger counts of rows are treated as damage: two months of rows at a nanosecond each.
const MAX_DROPPED: u64 = 1 << 52;

#[derive(Default)]
pub(super) struct LiveFolder {
    pub texts: TextTable,
    pub pairs: Vec<ClockReading>,
    pub knots: Vec<Knot>,
    /// With a device's number and clock.
    pub device_pairs: Vec<(ClockReading, u32, u64)>,
    /// Threads that had ended, by index.
    pub ended: BTreeMap<u32, LoggedThread>,
    pub values: BTreeMap<String, String>,
    pub ceilings: Vec<Ceiling>,
    pub collectives: Vec<Collective>,
    /// Ids, and numbers of their texts.
    pub signatures: Vec<(u32, u32)>,
    /// Hash, name and length of kernel sources, each pair of hash and name once.
    pub ptx: Vec<(u64, String, u64)>,
    pub sources: BTreeMap<String, String>,
    pub rings: Vec<Arc<Ring>>,
    /// Files of rings that were created completely, used or not.
    finished_rings: u64,
    dropped: RowCounters,
    /// Rows that had left a rolling window.
    discarded: RowCounters,
    /// Beginning of the rolling window.
    pub kept_from_ns: i64,
    /// Those whose name is known.
    pub dropped_names: NamedRows,
    /// Nothing at all lies there.
    pub is_empty: bool,
    /// Tables that a file of waiting rows was made for.
    pub has_rows: BTreeSet<usize>,
    /// Tables whose waiting rows are lost, all or some.
    pub lost_rows: BTreeSet<usize>,
    /// Rows of rings are lost, of tables that are not known.
    pub lost_rings: bool,
    pub problems: Vec<String>,
}

impl LiveFolder {
    pub fn read(live: &Path) -> Result<Self, Error> {
        let mut found = Self::default();
        let mut logged = HashSet::new();
        let log = live.join(LOG);
        match read_log(&log) {
            Ok((entries, damaged)) => {
                let lines = entries.len() as u64 + damaged;
                let odd = found.take(entries, max_name(lines), &mut logged);
                if odd > 0 {
                    let text = format!("{odd} names have impossible numbers, and are left out");
                    found.problem(&log, &text);
                }
                if damaged > 0 {
                    found.problem(&log, &format!("{damaged} lines are damaged and left out"));
                }
            }
            // Made before all else: the process died before it could record anything.
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && !has_rings(live)
                    && !live.join(COUNTS).exists() => {}
            Err(error) => found.problem(&log, &format!("cannot be read: {error}")),
        }
        let mut files: Vec<PathBuf> = fs::read_dir(live)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(|e| Error::io(live, "list the folder", e))?;
        files.sort_unstable();
        found.is_empty = files.is_empty();
        for path in files.iter().filter(|path| is_ring(path)) {
            found.ring(path, &logged);
        }
        found.counts(&live.join(COUNTS));
        Ok(found)
    }

    pub fn problem(&mut self, path: &Path, what: &str) {
        self.problems.push(format!("{}: {what}", path.display()));
    }

    pub fn dropped(&self, table: usize) -> u64 {
        self.dropped.get(table)
    }

    pub fn discarded(&self, table: usize) -> u64 {
        self.discarded.get(table)
    }

    /// What a full batch says, the oldest that is left. The writer's count may already have that batch itself.
    pub fn set_discarded(&mut self, table: usize, rows: u64) {
        self.discarded.set(table, rows.min(MAX_DROPPED));
    }

    fn take(
        &mut self,
        entries: Vec<Entry>,
        max_name: u64,
        logged: &mut HashSet<(u32, u64)>,
    ) -> u64 {
        let (mut names, mut sites, mut odd) = (Vec::new(), Vec::new(), 0);
        for entry in entries {
            match entry {
                Entry::Name(number, text) if u64::from(number) < max_name => {
                    names.push((number, text));
                }
                Entry::Name(..) => odd += 1,
                Entry::Site {
                    number,
                    name,
                    file,
                    line,
                } => {
                    let [name, file] = [name, file].map(Text::from_number);
                    sites.push((number | SITE, Site { name, file, line }));
                }
                Entry::Clock { pair, knot } => {
                    self.pairs.push(pair);
                    self.knots.extend(knot);
                }
                Entry::DevicePair {
                    pair,
                    device,
                    device_ns,
                } => self.device_pairs.push((pair, device, device_ns)),
                Entry::Thread(thread) => {
                    self.ended.insert(thread.index, thread);
                }
                Entry::Dropped {
                    ring,
                    uses,
                    rows,
                    names,
                } => {
                    logged.insert((ring, uses));
                    for (table, name, rows) in names {
                        if let Some(id) = TableId::from_name(&table) {
                            let sum = self.dropped_names.entry((id as usize, name)).or_default();
                            *sum = sum.saturating_add(rows);
                        }
                    }
                    for (table, rows) in rows {
                        if let Some(id) = TableId::from_name(&table) {
                            self.dropped.add(id as usize, rows);
                        }
                    }
                }
                Entry::Value(key, value) => {
                    self.values.insert(key, value);
                }
                Entry::Ceiling(ceiling) => self.ceilings.push(ceiling),
                Entry::Collective(of) => self.collectives.push(of),
                Entry::Signature { id, text } => self.signatures.push((id, text)),
                Entry::Ptx { hash, name, source } => {
                    let bytes = source.len() as u64;
                    if !self.ptx.iter().any(|(h, n, _)| *h == hash && *n == name) {
                        self.ptx.push((hash, name, bytes));
                    }
                    self.sources
                        .insert(PtxHash::from_number(hash).to_string(), source);
                }
            }
        }
        self.texts = names.into_iter().collect();
        self.texts.add_sites(sites);
        odd
    }

    fn ring(&mut self, path: &Path, logged: &HashSet<(u32, u64)>) {
        let number = path.file_stem().and_then(OsStr::to_str);
        let Some(number) = number.and_then(|stem| stem.parse::<u32>().ok()) else {
            return self.problem(path, "not the name of a ring; left out");
        };
        let (memory, bytes) = match Mapping::copy_of(path) {
            Ok(copy) => copy,
            Err(error) => {
                self.lost_rings = true;
                return self.problem(path, &format!("cannot be read: {error}"));
            }
        };
        if !FileKind::is_finished_in(&memory, bytes) {
            // The process died while it made the file, and it has held nothing yet; or it was emptied.
            return;
        }
        let memory = Arc::new(memory);
        // SAFETY: long enough, as it was finished, and aligned to a page; any bits are valid in it.
        let first: &RingHeader = unsafe { memory.base().cast().as_ref() };
        let count = Ring::count_in(first, bytes).unwrap_or(1);
        let each = bytes / count;
        for (nth, number) in (0..count).zip(number..) {
            self.ring_in(path, &memory, nth * each..(nth + 1) * each, number, logged);
        }
    }

    fn ring_in(
        &mut self,
        path: &Path,
        memory: &Arc<Mapping>,
        range: Range<usize>,
        number: u32,
        logged: &HashSet<(u32, u64)>,
    ) {
        let is_first = range.start == 0;
        let ring = Ring::restored(memory, range.clone(), number);
        if ring.is_none() && !is_first && is_unused(memory, &range) {
            return;
        }
        self.finished_rings += 1;
        let Some(ring) = ring else {
            self.lost_rings = true;
            return self.problem(
                path,
                "damaged, or of another version; its rows are lost (hint: use the version of \
                 trueno-analyze that belongs to the recorder)",
            );
        };
        let header = ring.header();
        let uses = header.uses.load(Ordering::Relaxed);
        if header.in_use.load(Ordering::Acquire) == 0 {
            return;
        }
        if !logged.contains(&(number, uses)) {
            self.add_dropped(path, |table| header.dropped().get(table));
            header.dropped_names.add_to(&mut self.dropped_names);
        }
        self.rings.push(ring);
    }

    /// Adds a file's counts per table. Impossible counts are damage and not added.
    fn add_dropped(&mut self, path: &Path, rows: impl Fn(usize) -> u64) {
        for (table, schema) in TABLES.iter().enumerate() {
            match rows(table) {
                rows if rows <= MAX_DROPPED => self.dropped.add(table, rows),
                rows => {
                    let name = schema.name;
                    let text = format!(
                        "records {rows} dropped rows of {name}, which is impossible: damaged; the true number is not known"
                    );
                    self.problem(path, &text);
                }
            }
        }
    }

    fn counts(&mut self, path: &Path) {
        match Mapping::copy_of(path) {
            Ok((page, bytes)) if bytes >= HEADER_BYTES => {
                // SAFETY: the page is long enough and aligned; any bits are valid counts.
                let counts: &LiveCounts = unsafe { page.base().cast().as_ref() };
                self.add_dropped(path, |table| {
                    let (no_ring, unwritten) = (counts.no_ring(), counts.unwritten());
                    no_ring.get(table).saturating_add(unwritten.get(table))
                });
                for table in 0..TABLES.len() {
                    let rows = counts.discarded().get(table);
                    self.discarded.add(table, rows.min(MAX_DROPPED));
                }
                self.kept_from_ns = counts.kept_from_ns();
                let made = counts.files().rings();
                let deleted = made.saturating_sub(self.finished_rings);
                if deleted > 0 {
                    let text = format!(
                        "{deleted} of {made} rings are empty or no longer exist; the rows that they held \
                         are lost, how many is not known"
                    );
                    self.problem(&path.with_file_name(""), &text);
                    self.lost_rings = true;
                }
                self.has_rows = (0..TABLES.len())
                    .filter(|table| counts.files().has_rows(*table))
                    .collect();
                self.unread((0..TABLES.len()).filter(|table| counts.has_unread(*table)));
            }
            Ok(_) if self.rings.is_empty() => {}
            Ok(_) => self.problem(path, "cut short; the rows that it counted are not known"),
            // The process died before it had made them.
            Err(error) if error.kind() == ErrorKind::NotFound && self.rings.is_empty() => {}
            Err(error) => self.problem(path, &format!("cannot be read: {error}")),
        }
    }

    /// Reports tables whose rows the writer read from the kernel: rows that were still there when it died are
    /// lost.
    fn unread(&mut self, tables: impl Iterator<Item = usize>) {
        let before = self.lost_rows.len();
        self.lost_rows.extend(tables);
        if self.lost_rows.len() > before {
            let names = self.lost_rows.iter().map(|table| TABLES[*table].name);
            let names: Vec<&str> = names.collect();
            self.problems.push(format!(
                "the recorder died before it had read all that the kernel had for it: how many rows of {} are lost is not known",
                names.join(", ")
            ));
        }
    }
}

/// Larger numbers of names are treated as damage: names are numbered without gaps, and each has its line in the
/// log.
fn max_name(lines: u64) -> u64 {
    (2 * lines + 1024).min(1 << 24)
}

fn is_unused(memory: &Mapping, range: &Range<usize>) -> bool {
    // SAFETY: inside the memory, aligned to a page; any bits are valid in it.
    let kind: &FileKind = unsafe { memory.base().add(range.start).cast().as_ref() };
    !kind.is_finished()
}

fn is_ring(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("ring"))
}

fn has_rings(live: &Path) -> bool {
    let entries = fs::read_dir(live).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| is_ring(&entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;
    use crate::live::Log;
    use crate::run_json::RunJson;
    use crate::run_writer::RunWriter;
    use crate::text::Texts;

    #[test]
    fn a_name_of_a_number_beyond_the_log_is_left_out_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let names = [1000, 1 << 23].map(|number| Entry::Name(number, format!("name {number}")));
        Log::create(&Arc::new(Folder::open(folder.path()).unwrap()))
            .unwrap()
            .append(&names)
            .unwrap();
        let mut found = LiveFolder::read(folder.path()).unwrap();
        let mut get = |number| {
            found
                .texts
                .get(Text::from_number(number))
                .map(str::to_owned)
        };
        assert_eq!(get(1000).as_deref(), Some("name 1000"));
        assert_eq!(get(1 << 23), None);
        let told = found.problems.iter().any(|text| text.contains("1 names"));
        assert!(told, "{:?}", found.problems);
    }

    #[test]
    fn what_a_dead_writer_had_not_read_from_the_kernel_is_lost_uncounted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.run");
        let mut run = RunWriter::create_surviving(&path, RunJson::default()).unwrap();
        run.reads_from_kernel(&[TableId::Samples, TableId::Syncs]);
        run.drop_rows(TableId::Samples, 7);
        // As a killed process leaves it.
        drop(run);
        let left = crate::salvage::read(&path).unwrap().unwrap();
        assert_eq!(left.lost_uncounted, BTreeSet::from(["samples", "syncs"]));
        assert_eq!(left.dropped, BTreeMap::from([("samples", 7)]));
        assert!(
            left.problems[0].ends_with("how many rows of syncs, samples are lost is not known")
        );
    }
}
