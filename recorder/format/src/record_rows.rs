//! Groups of records to rows of tables.

use super::columns::Columns;
use super::words::Words;
use crate::checksum::sampling::MAX_SAMPLES;
use crate::clock::timeline::Timeline;
use crate::names::{Name, Texts};
use crate::ptx::PtxHash;
use crate::record::{Context, Record, TableNumber, extension, kind, row_id, unpair};
use crate::tile_sampling;

/// Where a group comes from.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub thread: u32,
    pub context: Context,
}

/// What all rows need.
pub(crate) struct Rows {
    pub timeline: Timeline,
    pub words: Words,
    /// The source hash last turned into text.
    ptx: Option<(u64, Name)>,
}

/// A name that may be missing.
pub(super) fn given(number: u64) -> Option<Name> {
    (number != 0).then(|| Name::from_number(number as u32))
}

/// A row on the same thread that may be missing.
fn on_thread(thread: u32, seq: u32) -> Option<u64> {
    (seq != 0).then(|| row_id(thread, seq))
}

/// The extension of that kind in a group.
pub(super) fn find(group: &[Record], kind: u8) -> Option<&Record> {
    group[1..].iter().find(|record| record.kind == kind)
}

impl Rows {
    pub fn new(timeline: Timeline, texts: &mut Texts) -> Self {
        Self {
            timeline,
            words: Words::new(texts),
            ptx: None,
        }
    }

    /// Start and duration. Both ends go through one monotone function, so nesting is kept.
    #[inline(always)]
    pub(super) fn interval(&mut self, record: &Record) -> (i64, i64) {
        let start = self.timeline.ns(record.start);
        let end = self.timeline.ns(record.end);
        (start, end - start)
    }

    /// Adds row `nth` of a group (only joins make several) to its table, which must have room.
    #[inline(always)]
    pub fn add(
        &mut self,
        table: TableNumber,
        origin: &Origin,
        group: &[Record],
        nth: usize,
        to: &mut Columns,
        texts: &mut Texts,
    ) {
        match table {
            TableNumber::Kernels if group[0].kind == kind::DEVICE_WORK => {
                self.device_work(origin, group, to, texts)
            }
            TableNumber::Syncs if group[0].kind == kind::DEVICE_WAIT => {
                self.device_wait(origin, &group[0], to)
            }
            TableNumber::Bricks => self.brick(origin, group, to, texts),
            TableNumber::Kernels => self.kernel(origin, group, to, texts),
            TableNumber::Tiles => self.tile(origin, &group[0], to),
            TableNumber::Transfers => self.transfer(origin, group, to),
            TableNumber::Syncs => self.wait(origin, &group[0], to),
            TableNumber::Edges => self.edge(origin, &group[0], nth, to),
            TableNumber::Checksums => self.checksum(origin, group, to),
            TableNumber::Allocations => self.allocation(origin, &group[0], to),
            TableNumber::Counters => self.counter(origin, &group[0], to),
            // Their rows do not come through rings.
            TableNumber::Ceilings
            | TableNumber::Ptx
            | TableNumber::Threads
            | TableNumber::ClockPairs
            | TableNumber::Diagnostics => {}
        }
    }

