//! Work of devices, and waits for it.

use trueno_analysis::vendors;

use super::Collector;
use super::slices::NO_WORK;
use crate::Error;
use crate::chrome::category::Class;
use crate::chrome::decimal::identity;
use crate::chrome::event::{Arguments, Event};
use crate::chrome::layout::Place;
use crate::chrome::merged::process_of;
use crate::chrome::profiler_ranges::Range;
use crate::chrome::record::{
    Host, HostEvent, KernelFacts, Link, LinkEvent, NO_ID, NONE, OF_ANNOTATION, OF_PLACE,
};
use crate::chrome::unitrace;
use crate::cuda::cupti_enums::{Direction, MemoryKind, SyncKind};

/// The kind of an operation of XLA.
const HLO_CATEGORY: &[u8] = b"hlo_category";

/// Of a kernel whose size a profiler does not know, it writes zeros.
fn known<T: Default + PartialEq>(size: Option<[T; 3]>) -> Option<[T; 3]> {
    size.filter(|size| !size.contains(&T::default()))
}

impl Collector<'_> {
    pub(super) fn device_work(
        &mut self,
        event: &Event,
        class: Class,
        place: Option<Place>,
        start_ns: i64,
        dur_ns: i64,
    ) -> Result<(), Error> {
        let arguments = &event.arguments;
        let text = String::from_utf8_lossy(&event.name);
        let is_described = event.category == b"gpu_op";
        let described = is_described.then(|| unitrace::described(&text)).flatten();
        let class = described.map_or(class, |described| described.class);
        let class = match class {
            Class::Kernel if arguments.direction.is_some() => Class::Copy,
            class => class,
        };
        let (mut device, stream) = device_and_stream(event, place);
        // Programs that print CUPTI's records name a kind of row, or nothing, where Kineto has the device.
        if device == NONE && place.is_none() && identity(&event.process).is_none() {
            self.notes
                .warn("kernels and copies state no device: they are taken to be of one");
            device = 0;
        }
        self.devices.insert(device);
        self.device_processes.extend(identity(&event.process));
        if class == Class::Kernel && vendors::is_mark_row(&text) {
            self.notes.repeat(NO_WORK);
            return Ok(());
        }
        // A task that waits for another rank is a part of its collective, if that is in the file as a whole.
        let is_wait = vendors::is_wait_row(&text) || vendors::is_wait_for_rank(&text);
        if class == Class::Kernel && is_wait && dur_ns >= 0 {
            return self.stream_wait(event, (device, stream), (start_ns, dur_ns));
        }
        let mut link = Link {
            correlation: arguments
                .correlation
                .or(arguments.connection)
                .unwrap_or(NO_ID),
            event: LinkEvent::Annotation,
            start_ns,
            dur_ns,
            order: self.order,
            name: 0,
            device,
            stream,
            external: external(arguments),
        };
        if place.is_some() {
            // An arrow to it may say what launched it.
            let of_place = self.id_at(event, start_ns);
            link.correlation = match link.correlation {
                NO_ID => of_place,
                stated => stated,
            };
            link.external = match link.external {
                NO_ID => of_place,
                stated => stated,
            };
        }
        match class {
            Class::Copy | Class::Fill => {
                let direction = if class == Class::Fill {
                    Some(Direction::Fill)
                } else {
                    let described = described.and_then(|described| described.direction);
                    described
                        .or(arguments.direction)
                        .or_else(|| Direction::from_words(&text))
                };
                let direction = direction.unwrap_or_else(|| {
                    self.notes
                        .warn("copies of an unknown kind have the direction unknown");
                    Direction::Unknown
                });
                let bytes = arguments.bytes.or_else(|| described?.bytes);
                let bytes = bytes.or_else(|| arguments.direction.and(arguments.size));
                let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                if dur_ns < 0 {
                    self.notes.leave_out("negative duration");
                    return Ok(());
                }
                let (from, to) = memory_kinds(&text);
                link.event = LinkEvent::Copy {
                    bytes,
                    direction,
                    from,
                    to,
                };
            }
            Class::Wait => {
                let Some(kind) = SyncKind::from_words(&text).filter(|_| dur_ns >= 0) else {
                    self.notes
                        .leave_out("cuda_sync of an unknown kind, or with a negative duration");
                    return Ok(());
                };
                let event_id = arguments.wait_event.and_then(|id| u64::try_from(id).ok());
                self.recorded(event, event_id, &link)?;
                let (record, stream) = (arguments.wait_correlation, arguments.wait_stream);
                link.event = LinkEvent::Wait {
                    kind,
                    event: event_id,
                    record: record.and_then(|id| u64::try_from(id).ok()),
                    record_stream: stream.and_then(|id| u32::try_from(id).ok()),
                };
            }
            Class::DeviceAnnotation => {
                if dur_ns < 0 {
                    self.notes.leave_out("negative duration");
                    return Ok(());
                }
                link.name = self.name(&event.name);
                link.external = arguments.external.map_or(NO_ID, |id| id | OF_ANNOTATION);
                // The work below it tells how far the run reaches.
                return self.link(link);
            }
            _ => {
                let in_name = described.and_then(|described| described.shape);
                let small = |count: Option<u64>| count.and_then(|count| u32::try_from(count).ok());
                link.event = LinkEvent::Kernel(KernelFacts {
                    grid: known(arguments.grid).or(in_name.map(|shape| shape[0])),
                    block: known(arguments.block).or(in_name.map(|shape| shape[1])),
                    graph_node: arguments.graph_node.filter(|node| *node != 0),
                    registers: small(arguments.registers),
                    shared_memory_bytes: small(arguments.shared_memory),
                    occupancy_percent: arguments.occupancy_percent.map(|share| share as f32),
                    blocks_per_sm: arguments.blocks_per_sm,
                });
            }
        }
        let collective = event.arguments.shapes.collective.named();
        let name = described.map_or(&*text, |described| described.name);
        let operation = event.others.text(HLO_CATEGORY);
        let name = vendors::xla_operation(name, operation.as_deref());
        link.name = self.name_of_operator(name.as_bytes(), None, collective);
        self.push_link(link)
    }

    pub(super) fn work_of_lane(
        &mut self,
        event: &Event,
        class: Class,
        place: Place,
        (start_ns, dur_ns): (i64, i64),
    ) -> Result<(), Error> {
        let name = String::from_utf8_lossy(&event.name).into_owned();
        if vendors::is_idle_row(&name) {
            self.notes.repeat(NO_WORK);
            return Ok(());
        }
        if (vendors::is_wait_row(&name) || vendors::is_wait_for_rank(&name)) && dur_ns >= 0 {
            let at = device_and_stream(event, Some(place));
            return self.stream_wait(event, at, (start_ns, dur_ns));
        }
        if place.may_nest && dur_ns >= 0 {
            let lane = self.lanes.number(&event.process, &event.thread);
            let (device, stream) = device_and_stream(event, Some(place));
            self.devices.insert(device);
            if place.is_inclusive {
                self.inclusive_lanes.insert(lane);
            }
            let stated = event.arguments.correlation.or(event.arguments.connection);
            let correlation = stated.unwrap_or_else(|| self.id_at(event, start_ns));
            let operation = event.others.text(HLO_CATEGORY);
            let name = vendors::xla_operation(&name, operation.as_deref());
            let name = self.name(name.as_bytes());
            return self.push_host(Host {
                lane,
                start_ns,
                end_ns: start_ns + dur_ns,
                event: HostEvent::DeviceWork {
                    correlation,
                    device,
                    stream,
                    arguments: Some(event.hash_of_arguments()),
                },
                order: self.order,
                name,
                node: None,
            });
        }
        let class = match class {
            Class::Copy | Class::Fill | Class::Kernel => class,
            _ => class_of_work(&name),
        };
        self.device_work(event, class, Some(place), start_ns, dur_ns)
    }

    /// A row that repeats others, such as an annotation of its stream.
    pub(super) fn repeated_row(
        &mut self,
        event: &Event,
        place: Place,
        (start_ns, dur_ns): (i64, i64),
    ) -> Result<(), Error> {
        if dur_ns < 0 {
            self.notes.leave_out("negative duration");
            return Ok(());
        }
        let (device, stream) = device_and_stream(event, Some(place));
        let name = self.name(&event.name);
        self.link(Link {
            correlation: NO_ID,
            event: LinkEvent::Annotation,
            start_ns,
            dur_ns,
            order: self.order,
            name,
            device,
            stream,
            external: NO_ID,
        })
    }

    fn stream_wait(
        &mut self,
        event: &Event,
        (device, stream): (u32, u32),
        (start_ns, dur_ns): (i64, i64),
    ) -> Result<(), Error> {
        let record_stream = event.arguments.wait_stream;
        let name = self.name(&event.name);
        self.push_link(Link {
            correlation: NO_ID,
            event: LinkEvent::Wait {
                kind: SyncKind::StreamWait,
                event: None,
                record: None,
                record_stream: record_stream.and_then(|id| u32::try_from(id).ok()),
            },
            start_ns,
            dur_ns,
            order: self.order,
            name,
            device,
            stream,
            external: NO_ID,
        })
    }

    /// A made-up correlation for work without one, so that a flow that ends at its start finds it.
    pub(super) fn id_at(&mut self, event: &Event, start_ns: i64) -> u64 {
        id_of_place(self.lanes.number(&event.process, &event.thread), start_ns)
    }

    /// A kernel with metrics but without its own times.
    pub(super) fn profiler_range(&mut self, event: &Event, start_ns: i64, dur_ns: i64) {
        for _ in 0..event.arguments.series_left_out {
            self.notes
                .skip("metric of cuda_profiler_range that is not a number, or one of very many");
        }
        let device = event.arguments.device.and_then(|id| u32::try_from(id).ok());
        let of_process = identity(&event.process).and_then(|id| u32::try_from(id).ok());
        let metrics = event.arguments.series.iter();
        let metrics = metrics.filter(|(name, _)| name != b"device");
        let range = Range {
            start_ns,
            dur_ns,
            name: self.name(&event.name),
            device: device.or(of_process).unwrap_or(NONE),
            metrics: metrics
                .map(|(name, value)| (self.name(name), *value))
                .collect(),
        };
        if self.profiler_ranges.put(range) {
            self.reach(start_ns, start_ns.max(start_ns + dur_ns))
        } else {
            self.notes.skip("cuda_profiler_range: one of very many")
        }
    }

    /// A wait for an event names the call that recorded the event, but that call does not name the event.
    fn recorded(&mut self, event: &Event, event_id: Option<u64>, wait: &Link) -> Result<(), Error> {
        let call = event
            .arguments
            .wait_correlation
            .and_then(|id| u64::try_from(id).ok());
        let (Some(correlation), Some(event_id)) = (call, event_id) else {
            return Ok(());
        };
        let stream = event
            .arguments
            .wait_stream
            .and_then(|id| u32::try_from(id).ok());
        // Without a time of its own; equal records come together and are one row.
        self.push_link(Link {
            correlation,
            event: LinkEvent::Recorded { event: event_id },
            dur_ns: 0,
            order: 0,
            name: 0,
            stream: stream.unwrap_or(NONE),
            ..*wait
        })
    }
}

