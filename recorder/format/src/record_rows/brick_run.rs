//! Bricks that come one after the other: what they share is looked at once.

use super::{Rows, has_place, on_thread, site};
use crate::columns::Columns;
use crate::record::{Record, kind, row_id};
use crate::ring::Origin;
use crate::schema::{TABLES, TableId};
use crate::text::{Site, Text, Texts};

const MAX_RUN: usize = 64;

/// Indices of the columns in which such bricks differ.
mod column {
    use super::place;

    pub const ID: usize = place("id");
    pub const PARENT: usize = place("parent");
    pub const NAME: usize = place("name");
    pub const FILE: usize = place("file");
    pub const LINE: usize = place("line");
    pub const BRICK_ID: usize = place("brick_id");
    pub const CATEGORY: usize = place("category");
    pub const START_NS: usize = place("start_ns");
    pub const DUR_NS: usize = place("dur_ns");
    pub const METRICS: [usize; 4] = [
        place("elements"),
        place("flops"),
        place("bytes_read"),
        place("bytes_written"),
    ];
}

const fn place(name: &str) -> usize {
    TABLES[TableId::Bricks as usize].position(name)
}

/// True if a record makes a row that differs from the row of `brick` only in ids, name, times and numbers.
#[inline(always)]
fn is_like(record: &Record, brick: &Record) -> bool {
    (record.kind, record.flags, record.backend) == (brick.kind, brick.flags, brick.backend)
        && (record.parent == 0) == (brick.parent == 0)
        && has_place(record) == has_place(brick)
}

impl Rows {
    /// Adds the rows of the first group. If that is a single record, also adds similar records after it.
    /// Returns the number of records.
    #[inline]
    pub(super) fn bricks(
        &mut self,
        origin: &Origin,
        records: &[Record],
        to: &mut Columns,
        texts: &mut dyn Texts,
    ) -> usize {
        let group = 1 + records[0].extensions();
        let Some(first) = records.get(..group) else {
            return records.len();
        };
        self.brick(origin, first, to, texts);
        if group > 1 || !matches!(records[0].kind, kind::BRICK..=kind::TASK) {
            return group;
        }
        let room = to.room().min(MAX_RUN - 1);
        let rest = &records[1..];
        let alike = rest
            .iter()
            .take(room)
            .take_while(|next| is_like(next, &records[0]));
        match alike.count() {
            0 => 1,
            alike => 1 + self.like_last(origin, &records[0], &rest[..alike], to, texts),
        }
    }

