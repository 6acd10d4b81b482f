//! Records that were published and that the writer had not taken.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::live_folder::LiveFolder;
use super::table::SalvageTables;
use crate::record::{Record, extension, kind, unpair};
use crate::record_rows::Rows;
use crate::ring::{Origin, Ring, RingReader};
use crate::text::{Site, Text, Texts};
use crate::waiting_rows::RowOrigin;

/// Ids in one record of [`kind::JOINS`] at most.
const MAX_JOINS: usize = 6;

/// Turns the records of all rings into rows, thread by thread.
pub(super) fn take(found: &mut LiveFolder, rows: &mut Rows, tables: &mut SalvageTables) {
    let mut rings = found.rings.clone();
    let place = |ring: &Arc<Ring>| {
        let header = ring.header();
        (
            header.thread.load(Ordering::Relaxed),
            header.order.load(Ordering::Relaxed),
        )
    };
    rings.sort_by_key(place);
    let mut damaged = 0u64;
    for chain in rings.chunk_by(|a, b| place(a).0 == place(b).0) {
        for two in chain.windows(2) {
            two[0].set_next(two[1].clone());
        }
        let thread = place(&chain[0]).0;
        let take = |origin: &Origin, _: RowOrigin, records: &[Record]| {
            let length = records.len().min(1 + records[0].extensions());
            let group = &records[..length];
            match group[0].table() {
                Some(number) if is_sound(group, &mut tables.texts) && is_in_time(group, rows) => {
                    if let Some((columns, texts)) = tables.room(number as usize, group[0].rows()) {
                        rows.add(number, origin, group, columns, texts);
                    }
                }
                _ => damaged += 1,
            }
            length
        };
        RingReader::new(thread, chain[0].clone()).drain(|| true, take, drop);
    }
    if damaged > 0 {
        found
            .problems
            .push(format!("live: {damaged} records are damaged and left out"));
    }
}

/// True if a group is whole and all its names are known.
fn is_sound(group: &[Record], texts: &mut dyn Texts) -> bool {
    let first = &group[0];
    if group.len() != 1 + first.extensions() || first.start > first.end && is_interval(first) {
        return false;
    }
    if first.kind == kind::JOINS && first.rows() > MAX_JOINS {
        return false;
    }
    let site = match first.kind {
        // Its depth stands there.
        kind::TILE => Some(Site::default()),
        _ => texts.site_of(first.name),
    };
    let Some(Site { name, file, .. }) = site else {
        return false;
    };
    let name = u64::from(name.number());
    let mut known = |number: u64| {
        u32::try_from(number).is_ok_and(|number| texts.get(Text::from_number(number)).is_some())
    };
    let of_first = match first.kind {
        kind::TILE | kind::DEPENDS | kind::JOINS => true,
        kind::CHECKSUM => {
            let (dtype, shape) = unpair(first.m[2]);
            known(name) && known(dtype.into()) && known(shape.into())
        }
        kind::COUNTER => known(name) && known(first.m[1]),
        kind::DEVICE_WORK => known(name) && known(first.backend.into()) && known(first.m[2]),
        _ => known(name) && known(first.backend.into()),
    };
    known(file.number().into())
        && of_first
        && group[1..].iter().all(|more| match more.kind {
            extension::LABELS => known(more.m[0]) && known(more.m[1]),
            extension::PARENT..=extension::WORK => true,
            extension::MEMORY => {
                let (source, destination) = unpair(more.m[0]);
                known(source.into()) && known(destination.into())
            }
            _ => false,
        })
}

/// True if its times lie where the timeline reaches: what lies beyond has wrapped around.
fn is_in_time(group: &[Record], rows: &mut Rows) -> bool {
    let first = &group[0];
    let mut reaches = |ticks: u64| rows.timeline.ns(ticks) >= 0;
    match first.kind {
        kind::DEPENDS | kind::JOINS => true,
        _ => reaches(first.start) && (!is_interval(first) || reaches(first.end)),
    }
}

fn is_interval(record: &Record) -> bool {
    matches!(
        record.kind,
        kind::ITERATION
            ..=kind::TASK
                | kind::KERNEL
                | kind::TILE
                | kind::WAIT
                | kind::DEVICE_WORK
                | kind::DEVICE_WAIT
                | kind::TRANSFER
    )
}
