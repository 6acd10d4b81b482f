//! Work of devices that cannot be beside all other work, found before any of it is written.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use super::context::Context;
use super::row::Row;
use super::source::{Scan, Source, Value};
use super::tables::{Found, Kind};
use crate::Error;
use crate::doubtful::{Pieces, Stream, without_many};

pub const FAR: &str = "time far from that of all other work";

/// What is set aside.
#[derive(Default)]
pub struct Doubtful {
    /// Starts of nearly all work, in the time of the export; `None`: of all of it.
    pub near: Option<RangeInclusive<i64>>,
    /// By number in the order of starts, how many kernels of its stream a kernel lasts over.
    pub overlong: BTreeMap<u64, usize>,
}

/// True of tables of work.
pub fn is_work(kind: Kind) -> bool {
    matches!(kind, Kind::Kernel | Kind::Memcpy | Kind::Memset)
}

impl Doubtful {
    /// Reads times and streams of all work.
    pub fn find(
        source: &mut dyn Source,
        tables: &[Found],
        context: &mut Context<'_>,
    ) -> Result<Self, Error> {
        let work: Vec<&Found> = tables.iter().filter(|found| is_work(found.kind)).collect();
        let scans: Vec<Scan> = work.iter().map(|found| found.scan.clone()).collect();
        let (mut pieces, mut is_told) = (Pieces::default(), true);
        let mut streams: HashMap<[Option<i64>; 4], Stream> = HashMap::new();
        let (mut overlong, mut kernels) = (BTreeMap::new(), 0_u64);
        let damage = source.merged(&scans, &mut |number, values| {
            let record = Row {
                scan: &scans[number],
                values,
            };
            let is_kernel = work[number].kind == Kind::Kernel;
            let kernel = kernels;
            kernels += u64::from(is_kernel);
            let int = |column: usize| match record.values.get(column) {
                Some(Value::Int(value)) => Some(*value),
                _ => None,
            };
            let (Some(start_ns), Some(end_ns)) = (int(0), int(1)) else {
                return Ok(());
            };
            if (start_ns, end_ns) == (0, 0) || end_ns < start_ns {
                return Ok(());
            }
            is_told &= pieces.add(start_ns, end_ns);
            if is_kernel {
                let stream = streams.entry([2, 3, 4, 6].map(int)).or_default();
                let launch = int(5).unwrap_or(-1).cast_unsigned();
                stream.next((start_ns, end_ns), (kernel, launch), &mut overlong);
            }
            Ok(())
        })?;
        context.damaged(damage);
        for stream in streams.into_values() {
            stream.end(&mut overlong);
        }
        let kernels = usize::try_from(kernels).unwrap_or(usize::MAX);
        let near = pieces.near().filter(|_| is_told);
        Ok(Self {
            near: near.map(|(first_ns, last_ns)| first_ns..=last_ns),
            overlong: without_many(overlong, kernels),
        })
    }

    /// True of work that is not set aside for its time.
    pub fn is_near(&self, start_ns: i64) -> bool {
        let near = self.near.as_ref();
        near.is_none_or(|near| near.contains(&start_ns))
    }

    /// Says what was set aside.
    pub fn warn(&self, far: u64, context: &mut Context<'_>) {
        let keep = "--keep-doubtful keeps";
        if far > 0 {
            let what = if far == 1 {
                "row of device work has"
            } else {
                "rows of device work have"
            };
            context.notes.warn(format!(
                "{far} {what} a {FAR}: set aside, all figures are of the rest ({keep} them)"
            ));
        }
        let overlong = self.overlong.len();
        if overlong > 0 {
            let what = if overlong == 1 {
                "kernel lasts"
            } else {
                "kernels last"
            };
            context.notes.warn(format!(
                "{overlong} {what} over many of its stream: not valid, as a stream runs one after the other ({keep} their times)"
            ));
        }
    }
}
