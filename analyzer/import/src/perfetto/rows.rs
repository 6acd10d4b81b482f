//! Rows of events: slices with their ends and parents, instants, counters, flows.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use trueno_format::schema::{
    AnnotationRow, AttributeRow, BrickRow, CounterRow, EdgeRow, ThreadRow,
};

use super::events::{Event, Events, What};
use super::own_export::{OfTrack, OwnRow, OwnThreads};
use super::rocprof;
use crate::json_attributes::attribute;
use crate::lanes::Lanes;
use crate::{Error, Import, Notes};

#[derive(Clone, Copy, Debug)]
struct Placed {
    row: u64,
    start_ns: i64,
    end_ns: i64,
    is_work: bool,
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    flow: u64,
    time_ns: i64,
    is_last: bool,
    /// The flow was attached to the end of the slice.
    is_at_end: bool,
    slice: Placed,
}

pub fn write(mut events: Events, hash: u64, mut import: Import<'_>) -> Result<Option<i64>, Error> {
    // Of equal times those first that stand first.
    events.events.sort_by_key(|event| event.time_ns);
    let ends = ends(&events.events, import.notes);
    if events.has_rocm && !events.has_own {
        return rocprof::write(&events, &ends, hash, import);
    }
    let first_ns = events.events.first().map_or(0, |event| event.time_ns);
    // Our own export counts from the origin of its run.
    let origin_ns = if events.has_own {
        let rows = events.events.iter();
        let mut moved = rows.filter_map(|event| {
            let own = event.own.as_ref().filter(|own| !own.is_untimed())?;
            event.time_ns.checked_sub(own.stated_ns()?)
        });
        moved.next().unwrap_or(0)
    } else {
        first_ns
    };
    let last_of_slices = ends.iter().map(|end| end.0).max();
    let last_ns = match (events.has_own, last_of_slices) {
        // A run reaches no further for instants.
        (true, Some(_)) => last_of_slices,
        _ => last_of_slices.max(events.events.last().map(|event| event.time_ns)),
    };
    describe(&events, origin_ns, &mut import);
    let mut rows = Rows {
        events: &events,
        origin_ns,
        threads: HashMap::new(),
        counts: Vec::new(),
        touches: Vec::new(),
        own_threads: OwnThreads::default(),
        calls: HashSet::new(),
        import: import.of(import.path),
    };
    rows.slices(&ends)?;
    let own_threads = std::mem::take(&mut rows.own_threads);
    own_threads.write(&mut rows.import)?;
    rows.counters()?;
    rows.edges()?;
    Ok(last_ns.map(|last_ns| last_ns.saturating_sub(origin_ns)))
}

/// Slices with an end: the end, the event that states it, and the event that began them.
fn ends(events: &[Event], notes: &mut Notes) -> Vec<(i64, Option<usize>, usize)> {
    let mut open: HashMap<u32, Vec<usize>> = HashMap::new();
    let mut ends = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event.what {
            What::Begin(Some(end_ns)) => ends.push((end_ns, None, at)),
            What::Begin(None) => open.entry(event.track).or_default().push(at),
            What::End => match open.get_mut(&event.track).and_then(Vec::pop) {
                Some(begun) => ends.push((event.time_ns, Some(at), begun)),
                None => notes.leave_out("end without a beginning"),
            },
            What::Instant | What::Counter(_) => {}
        }
    }
    for _ in open.values().flatten() {
        notes.leave_out("slice that does not end in the trace");
    }
    // What lies in another comes after it.
    ends.sort_by_key(|(end_ns, _, begun)| (events[*begun].time_ns, Reverse(*end_ns), *begun));
    ends
}

struct Rows<'a> {
    events: &'a Events,
    origin_ns: i64,
    threads: HashMap<(u32, usize), u32>,
    counts: Vec<u64>,
    touches: Vec<Touch>,
    own_threads: OwnThreads,
    /// Calls of our own export. Edges from them to work are launches.
    calls: HashSet<u64>,
    import: Import<'a>,
}

