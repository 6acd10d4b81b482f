//! Rows that the writer would have added at the end.

use std::collections::BTreeMap;

use super::found::Found;
use super::journal::OnDisk;
use super::table::RestTables;
use crate::clock::timeline::Timeline;
use crate::names::Texts;
use crate::record::TableNumber;
use crate::schema::TABLES;
use crate::writer::ThreadRow;
use crate::writer::columns::Columns;
use crate::writer::facts;

/// Adds threads, clock pairs, ceilings, sources and diagnostics, as far as they are neither on
/// disk nor among the waiting rows: both have them in the order in which they come here.
pub(super) fn add(
    found: &Found,
    timeline: &mut Timeline,
    disk: &BTreeMap<String, OnDisk>,
    off: impl Fn(&str) -> bool,
    tables: &mut RestTables,
) {
    let mut add = |number: TableNumber, rows: Vec<Fill<'_>>| {
        let number = number as usize;
        let name = TABLES[number].name;
        let on_disk = disk.get(name).map_or(0, |table| table.rows);
        let there = on_disk + tables.rows(number);
        let missing = rows
            .into_iter()
            .skip(usize::try_from(there).unwrap_or(usize::MAX));
        for fill in missing.filter(|_| !off(name)) {
            if let Some((columns, texts)) = tables.room(number, 1) {
                fill(columns, texts);
            }
        }
    };
    add(TableNumber::Threads, threads(found, timeline));
    // The writer adds those of devices as they come, and the host's at the end.
    let of_devices = found
        .device_pairs
        .iter()
        .map(|(pair, number, ns)| (pair, Some((*number, *ns))));
    let of_host = found.pairs.iter().skip(1).map(|pair| (pair, None));
    let pairs = of_devices.chain(of_host).map(|(pair, device)| {
        let host_ns = timeline.host_ns(*pair);
        fill(move |to, _| facts::clock_pair(to, *pair, host_ns, device))
    });
    add(TableNumber::ClockPairs, pairs.collect());
    let ceilings = found.ceilings.iter();
    let ceilings =
        ceilings.map(|ceiling| fill(move |to, texts| facts::ceiling(to, texts, ceiling)));
    add(TableNumber::Ceilings, ceilings.collect());
    let sources = found.ptx.iter().map(|(hash, name, bytes)| {
        fill(move |to, texts| facts::ptx(to, texts, *hash, name, *bytes))
    });
    add(TableNumber::Ptx, sources.collect());
    let dropped = (0..TABLES.len())
        .filter(|table| found.dropped(*table) > 0)
        .map(|table| {
            let rows = found.dropped(table);
            let text = facts::dropped_text(rows, TABLES[table].name);
            fill(move |to, texts| facts::warning(to, texts, "dropped_rows", &text, rows))
        });
    add(TableNumber::Diagnostics, dropped.collect());
}

type Fill<'a> = Box<dyn FnOnce(&mut Columns, &mut Texts) + 'a>;

fn fill<'a>(fill: impl FnOnce(&mut Columns, &mut Texts) + 'a) -> Fill<'a> {
    Box::new(fill)
}

/// Those that had ended and those that had not, by index.
fn threads<'a>(found: &Found, timeline: &mut Timeline) -> Vec<Fill<'a>> {
    let mut threads = found.ended.clone();
    let mut alive: BTreeMap<u32, ThreadRow> = BTreeMap::new();
    for ring in &found.rings {
        let who = ring.header().identity();
        let row = alive.entry(who.thread).or_insert_with(|| ThreadRow {
            index: who.thread,
            name: who.name,
            os_id: who.os_id,
            start_ticks: who.start_ticks,
            dropped: 0,
        });
        row.dropped += ring.header().dropped.sum();
    }
    for (index, row) in alive {
        threads.entry(index).or_insert(row);
    }
    let row = |row: ThreadRow| {
        let start_ns = timeline.ns(row.start_ticks);
        fill(move |to, texts| facts::thread(to, texts, &row, start_ns))
    };
    threads.into_values().map(row).collect()
}
