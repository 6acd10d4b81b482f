//! Points: ends of flows, counters, allocations.

use trueno_analysis::vendors::is_launch_flow;
use xxhash_rust::xxh3::xxh3_64;

use super::Collector;
use crate::Error;
use crate::chrome::event::Event;
use crate::chrome::launch_points::{self, is_of_kineto};
use crate::chrome::layout::Role;
use crate::chrome::record::{FlowEnd, Host, HostEvent, NO_LANE, NONE, known};
use crate::chrome::sums_of_calls::SumOfCalls;
use crate::signatures::{MAX_SHAPE_BYTES, without_spaces};

/// Limit for kept arguments of instants, so that memory stays bounded if no two are equal.
const MAX_INSTANT_BYTES: usize = 64 << 20;

impl Collector<'_> {
    fn point(&mut self, event: &Event, point: HostEvent, name: u32) -> Result<(), Error> {
        let Some(time_ns) = self.start(event) else {
            return Ok(());
        };
        let lane = self.lanes.number(&event.process, &event.thread);
        self.push_host(Host {
            lane,
            start_ns: time_ns,
            end_ns: time_ns,
            event: point,
            order: self.order,
            name,
            node: None,
        })
    }

    pub(super) fn flow(&mut self, event: &Event) -> Result<(), Error> {
        let is_of_device = match event.category.as_slice() {
            b"ac2g" | b"async_gpu" | b"async_cpu_to_gpu" => true,
            // Before 2022.
            b"async" => event.name == b"launch",
            _ => false,
        };
        if self.launch_flow(event)? {
            return Ok(());
        }
        if is_of_device {
            self.notes
                .repeat("flow from a call to device work: already known from the correlation");
            return Ok(());
        }
        let end = match event.phase {
            b's' => FlowEnd::Start,
            b't' => FlowEnd::Step,
            _ if event.binds_around => FlowEnd::End,
            _ => FlowEnd::EndInNext,
        };
        let mut key = event.category.clone();
        if event.part > 0 {
            key.extend_from_slice(&event.part.to_le_bytes());
        }
        for text in [&event.name, &event.id] {
            key.push(0);
            key.extend_from_slice(text);
        }
        let id = xxh3_64(&key);
        self.point(event, HostEvent::Flow { id, end }, 0)
    }

    /// Handles a flow from a launch to device work; true if the flow is nothing else.
    fn launch_flow(&mut self, event: &Event) -> Result<bool, Error> {
        let category = std::str::from_utf8(&event.category).unwrap_or("");
        let is_launch = is_launch_flow(category);
        let is_end = event.phase != b's';
        if self.layout.is_plain() {
            if is_launch && is_end && !is_of_kineto(category) {
                let lane = self.lanes.number(&event.process, &event.thread);
                self.survey.arrow(lane);
            }
            return Ok(false);
        }
        let Some(time_ns) = self.start(event) else {
            return Ok(true);
        };
        let mut key = event.part.to_le_bytes().to_vec();
        for text in [&event.category, &event.name, &event.id] {
            key.push(0);
            key.extend_from_slice(text);
        }
        let key = xxh3_64(&key);
        let is_on_device = matches!(self.role_of(event), Role::Work(_));
        if is_on_device && is_end {
            let work = self.id_at(event, time_ns);
            self.put_launch_flow(launch_points::end(key, time_ns, work))?;
        } else if !is_on_device && !is_end {
            self.point(event, HostEvent::LaunchFlow { id: key }, 0)?;
        }
        if is_launch || is_on_device {
            self.notes
                .repeat("flow from a call to device work: an edge");
        }
        Ok(is_launch || is_on_device)
    }

    pub(super) fn counter(&mut self, event: &Event) -> Result<(), Error> {
        let arguments = &event.arguments;
        for _ in 0..arguments.series_left_out {
            self.notes
                .leave_out("counter series that is not a number, or beyond the limit of series");
        }
        for (series, value) in &arguments.series {
            let mut name = event.name.clone();
            if !event.id.is_empty() {
                name.extend_from_slice(&[b"[", event.id.as_slice(), b"]"].concat());
            }
            if arguments.series.len() > 1 || !matches!(series.as_slice(), b"value" | b"count") {
                name.push(b'.');
                name.extend_from_slice(series);
            }
            let value = HostEvent::Counter { value: *value };
            self.value(event, value, &name)?;
        }
        Ok(())
    }

    pub(super) fn sum_of_calls(&mut self, event: &Event, sum: SumOfCalls) -> Result<(), Error> {
        let name = String::from_utf8_lossy(&event.name);
        let name = name.strip_prefix("Total ").unwrap_or(&name);
        let ns = HostEvent::SumOfCalls {
            ns: sum.sum_ns as f64,
        };
        self.value(event, ns, format!("sum: {name} total").as_bytes())?;
        let calls = HostEvent::Counter { value: sum.calls };
        self.value(event, calls, format!("sum: {name} calls").as_bytes())
    }

    fn value(&mut self, event: &Event, value: HostEvent, name: &[u8]) -> Result<(), Error> {
        let name = self.name(name);
        let process = self.lanes.process(&event.process);
        if *self.counters.entry(name).or_insert(process) != process {
            self.shared_counters.insert(name);
        }
        self.point(event, value, name)
    }

    /// Adds the totals that an allocator states with an event, for devices only. PyTorch's totals of host
    /// memory count from the start of memory profiling, which adding up the events gives as well, and it
    /// reserves no host memory.
    fn totals(&mut self, event: &Event, device: u32, bytes: i64) -> Result<(), Error> {
        let (allocated, reserved) = (event.arguments.allocated, event.arguments.reserved);
        // Allocators that do not count say 0.
        let at_least = u64::try_from(bytes).unwrap_or(0);
        let is_counted = allocated.is_some_and(|allocated| allocated >= at_least);
        for (field, value, is_good) in [
            ("allocated", allocated, is_counted),
            ("reserved", reserved, is_counted && reserved >= allocated),
        ] {
            let Some(value) = value else { continue };
            if device == NONE {
                self.notes
                    .skip("total of the host's memory: counted from when the profiler began");
            } else if !is_good {
                self.notes
                    .skip("total of a device's memory: less than its live allocations");
            } else if self.memory.may_be(value, self.notes) {
                let name = format!("gpu{device} {field}");
                let total = HostEvent::Total {
                    bytes: value as f64,
                };
                self.value(event, total, name.as_bytes())?;
            }
        }
        Ok(())
    }

    pub(super) fn instant(&mut self, event: &Event) -> Result<(), Error> {
        let arguments = &event.arguments;
        match arguments.bytes {
            Some(bytes) if event.name == b"[memory]" => {
                // Kineto numbers kinds of devices: 0 is the host.
                let device = match (arguments.device_type, arguments.device) {
                    (Some(0), _) | (_, None) => NONE,
                    (_, Some(device)) => u32::try_from(device).unwrap_or(NONE),
                };
                if !self.memory.holds(known(device), bytes, self.notes) {
                    return Ok(());
                }
                let allocation = HostEvent::Allocation {
                    device: known(device),
                    bytes,
                    address: arguments.address,
                };
                self.point(event, allocation, 0)?;
                self.totals(event, device, bytes)
            }
            _ => self.named_point(event),
        }
    }

    /// A named instant. It is not work, so it does not extend the run.
    fn named_point(&mut self, event: &Event) -> Result<(), Error> {
        let Some(time_ns) = self.start(event) else {
            return Ok(());
        };
        let lane = match event.scope {
            b'g' | b'p' => NO_LANE,
            _ => self.lanes.number(&event.process, &event.thread),
        };
        let name = self.name(&event.name);
        let arguments = self.arguments_of_instant(event);
        let record = Host {
            lane,
            start_ns: time_ns,
            end_ns: time_ns,
            event: HostEvent::Instant { arguments },
            order: self.order,
            name,
            node: None,
        };
        if self.is_of_other_process(lane) {
            return Ok(());
        }
        self.host.push(record.words())
    }

    fn arguments_of_instant(&mut self, event: &Event) -> Option<u32> {
        if event.raw.is_empty() || event.raw == b"{}" {
            return None;
        }
        let has_room = self.instant_bytes + event.raw.len() <= MAX_INSTANT_BYTES;
        if event.raw.len() > MAX_SHAPE_BYTES || !has_room {
            self.notes
                .skip("arguments of an instant: longer than 64 KiB, or 64 MiB are kept");
            return None;
        }
        let mut text = Vec::with_capacity(event.raw.len());
        without_spaces(&event.raw, &mut text);
        let known = self.texts.len();
        let number = self.name(&text);
        if self.texts.len() > known {
            self.instant_bytes += text.len();
        }
        Some(number)
    }
}
