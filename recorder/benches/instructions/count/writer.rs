//! Steps of the writer thread for a span: here on a thread that is stepped through.

use trueno_format::columns::Columns;
use trueno_format::record::{Context, Record, kind};
use trueno_format::record_rows::Rows;
use trueno_format::ring::Origin;
use trueno_format::schema::TableId;
use trueno_format::segment::BatchEncoder;
use trueno_format::text::TextTable;
use trueno_format::timeline::{ClockReading, Timeline};
use trueno_recorder::BrickId;

const RECORDS: u64 = 8192;

/// Bricks as a loop records them: ids, starts and metrics grow.
pub struct Writer {
    records: Vec<Record>,
    rows: Rows,
    texts: TextTable,
    columns: Columns,
    encoder: BatchEncoder,
}

impl Writer {
    pub fn new() -> Self {
        let reading = |ticks| ClockReading {
            ticks,
            monotonic_ns: ticks,
            realtime_ns: 0,
        };
        let record = |i: u64| Record {
            start: 1_000_000 + i * 70,
            end: 1_000_026 + i * 70,
            seq: i as u32 + 1,
            name: BrickId::QkvProjection.text().number(),
            kind: kind::BRICK,
            flags: 15,
            m: [i, i << 1, i << 2, i],
            ..Record::default()
        };
        let mut texts = TextTable::default();
        Self {
            records: (0..RECORDS).map(record).collect(),
            rows: Rows::new(Timeline::new(true, reading(0), reading(0)), &mut texts),
            texts,
            columns: Columns::anonymous(TableId::Bricks.schema()).expect("memory for rows"),
            encoder: BatchEncoder::new(),
        }
    }

    /// Turns records into waiting rows, all at once if `together`.
    pub fn take(&mut self, spans: u64, together: bool) {
        self.columns.clear(true);
        let origin = Origin {
            thread: 0,
            context: Context::default(),
        };
        let mut at = 0;
        while at < spans as usize {
            let end = if together { spans as usize } else { at + 1 };
            let (records, columns) = (&self.records[at..end], &mut self.columns);
            at += self
                .rows
                .add(TableId::Bricks, &origin, records, columns, &mut self.texts);
        }
    }

    pub fn encode(&mut self) -> &[u8] {
        let encoder = &mut self.encoder;
        self.columns
            .view(|batch| encoder.encode(batch, 0, |_, text| text as i32).0)
    }
}
