//! Rows that cannot be beside all others, found before any of them is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use super::context::Context;
use super::once::{Doubles, Once};
use super::row::Row;
use super::source::{Scan, Source, Value};
use super::tables::{Found, Kind};
use crate::Error;
use crate::doubtful::{Pieces, Stream, without_many};

pub const FAR: &str = "time far from that of all other rows";
pub const TWICE: &str = "the same row once more: the export has every row twice";

#[derive(Default)]
pub struct Doubtful {
    /// Range of plausible starts, by the export's clock; `None` if all are plausible.
    pub near: Option<RangeInclusive<i64>>,
    /// By index in the order of starts: how many later kernels of its stream a kernel outlasts.
    pub overlong: BTreeMap<u64, usize>,
    is_doubled: bool,
}

pub fn is_work(kind: Kind) -> bool {
    matches!(kind, Kind::Kernel | Kind::Memcpy | Kind::Memset)
}

impl Doubtful {
    pub fn find(
        source: &mut Once<'_>,
        host: &[Found],
        device: &[Found],
        context: &mut Context<'_>,
    ) -> Result<Self, Error> {
        let work: Vec<&Found> = device.iter().filter(|found| is_work(found.kind)).collect();
        let scans: Vec<Scan> = work.iter().map(|found| found.scan.clone()).collect();
        let (mut pieces, mut is_told) = (Pieces::default(), true);
        let mut streams: HashMap<[Option<i64>; 4], Stream> = HashMap::new();
        let (mut overlong, mut kernels) = (BTreeMap::new(), 0_u64);
        let mut doubles = vec![Doubles::default(); scans.len()];
        let damage = source.merged(&scans, &mut |number, values| {
            let record = Row {
                scan: &scans[number],
                values,
            };
            doubles[number].add(values);
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
        let has_rows = doubles.iter().any(|of| !of.is_empty());
        let are_all = doubles.iter().all(|of| of.is_empty() || of.are_all());
        if are_all && !source.leaves_out_doubles() {
            let all: Vec<&Found> = host.iter().chain(device).collect();
            let doubled = doubled(source, &all, context)?;
            let has_all = has_rows
                || host.iter().all(|found| {
                    source.rows(found.table()) == 0 || doubled.contains(found.table())
                });
            if has_all && !doubled.is_empty() {
                source.leave_out_doubles(doubled);
                return Self::find(source, host, device, context);
            }
        }
        for found in host {
            let Some(times) = found.times() else {
                continue;
            };
            let damage = source.times(found.table(), times, &mut |start_ns, end_ns| {
                is_told &= pieces.add(start_ns, end_ns);
            })?;
            context.damaged(damage);
        }
        for stream in streams.into_values() {
            stream.end(&mut overlong);
        }
        let kernels = usize::try_from(kernels).unwrap_or(usize::MAX);
        let near = pieces.near().filter(|_| is_told);
        Ok(Self {
            near: near.map(|(first_ns, last_ns)| first_ns..=last_ns),
            overlong: without_many(overlong, kernels),
            is_doubled: source.leaves_out_doubles(),
        })
    }

    pub fn is_near(&self, start_ns: i64) -> bool {
        let near = self.near.as_ref();
        near.is_none_or(|near| near.contains(&start_ns))
    }

    pub fn warn(&self, far: u64, context: &mut Context<'_>) {
        let keep = "--keep-doubtful keeps";
        if far > 0 {
            let what = if far == 1 { "row has" } else { "rows have" };
            context.notes.warn(format!(
                "{far} {what} a {FAR}: set aside, all figures are of the rest ({keep} them)"
            ));
        }
        if self.is_doubled {
            context.notes.warn(format!(
                "every row is in the export twice: each is counted once ({keep} both)"
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
                "{overlong} {what} longer than several next kernels of its stream: not valid, because a stream runs one kernel at a time ({keep} their times)"
            ));
        }
    }
}

fn doubled(
    source: &mut Once<'_>,
    tables: &[&Found],
    context: &mut Context<'_>,
) -> Result<BTreeSet<String>, Error> {
    let scans: Vec<Scan> = tables.iter().map(|found| found.scan.clone()).collect();
    let mut doubles = vec![Doubles::default(); scans.len()];
    let damage = source.merged(&scans, &mut |number, values| {
        doubles[number].add(values);
        Ok(())
    })?;
    context.damaged(damage);
    let are_doubled = tables.iter().zip(doubles);
    let are_doubled = are_doubled.filter(|(_, of)| of.are_all());
    Ok(are_doubled
        .map(|(found, _)| found.table().to_owned())
        .collect())
}
