//! Intervals: of host threads here, of devices by [`device`](super::device).

use trueno_analysis::vendors;
use trueno_analysis::waits::is_negotiation;

use super::Collector;
use super::Step;
use super::device::{class_of_work, id_of_place};
use crate::Error;
use crate::chrome::bazel;
use crate::chrome::category::Class;
use crate::chrome::collectives::Collective;
use crate::chrome::decimal::{is_in_range, nanoseconds};
use crate::chrome::event::Event;
use crate::chrome::layout::{Place, Role, Seen, is_of_whole_collectives};
use crate::chrome::open_intervals::Open;
use crate::chrome::record::{Host, HostEvent, Link, LinkEvent, NO_ID, Node};
use crate::chrome::sums_of_calls::SumOfCalls;
use crate::chrome::unitrace;
use crate::collective_tasks::{WAIT_NS, is_of_unknown_kind};
use crate::cuda::call_kind::without_version;
use crate::cuda::cupti_enums::SyncKind;

pub(super) const NO_WORK: &str =
    "row of a device that is not work: idle time, a reading, or a sum over other rows";
const OVERHEAD: &str = "overhead of the profiler or the driver, on no thread";
const BUFFER_REQUEST: &[u8] = b"Activity Buffer Request";
pub(crate) const PART_OF_COLLECTIVE: &str = "task of a collective, which is recorded as a whole";

pub(crate) const WAIT_OF_LOWER_LAYER: &str =
    "wait of CANN's runtime, inside the call of its API that waits";

/// CANN records a wait in each of its layers.
fn is_wait_of_lower_layer(name: &[u8]) -> bool {
    matches!(
        name,
        b"Runtime@StreamSynchronize" | b"Runtime@DeviceSynchronize" | b"Runtime@EventSynchronize"
    )
}

/// The threads that run operators or call a device.
#[derive(Clone, Copy, Debug)]
pub(super) enum OperatorLane {
    One(u32),
    Many,
}

