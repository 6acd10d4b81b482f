//! The device's part: kernels, copies, fills, waits and events find the call that began them.

use super::context::Context;
use super::doubtful::{self, Doubtful};
use super::enum_table::EnumTable;
use super::host::left_out;
use super::metrics::Metrics;
use super::row::Row;
use super::source::{Scan, Source};
use super::tables::{Found, Kind};
use crate::Error;
use crate::cuda::device_waits::{DeviceWaits, Wait, Work};
use crate::cuda::event_waits::EventWaits;
use crate::cuda::launches::{Launch, Link};
use crate::cuda::streams::Stream;

/// Reads all device work. Adds to `far` the number of rows left out because of their times.
pub fn read(
    source: &mut dyn Source,
    tables: &[Found],
    doubtful: Doubtful,
    far: &mut u64,
    context: &mut Context<'_>,
) -> Result<Doubtful, Error> {
    let scans: Vec<Scan> = tables.iter().map(|found| found.scan.clone()).collect();
    let mut device = Device {
        directions: EnumTable::read(source, "ENUM_CUDA_MEMCPY_OPER")?,
        memory_kinds: EnumTable::read(source, "ENUM_CUDA_MEM_KIND")?,
        sync_kinds: EnumTable::read(source, "ENUM_CUPTI_SYNC_TYPE")?,
        memory_signs: EnumTable::read(source, "ENUM_CUDA_DEV_MEM_EVENT_OPER")?,
        metrics: Metrics::read(source)?,
        event_waits: EventWaits::new(context.into.path().join("import.events")),
        waits: DeviceWaits::default(),
        doubtful,
        kernels: 0,
    };
    let damage = source.merged(&scans, &mut |number, values| {
        let record = Row {
            scan: &scans[number],
            values,
        };
        context.visited(&record.scan.table);
        if tables[number].kind == Kind::Metric {
            return device.metrics.sample(record, context);
        }
        let is_work = doubtful::is_work(tables[number].kind);
        device.kernels += u64::from(tables[number].kind == Kind::Kernel);
        let start_ns = record.int(0, context.notes);
        let is_checked = is_work || tables[number].kind == Kind::Sync;
        if is_checked && start_ns.is_some_and(|ns| !device.doubtful.is_near(ns)) {
            *far += 1;
            return left_out(record, doubtful::FAR, context);
        }
        let place = Place::from_row(record, is_work, context);
        let write: Write = match tables[number].kind {
            Kind::Event => return device.event(record, &place, context),
            Kind::Memory => return device.memory(record, &place, context),
            Kind::Sync => Device::sync,
            Kind::Memset => Device::memset,
            Kind::Memcpy => Device::memcpy,
            _ => {
                context.kernel_processes.extend(place.process);
                Device::kernel
            }
        };
        let interval = match record.interval(context.origin_ns, context.notes) {
            Ok((start_ns, dur_ns)) => Interval { start_ns, dur_ns },
            Err(reason) => return left_out(record, reason, context),
        };
        device.join(interval.start_ns, context)?;
        let work = Timed {
            record,
            interval,
            place,
        };
        write(&mut device, &work, context)
    })?;
    context.damaged(damage);
    device.join(i64::MAX, context)?;
    let mut pairs = device.event_waits.pairs()?;
    while let Some((record, wait)) = pairs.next()? {
        context.edge(record, wait, "joins")?;
    }
    Ok(device.doubtful)
}

/// Converts an export's numbers to the run's texts, and matches waits.
pub struct Device {
    pub directions: EnumTable,
    pub memory_kinds: EnumTable,
    pub sync_kinds: EnumTable,
    pub memory_signs: EnumTable,
    metrics: Metrics,
    pub event_waits: EventWaits,
    waits: DeviceWaits,
    doubtful: Doubtful,
    kernels: u64,
}

/// Process, device and launch of device work: columns 2 to 6 of all device tables.
pub struct Place {
    pub process: Option<u32>,
    pub device: Option<u32>,
    pub context: Option<i64>,
    pub stream: Option<u32>,
    /// Correlation id in the run; `None` if it is ambiguous.
    pub correlation: Option<u64>,
    pub launch: Option<Launch>,
}

#[derive(Clone, Copy)]
pub struct Interval {
    pub start_ns: i64,
    pub dur_ns: i64,
}

impl Interval {
    fn end_ns(self) -> i64 {
        self.start_ns + self.dur_ns
    }
}

