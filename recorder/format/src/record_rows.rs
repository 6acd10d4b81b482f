//! Groups of records to rows of tables.

mod brick_run;
mod device;
mod fixed_texts;
pub mod run_facts;

use crate::columns::Columns;
use crate::kernel_source::PtxHash;
use crate::launch::Launch;
use crate::record::{Context, Record, attribute_type, extension, kind, row_id, unpair};
use crate::ring::Origin;
use crate::schema::{
    AllocationRow, AnnotationRow, AttributeRow, BrickRow, ChecksumRow, CounterRow, EdgeRow,
    KernelRow, SyncRow, TableId, TileRow,
};
use crate::text::{SITE, Site, Text, Texts};
use crate::tile;
use crate::timeline::Timeline;
use fixed_texts::FixedTexts;

/// Values kept of one tensor; columns `sample_0` to `sample_15`.
pub const MAX_SAMPLES: usize = 16;

/// Turns groups into rows: what all of them need.
pub struct Rows {
    /// Ticks to times.
    pub timeline: Timeline,
    texts: FixedTexts,
    ptx: Option<(PtxHash, Text)>,
}

/// Id of a row on the same thread; `None` if `seq` is 0.
#[inline]
fn on_thread(thread: u32, seq: u32) -> Option<u64> {
    (seq != 0).then(|| row_id(thread, seq))
}

#[inline(always)]
fn has_place(record: &Record) -> bool {
    record.name & SITE != 0
}

#[inline(always)]
fn site(number: u32, texts: &mut dyn Texts) -> Site {
    texts.site_of(number).unwrap_or_default()
}

fn find(group: &[Record], kind: u8) -> Option<&Record> {
    group[1..].iter().find(|record| record.kind == kind)
}

fn launch(group: &[Record]) -> Launch {
    let record = find(group, extension::LAUNCH);
    record.map_or_else(Launch::default, Launch::from_record)
}

impl Rows {
    /// Without rows so far.
    pub fn new(timeline: Timeline, texts: &mut dyn Texts) -> Self {
        Self {
            timeline,
            texts: FixedTexts::new(texts),
            ptx: None,
        }
    }

    /// Start and duration. Both ends are converted with one monotone function, so nesting is preserved.
    #[inline(always)]
    fn interval(&mut self, record: &Record) -> (i64, i64) {
        let start = self.timeline.ns(record.start);
        let end = self.timeline.ns(record.end);
        (start, end - start)
    }

    /// Adds the rows of the first group of `records`, to its table, which must have room for them; and those of
    /// records that follow and make rows like it, as far as there is room. Gives how many records these were.
    #[inline(always)]
    pub fn add(
        &mut self,
        table: TableId,
        origin: &Origin,
        records: &[Record],
        to: &mut Columns,
        texts: &mut dyn Texts,
    ) -> usize {
        if table == TableId::Bricks {
            return self.bricks(origin, records, to, texts);
        }
        let length = 1 + records[0].extensions();
        // A group whose end is not there was not written by a recorder: others can write to the file of its ring.
        let Some(group) = records.get(..length) else {
            return records.len();
        };
        match table {
            TableId::Kernels if group[0].kind == kind::DEVICE_WORK => {
                self.device_work(origin, group, to, texts)
            }
            TableId::Syncs if group[0].kind == kind::DEVICE_WAIT => {
                self.device_wait(origin, &group[0], to)
            }
            TableId::Kernels => self.kernel(origin, group, to, texts),
            TableId::Tiles => self.tile(origin, &group[0], to),
            TableId::Transfers => self.transfer(origin, group, to),
            TableId::Syncs => self.wait(origin, &group[0], to),
            TableId::Edges => {
                // Only joins make several rows.
                (0..group[0].rows()).for_each(|nth| self.edge(origin, &group[0], nth, to));
            }
            TableId::Checksums => self.checksum(origin, group, to),
            TableId::Allocations => self.allocation(origin, &group[0], to),
            TableId::Counters => self.counter(origin, &group[0], to),
            TableId::Attributes => self.attribute(&group[0], to),
            TableId::Annotations if group[0].kind == kind::PAUSE => self.pause(&group[0], to),
            TableId::Annotations => self.instant(origin, &group[0], to),
            // Above; or their rows do not come through rings.
            TableId::Bricks
            | TableId::Calls
            | TableId::DeviceEvents
            | TableId::Ceilings
            | TableId::Ptx
            | TableId::Threads
            | TableId::ClockPairs
            | TableId::Diagnostics
            | TableId::Streams
            | TableId::Signatures
            | TableId::Devices
            | TableId::Collectives
            | TableId::Samples
            | TableId::Stacks => {}
        }
        length
    }