    /// Out of line: most rows of most runs come through here, and alone it keeps its values in
    /// registers.
    #[inline(never)]
    fn brick(&mut self, origin: &Origin, group: &[Record], to: &mut Columns, texts: &mut Texts) {
        let record = &group[0];
        let (mut thread, mut context) = (origin.thread, origin.context);
        let mut parent = on_thread(thread, record.parent);
        let (mut backend, mut category) = (u64::from(record.backend), 0);
        for more in &group[1..] {
            match more.kind {
                extension::LABELS => [backend, category] = [more.m[0], more.m[1]],
                extension::PARENT => parent = Some(more.m[0]),
                extension::ORIGIN => {
                    (thread, context) = (more.name, Context::load(more));
                    parent = (more.m[0] != 0).then_some(more.m[0]);
                }
                _ => {}
            }
        }
        let name = Name::from_number(record.name);
        let known = if record.kind == kind::BRICK {
            self.words.brick(name, texts)
        } else {
            None
        };
        let category = given(category).or(known.map(|(_, category)| category));
        let (start, dur) = self.interval(record);
        let metric = |at| record.metric(at);
        match record.kind {
            kind::ITERATION => {
                context = Context {
                    iteration: Some(record.m[0]),
                    layer: None,
                }
            }
            kind::LAYER => context.layer = Some(record.m[0] as u32),
            _ => {}
        }
        to.row(|row| {
            row.put(row_id(thread, record.seq))
                .put_if(parent)
                .text(self.words.kind(record.kind))
                .text(name)
                .put_if(known.map(|(brick, _)| brick as u64))
                .text_if(category)
                .text_if(given(backend))
                .put(u64::from(thread))
                .signed(start)
                .signed(dur)
                .text(self.words.host)
                .put_if(context.iteration)
                .put_if(context.layer.map(u64::from))
                .put_if(metric(0))
                .put_if(metric(1))
                .put_if(metric(2))
                .put_if(metric(3));
        });
    }

    fn kernel(&mut self, origin: &Origin, group: &[Record], to: &mut Columns, texts: &mut Texts) {
        let record = &group[0];
        let launch = find(group, extension::LAUNCH).copied().unwrap_or_default();
        let backend =
            find(group, extension::LABELS).map_or(u64::from(record.backend), |more| more.m[0]);
        let [grid, block, ptx] = [1, 2, 4].map(|bit| launch.flags & bit != 0);
        let ((grid_x, grid_y), (grid_z, block_x)) = (unpair(launch.start), unpair(launch.end));
        let (block_y, block_z) = unpair(launch.m[0]);
        let source = ptx.then(|| self.source_name(launch.m[1], texts));
        let declared = record
            .metric(1)
            .or(record.metric(2))
            .map(|_| self.words.declared);
        let (start, dur) = self.interval(record);
        to.row(|row| {
            row.put(row_id(origin.thread, record.seq))
                .put_if(on_thread(origin.thread, record.parent))
                .text(Name::from_number(record.name))
                .text_if(given(backend))
                .put_if(Some(u64::from(origin.thread)))
                .nulls(3) // device, stream, correlation
                .signed(start)
                .signed(dur)
                .text(self.words.host)
                .nulls(2); // queued, submitted
            for size in [grid_x, grid_y, grid_z] {
                row.put_if(grid.then_some(u64::from(size)));
            }
            for size in [block_x, block_y, block_z] {
                row.put_if(block.then_some(u64::from(size)));
            }
            row.nulls(3) // registers, shared memory
                .text_if(source)
                .nulls(1) // graph node
                .put_if(record.metric(0))
                .put_if(record.metric(1))
                .put_if(record.metric(2))
                .text_if(declared)
                .put(1)
                .nulls(1); // reason
        });
    }

    pub(super) fn source_name(&mut self, hash: u64, texts: &mut Texts) -> Name {
        match self.ptx {
            Some((of, name)) if of == hash => name,
            _ => {
                let name = texts.name(&PtxHash::from_number(hash).to_string());
                self.ptx = Some((hash, name));
                name
            }
        }
    }

    fn tile(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let (tile_row, col) = unpair(record.m[3]);
        let (level, every) = tile_sampling::unpacked(record.backend);
        let level = self.words.levels[level];
        let sampled_every = (every > 1).then_some(u64::from(every));
        let depth = (record.flags & 8 != 0).then_some(u64::from(record.name));
        let (start, dur) = self.interval(record);
        to.row(|row| {
            row.put(row_id(origin.thread, record.seq))
                .put_if(on_thread(origin.thread, record.parent))
                .text(level)
                .put(u64::from(tile_row))
                .put(u64::from(col))
                .put_if(depth)
                .put(u64::from(origin.thread))
                .signed(start)
                .signed(dur)
                .put_if(record.metric(0))
                .put_if(record.metric(1))
                .put_if(record.metric(2))
                .put_if(sampled_every);
        });
    }