/// A row of device work that has times.
pub struct Timed<'r> {
    pub record: Row<'r>,
    pub interval: Interval,
    pub place: Place,
}

type Write = fn(&mut Device, &Timed<'_>, &mut Context<'_>) -> Result<(), Error>;

impl Place {
    /// The device stated by work is taken as that of its context.
    fn from_row(record: Row<'_>, is_work: bool, context: &mut Context<'_>) -> Self {
        let stated = record.u32(2, context.notes);
        let native_context = record.int(3, context.notes);
        // What CUPTI says where no stream is meant.
        let stream = record
            .int(4, context.notes)
            .filter(|stream| *stream != i64::from(u32::MAX));
        let stream = stream.and_then(|stream| u32::try_from(stream).ok());
        let correlation = record.u32(5, context.notes);
        let global = record.int(6, context.notes);
        let process = match global {
            Some(global) => Some(context.threads.process(global)),
            None if context.threads.pids.len() <= 1 => Some(0),
            None => None,
        };
        // Waits of a process with several devices state the number of another: a context has one device.
        let device = match (process, native_context) {
            (Some(process), Some(of)) if is_work => {
                context
                    .devices
                    .extend(stated.map(|device| ((process, of), device)));
                stated
            }
            (Some(process), Some(of)) => {
                let known = context.devices.get(&(process, of)).copied();
                if stated.is_some() && known.is_some() && known != stated {
                    context.notes.warn(
                        "some waits or events name a different device than the work of their context: the device of the work is used",
                    );
                }
                known.or(stated)
            }
            _ => stated,
        };
        let stream = stream.map(|stream| {
            let process = process.unwrap_or(u32::MAX);
            context.stream(Stream {
                process,
                context: native_context,
                device,
                stream,
            })
        });
        let key = correlation.and_then(|correlation| context.threads.key(global, correlation));
        let link = key.map_or(Link::None, |key| context.launches.get(key));
        let (correlation, launch) = match link {
            Link::To(launch) => (key, Some(*launch)),
            Link::None => (key, None),
            Link::Ambiguous => (None, None),
        };
        if link == Link::Ambiguous {
            context.notes.skip(&format!(
                "{}: link to a launch, because several calls have its correlation id",
                record.scan.table
            ));
        }
        Self {
            process,
            device,
            context: native_context,
            stream,
            correlation,
            launch,
        }
    }

    pub fn brick(&self) -> Option<u64> {
        self.launch.and_then(|launch| launch.brick())
    }

    pub fn thread(&self) -> Option<u32> {
        self.launch.map(|launch| launch.thread)
    }

    /// True if the call may return early.
    pub fn is_async(&self) -> Option<bool> {
        self.launch.and_then(|launch| launch.kind.is_async())
    }
}

impl Device {
    /// How many later kernels the last kernel outlasts, if too many to be plausible.
    pub fn lasts_over(&self) -> Option<usize> {
        self.doubtful
            .overlong
            .get(&self.kernels.checked_sub(1)?)
            .copied()
    }

    fn join(&mut self, now_ns: i64, context: &mut Context<'_>) -> Result<(), Error> {
        for (work, wait) in self.waits.until(now_ns) {
            context.edge(work, wait, "joins")?;
        }
        Ok(())
    }

    pub fn launched(
        &mut self,
        id: u64,
        work: &Timed<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let Timed {
            interval, place, ..
        } = work;
        context.reach(interval.start_ns, interval.dur_ns);
        let Some(launch) = place.launch else {
            context.notes.warn(
                "some work of the device has no launch in the file: it is kept, without a thread or a range",
            );
            return Ok(());
        };
        if let Some(process) = place.process {
            let work = Work {
                id,
                process,
                device: place.device,
                stream: place.stream,
                launched_ns: launch.start_ns,
                end_ns: interval.end_ns(),
            };
            self.waits.work(work, interval.start_ns);
        }
        context.edge(launch.call, id, "launches")
    }

    pub fn waited(&mut self, id: u64, work: &Timed<'_>, whole_device: bool) {
        let Timed {
            interval, place, ..
        } = work;
        let stream = place.stream.filter(|_| !whole_device);
        if let (Some(process), true) = (place.process, whole_device || stream.is_some()) {
            self.waits.wait(Wait {
                id,
                process,
                device: place.device,
                stream,
                start_ns: interval.start_ns,
                end_ns: interval.end_ns(),
            });
        }
    }
}