impl Rows<'_> {
    fn slices(&mut self, ends: &[(i64, Option<usize>, usize)]) -> Result<(), Error> {
        let texts = ["function", "host", "instant", "event"];
        let [function, host, instant, unnamed] = texts.map(|text| self.import.text(text));
        let mut lanes: HashMap<u32, Lanes> = HashMap::new();
        let mut open: HashMap<u32, Vec<Placed>> = HashMap::new();
        let is_instant = |event: &&Event| event.what == What::Instant;
        let mut instants = self.events.events.iter().filter(is_instant).peekable();
        for at in 0..=ends.len() {
            let slice = ends
                .get(at)
                .map(|of| (self.events.events[of.2].clone(), *of));
            let until_ns = slice.as_ref().map_or(i64::MAX, |(event, _)| event.time_ns);
            // An instant at the moment when a slice begins lies in it.
            while let Some(event) =
                instants.next_if(|event| event.time_ns < until_ns || slice.is_none())
            {
                if let Some(own) = &event.own {
                    self.own_point(event, own)?;
                    continue;
                }
                let thread = self.thread(event.track, 0, event.time_ns)?;
                let around = open.entry(thread).or_default();
                // At the moment of its end it lies in a slice.
                close(around, |end_ns| end_ns < event.time_ns);
                let row = AnnotationRow {
                    kind: instant,
                    name: event.name.unwrap_or(unnamed),
                    thread: Some(thread),
                    brick: around.last().map(|slice| slice.row),
                    time_ns: event.time_ns - self.origin_ns,
                    arguments: event.arguments,
                    ..AnnotationRow::default()
                };
                self.import.add(&row)?;
            }
            let Some((event, (end_ns, ended, _))) = slice else {
                break;
            };
            if let Some(own) = &event.own {
                self.own_slice(&event, own, end_ns, ended)?;
                continue;
            }
            let lane = lanes.entry(event.track).or_default();
            let lane = lane.place(event.time_ns, end_ns, Some(0));
            if lane > 0 {
                self.import.notes.warn("slices of one track overlap without nesting: some are on additional lanes, which are inferred");
            }
            let thread = self.thread(event.track, lane, event.time_ns)?;
            let count = &mut self.counts[thread as usize];
            *count += 1;
            let placed = Placed {
                // As the recorder counts: the thread in the upper half, from 1.
                row: (u64::from(thread) + 1) << 32 | *count,
                start_ns: event.time_ns,
                end_ns,
                is_work: false,
            };
            let around = open.entry(thread).or_default();
            close(around, |end_ns| end_ns <= event.time_ns);
            let row = BrickRow {
                id: placed.row,
                parent: around.last().map(|slice| slice.row),
                kind: function,
                name: event.name.unwrap_or(unnamed),
                category: event.category,
                thread,
                start_ns: event.time_ns - self.origin_ns,
                dur_ns: end_ns - event.time_ns,
                timing: host,
                file: event.file,
                line: event.line,
                ..BrickRow::default()
            };
            around.push(placed);
            self.import.add(&row)?;
            for at in event.attributes.clone() {
                let span = placed.row;
                let of = self.events.attributes[at as usize];
                self.import.add(&AttributeRow { span, ..of })?;
            }
            self.touch(&event, placed, false);
            if let Some(ended) = ended {
                let event = self.events.events[ended].clone();
                self.touch(&event, placed, true);
            }
        }
        Ok(())
    }

    fn own_slice(
        &mut self,
        event: &Event,
        own: &OwnRow,
        end_ns: i64,
        ended: Option<usize>,
    ) -> Result<(), Error> {
        let name = event.name.map(|name| self.import.into.str(name).to_owned());
        let start_ns = event.time_ns - self.origin_ns;
        let times_ns = (start_ns, Some(end_ns - event.time_ns));
        let is_written = own.write(
            name.as_deref().unwrap_or("event"),
            times_ns,
            &mut self.import,
        )?;
        let Some(row) = own.id().filter(|_| is_written) else {
            return Ok(());
        };
        self.see_thread(event, own, start_ns);
        if own.table.schema().name == "calls" {
            self.calls.insert(row);
        }
        for (key, value) in own.attributes() {
            if let Some(of) = attribute(row, key, value, self.import.into, self.import.notes) {
                self.import.add(&of)?;
            }
        }
        let placed = Placed {
            row,
            start_ns: event.time_ns,
            end_ns,
            is_work: matches!(own.table.schema().name, "kernels" | "transfers"),
        };
        self.touch(event, placed, false);
        if let Some(ended) = ended {
            let event = self.events.events[ended].clone();
            self.touch(&event, placed, true);
        }
        Ok(())
    }

    fn own_point(&mut self, event: &Event, own: &OwnRow) -> Result<(), Error> {
        let name = event.name.map(|name| self.import.into.str(name).to_owned());
        let time_ns = event.time_ns - self.origin_ns;
        let name = name.as_deref().unwrap_or("event");
        if own.write(name, (time_ns, None), &mut self.import)? {
            self.see_thread(event, own, time_ns);
        }
        Ok(())
    }

    fn see_thread(&mut self, event: &Event, own: &OwnRow, start_ns: i64) {
        let key = self.events.tracks_of_events[event.track as usize];
        let tracks = &self.events.tracks;
        self.own_threads.see(own, start_ns, || OfTrack {
            name: tracks.name(key),
            os_id: tracks.thread(key),
            process: tracks.process(key),
        });
    }

    fn touch(&mut self, event: &Event, slice: Placed, is_at_end: bool) {
        for at in event.flows.clone() {
            let (flow, is_last) = self.events.flows[at as usize];
            self.touches.push(Touch {
                flow,
                time_ns: event.time_ns,
                is_last,
                is_at_end,
                slice,
            });
        }
    }

    fn thread(&mut self, track: u32, lane: usize, time_ns: i64) -> Result<u32, Error> {
        let next = self.threads.len() as u32;
        let thread = *self.threads.entry((track, lane)).or_insert(next);
        if thread == next {
            self.counts.push(0);
            let key = self.events.tracks_of_events[track as usize];
            let tracks = &self.events.tracks;
            let mut name = tracks.name(key);
            if lane > 0 {
                name += &format!(", lane {}", lane + 1);
            }
            let row = ThreadRow {
                thread,
                name: Some(self.import.text(&name)),
                os_id: tracks.thread(key),
                start_ns: Some(time_ns - self.origin_ns),
                process: tracks.process(key),
                ..ThreadRow::default()
            };
            self.import.add(&row)?;
        }
        Ok(thread)
    }

    fn counters(&mut self) -> Result<(), Error> {
        let declared = self.import.text("declared");
        let mut sums: HashMap<u32, f64> = HashMap::new();
        for event in &self.events.events {
            let What::Counter(mut value) = event.what else {
                continue;
            };
            if let Some(own) = &event.own {
                let time_ns = event.time_ns - self.origin_ns;
                let key = self.events.tracks_of_events[event.track as usize];
                let name = self.events.tracks.name(key);
                own.write(&name, (time_ns, None), &mut self.import)?;
                continue;
            }
            let key = self.events.tracks_of_events[event.track as usize];
            let counter = self.events.tracks.get(key);
            let counter = counter.and_then(|track| track.counter.as_ref());
            if counter.is_some_and(|counter| counter.is_incremental) {
                let sum = sums.entry(event.track).or_default();
                *sum += value;
                value = *sum;
            }
            let unit = counter.and_then(|counter| counter.unit.as_deref());
            let row = CounterRow {
                time_ns: event.time_ns - self.origin_ns,
                name: self.import.text(&self.events.tracks.name(key)),
                value,
                unit: unit.map(|unit| self.import.text(unit)),
                source: declared,
                ..CounterRow::default()
            };
            self.import.add(&row)?;
        }
        Ok(())
    }

    fn edges(&mut self) -> Result<(), Error> {
        let texts = ["joins", "depends_on", "spawns", "launches"];
        let [joins, depends_on, spawns, launches] = texts.map(|text| self.import.text(text));
        let mut touches = std::mem::take(&mut self.touches);
        touches.sort_by_key(|touch| (touch.flow, touch.time_ns));
        for pair in touches.windows(2) {
            let [from, to] = pair else { continue };
            if from.flow != to.flow || from.is_last || from.slice.row == to.slice.row {
                continue;
            }
            let had_ended = |by_ns: i64| from.slice.end_ns <= by_ns;
            let kind = match to.is_at_end {
                true if had_ended(to.slice.end_ns) => joins,
                true => {
                    self.import
                        .notes
                        .skip("flow to the end of a slice, from one that ended later");
                    continue;
                }
                false if to.slice.is_work && self.calls.contains(&from.slice.row) => launches,
                false if had_ended(to.slice.start_ns) => depends_on,
                false => spawns,
            };
            let (from, to) = (from.slice.row, to.slice.row);
            self.import.add(&EdgeRow { from, to, kind })?;
        }
        Ok(())
    }
}

fn close(open: &mut Vec<Placed>, has_ended: impl Fn(i64) -> bool) {
    while open.last().is_some_and(|slice| has_ended(slice.end_ns)) {
        open.pop();
    }
}

fn describe(events: &Events, origin_ns: i64, import: &mut Import<'_>) {
    let (path, into) = (import.path, &mut *import.into);
    let run = into.run();
    run.clock.source = "imported: perfetto".to_owned();
    run.clock.origin_realtime_ns = events.clocks.realtime_ns(origin_ns).unwrap_or(0);
    let file = || Some(path.file_name()?.to_string_lossy().into_owned());
    let process = events.tracks.only_process().map(str::to_owned);
    run.label = process.or_else(file);
}
