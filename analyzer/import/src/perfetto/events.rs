//! Events of all packets, with their times on one clock.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use trueno_format::run_writer::{RunWriter, TableId, Text};
use trueno_format::schema::{AttributeRow, interval_tables};

use super::clocks::{BOOTTIME, Clocks};
use super::messages::{DebugAnnotation, TracePacket, TrackEvent, TrackEventKind};
use super::own_export::OwnRow;
use super::rocprof;
use super::sequence::{Sequence, place_of, text_of};
use super::tracks::{TrackKey, Tracks};
use crate::Import;
use crate::chrome::feed::Kind;
use crate::json_attributes::attribute;

/// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE` of `sequence_flags`.
const CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;
const MAX_DEPTH: usize = 16;

const OWN_EXPORT: &str = "an export of a run: its rows come back, but for those without a time (hint: `export chrome` \
                          keeps all rows)";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// With its end, if the event states it.
    Begin(Option<i64>),
    End,
    Instant,
    Counter(f64),
}

#[derive(Clone, Debug)]
pub struct Event {
    pub what: What,
    pub time_ns: i64,
    /// Index into [`Events::tracks_of_events`].
    pub track: u32,
    pub name: Option<Text>,
    pub category: Option<Text>,
    pub file: Option<Text>,
    pub line: Option<u32>,
    /// In [`Events::attributes`].
    pub attributes: Range<u32>,
    /// For an instant, as JSON.
    pub arguments: Option<Text>,
    /// In [`Events::flows`].
    pub flows: Range<u32>,
    /// The row from which our exporter wrote the event.
    pub own: Option<Box<OwnRow>>,
}

#[derive(Debug, Default)]
pub struct Events {
    pub packets: u64,
    pub events: Vec<Event>,
    pub attributes: Vec<AttributeRow>,
    pub flows: Vec<(u64, bool)>,
    pub tracks: Tracks,
    pub tracks_of_events: Vec<TrackKey>,
    pub clocks: Clocks,
    pub has_own: bool,
    pub has_rocm: bool,
    numbers: HashMap<TrackKey, u32>,
    sequences: HashMap<u32, Sequence>,
}

impl Events {
    pub fn take(&mut self, packet: TracePacket, import: &mut Import<'_>) {
        self.packets += 1;
        let number = packet.trusted_packet_sequence_id.unwrap_or(0);
        let flags = packet.sequence_flags.unwrap_or(0);
        let sequence = self.sequences.entry(number).or_default();
        if packet
            .previous_packet_dropped
            .is_some_and(|reasons| reasons > 0)
            && self.packets > 1
        {
            sequence.is_whole = false;
            import
                .notes
                .warn("packets were lost while it was recorded: their events are not here");
        }
        if flags & CLEARED != 0 || packet.incremental_state_cleared == Some(true) {
            sequence.clear();
        }
        let is_torn = flags & NEEDS_STATE != 0 && !sequence.is_whole;
        if let Some(snapshot) = &packet.clock_snapshot {
            self.clocks.snapshot(number, snapshot);
        }
        if let Some(track) = &packet.track_descriptor {
            self.tracks.describe(track);
        }
        if let Some(thread) = &packet.thread_descriptor {
            sequence.last_us = thread.reference_timestamp_us.unwrap_or(sequence.last_us);
            let key = TrackKey::Sequence(number);
            self.tracks.describe_thread(key, thread);
        }
        if is_torn {
            if packet.track_event.is_some() {
                import.notes.read("track event");
                import
                    .notes
                    .leave_out("event of a sequence whose start was lost");
            }
            return;
        }
        if let Some(data) = packet.interned_data {
            sequence.intern(data, import.into);
        }
        if let Some(defaults) = packet.trace_packet_defaults {
            sequence.set_defaults(defaults);
        }
        let Some(event) = packet.track_event else {
            let others = [
                (packet.ftrace_events, "packet of ftrace"),
                (packet.sys_stats, "packet of system counters"),
                (packet.process_stats, "packet of process counters"),
                (packet.profile_packet, "packet of a heap profile"),
                (packet.android_log, "packet of a log"),
                (packet.gpu_render_stage_event, "packet of GPU render stages"),
                (packet.perf_sample, "packet of CPU samples"),
            ];
            for (_, reason) in others.into_iter().filter(|(found, _)| found.is_some()) {
                import.notes.read(reason);
                import.notes.leave_out(reason);
            }
            return;
        };
        import.notes.read("track event");
        let time_ns = match packet.timestamp {
            Some(value) => {
                let clock = packet.timestamp_clock_id.or(sequence.default_clock);
                self.clocks
                    .time_ns(number, clock.unwrap_or(BOOTTIME), value)
            }
            // Of old, in microseconds since the event before.
            None => {
                let since = event.timestamp_delta_us.unwrap_or(0);
                let absolute = event.timestamp_absolute_us;
                let us = absolute.unwrap_or_else(|| sequence.last_us.saturating_add(since));
                sequence.last_us = us;
                us.checked_mul(1_000).filter(|ns| *ns >= 0)
            }
        };
        match time_ns {
            Some(time_ns) => self.event(number, time_ns, event, import),
            None => import
                .notes
                .leave_out("event on a clock without a snapshot"),
        }
    }