/// The operator in which device work was launched. If Kineto found none, it writes the correlation instead, or 0.
fn external(arguments: &Arguments) -> u64 {
    let is_operator = |id: &u64| *id != 0 && Some(*id) != arguments.correlation;
    arguments.external.filter(is_operator).unwrap_or(NO_ID)
}

pub(in crate::chrome) fn class_of_work(name: &str) -> Class {
    let lower = name.trim().to_ascii_lowercase();
    // `[CUDA memcpy HtoD]`, as nsys and nvprof print.
    let own = lower.trim_start_matches('[');
    let own = own.strip_prefix("cuda ").unwrap_or(own);
    let begins = |words: &[&str]| words.iter().any(|word| own.starts_with(word));
    let is_copy = begins(&[
        "memcpy",
        "memcopyasync",
        "copyhost",
        "copydevice",
        "copypeer",
        "memory_copy",
        "hcmemcpy",
    ]);
    if is_copy {
        Class::Copy
    } else if begins(&["memset", "fillbuffer", "memory_fill"]) {
        Class::Fill
    } else {
        Class::Kernel
    }
}

/// A made-up correlation, ordered by time and then by lane. Times wrap after thirteen days.
pub(in crate::chrome) fn id_of_place(lane: u32, start_ns: i64) -> u64 {
    const TIME_BITS: u32 = 50;
    const LANE_BITS: u32 = 11;
    let time = start_ns.cast_unsigned() & ((1 << TIME_BITS) - 1);
    let lane = u64::from(lane) & ((1 << LANE_BITS) - 1);
    OF_PLACE | time << LANE_BITS | lane
}

