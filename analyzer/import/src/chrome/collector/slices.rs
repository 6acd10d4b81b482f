//! Intervals: of host threads here, of devices by [`device`](super::device).

use super::Collector;
use super::Step;
use crate::Error;
use crate::chrome::category::Class;
use crate::chrome::collectives::Collective;
use crate::chrome::decimal::{is_in_range, nanoseconds};
use crate::chrome::event::Event;
use crate::chrome::open_intervals::Open;
use crate::chrome::record::{Host, NO_ID, Node, What};
use crate::cuda::call_kind::without_version;

impl Collector<'_> {
    pub(super) fn interval(&mut self, event: &Event, class: Class) -> Result<(), Error> {
        let Some(start_ns) = self.start(event) else {
            return Ok(());
        };
        if event.duration.is_empty() {
            self.notes.leave_out("X without dur");
            return Ok(());
        }
        let Some(dur_ns) = nanoseconds(&event.duration) else {
            self.notes.leave_out("dur is no number, or out of range");
            return Ok(());
        };
        if !is_in_range(start_ns.saturating_add(dur_ns)) {
            self.notes.leave_out("end out of range");
            return Ok(());
        }
        // Process `Spans` today, `Traces` in 2021: a row around all others, and no work.
        let is_window = matches!(event.process.as_slice(), b"Spans" | b"Traces");
        if class == Class::Window && is_window {
            self.facts.window(&event.name, dur_ns);
            self.notes
                .repeat("Trace: the time the profiler was on, in values");
            return Ok(());
        }
        let arguments = &event.arguments;
        let is_device = arguments.device.is_some()
            || arguments.correlation.is_some()
            || arguments.stream.is_some();
        match class {
            Class::Kernel | Class::Copy | Class::Fill | Class::Wait if is_device => {
                self.device_work(event, class, start_ns, dur_ns)
            }
            Class::DeviceAnnotation => self.device_work(event, class, start_ns, dur_ns),
            Class::ProfilerRange => {
                self.profiler_range(event, start_ns, dur_ns);
                Ok(())
            }
            Class::Overhead => {
                self.notes
                    .skip("overhead: the profiler's own work, on no thread");
                Ok(())
            }
            _ => {
                let lane = self.lanes.number(&event.process, &event.thread);
                let name = self.slice_name(event, class)?;
                let (a, b) = match class {
                    Class::Call => (arguments.correlation, None),
                    _ => (arguments.flops, arguments.external),
                };
                let known = [a, b].map(|word| word.unwrap_or(NO_ID));
                let node = match class {
                    Class::Operator => Node::of(arguments),
                    _ => None,
                };
                let open = Open {
                    start_ns,
                    name,
                    lane,
                    class,
                    order: self.order,
                };
                self.slice(open, start_ns + dur_ns, known, node)
            }
        }
    }

    /// An interval of a host thread; known of it are its flops or its correlation, and its
    /// external id; and the node of autograd's graph that an operator is about.
    fn slice(
        &mut self,
        open: Open,
        end_ns: i64,
        [a, b]: [u64; 2],
        node: Option<Node>,
    ) -> Result<(), Error> {
        let Open {
            start_ns,
            name,
            lane,
            class,
            order,
        } = open;
        if end_ns < start_ns {
            self.notes.leave_out("negative duration");
            return Ok(());
        }
        let text = self.into.str(self.texts[name as usize]);
        let step = text
            .strip_prefix("ProfilerStep#")
            .and_then(|number| number.trim().parse().ok());
        let (what, a) = match (class, step) {
            (Class::Call, _) => (What::Call, a),
            (Class::Operator, None) => (What::Operator, a),
            // Of category `Operator` in 2021, of annotations since.
            (_, Some(number)) => {
                let process = self.lanes.get(lane).process;
                self.steps.push(Step {
                    process,
                    start_ns,
                    end_ns,
                    number,
                });
                (What::Iteration, number)
            }
            _ => (What::Function, NO_ID),
        };
        self.push_host(Host {
            lane,
            start_ns,
            end_ns,
            what,
            order,
            name,
            node,
            a,
            b,
        })
    }

    fn slice_name(&mut self, event: &Event, class: Class) -> Result<u32, Error> {
        Ok(match class {
            Class::Call => {
                let name = String::from_utf8_lossy(&event.name);
                self.name(without_version(&name).as_bytes())
            }
            Class::Operator => {
                let shapes = &event.arguments.shapes;
                let signature = self
                    .signatures
                    .number(&shapes.lists(), self.into, self.notes)?;
                self.name_of_operator(&event.name, signature, shapes.collective.named())
            }
            _ => match Collective::of_gloo(&event.name, &event.arguments.shapes.lists()) {
                Some(collective) => self.name_of_operator(&event.name, None, Some(&collective)),
                None => self.name(&event.name),
            },
        })
    }

    pub(super) fn begin(&mut self, event: &Event, class: Class) -> Result<(), Error> {
        if let Some(start_ns) = self.start(event) {
            let lane = self.lanes.number(&event.process, &event.thread);
            let name = self.slice_name(event, class)?;
            self.slices.begin(
                u64::from(lane),
                Open {
                    start_ns,
                    name,
                    lane,
                    class,
                    order: self.order,
                },
            );
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, event: &Event) -> Result<(), Error> {
        let Some(end_ns) = self.start(event) else {
            return Ok(());
        };
        let lane = self.lanes.number(&event.process, &event.thread);
        let Some(open) = self.slices.end(u64::from(lane)) else {
            self.notes.leave_out("E without its B");
            return Ok(());
        };
        self.keep_arguments(open.order, event, true)?;
        let name = self.into.str(self.texts[open.name as usize]);
        if !event.name.is_empty() && name.as_bytes() != event.name {
            self.notes.warn(
                "some E have another name than the B they end; the innermost open B was taken",
            );
        }
        self.slice(open, end_ns, [NO_ID; 2], None)
    }
}
