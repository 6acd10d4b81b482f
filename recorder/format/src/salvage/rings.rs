//! Records that were published and that the writer had not taken.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::live_folder::LiveFolder;
use super::table::SalvageTables;
use crate::record::{Record, attribute_type, extension, kind, unpair};
use crate::record_rows::Rows;
use crate::ring::{Origin, Ring, RingReader};
use crate::text::{SITE, Site, Text, Texts};
use crate::waiting_rows::RowOrigin;

/// Maximum number of ids in one record of [`kind::JOINS`].
const MAX_JOINS: usize = 6;

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
        // The key, and a text, stand alone: neither has a place.
        kind::ATTRIBUTE => {
            first.name & SITE == 0
                && known(name)
                && match first.flags {
                    attribute_type::TEXT => known(first.m[1]),
                    ty => ty < attribute_type::TEXT,
                }
        }
        kind::INSTANT => {
            first.name & SITE == 0 && known(name) && known(first.metric(0).unwrap_or(0))
        }
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

/// True if the times of a group are in the range of the timeline. Times beyond have wrapped around.
fn is_in_time(group: &[Record], rows: &mut Rows) -> bool {
    let first = &group[0];
    let mut reaches = |ticks: u64| rows.timeline.ns(ticks) >= 0;
    match first.kind {
        kind::DEPENDS | kind::JOINS | kind::ATTRIBUTE => true,
        _ => reaches(first.start) && (!is_interval(first) || reaches(first.end)),
    }
}

fn is_interval(record: &Record) -> bool {
    matches!(
        record.kind,
        kind::ITERATION
            ..=kind::TASK
                | kind::KERNEL
                | kind::PAUSE
                | kind::TILE
                | kind::WAIT
                | kind::DEVICE_WORK
                | kind::DEVICE_WAIT
                | kind::TRANSFER
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::columns::Columns;
    use crate::record::Context;
    use crate::schema::TableId;
    use crate::text::TextTable;
    use crate::timeline::{ClockReading, Timeline};

    fn texts() -> TextTable {
        let texts = [String::new(), "key".to_owned(), "value".to_owned()];
        let mut texts: TextTable = (0..).zip(texts).collect();
        let name = Text::from_number(1);
        texts.add_sites([(
            SITE,
            Site {
                name,
                ..Site::default()
            },
        )]);
        texts
    }

    fn attribute(name: u32, ty: u8, word: u64) -> Record {
        Record {
            kind: kind::ATTRIBUTE,
            name,
            flags: ty,
            m: [1 << 32 | 1, word, 0, 0],
            ..Record::default()
        }
    }

    #[test]
    fn an_attribute_is_sound_if_its_key_type_and_text_are_known() {
        let mut texts = texts();
        let mut sound = |record| is_sound(&[record], &mut texts);
        for ty in attribute_type::INTEGER..attribute_type::TEXT {
            assert!(sound(attribute(1, ty, u64::MAX)), "{ty}");
            assert!(!sound(attribute(3, ty, 0)), "no such key");
            assert!(!sound(attribute(SITE, ty, 0)), "a key has no place");
        }
        assert!(sound(attribute(1, attribute_type::TEXT, 2)));
        for text in [3, 1 << 32 | 2, u64::MAX] {
            assert!(!sound(attribute(1, attribute_type::TEXT, text)), "{text}");
        }
        for ty in attribute_type::TEXT + 1..=u8::MAX {
            assert!(!sound(attribute(1, ty, 0)), "{ty}");
        }
        let instant = |name, flags, text| Record {
            kind: kind::INSTANT,
            name,
            flags,
            m: [text, 0, 0, 0],
            ..Record::default()
        };
        assert!(sound(instant(1, 0, 99)) && sound(instant(1, 1, 2)));
        assert!(!sound(instant(1, 1, 3)) && !sound(instant(3, 0, 0)));
        assert!(!sound(instant(SITE, 0, 0)));
    }

    proptest! {
        /// The writer may also find such values in a ring that another process has written to, because it
        /// does not validate them.
        #[test]
        fn hostile_values_become_rows_or_nothing(
            (flags, name, backend) in (any::<u8>(), any::<u32>(), any::<u16>()),
            (start, seq, parent) in (any::<u64>(), any::<u32>(), any::<u32>()),
            (m, is_instant) in (any::<[u64; 4]>(), any::<bool>()),
        ) {
            let mut texts = texts();
            let kind = if is_instant { kind::INSTANT } else { kind::ATTRIBUTE };
            let record = Record { start, end: start, seq, parent, name, kind, flags: flags & 15, backend, m };
            let table = record.table().unwrap();
            prop_assert_eq!(table == TableId::Annotations, is_instant);
            let reading = |ticks| ClockReading { ticks, monotonic_ns: ticks, realtime_ns: 0 };
            let timeline = Timeline::new(true, reading(0), reading(1000));
            let mut rows = Rows::new(timeline, &mut texts);
            is_sound(&[record], &mut texts);
            is_in_time(&[record], &mut rows);
            let mut columns = Columns::anonymous(table.schema()).unwrap();
            let origin = Origin { thread: u32::MAX - 1, context: Context::default() };
            prop_assert_eq!(rows.add(table, &origin, &[record], &mut columns, &mut texts), 1);
            prop_assert_eq!(columns.rows(), 1);
        }
    }
}