    /// Adds bricks similar to `last`, whose row is the last one. Returns how many.
    fn like_last(
        &mut self,
        origin: &Origin,
        last: &Record,
        mut records: &[Record],
        to: &mut Columns,
        texts: &mut dyn Texts,
    ) -> usize {
        let mut known = [None; MAX_RUN];
        let mut sites = [Site::default(); MAX_RUN];
        let one_name = records.iter().all(|record| record.name == last.name);
        let mut has_number = false;
        if !one_name {
            for (site_of, record) in sites.iter_mut().zip(records) {
                *site_of = site(record.name, texts);
            }
        }
        if !one_name && last.kind == kind::BRICK {
            let name = site(last.name, texts).name;
            has_number = self.texts.brick(name, texts).is_some();
            for at in 0..records.len() {
                known[at] = self.texts.brick(sites[at].name, texts);
                if known[at].is_some() != has_number {
                    records = &records[..at];
                    break;
                }
            }
        }
        let count = records.len();
        if count == 0 {
            return 0;
        }
        let (mut starts, mut lengths) = ([0; MAX_RUN], [0; MAX_RUN]);
        for (at, record) in records.iter().enumerate() {
            (starts[at], lengths[at]) = self.interval(record);
        }
        let first = to.origin().plus(1);
        let mut rows = to.rows_like_last(count);
        rows.column(column::ID, |at| row_id(origin.thread, records[at].seq));
        if last.parent != 0 {
            rows.column(column::PARENT, |at| {
                on_thread(origin.thread, records[at].parent).unwrap_or(0)
            });
        }
        if !one_name {
            rows.column(column::NAME, |at| sites[at].name.number().into());
            if has_place(last) {
                rows.column(column::FILE, |at| sites[at].file.number().into());
                rows.column(column::LINE, |at| sites[at].line.into());
            }
        }
        if has_number {
            let number = |at: usize| known[at].map_or(0, |(brick, _)| brick as u64);
            rows.column(column::BRICK_ID, number);
            let category = |at: usize| known[at].map_or(0, |(_, text): (_, Text)| text.number());
            rows.column(column::CATEGORY, |at| category(at).into());
        }
        rows.column(column::START_NS, |at| starts[at] as u64);
        rows.column(column::DUR_NS, |at| lengths[at] as u64);
        for (metric, column) in column::METRICS.into_iter().enumerate() {
            if last.flags & 1 << metric != 0 {
                rows.column(column, |at| records[at].m[metric]);
            }
        }
        rows.end(first);
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brick::BrickId;
    use crate::record::{Context, extension};
    use crate::segment::Cells;
    use crate::text::{SITE, TextTable};
    use crate::timeline::{ClockReading, Timeline};
    use crate::waiting_rows::RowOrigin;
    use proptest::prelude::*;

    /// Records that often resemble the one before, of known and unknown bricks.
    fn records() -> impl Strategy<Value = Vec<Record>> {
        let kinds = [
            kind::BRICK,
            kind::BRICK,
            kind::BRICK,
            kind::FUNCTION,
            kind::LAYER,
        ];
        let record = (0usize..40, 0u32..3, 0u32..3, 0u8..16, 0u64..5, any::<u32>());
        // Under Miri each step takes hundreds of times as long.
        let most = if cfg!(miri) { 30 } else { 200 };
        prop::collection::vec(record, 1..most).prop_map(move |drawn| {
            let mut records: Vec<Record> = Vec::new();
            for (at, (choice, name, parent, flags, number, seq)) in drawn.into_iter().enumerate() {
                let before = records.last().copied().unwrap_or_default();
                let again = choice > 5 && before.kind != extension::PARENT && before.kind != 0;
                let start = at as u64 * 50;
                records.push(Record {
                    start,
                    end: start + number,
                    seq,
                    parent: if again { before.parent } else { parent },
                    name: if again {
                        before.name
                    } else if choice % 2 == 0 {
                        SITE + name
                    } else {
                        BrickId::SpMv.text().number() + 4 * name
                    },
                    kind: if again {
                        before.kind
                    } else {
                        kinds[choice.min(4)]
                    },
                    flags: if again { before.flags } else { flags },
                    backend: 0,
                    m: [number, number * number, 7, number + start],
                });
                if choice == 0 {
                    let last = records.len() - 1;
                    records[last].flags |= 1 << 4;
                    records.push(Record {
                        kind: extension::PARENT,
                        m: [9; 4],
                        ..Record::default()
                    });
                }
            }
            records
        })
    }

    /// All cells of the rows, present or not, and their origins.
    fn rows(records: &[Record], together: bool) -> Vec<(Vec<u64>, u64)> {
        let reading = |ticks| ClockReading {
            ticks,
            monotonic_ns: ticks,
            realtime_ns: 0,
        };
        let mut texts = TextTable::default();
        texts.add_sites((0..2).map(|at| {
            // One site lacks: others can write to the file of a ring.
            let (name, file) = (BrickId::SpMv.text(), Text::from_number(9 + at));
            (
                SITE + at,
                Site {
                    name,
                    file,
                    line: at,
                },
            )
        }));
        let timeline = Timeline::new(true, reading(0), reading(0));
        let mut rows = Rows::new(timeline, &mut texts);
        let mut columns = Columns::anonymous(TableId::Bricks.schema()).unwrap();
        let origin = Origin {
            thread: 3,
            context: Context {
                iteration: Some(1),
                layer: None,
            },
        };
        let mut at = 0;
        while at < records.len() {
            let group = 1 + records[at].extensions();
            let end = if together { records.len() } else { at + group };
            columns.set_origin(RowOrigin::ring(5, at as u64));
            at += rows.add(
                TableId::Bricks,
                &origin,
                &records[at..end],
                &mut columns,
                &mut texts,
            );
        }
        columns.view(|batch| {
            let cell = |cells: Cells<'_>, row: usize| match cells {
                Cells::Same(value) => value,
                Cells::Each(values) => values[row],
            };
            let row = |row| {
                let present = cell(batch.present, row);
                let there =
                    |(at, cells): (usize, &Cells<'_>)| (present >> at & 1) * cell(*cells, row);
                let mut cells: Vec<u64> = batch.columns.iter().enumerate().map(there).collect();
                cells.push(present);
                (cells, columns.origin_of(row).word())
            };
            (0..batch.rows).map(row).collect()
        })
    }

    proptest! {
        #[test]
        fn together_they_make_the_rows_that_each_makes_alone(records in records()) {
            prop_assert_eq!(rows(&records, true), rows(&records, false));
        }
    }
}