    /// Not inlined: most rows of most runs come through here, and separately it keeps its values in registers.
    #[inline(never)]
    fn brick(
        &mut self,
        origin: &Origin,
        group: &[Record],
        to: &mut Columns,
        texts: &mut dyn Texts,
    ) {
        let record = &group[0];
        let (mut thread, mut context) = (origin.thread, origin.context);
        let mut parent = on_thread(thread, record.parent);
        let (mut backend, mut category, mut signature) = (u64::from(record.backend), 0, 0);
        for more in &group[1..] {
            match more.kind {
                extension::LABELS => [backend, category, signature, _] = more.m,
                extension::PARENT => parent = Some(more.m[0]),
                extension::ORIGIN => {
                    (thread, context) = (more.name, Context::load(more));
                    parent = (more.m[0] != 0).then_some(more.m[0]);
                }
                _ => {}
            }
        }
        let site = site(record.name, texts);
        let known = if record.kind == kind::BRICK {
            self.texts.brick(site.name, texts)
        } else {
            None
        };
        let category = Text::given(category).or(known.map(|(_, category)| category));
        let (start_ns, dur_ns) = self.interval(record);
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
        to.push(&BrickRow {
            id: row_id(thread, record.seq),
            parent,
            kind: self.texts.kind(record.kind),
            name: site.name,
            brick_id: known.map(|(brick, _)| brick as u32),
            category,
            backend: Text::given(backend),
            thread,
            start_ns,
            dur_ns,
            timing: self.texts.host,
            iteration: context.iteration,
            layer: context.layer,
            elements: record.metric(0),
            flops: record.metric(1),
            bytes_read: record.metric(2),
            bytes_written: record.metric(3),
            signature: signature.checked_sub(1),
            file: has_place(record).then_some(site.file),
            line: has_place(record).then_some(site.line),
        });
    }

    fn kernel(
        &mut self,
        origin: &Origin,
        group: &[Record],
        to: &mut Columns,
        texts: &mut dyn Texts,
    ) {
        let record = &group[0];
        let launch = launch(group);
        let backend =
            find(group, extension::LABELS).map_or(u64::from(record.backend), |more| more.m[0]);
        let source = launch.ptx().map(|hash| self.source_name(hash, texts));
        let declared = record
            .metric(1)
            .or(record.metric(2))
            .map(|_| self.texts.declared);
        let site = site(record.name, texts);
        let (start_ns, dur_ns) = self.interval(record);
        to.push(&KernelRow {
            id: row_id(origin.thread, record.seq),
            brick: on_thread(origin.thread, record.parent),
            name: site.name,
            backend: Text::given(backend),
            thread: Some(origin.thread),
            start_ns,
            dur_ns,
            timing: self.texts.host,
            ptx_hash: source,
            elements: record.metric(0),
            flops: record.metric(1),
            bytes: record.metric(2),
            work_source: declared,
            file: has_place(record).then_some(site.file),
            line: has_place(record).then_some(site.line),
            ..launch.row()
        });
    }

    fn source_name(&mut self, hash: PtxHash, texts: &mut dyn Texts) -> Text {
        match self.ptx {
            Some((of, name)) if of == hash => name,
            _ => {
                let name = texts.intern(&hash.to_string());
                self.ptx = Some((hash, name));
                name
            }
        }
    }

    fn tile(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let (row, col) = unpair(record.m[3]);
        let (level, every) = tile::unpack(record.backend);
        let level = self.texts.levels[level];
        let sampled_every = (every > 1).then_some(u32::from(every));
        let depth = (record.flags & 8 != 0).then_some(record.name);
        let (start_ns, dur_ns) = self.interval(record);
        to.push(&TileRow {
            id: row_id(origin.thread, record.seq),
            parent: on_thread(origin.thread, record.parent),
            level,
            row,
            col,
            depth,
            thread: origin.thread,
            start_ns,
            dur_ns,
            elements: record.metric(0),
            flops: record.metric(1),
            bytes: record.metric(2),
            sampled_every,
        });
    }

    fn wait(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let (start_ns, dur_ns) = self.interval(record);
        to.push(&SyncRow {
            id: row_id(origin.thread, record.seq),
            kind: self.texts.join,
            name: Text::given(u64::from(record.name)),
            thread: Some(origin.thread),
            start_ns,
            dur_ns,
            ..SyncRow::default()
        });
    }