    fn wait(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let (start, dur) = self.interval(record);
        to.row(|row| {
            row.put(row_id(origin.thread, record.seq))
                .text(self.words.join)
                .text_if(given(u64::from(record.name)))
                .put_if(Some(u64::from(origin.thread)))
                .nulls(3) // device, stream, event
                .signed(start)
                .signed(dur)
                .nulls(1); // correlation
        });
    }

    fn edge(&mut self, origin: &Origin, record: &Record, nth: usize, to: &mut Columns) {
        let [m0, m1, m2, m3] = record.m;
        let (from, target, kind) = if record.kind == kind::DEPENDS {
            (m0, m1, self.words.depends_on)
        } else {
            let ids = [record.start, record.end, m0, m1, m2, m3];
            (
                ids[nth],
                row_id(origin.thread, record.seq),
                self.words.joins,
            )
        };
        to.row(|row| {
            row.put(from).put(target).text(kind);
        });
    }

    fn checksum(&mut self, origin: &Origin, group: &[Record], to: &mut Columns) {
        let record = &group[0];
        let counts = find(group, extension::COUNTS);
        let moments = find(group, extension::STATISTICS);
        let (dtype, shape) = unpair(record.m[2]);
        let (span, context) = match find(group, extension::ORIGIN) {
            Some(of) => ((of.m[0] != 0).then_some(of.m[0]), Context::load(of)),
            None => (on_thread(origin.thread, record.parent), origin.context),
        };
        let time = self.timeline.ns(record.start);
        to.row(|row| {
            row.text(Name::from_number(record.name))
                .put_if(span)
                .put_if(context.layer.map(u64::from))
                .put_if(context.iteration)
                .put_if(record.metric(3))
                .nulls(1) // backend
                .put(u64::from(origin.thread))
                .signed(time)
                .text(Name::from_number(dtype))
                .text(Name::from_number(shape))
                .put(record.m[1])
                .put(record.end)
                .put(record.m[0]);
            for at in 0..3 {
                row.put_if(counts.map(|counts| counts.m[at]));
            }
            for at in 0..5 {
                row.put_if(moments.and_then(|moments| {
                    let all = [
                        moments.start,
                        moments.end,
                        moments.m[0],
                        moments.m[1],
                        moments.m[2],
                    ];
                    (moments.flags & 1 << at != 0).then_some(all[at])
                }));
            }
            let mut nulls = MAX_SAMPLES;
            for more in group.iter().filter(|more| more.kind == extension::SAMPLES) {
                let [m0, m1, m2, m3] = more.m;
                let six = [more.start, more.end, m0, m1, m2, m3];
                for value in six.iter().take(usize::from(more.flags).min(nulls)) {
                    row.put(*value);
                    nulls -= 1;
                }
            }
            row.nulls(nulls);
        });
    }

    fn allocation(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let time = self.timeline.ns(record.start);
        to.row(|row| {
            row.signed(time)
                .put_if(Some(u64::from(origin.thread)))
                .put_if(on_thread(origin.thread, record.parent))
                .put_if(record.end.checked_sub(1))
                .put(record.m[0])
                .text_if(given(u64::from(record.name)))
                .put_if(record.metric(1))
                .put_if(record.metric(2))
                .put_if(record.metric(3));
        });
    }

    fn counter(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let time = self.timeline.ns(record.start);
        let source = self.words.sources[(record.m[2] & 3) as usize];
        to.row(|row| {
            row.signed(time)
                .put_if(on_thread(origin.thread, record.parent))
                .put_if(Some(u64::from(origin.thread)))
                .text(Name::from_number(record.name))
                .put(record.m[0])
                .text_if(given(record.m[1]))
                .text(source);
        });
    }
}
