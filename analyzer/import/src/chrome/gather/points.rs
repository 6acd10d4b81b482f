//! Points: ends of flows, counters, allocations.

use xxhash_rust::xxh3::xxh3_64;

use super::super::event::Event;
use super::super::record::{Host, NO_ID, NONE, What};
use super::Gather;
use crate::Error;

impl Gather<'_> {
    /// A point of a lane.
    fn point(&mut self, event: &Event, what: What, name: u32, a: u64, b: u64) -> Result<(), Error> {
        let Some(time_ns) = self.start(event) else {
            return Ok(());
        };
        let lane = self.lanes.number(&event.process, &event.thread);
        self.push_host(Host {
            lane,
            start_ns: time_ns,
            end_ns: time_ns,
            what,
            order: self.order,
            name,
            a,
            b,
        })
    }

    pub(super) fn flow(&mut self, event: &Event) -> Result<(), Error> {
        if matches!(
            event.category.as_slice(),
            b"ac2g" | b"async_gpu" | b"async_cpu_to_gpu"
        ) {
            self.notes
                .leave_out("flow from a call to device work: the correlation says it");
            return Ok(());
        }
        let what = match event.phase {
            b's' => What::FlowStart,
            b't' => What::FlowStep,
            _ if event.binds_around => What::FlowEnd,
            _ => What::FlowEndNext,
        };
        let mut key = event.category.clone();
        for text in [&event.name, &event.id] {
            key.push(0);
            key.extend_from_slice(text);
        }
        self.point(event, what, 0, xxh3_64(&key), 0)
    }

    pub(super) fn counter(&mut self, event: &Event) -> Result<(), Error> {
        let arguments = &event.arguments;
        for _ in 0..arguments.series_left_out {
            self.notes
                .leave_out("counter series that is no number, or one of very many");
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
            let name = self.name(&name);
            let process = self.lanes.process(&event.process);
            if *self.counters.entry(name).or_insert(process) != process {
                self.shared_counters.insert(name);
            }
            self.point(event, What::Counter, name, value.to_bits(), 0)?;
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
                let address = arguments.address.unwrap_or(NO_ID);
                self.point(
                    event,
                    What::Allocation,
                    device,
                    bytes.cast_unsigned(),
                    address,
                )
            }
            _ => {
                self.notes
                    .leave_out("instant: no table has points with a name");
                Ok(())
            }
        }
    }
}