    fn edge(&mut self, origin: &Origin, record: &Record, nth: usize, edges: &mut Columns) {
        let [m0, m1, m2, m3] = record.m;
        let (from, to, kind) = if record.kind == kind::DEPENDS {
            (m0, m1, self.texts.depends_on)
        } else {
            let ids = [record.start, record.end, m0, m1, m2, m3];
            let wait = row_id(origin.thread, record.seq);
            (ids[nth], wait, self.texts.joins)
        };
        edges.push(&EdgeRow { from, to, kind });
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
        let count = |at: usize| counts.map(|counts| counts.m[at]);
        let moment = |at: usize| {
            let moments = moments.filter(|moments| moments.flags & 1 << at != 0)?;
            let [m0, m1, m2, _] = moments.m;
            Some(f64::from_bits([moments.start, moments.end, m0, m1, m2][at]))
        };
        let mut samples = [None; MAX_SAMPLES];
        let mut places = samples.iter_mut();
        for more in group.iter().filter(|more| more.kind == extension::SAMPLES) {
            let [m0, m1, m2, m3] = more.m;
            let six = [more.start, more.end, m0, m1, m2, m3];
            let given = six.iter().take(usize::from(more.flags));
            for (value, place) in given.zip(places.by_ref()) {
                *place = Some(f64::from_bits(*value));
            }
        }
        to.push(&ChecksumRow {
            name: Text::from_number(record.name),
            span,
            layer: context.layer,
            iteration: context.iteration,
            position: record.metric(3),
            backend: None,
            thread: origin.thread,
            time_ns: self.timeline.ns(record.start),
            dtype: Text::from_number(dtype),
            shape: Text::from_number(shape),
            elements: record.m[1],
            hash: record.end,
            hash_fnv64: record.m[0],
            nan_count: count(0),
            inf_count: count(1),
            zero_count: count(2),
            min: moment(0),
            max: moment(1),
            absmax: moment(2),
            mean: moment(3),
            l2: moment(4),
            sample_0: samples[0],
            sample_1: samples[1],
            sample_2: samples[2],
            sample_3: samples[3],
            sample_4: samples[4],
            sample_5: samples[5],
            sample_6: samples[6],
            sample_7: samples[7],
            sample_8: samples[8],
            sample_9: samples[9],
            sample_10: samples[10],
            sample_11: samples[11],
            sample_12: samples[12],
            sample_13: samples[13],
            sample_14: samples[14],
            sample_15: samples[15],
        });
    }

    fn allocation(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        to.push(&AllocationRow {
            time_ns: self.timeline.ns(record.start),
            thread: Some(origin.thread),
            span: on_thread(origin.thread, record.parent),
            device: record.end.checked_sub(1).map(|device| device as u32),
            bytes: record.m[0].cast_signed(),
            tag: Text::given(u64::from(record.name)),
            address: record.metric(1),
            weight: record.metric(2).map(f64::from_bits),
            sample_bytes: record.metric(3),
        });
    }

    fn counter(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        to.push(&CounterRow {
            time_ns: self.timeline.ns(record.start),
            span: on_thread(origin.thread, record.parent),
            thread: Some(origin.thread),
            name: Text::from_number(record.name),
            value: f64::from_bits(record.m[0]),
            unit: Text::given(record.m[1]),
            source: self.texts.sources[(record.m[2] & 3) as usize],
        });
    }

    fn attribute(&mut self, record: &Record, to: &mut Columns) {
        let [span, word, ..] = record.m;
        let of_type = |ty: u8| (record.flags & 15 == ty).then_some(word);
        to.push(&AttributeRow {
            span,
            name: Text::from_number(record.name),
            integer: of_type(attribute_type::INTEGER).map(u64::cast_signed),
            unsigned: of_type(attribute_type::UNSIGNED),
            number: of_type(attribute_type::NUMBER).map(f64::from_bits),
            truth: of_type(attribute_type::TRUTH).map(|word| word != 0),
            text: of_type(attribute_type::TEXT).map(|word| Text::from_number(word as u32)),
        });
    }

    /// Applies to the whole program, whichever thread paused.
    fn pause(&mut self, record: &Record, to: &mut Columns) {
        let time_ns = self.timeline.ns(record.start);
        to.push(&AnnotationRow {
            kind: self.texts.paused,
            name: Text::from_number(record.name),
            time_ns,
            dur_ns: Some(self.timeline.ns(record.end) - time_ns),
            ..AnnotationRow::default()
        });
    }

    fn instant(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        to.push(&AnnotationRow {
            kind: self.texts.instant,
            name: Text::from_number(record.name),
            thread: Some(origin.thread),
            brick: on_thread(origin.thread, record.parent),
            time_ns: self.timeline.ns(record.start),
            arguments: record.metric(0).map(|text| Text::from_number(text as u32)),
            ..AnnotationRow::default()
        });
    }
}
