//! Rows of what programs told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;

use trueno_format::run_json::RunJson;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{AllocationRow, KernelRow, TableId, ThreadRow};
use trueno_processes::note_that_it_went_on;
use trueno_recorder::alloc::sampling::weight;

use crate::Error;
use crate::channel::{
    ALLOCATIONS, CALLS, Channel, ENDED, FREE, LANE_EVENTS, LANES, Lane, TAKEN, USED,
};
use crate::event::{Event, Request};
use crate::record::Options;
use crate::work::Work;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub calls: u64,
    pub samples: u64,
    pub allocations: u64,
    pub allocated_bytes: u64,
    pub images: u64,
    /// Calls and samples without a row.
    pub lost: u64,
    /// Names of processes that ran as another user, which are not recorded at all.
    pub others: BTreeSet<String>,
}

/// Number of address bits of the processor. The bits above hold the program image.
const ADDRESS_BITS: u32 = 48;
/// If a lane has this many events, it is read again at once.
const MUCH: u64 = LANE_EVENTS / 8;

#[derive(Clone, Copy)]
struct Thread {
    number: u32,
    image: u64,
}

struct Live {
    bytes: u64,
    weight: f64,
}

pub(crate) struct Rows {
    run: RunWriter,
    host: Text,
    heap: Text,
    declared: Text,
    origin_ns: u64,
    mean_bytes: u64,
    next_id: u64,
    threads: [Option<Thread>; LANES],
    next_thread: u32,
    libraries: BTreeSet<String>,
    /// By image and address.
    live: BTreeMap<(u64, u64), Live>,
    processes: BTreeMap<u64, u32>,
    unreadable: u64,
    counts: Counts,
}

impl Rows {
    pub fn new(mut run: RunWriter, options: &Options) -> Self {
        if options.mean_bytes > 0 {
            let how = format!("sampled, one in {} bytes on average", options.mean_bytes);
            run.run().recorder.allocations = Some(how);
        }
        Self {
            host: run.text("host"),
            heap: run.text("heap"),
            declared: run.text("declared"),
            run,
            origin_ns: now_ns(),
            mean_bytes: options.mean_bytes,
            next_id: 1,
            threads: [None; LANES],
            next_thread: 0,
            libraries: BTreeSet::new(),
            live: BTreeMap::new(),
            processes: BTreeMap::new(),
            unreadable: 0,
            counts: Counts::default(),
        }
    }

    pub fn begins(&mut self, process: u32) {
        self.run.run().program.pid = Some(process);
    }

    pub fn tell_others(&mut self, names: BTreeSet<String>) {
        if names.is_empty() {
            return;
        }
        let listed = Vec::from_iter(names.iter().cloned()).join(", ");
        self.run.run().problems.push(format!(
            "processes that ran as another user were not recorded: {listed}"
        ));
        self.counts.others = names;
    }

    pub fn program_goes_on(&mut self) {
        note_that_it_went_on(&mut self.run.run().values);
    }

    /// Writes the available events. With `cares`, also handles lanes whose threads have ended. Returns true if
    /// there were many events.
    pub fn read(&mut self, channel: &Channel, cares: bool) -> Result<bool, Error> {
        let mut is_much = false;
        for (number, lane) in channel.lanes.iter().enumerate() {
            let state = lane.state.load(Ordering::Acquire);
            if state == FREE || state == TAKEN {
                continue;
            }
            self.processes.insert(
                lane.image.load(Ordering::Relaxed),
                lane.process.load(Ordering::Relaxed),
            );
            is_much |= self.read_lane(number, lane)? > MUCH;
            if state == ENDED {
                self.count(lane);
                self.threads[number] = None;
                lane.state.store(FREE, Ordering::Release);
            } else if cares && !is_there(lane) {
                // Read once more, then given back.
                lane.state.store(ENDED, Ordering::Release);
            }
        }
        if cares {
            self.end_images()?;
        }
        Ok(is_much)
    }