#[derive(Clone, Copy, Default)]
struct Stated {
    correlation: Option<u64>,
    bytes: Option<u64>,
    flops: Option<u64>,
    external: Option<u64>,
    iteration: Option<u64>,
    only_waits: bool,
}

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
            self.notes.leave_out("dur is not a number, or out of range");
            return Ok(());
        };
        if !is_in_range(start_ns.saturating_add(dur_ns)) {
            self.notes.leave_out("end out of range");
            return Ok(());
        }
        if bazel::is_of_critical_path(event) {
            self.notes.repeat(bazel::OF_CRITICAL_PATH);
            return Ok(());
        }
        if let Some(sum) = SumOfCalls::of(event, dur_ns) {
            return self.sum_of_calls(event, sum);
        }
        // Process `Spans` today, `Traces` in 2021: a row around all others, and no work.
        let is_window = matches!(event.process.as_slice(), b"Spans" | b"Traces");
        if class == Class::Window && is_window {
            self.facts.window(&event.name, dur_ns);
            let end_ns = start_ns + dur_ns;
            self.windows += 1;
            let (first, last) = self.window.unwrap_or((start_ns, end_ns));
            self.window = Some((first.min(start_ns), last.max(end_ns)));
            self.notes
                .repeat("Trace: the time the profiler was on, in values");
            return Ok(());
        }
        let stated = class;
        let class = resolved(event, class);
        match class {
            Class::DeviceAnnotation => self.device_work(event, class, None, start_ns, dur_ns),
            Class::ProfilerRange => {
                self.profiler_range(event, start_ns, dur_ns);
                Ok(())
            }
            Class::Overhead if event.name != BUFFER_REQUEST => {
                self.notes.skip(OVERHEAD);
                Ok(())
            }
            Class::Overhead => {
                let name = self.name(&event.name);
                let open = Open {
                    start_ns,
                    name,
                    lane: 0,
                    class: Class::Function,
                    order: self.order,
                };
                let end_ns = start_ns.saturating_add(dur_ns);
                self.overheads.push((open, end_ns));
                Ok(())
            }
            Class::Kernel | Class::Copy | Class::Fill | Class::Wait if states_place(event) => {
                let place = match self.role_of(event) {
                    Role::Work(place) => Some(place),
                    _ => None,
                };
                if self.is_survey && event.arguments.correlation.is_none() {
                    // An arrow may lead to it.
                    let lane = self.lanes.number(&event.process, &event.thread);
                    let seen = Seen {
                        is_work: true,
                        states_place: true,
                        start_ns,
                        end_ns: start_ns.saturating_add(dur_ns.max(0)),
                        ..Seen::default()
                    };
                    self.survey.see(lane, seen);
                }
                self.device_work(event, class, place, start_ns, dur_ns)
            }
            _ => match self.role_of(event) {
                Role::Host => self.host_interval(event, (stated, class), (start_ns, dur_ns)),
                Role::Calls if is_wait_of_lower_layer(&event.name) => {
                    self.notes.repeat(WAIT_OF_LOWER_LAYER);
                    Ok(())
                }
                Role::Calls => self.host_interval(event, (stated, Class::Call), (start_ns, dur_ns)),
                Role::Work(place) => {
                    if place.is_of_collectives {
                        let times_ns = (start_ns, start_ns.saturating_add(dur_ns));
                        self.collective_tasks.add_collective(place.device, times_ns);
                        self.collectives_of_tasks
                            .push((self.order, place.device, times_ns));
                    }
                    self.work_of_lane(event, class, place, (start_ns, dur_ns))
                }
                Role::Repeated(place) => self.repeated_row(event, place, (start_ns, dur_ns)),
                Role::NoWork => match iteration_of(event) {
                    Some(number) => self.iteration(event, number, (start_ns, dur_ns)),
                    None => {
                        if vendors::is_sum_of_streams(&String::from_utf8_lossy(&event.name)) {
                            self.reach(start_ns, start_ns.saturating_add(dur_ns.max(0)));
                        }
                        self.notes.repeat(NO_WORK);
                        Ok(())
                    }
                },
                Role::PartOfCollective(device) => {
                    let name = String::from_utf8_lossy(&event.name);
                    let times_ns = (start_ns, start_ns.saturating_add(dur_ns));
                    self.collective_tasks.add(device, &name, times_ns);
                    self.notes.repeat(PART_OF_COLLECTIVE);
                    Ok(())
                }
            },
        }
    }

    pub(super) fn role_of(&mut self, event: &Event) -> Role {
        if self.layout.is_plain() {
            return Role::Host;
        }
        let lane = self.lanes.number(&event.process, &event.thread) as usize;
        for number in self.roles.len()..=lane {
            let of = self.lanes.get(number as u32);
            let process = self.lanes.process_id(of.process);
            let role = self.layout.role(process.as_bytes(), of.thread.as_bytes());
            self.roles.push(role);
        }
        self.roles[lane]
    }

    fn host_interval(
        &mut self,
        event: &Event,
        (stated, class): (Class, Class),
        (start_ns, dur_ns): (i64, i64),
    ) -> Result<(), Error> {
        let arguments = &event.arguments;
        let lane = self.lanes.number(&event.process, &event.thread);
        if self.is_survey {
            let name = String::from_utf8_lossy(&event.name);
            let seen = Seen {
                is_of_collective: vendors::is_task_of_collective(&name),
                is_of_any_work: vendors::is_wait_row(&name)
                    || vendors::is_mark_row(&name)
                    || class_of_work(&name) == Class::Copy,
                is_of_stream: vendors::is_wait_row(&name) || vendors::is_mark_row(&name),
                is_of_unknown_kind: is_of_unknown_kind(&name),
                is_whole_collective: name.starts_with("hcom_")
                    || self
                        .lanes
                        .get(lane)
                        .name
                        .as_deref()
                        .is_some_and(is_of_whole_collectives),
                is_operation: class == Class::Unknown
                    && event.others.has(b"fullname")
                    && event.others.has(b"type"),
                is_sum: vendors::is_sum_of_streams(&name),
                is_negotiation: is_negotiation(&name),
                framework: vendors::XlaFramework::of_row(&name),
                is_host: matches!(class, Class::Function | Class::Operator),
                is_call: class == Class::Call && stated != Class::Unknown,
                is_named_call: class == Class::Call && stated == Class::Unknown,
                is_work: matches!(class, Class::Kernel | Class::Copy | Class::Fill),
                states_place: states_place(event),
                has_correlation: arguments.correlation.or(arguments.connection).is_some(),
                start_ns,
                end_ns: start_ns.saturating_add(dur_ns.max(0)),
            };
            self.survey.see(lane, seen);
        }
        let name = self.slice_name(event, class)?;
        let stated = Stated {
            correlation: arguments.correlation.or(arguments.connection),
            bytes: arguments.call_bytes,
            flops: arguments.flops,
            external: arguments.external,
            iteration: self.run_of_session(event),
            only_waits: bazel::only_waits(event),
        };
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
        self.slice(open, start_ns + dur_ns, stated, node)
    }

    /// The number of a call of ONNX Runtime's `Run`: each is an inference.
    fn run_of_session(&mut self, event: &Event) -> Option<u64> {
        let is_run = event.category == b"Session" && event.name == b"model_run";
        is_run.then(|| {
            self.session_runs += 1;
            self.session_runs - 1
        })
    }

    /// States of each collective how long its tasks waited.
    pub(super) fn state_waits(&mut self) -> Result<(), Error> {
        let waits = std::mem::take(&mut self.collective_tasks).waits();
        for (order, device, times_ns) in std::mem::take(&mut self.collectives_of_tasks) {
            let of_device = waits.get(&device);
            if let Some(wait_ns) = of_device.and_then(|waits| waits.within_ns(times_ns)) {
                self.keep_integer(order, WAIT_NS, wait_ns)?;
            }
        }
        Ok(())
    }

    /// Rows of overhead name no thread. CUPTI requests a buffer on the thread whose call needs one; what the driver
    /// does, such as loading a function, stays in the call that waits for it; a flush has a thread of its own.
    pub(super) fn place_overheads(&mut self) -> Result<(), Error> {
        for (open, end_ns) in std::mem::take(&mut self.overheads) {
            match self.operator_lane {
                Some(OperatorLane::One(lane)) => {
                    self.slice(Open { lane, ..open }, end_ns, Stated::default(), None)?;
                }
                _ => self.notes.skip(OVERHEAD),
            }
        }
        Ok(())
    }

    /// A step that a device reported.
    fn iteration(
        &mut self,
        event: &Event,
        number: u64,
        (start_ns, dur_ns): (i64, i64),
    ) -> Result<(), Error> {
        if dur_ns < 0 {
            self.notes.leave_out("negative duration");
            return Ok(());
        }
        let lane = self.lanes.number(&event.process, &event.thread);
        let name = self.name(b"Iteration");
        self.push_host(Host {
            lane,
            start_ns,
            end_ns: start_ns.saturating_add(dur_ns),
            event: HostEvent::Iteration { number },
            order: self.order,
            name,
            node: None,
        })
    }

    /// An interval of a host thread, and the autograd node of an operator.
    fn slice(
        &mut self,
        open: Open,
        end_ns: i64,
        stated: Stated,
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
            .and_then(|number| number.trim().parse().ok())
            .or(stated.iteration);
        let Stated {
            correlation,
            bytes,
            flops,
            external,
            only_waits,
            ..
        } = stated;
        if matches!(class, Class::Call | Class::Operator) {
            self.operator_lane = Some(match self.operator_lane {
                Some(OperatorLane::One(of)) if of != lane => OperatorLane::Many,
                Some(known) => known,
                None => OperatorLane::One(lane),
            });
        }
        let event = match (class, step) {
            (Class::Call, _) => HostEvent::Call { correlation, bytes },
            (Class::Operator, None) => HostEvent::Operator { flops, external },
            // Of category `Operator` in 2021, of annotations since.
            (_, Some(number)) => {
                let process = self.lanes.get(lane).process;
                self.steps.push(Step {
                    process,
                    start_ns,
                    end_ns,
                    number,
                });
                HostEvent::Iteration { number }
            }
            _ => HostEvent::Function {
                external,
                only_waits,
            },
        };
        self.push_host(Host {
            lane,
            start_ns,
            end_ns,
            event,
            order,
            name,
            node,
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
            let class = resolved(event, class);
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
        if end_ns >= open.start_ns {
            let role = self.role_of(event);
            match role {
                Role::Host | Role::Calls => {}
                Role::NoWork => {
                    self.notes.repeat(NO_WORK);
                    return Ok(());
                }
                Role::PartOfCollective(_) => {
                    self.notes.repeat(PART_OF_COLLECTIVE);
                    return Ok(());
                }
                Role::Work(place) | Role::Repeated(place) => {
                    return self.ended_work(role, place, open, end_ns);
                }
            }
            if self.is_survey {
                let seen = Seen {
                    is_negotiation: is_negotiation(self.into.str(self.texts[open.name as usize])),
                    is_host: matches!(open.class, Class::Function | Class::Operator),
                    is_call: open.class == Class::Call,
                    is_work: matches!(open.class, Class::Kernel | Class::Copy | Class::Fill),
                    start_ns: open.start_ns,
                    end_ns,
                    ..Seen::default()
                };
                self.survey.see(lane, seen);
            }
        }
        self.slice(open, end_ns, Stated::default(), None)
    }

    fn ended_work(
        &mut self,
        role: Role,
        place: Place,
        open: Open,
        end_ns: i64,
    ) -> Result<(), Error> {
        if let Role::Repeated(_) = role {
            return self.link(Link {
                correlation: NO_ID,
                event: LinkEvent::Annotation,
                start_ns: open.start_ns,
                dur_ns: end_ns - open.start_ns,
                order: open.order,
                name: open.name,
                device: place.device,
                stream: place.stream,
                external: NO_ID,
            });
        }
        self.devices.insert(place.device);
        self.push_host(Host {
            lane: open.lane,
            start_ns: open.start_ns,
            end_ns,
            event: HostEvent::DeviceWork {
                correlation: id_of_place(open.lane, open.start_ns),
                device: place.device,
                stream: place.stream,
                arguments: None,
            },
            order: open.order,
            name: open.name,
            node: None,
        })
    }
}

/// Decides between call and work from the event's own arguments.
fn resolved(event: &Event, class: Class) -> Class {
    // unitrace has one category for all of the host.
    if class == Class::Operator && unitrace::is_call(&event.name) {
        return Class::Call;
    }
    if !matches!(class, Class::CallOrWork | Class::Unknown) {
        return class;
    }
    let arguments = &event.arguments;
    let name = String::from_utf8_lossy(&event.name);
    let is_call = vendors::call(&name).is_some();
    let signs = [
        arguments.device.is_some(),
        arguments.stream.is_some(),
        arguments.correlation.is_some(),
        arguments.grid.is_some() && arguments.block.is_some(),
    ];
    let signs = signs.into_iter().filter(|sign| *sign).count();
    let is_work = signs >= 2 && arguments.stream.is_some() && !is_call;
    match class {
        // CUPTI's records of waits, which others print among its kernels.
        _ if is_work && SyncKind::from_words(&name).is_some() => Class::Wait,
        _ if is_work => class_of_work(&name),
        Class::CallOrWork => Class::Call,
        _ if is_call => Class::Call,
        class => class,
    }
}

/// The number of a step, as Ascend's step traces state it.
fn iteration_of(event: &Event) -> Option<u64> {
    if event.category != b"Iteration Time" {
        return None;
    }
    let name = std::str::from_utf8(&event.name).ok()?;
    name.strip_prefix("Iteration ")?.parse().ok()
}

/// The event states where on a device it ran, or which call launched it.
fn states_place(event: &Event) -> bool {
    let arguments = &event.arguments;
    arguments.device.is_some()
        || arguments.correlation.is_some()
        || arguments.stream.is_some()
        || arguments.grid.is_some()
}