/// Device and stream stated by the row, or else by its lane.
fn device_and_stream(event: &Event, place: Option<Place>) -> (u32, u32) {
    // Kineto writes -1, at times as 32 bits without a sign, for no stream.
    let small = |value: i64| u32::try_from(value).unwrap_or(NONE);
    let lane = |lane: &[u8]| identity(lane).map_or(NONE, |id| u32::try_from(id).unwrap_or(NONE));
    let Arguments { device, stream, .. } = event.arguments;
    match place {
        None => (
            device.map_or_else(|| lane(process_of(&event.process)), small),
            stream.map_or_else(|| lane(&event.thread), small),
        ),
        Some(place) if place.is_stated => (place.device, stream.map_or(place.stream, small)),
        Some(place) => (
            device.map_or(place.device, small),
            stream.map_or(place.stream, small),
        ),
    }
}

/// Source and target kinds of memory in a name such as `Memcpy HtoD (Pinned -> Device)`.
fn memory_kinds(name: &str) -> (Option<MemoryKind>, Option<MemoryKind>) {
    let Some((_, inside)) = name.split_once('(') else {
        return (None, None);
    };
    let inside = inside.trim_end_matches(')');
    let kind = |text: &str| MemoryKind::from_words(text.trim());
    match inside.split_once("->") {
        Some((from, to)) => (kind(from), kind(to)),
        // A fill names what it fills.
        None => (None, kind(inside)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_memory_lies_at_both_ends() {
        use MemoryKind::{Device, Pageable, Pinned};
        for (name, from, to) in [
            (
                "Memcpy HtoD (Pageable -> Device)",
                Some(Pageable),
                Some(Device),
            ),
            ("Memcpy DtoH (Device -> Pinned)", Some(Device), Some(Pinned)),
            ("Memcpy DtoD (Device -> Unknown)", Some(Device), None),
            ("Memset (Device)", None, Some(Device)),
            ("CopyHostToDevice", None, None),
        ] {
            assert_eq!(memory_kinds(name), (from, to), "{name}");
        }
    }
}