    fn event(&mut self, number: u32, time_ns: i64, event: TrackEvent, import: &mut Import<'_>) {
        let sequence = &self.sequences[&number];
        let track = event.track_uuid.or(sequence.default_track);
        let key = track.map_or(TrackKey::Sequence(number), TrackKey::Uuid);
        self.extra_counters(number, time_ns, &event);
        let what = match self.what(&event, key, time_ns) {
            Ok(what) => what,
            Err(reason) => return import.notes.leave_out(reason),
        };
        let sequence = &self.sequences[&number];
        let name = event.name.as_deref().filter(|name| !name.is_empty());
        let name = name.map(|name| text_of(name, import.into));
        let name = name.or_else(|| sequence.names.get(&event.name_iid?).copied());
        let category = event
            .categories
            .first()
            .map(|text| text_of(text, import.into));
        let interned = event.category_iids.first();
        let category = category.or_else(|| sequence.categories.get(interned?).copied());
        let place = event
            .source_location
            .as_ref()
            .map(|place| place_of(place, import.into));
        let interned = event.source_location_iid;
        let place = place.or_else(|| sequence.places.get(&interned?).copied());
        let (file, line) = place.unwrap_or_default();
        let members = event.debug_annotations.into_iter();
        let members: Vec<(String, Value)> = members
            .filter_map(|of| {
                let name = name_of(&of, sequence)?;
                Some((name, value_of(of, sequence, MAX_DEPTH)?))
            })
            .collect();
        let first = self.attributes.len() as u32;
        let mut arguments = None;
        // Our own export has tables as categories, and their columns as annotations.
        let table = category.and_then(|text| table_of(text, import.into));
        let has = |name: &str| members.iter().any(|(key, _)| key == name);
        let is_own = match what {
            What::Begin(_) => table.is_some_and(|table| {
                interval_tables().any(|other| other.name == table.schema().name) && has("id")
            }),
            What::Instant | What::Counter(_) => {
                self.has_own
                    && table.is_some_and(|table| table.schema().time_column() == Some("time_ns"))
            }
            What::End => false,
        };
        let mut own = None;
        match what {
            _ if is_own => {
                if !self.has_own {
                    import.notes.warn(OWN_EXPORT);
                }
                self.has_own = true;
                own = table.map(|table| Box::new(OwnRow::new(table, members)));
            }
            What::Instant if !members.is_empty() => {
                let object: Map<String, Value> = members.into_iter().collect();
                arguments = Some(import.text(&Value::Object(object).to_string()));
            }
            What::Begin(_) => {
                self.has_rocm |= category.is_some_and(|text| is_work(import.into.str(text)));
                for (name, value) in members {
                    self.attributes
                        .extend(attribute(0, &name, &value, import.into, import.notes));
                }
            }
            _ => {}
        }
        let attributes = first..self.attributes.len() as u32;
        let first = self.flows.len() as u32;
        let going_on = event.flow_ids.into_iter().chain(event.flow_ids_old);
        self.flows.extend(going_on.map(|flow| (flow, false)));
        let ending = event.terminating_flow_ids.into_iter();
        let ending = ending.chain(event.terminating_flow_ids_old);
        self.flows.extend(ending.map(|flow| (flow, true)));
        let flows = first..self.flows.len() as u32;
        let track = self.number(key);
        self.events.push(Event {
            what,
            time_ns,
            track,
            name,
            category,
            file,
            line,
            attributes,
            arguments,
            flows,
            own,
        });
    }

