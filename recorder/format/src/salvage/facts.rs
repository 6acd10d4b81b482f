//! Rows that the writer would have added at the end.

use std::collections::BTreeMap;

use super::live_folder::LiveFolder;
use super::on_disk::OnDisk;
use super::table::SalvageTables;
use crate::live::LoggedThread;
use crate::record_rows::run_facts;
use crate::schema::{TABLES, TableRow};
use crate::text::Texts;
use crate::timeline::Timeline;

/// Adds threads, clock pairs, ceilings, signatures, sources and diagnostics that are neither on disk nor among the
/// waiting rows. Both contain them in the order in which they are added here.
pub(super) fn add(
    found: &LiveFolder,
    timeline: &mut Timeline,
    disk: &BTreeMap<String, OnDisk>,
    off: impl Fn(&str) -> bool,
    tables: &mut SalvageTables,
) {
    let mut missing = Missing {
        found,
        disk,
        off,
        tables,
    };
    missing.add(threads(found), |texts, of| {
        run_facts::thread(texts, &of, timeline.ns(of.start_ticks))
    });
    // The writer adds those of devices as they come, and the host's at the end.
    let of_devices = found
        .device_pairs
        .iter()
        .map(|(pair, number, ns)| (*pair, Some((*number, *ns))));
    let of_host = found.pairs.iter().skip(1).map(|pair| (*pair, None));
    missing.add(of_devices.chain(of_host), |_, (pair, device)| {
        run_facts::clock_pair(pair, timeline.host_ns(pair), device)
    });
    missing.add(&found.ceilings, |texts, ceiling| ceiling.row(texts));
    missing.add(&found.collectives, |texts, of| {
        let (start, end) = of.ticks;
        of.row(texts, timeline.ns(start), timeline.ns(end))
    });
    missing.add(&found.signatures, |texts, (id, text)| {
        run_facts::signature(texts, *id, *text)
    });
    missing.add(&found.ptx, |texts, (hash, name, bytes)| {
        run_facts::ptx(texts, *hash, name, *bytes)
    });
    let dropped = (0..TABLES.len()).filter(|table| found.dropped(*table) > 0);
    missing.add(dropped, |texts, table| {
        let rows = found.dropped(table);
        let text = run_facts::dropped_text(rows, TABLES[table].name);
        run_facts::warning(texts, "dropped_rows", &text, rows)
    });
}

struct Missing<'a, F> {
    found: &'a LiveFolder,
    disk: &'a BTreeMap<String, OnDisk>,
    off: F,
    tables: &'a mut SalvageTables,
}

impl<F: Fn(&str) -> bool> Missing<'_, F> {
    fn add<T, R: TableRow>(
        &mut self,
        facts: impl IntoIterator<Item = T>,
        mut row: impl FnMut(&mut dyn Texts, T) -> R,
    ) {
        let (number, name) = (R::TABLE as usize, R::TABLE.schema().name);
        if (self.off)(name) {
            return;
        }
        let on_disk = self.disk.get(name).map_or(0, |table| table.rows);
        let there = on_disk.saturating_add(self.tables.rows(number));
        // The oldest ones have left the window.
        let there = there.saturating_add(self.found.discarded(number));
        let there = usize::try_from(there).unwrap_or(usize::MAX);
        for fact in facts.into_iter().skip(there) {
            if let Some((columns, texts)) = self.tables.room(number, 1) {
                columns.push_own(&row(texts, fact));
            }
        }
    }
}

/// Threads that had ended and threads that had not, by index.
fn threads(found: &LiveFolder) -> impl Iterator<Item = LoggedThread> {
    let mut threads = found.ended.clone();
    let mut alive: BTreeMap<u32, LoggedThread> = BTreeMap::new();
    for ring in &found.rings {
        let who = ring.header().identity();
        let thread = alive.entry(who.thread).or_insert_with(|| LoggedThread {
            index: who.thread,
            name: who.name,
            os_id: who.os_id,
            start_ticks: who.start_ticks,
            dropped: 0,
        });
        let dropped = ring.header().dropped().sum();
        thread.dropped = thread.dropped.saturating_add(dropped);
    }
    for (index, thread) in alive {
        threads.entry(index).or_insert(thread);
    }
    threads.into_values()
}