    fn read_lane(&mut self, number: usize, lane: &Lane) -> Result<u64, Error> {
        let mut result = Ok(());
        let count = lane.drain(|event| {
            if result.is_ok() {
                result = match event {
                    Some(event) => self.add(number, lane, event),
                    None => {
                        self.unreadable += 1;
                        Ok(())
                    }
                };
            }
        });
        result.map(|()| count)
    }

    fn add(&mut self, lane_number: usize, lane: &Lane, event: Event) -> Result<(), Error> {
        let thread = match self.threads[lane_number] {
            Some(thread) => thread,
            None => {
                let thread = self.begin_thread(lane)?;
                self.threads[lane_number] = Some(thread);
                thread
            }
        };
        match event {
            Event::Call {
                request,
                start_ns,
                end_ns,
            } => self.add_call(thread, &request, start_ns, end_ns),
            Event::Taken {
                time_ns,
                address,
                bytes,
            } => {
                self.counts.samples += 1;
                let weight = weight(bytes, self.mean_bytes);
                let live = Live { bytes, weight };
                self.add_allocation(
                    time_ns,
                    Some(thread.number),
                    thread.image,
                    address,
                    &live,
                    1,
                )?;
                self.live.insert((thread.image, address), live);
                Ok(())
            }
            Event::GivenBack {
                time_ns,
                address,
                bytes,
            } => {
                let weight = weight(bytes, self.mean_bytes);
                let live = Live { bytes, weight };
                self.live.remove(&(thread.image, address));
                self.add_allocation(
                    time_ns,
                    Some(thread.number),
                    thread.image,
                    address,
                    &live,
                    -1,
                )
            }
            Event::Library(name) => {
                let end = name.iter().position(|byte| *byte == 0);
                let name = String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]);
                self.libraries.insert(name.into_owned());
                Ok(())
            }
        }
    }

    fn add_call(
        &mut self,
        thread: Thread,
        request: &Request,
        start_ns: u64,
        end_ns: u64,
    ) -> Result<(), Error> {
        self.counts.calls += 1;
        let work = Work::new(request);
        let name = format!("{}{}", request.precision.letter(), request.routine.name());
        let row = KernelRow {
            id: self.next_id,
            name: self.run.text(&name),
            backend: Some(self.run.text(request.precision.number())),
            thread: Some(thread.number),
            start_ns: self.time(start_ns),
            dur_ns: end_ns.saturating_sub(start_ns).min(i64::MAX as u64) as i64,
            timing: self.host,
            elements: work.elements,
            flops: work.flops,
            bytes: work.bytes,
            work_source: (work.flops.is_some() || work.bytes.is_some()).then_some(self.declared),
            valid: true,
            ..KernelRow::default()
        };
        self.next_id += 1;
        Ok(self.run.add(&row)?)
    }

    fn add_allocation(
        &mut self,
        time_ns: u64,
        thread: Option<u32>,
        image: u64,
        address: u64,
        block: &Live,
        sign: i64,
    ) -> Result<(), Error> {
        // Of the first image as it is; images of which 65,536 others began in between share their numbers.
        let place = image.wrapping_sub(1) << ADDRESS_BITS;
        let row = AllocationRow {
            time_ns: self.time(time_ns),
            thread,
            bytes: sign.wrapping_mul(block.bytes.min(i64::MAX as u64) as i64),
            tag: Some(self.heap),
            address: Some(address | place),
            weight: Some(block.weight),
            sample_bytes: Some(self.mean_bytes),
            ..AllocationRow::default()
        };
        Ok(self.run.add(&row)?)
    }

    fn begin_thread(&mut self, lane: &Lane) -> Result<Thread, Error> {
        let number = self.next_thread;
        self.next_thread += 1;
        let (process, id) = ids(lane);
        let words = [0, 1].map(|at| lane.name[at].load(Ordering::Relaxed).to_ne_bytes());
        let name = words.as_flattened().split(|byte| *byte == 0).next();
        let name = String::from_utf8_lossy(name.unwrap_or_default());
        let row = ThreadRow {
            thread: number,
            name: Some(self.run.text(&name)),
            os_id: Some(id.into()),
            start_ns: Some(self.time(now_ns())),
            process: Some(process.into()),
            ..ThreadRow::default()
        };
        self.run.add(&row)?;
        let image = lane.image.load(Ordering::Relaxed);
        Ok(Thread { number, image })
    }

    /// Frees what ended images had allocated, except for the program itself.
    fn end_images(&mut self) -> Result<(), Error> {
        let program = self.run.run().program.pid;
        let newest: BTreeMap<u32, u64> = self
            .processes
            .iter()
            .map(|(image, process)| (*process, *image))
            .collect();
        let ended = |(image, process): (&u64, &u32)| {
            let is_replaced = newest.get(process) != Some(image);
            let is_gone = Some(*process) != program && !is_running(*process);
            (is_replaced || is_gone).then_some(*image)
        };
        let images: Vec<u64> = self.processes.iter().filter_map(ended).collect();
        for image in images {
            let blocks = self.live.range((image, 0)..=(image, u64::MAX));
            let places: Vec<(u64, u64)> = blocks.map(|(place, _)| *place).collect();
            for place in places {
                if let Some(block) = self.live.remove(&place) {
                    self.add_allocation(now_ns(), None, image, place.1, &block, -1)?;
                }
            }
            let is_read = |thread: &&Option<Thread>| thread.is_some_and(|of| of.image == image);
            if !self.threads.iter().any(|thread| is_read(&thread)) {
                self.processes.remove(&image);
            }
        }
        Ok(())
    }

    fn count(&mut self, lane: &Lane) {
        self.counts.allocations += lane.allocations.load(Ordering::Relaxed);
        self.counts.allocated_bytes += lane.allocated_bytes.load(Ordering::Relaxed);
    }

    /// Ends the run. If it is not `is_whole`, the run stays unfinished.
    pub fn finish(mut self, channel: &Channel, is_whole: bool) -> (Counts, Result<(), Error>) {
        for lane in &channel.lanes {
            if matches!(lane.state.load(Ordering::Acquire), USED | ENDED) {
                self.count(lane);
            }
        }
        let header = &channel.header;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        self.counts.allocations += count(&header.allocations);
        self.counts.allocated_bytes += count(&header.allocated_bytes);
        self.counts.images = count(&header.images);
        let lost = [CALLS, ALLOCATIONS].map(|kind| count(&header.lost[kind]));
        self.counts.lost = lost.iter().sum::<u64>() + self.unreadable;
        for (table, lost) in [TableId::Kernels, TableId::Allocations]
            .into_iter()
            .zip(lost)
        {
            self.run.drop_rows(table, lost);
        }
        let wall_ns = self.time(now_ns());
        self.describe();
        let result = if is_whole {
            self.run.finish(Some(wall_ns)).map(drop)
        } else {
            Ok(())
        };
        (self.counts, result.map_err(Error::from))
    }

    fn describe(&mut self) {
        let (counts, unreadable) = (self.counts.clone(), self.unreadable);
        let libraries = Vec::from_iter(self.libraries.iter().cloned()).join(", ");
        let run: &mut RunJson = self.run.run();
        if !libraries.is_empty() {
            run.values.insert("libs".to_owned(), libraries);
        }
        if run.recorder.allocations.is_some() {
            let mut value = |name: &str, value: u64| {
                run.values.insert(name.to_owned(), value.to_string());
            };
            value("allocations", counts.allocations);
            value("allocated_bytes", counts.allocated_bytes);
        }
        if unreadable > 0 {
            let text = format!("{unreadable} events that a program stored cannot be read");
            run.problems.push(text);
        }
        if counts.images == 0 {
            run.problems
                .push("the library was not loaded into the program".to_owned());
        }
    }

    fn time(&self, at_ns: u64) -> i64 {
        (at_ns as i64).saturating_sub(self.origin_ns as i64).max(0)
    }
}

fn ids(lane: &Lane) -> (u32, u32) {
    let load = |number: &std::sync::atomic::AtomicU32| number.load(Ordering::Relaxed);
    (load(&lane.process), load(&lane.thread))
}

fn is_there(lane: &Lane) -> bool {
    let (process, thread) = ids(lane);
    Path::new(&format!("/proc/{process}/task/{thread}")).exists()
}

fn is_running(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