    fn what(&self, event: &TrackEvent, key: TrackKey, time_ns: i64) -> Result<What, &'static str> {
        let legacy = event.legacy_event.unwrap_or_default();
        let phase = legacy.phase.and_then(|phase| u8::try_from(phase).ok());
        Ok(match (event.kind(), phase) {
            (TrackEventKind::SliceBegin, _) | (_, Some(b'B')) => What::Begin(None),
            (TrackEventKind::SliceEnd, _) | (_, Some(b'E')) => What::End,
            (TrackEventKind::Instant, _) | (_, Some(b'I' | b'i' | b'R')) => What::Instant,
            (TrackEventKind::Counter, _) => {
                let whole = event.counter_value.map(|value| value as f64);
                let value = event.double_counter_value.or(whole);
                let counter = self
                    .tracks
                    .get(key)
                    .and_then(|track| track.counter.as_ref());
                let multiplier = counter.map_or(1, |counter| counter.multiplier);
                What::Counter(value.ok_or("counter without a value")? * multiplier as f64)
            }
            (_, Some(b'X')) => {
                let us = legacy.duration_us.filter(|us| *us >= 0);
                let ns = us.and_then(|us| us.checked_mul(1_000));
                let end_ns = ns.and_then(|ns| time_ns.checked_add(ns));
                What::Begin(Some(end_ns.ok_or("slice without a duration")?))
            }
            _ => return Err("event of another kind (asynchronous, object, metadata of Chrome)"),
        })
    }

    /// Counter values attached to an event, which have their own tracks.
    fn extra_counters(&mut self, number: u32, time_ns: i64, event: &TrackEvent) {
        let sequence = &self.sequences[&number];
        let tracks = match &event.extra_counter_track_uuids[..] {
            [] => &sequence.default_counters,
            tracks => tracks,
        };
        let whole = event.extra_counter_values.iter().map(|value| *value as f64);
        let doubles = event.extra_double_counter_values.iter().copied();
        let doubles = event.extra_double_counter_track_uuids.iter().zip(doubles);
        let values: Vec<(u64, f64)> = tracks
            .iter()
            .zip(whole)
            .chain(doubles)
            .map(|(track, value)| (*track, value))
            .collect();
        for (track, value) in values {
            let key = TrackKey::Uuid(track);
            let counter = self
                .tracks
                .get(key)
                .and_then(|track| track.counter.as_ref());
            let multiplier = counter.map_or(1, |counter| counter.multiplier) as f64;
            let track = self.number(key);
            self.events.push(Event {
                what: What::Counter(value * multiplier),
                time_ns,
                track,
                name: None,
                category: None,
                file: None,
                line: None,
                attributes: 0..0,
                arguments: None,
                flows: 0..0,
                own: None,
            });
        }
    }

    fn number(&mut self, key: TrackKey) -> u32 {
        let next = self.tracks_of_events.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.tracks_of_events.push(key);
            next
        })
    }
}

fn table_of(category: Text, into: &mut RunWriter) -> Option<TableId> {
    let name = into.str(category).to_owned();
    into.table(&name)
}

fn is_work(category: &str) -> bool {
    matches!(
        rocprof::kind_of(category),
        Some(Kind::Kernel | Kind::Copy | Kind::Call)
    )
}

fn name_of(of: &DebugAnnotation, sequence: &Sequence) -> Option<String> {
    let own = of
        .name
        .as_ref()
        .map(|name| String::from_utf8_lossy(name).into_owned());
    own.or_else(|| sequence.annotation_names.get(&of.name_iid?).cloned())
}

/// The value of an annotation; `None` if it has none or is nested too deeply.
fn value_of(of: DebugAnnotation, sequence: &Sequence, depth: usize) -> Option<Value> {
    let words = |bytes: Vec<u8>| Value::from(String::from_utf8_lossy(&bytes).into_owned());
    let depth = depth.checked_sub(1)?;
    if let Some(value) = of.bool_value {
        return Some(value.into());
    }
    if let Some(value) = of.uint_value {
        return Some(value.into());
    }
    if let Some(value) = of.int_value {
        return Some(value.into());
    }
    if let Some(value) = of.double_value {
        let number = Number::from_f64(value);
        return Some(number.map_or_else(|| value.to_string().into(), Value::Number));
    }
    if let Some(value) = of.string_value {
        return Some(words(value));
    }
    if let Some(id) = of.string_value_iid {
        return sequence.annotation_texts.get(&id).cloned().map(Value::from);
    }
    if let Some(value) = of.pointer_value {
        return Some(format!("{value:#x}").into());
    }
    if let Some(value) = of.legacy_json_value {
        return Some(serde_json::from_slice(&value).unwrap_or_else(|_| words(value)));
    }
    if !of.array_values.is_empty() {
        let values = of.array_values.into_iter();
        let values = values.filter_map(|value| value_of(value, sequence, depth));
        return Some(Value::Array(values.collect()));
    }
    let members = of.dict_entries.into_iter();
    let members: Map<String, Value> = members
        .filter_map(|of| {
            let name = name_of(&of, sequence)?;
            Some((name, value_of(of, sequence, depth)?))
        })
        .collect();
    (!members.is_empty()).then_some(Value::Object(members))
}
