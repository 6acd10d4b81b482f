//! From records to rows, lane by lane: what lies in what is seen from the times.

use trueno_format::run_writer::Text;
use trueno_format::schema::{
    AllocationRow, AnnotationRow, BrickRow, CallRow, CollectiveRow, CounterRow, ThreadRow,
};

use super::autograd;
use super::category::Class;
use super::collector::believable;
use super::collector::{Collector, Step, class_of_work, id_of_place};
use super::host_views::{self, HostViews};
use super::launch_points;
use super::profiler_ranges::Launch;
use super::python::python_place;
use super::record::{
    FlowEnd, Host, HostEvent, KernelFacts, Link, LinkEvent, NO_ID, NO_LANE, NODE_WORDS, NONE, Node,
    OF_ANNOTATION, Operator, rising,
};
use super::row_texts::RowTexts;
use crate::Error;
use crate::cuda::call_kind::CallKind;
use crate::cuda::cupti_enums::Direction;
use crate::sorter::{Sorted, Sorter};

pub(super) const FLOW_WORDS: usize = 6;

#[derive(Clone, Copy)]
struct Open {
    id: u64,
    start_ns: i64,
    end_ns: i64,
    iteration: Option<u64>,
    node: Option<Node>,
    /// Of an asynchronous interval.
    key: Option<u64>,
}

#[derive(Clone, Copy)]
struct Flow {
    id: u64,
    end: FlowEnd,
    time_ns: i64,
}

/// Device work that may contain the next row of its lane.
#[derive(Clone, Copy)]
struct DeviceWork {
    correlation: u64,
    device: u32,
    stream: u32,
    arguments: Option<u32>,
    record: Host,
}

/// Device work, once more with the same name, times and arguments.
const AGAIN: &str = "the same device work once more: name, times and arguments are equal";

struct Thread {
    number: u32,
    process: u32,
    /// Number of rows so far; the next id is derived from it.
    rows: u64,
}

pub(super) struct Swept {
    /// Ends of flows: the flow, its time and phase, the brick and its times.
    pub flows: Sorter<FLOW_WORDS>,
    /// Operators by autograd node; empty if flows state the same edges.
    pub nodes: Sorter<NODE_WORDS>,
}

struct Sweep<'g, 'a> {
    collector: &'g mut Collector<'a>,
    texts: &'g RowTexts,
    origin_ns: i64,
    flows: Sorter<FLOW_WORDS>,
    nodes: Sorter<NODE_WORDS>,
    has_backward_flows: bool,
    /// Recorded with `with_stack=True`, so names of functions may contain their source location.
    has_python: bool,
    thread: Option<Thread>,
    lane: Option<u32>,
    threads: u32,
    open: Vec<Open>,
    /// The innermost of the rows that ended last.
    ended: Option<Open>,
    /// Ends of flows that wait for the next slice.
    next: Vec<Flow>,
    /// Calls in which flows to device work may start; empty if the file has no such flows.
    calls: Vec<launch_points::Call>,
    has_launch_flows: bool,
    device_work: Option<DeviceWork>,
    overlaps: u64,
}

/// Writes bricks, calls, allocations and counters, and their threads.
pub(super) fn sweep(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    mut records: Sorted<{ super::record::HOST_WORDS }>,
    origin_ns: i64,
) -> Result<Swept, Error> {
    collector.steps.sort_unstable();
    let flows = Sorter::new(collector.into.path().join("import.flows"));
    let nodes = Sorter::small(collector.into.path().join("import.nodes"));
    let has_backward_flows = autograd::FLOWS
        .iter()
        .any(|category| collector.categories.has(category));
    let has_python = collector.categories.has("python_function");
    let has_launch_flows = !collector.layout.is_plain();
    let mut sweep = Sweep {
        collector,
        texts,
        origin_ns,
        flows,
        nodes,
        has_backward_flows,
        has_python,
        thread: None,
        lane: None,
        threads: 0,
        open: Vec::new(),
        ended: None,
        next: Vec::new(),
        calls: Vec::new(),
        has_launch_flows,
        device_work: None,
        overlaps: 0,
    };
    let mut views = HostViews::new(&sweep.collector.lanes);
    while let Some(words) = records.next()? {
        let record = Host::from_words(words);
        let collector = &mut sweep.collector;
        if !collector.doubts.is_near(record.start_ns) {
            collector.notes.leave_out(believable::FAR);
        } else if collector.doubts.is_again(&record) {
            collector.notes.repeat(believable::TWICE);
        } else if views.is_shown(&record, &collector.lanes) {
            collector.notes.repeat(host_views::SEEN_BEFORE);
        } else if collector.doubts.is_after_the_end(&record) {
            collector.notes.leave_out(believable::AFTER_THE_END);
        } else {
            sweep.record(record)?;
        }
    }
    sweep.end_lane()?;
    if sweep.overlaps > 0 {
        let count = sweep.overlaps;
        sweep.collector.notes.warn(format!(
            "{count} intervals overlap another of their thread without nesting; they are kept inside the interval that fully contains them"
        ));
    }
    Ok(Swept {
        flows: sweep.flows,
        nodes: sweep.nodes,
    })
}

impl Sweep<'_, '_> {
    fn record(&mut self, record: Host) -> Result<(), Error> {
        if self.lane != Some(record.lane) {
            self.end_lane()?;
            self.lane = Some(record.lane);
        }
        while let Some(open) = self.open.pop_if(|open| open.end_ns <= record.start_ns) {
            if self.ended.is_none_or(|ended| ended.end_ns < open.end_ns) {
                self.ended = Some(open);
            }
        }
        match record.event {
            HostEvent::Iteration { .. }
            | HostEvent::Function { .. }
            | HostEvent::Operator { .. }
            | HostEvent::Task { .. } => self.brick(record),
            HostEvent::Call { correlation, bytes } => self.call(record, correlation, bytes),
            HostEvent::LaunchFlow { id } => self.launch_flow(id, record.start_ns),
            HostEvent::DeviceWork {
                correlation,
                device,
                stream,
                arguments,
            } => self.device_work(DeviceWork {
                correlation,
                device,
                stream,
                arguments,
                record,
            }),
            HostEvent::Allocation {
                device,
                bytes,
                address,
            } => {
                let (thread, _) = self.row_id(&record)?;
                let renamed = self.collector.renamed_device;
                let device = match renamed {
                    Some((stated, used)) if device == Some(stated) => Some(used),
                    _ => device,
                };
                let row = AllocationRow {
                    time_ns: record.start_ns - self.origin_ns,
                    thread: Some(thread),
                    span: self.innermost(record.start_ns).map(|open| open.id),
                    device,
                    bytes,
                    address,
                    ..AllocationRow::default()
                };
                self.collector.add(&row)
            }
            HostEvent::Counter { value } => {
                self.counter(record, value, (None, self.texts.declared))
            }
            HostEvent::Total { bytes } => self.total(record, bytes),
            HostEvent::SumOfCalls { ns } => {
                let declared = (Some(self.texts.nanoseconds), self.texts.declared);
                self.counter(record, ns, declared)
            }
            HostEvent::Instant { arguments } => self.instant(record, arguments),
            HostEvent::Flow { id, end } => self.flow(Flow {
                id,
                end,
                time_ns: record.start_ns,
            }),
        }
    }

    fn end_lane(&mut self) -> Result<(), Error> {
        for _ in self.next.drain(..) {
            self.collector.notes.skip("flow without a slice around it");
        }
        self.open.clear();
        self.ended = None;
        self.calls.clear();
        self.thread = None;
        match self.device_work.take() {
            Some(work) => self.device_row(work, false),
            None => Ok(()),
        }
    }

    /// Either the previous row contains this one, or it is finished. Of the two the inner one is work, unless rows count
    /// what is within them.
    fn device_work(&mut self, work: DeviceWork) -> Result<(), Error> {
        let Some(before) = self.device_work.replace(work) else {
            return Ok(());
        };
        let (inner, outer) = (work.record, before.record);
        let times_and_name = |row: &Host| (row.start_ns, row.end_ns, row.name);
        let are_alike = times_and_name(&inner) == times_and_name(&outer);
        if let Some((arguments, of_outer)) = work.arguments.zip(before.arguments)
            && are_alike
        {
            if arguments == of_outer {
                self.device_work = Some(before);
                self.collector.notes.repeat(AGAIN);
                return Ok(());
            }
            return self.device_row(before, false);
        }
        let holds = inner.start_ns < outer.end_ns && inner.end_ns <= outer.end_ns;
        let counts_inner = self.collector.inclusive_lanes.contains(&inner.lane);
        if holds && counts_inner && !self.is_range_around(&outer, &inner) {
            self.device_work = Some(before);
            return self.device_row(work, true);
        }
        self.device_row(before, holds)
    }

    /// True for a range of the program's around an operator (`aten::mm`), which is no work.
    fn is_range_around(&mut self, outer: &Host, inner: &Host) -> bool {
        let mut is_operator = |record: &Host| {
            let name = self.collector.texts[record.name as usize];
            self.collector.into.str(name).contains("::")
        };
        !is_operator(outer) && is_operator(inner)
    }

    fn device_row(&mut self, work: DeviceWork, holds_others: bool) -> Result<(), Error> {
        let DeviceWork {
            correlation,
            device,
            stream,
            record,
            ..
        } = work;
        let name = self.collector.texts[record.name as usize];
        let class = class_of_work(self.collector.into.str(name));
        let event = if holds_others {
            LinkEvent::Annotation
        } else if matches!(class, Class::Copy | Class::Fill) {
            let of_name = Direction::from_words(self.collector.into.str(name));
            LinkEvent::Copy {
                bytes: None,
                direction: match class {
                    Class::Fill => Direction::Fill,
                    _ => of_name.unwrap_or(Direction::Unknown),
                },
                from: None,
                to: None,
            }
        } else {
            LinkEvent::Kernel(KernelFacts::default())
        };
        // An arrow to it may say what launched it.
        let external = if holds_others {
            NO_ID
        } else {
            id_of_place(record.lane, record.start_ns)
        };
        self.collector.link(Link {
            correlation,
            event,
            start_ns: record.start_ns,
            dur_ns: record.end_ns - record.start_ns,
            order: record.order,
            name: record.name,
            device,
            stream,
            external,
        })
    }

    /// The start of a flow to device work, in a call or another interval.
    fn launch_flow(&mut self, flow: u64, time_ns: i64) -> Result<(), Error> {
        self.calls.retain(|call| call.end_ns >= time_ns);
        // Some write an arrow at the very end of its call, where the next may begin already.
        let around = self.calls.iter().rev();
        let around = around
            .max_by_key(|call| (call.end_ns > time_ns, call.start_ns))
            .copied();
        if let Some(call) = around {
            let words = launch_points::start_in_call(flow, time_ns, call);
            return self.collector.put_launch_flow(words);
        }
        let (Some(open), Some(thread)) = (self.innermost(time_ns), &self.thread) else {
            self.collector.notes.skip("flow without a slice around it");
            return Ok(());
        };
        let place = (open.id, thread.number);
        let words = launch_points::start_in_brick(flow, time_ns, place);
        self.collector.put_launch_flow(words)
    }

    fn innermost(&self, time_ns: i64) -> Option<&Open> {
        self.open.iter().rev().find(|open| open.end_ns > time_ns)
    }

    fn row_id(&mut self, record: &Host) -> Result<(u32, u64), Error> {
        if self.thread.is_none() {
            self.begin_thread(record)?;
        }
        let Some(thread) = &mut self.thread else {
            return Ok((0, 0));
        };
        thread.rows += 1;
        // As the recorder counts: the thread in the upper half, from 1.
        Ok((
            thread.number,
            (u64::from(thread.number) + 1) << 32 | thread.rows,
        ))
    }

    fn begin_thread(&mut self, record: &Host) -> Result<(), Error> {
        let number = self.threads;
        self.threads += 1;
        let several = self.collector.lanes.several_processes();
        let title = self.collector.lanes.title(record.lane, several);
        let lane = self.collector.lanes.get(record.lane);
        self.collector.host_processes.insert(lane.process);
        self.thread = Some(Thread {
            number,
            process: lane.process,
            rows: 0,
        });
        let os_id = lane.thread.parse::<u64>().ok();
        let name = title.map(|title| self.collector.into.text(&title));
        let row = ThreadRow {
            thread: number,
            name,
            os_id,
            start_ns: Some(record.start_ns - self.origin_ns),
            ..ThreadRow::default()
        };
        self.collector.add(&row)
    }

    fn brick(&mut self, record: Host) -> Result<(), Error> {
        let (thread, id) = self.row_id(&record)?;
        let key = match record.event {
            HostEvent::Task { key } => Some(key),
            _ => None,
        };
        // One request during another is no part of it.
        let is_around = |open: &&Open| {
            open.end_ns > record.start_ns && open.end_ns >= record.end_ns && open.key == key
        };
        let parent = self.open.iter().rev().find(is_around).copied();
        let top = self.open.last().map(|open| open.id);
        if top.is_some() && top != parent.map(|parent| parent.id) && key.is_none() {
            self.overlaps += 1;
        }
        if key.is_some() {
            let tasks = self.collector.tasks.entry(record.name).or_default();
            tasks.add(record.end_ns - record.start_ns);
        }
        let iteration = match record.event {
            HostEvent::Iteration { number } => Some(number),
            _ => parent
                .and_then(|parent| parent.iteration)
                .or_else(|| self.step_at(record.start_ns)),
        };
        let kind = match record.event {
            HostEvent::Iteration { .. } => self.texts.iteration,
            HostEvent::Operator { .. } => self.texts.brick,
            HostEvent::Task { .. } => self.texts.task,
            _ => self.texts.function,
        };
        // Something was open that long; when threads worked for it is not stated.
        let timing = match record.event {
            HostEvent::Task { .. } => self.texts.bound,
            _ => self.texts.host,
        };
        let flops = match record.event {
            HostEvent::Operator { flops, .. } => flops,
            _ => None,
        };
        let (file, line) = match record.event {
            HostEvent::Function { .. } if self.has_python => self.python_place(record.name).unzip(),
            _ => (None, None),
        };
        let is_wait = matches!(
            record.event,
            HostEvent::Function {
                only_waits: true,
                ..
            }
        );
        let row = BrickRow {
            id,
            parent: parent.map(|parent| parent.id),
            category: is_wait.then_some(self.texts.waiting),
            kind,
            name: self.collector.texts[record.name as usize],
            thread,
            start_ns: record.start_ns - self.origin_ns,
            dur_ns: record.end_ns - record.start_ns,
            timing,
            iteration,
            flops,
            signature: self.collector.signature(record.name),
            file,
            line,
            ..BrickRow::default()
        };
        self.collector.add(&row)?;
        self.collector.became(record.order, id)?;
        self.collector
            .add_collective(record.name, |of| CollectiveRow {
                span: Some(id),
                thread: Some(thread),
                time_ns: row.start_ns,
                dur_ns: row.dur_ns,
                ..of
            })?;
        let external = match record.event {
            HostEvent::Operator { external, .. } => external,
            // Of annotations; other functions have no number.
            HostEvent::Function { external, .. } => external.map(|id| id | OF_ANNOTATION),
            _ => None,
        };
        if let Some(external) = external {
            self.collector.operator(Operator {
                external,
                start_ns: record.start_ns,
                id,
                thread,
            })?;
        }
        if let Some(node) = record.node.filter(|_| !self.has_backward_flows) {
            let words = node.words(id, record.start_ns, record.end_ns);
            self.nodes.push(words)?;
        }
        let open = Open {
            id,
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            iteration,
            node: record.node,
            key,
        };
        for flow in std::mem::take(&mut self.next) {
            self.flow_point(flow, open)?;
        }
        self.open.push(open);
        Ok(())
    }

    /// File and line in the name of a Python function, such as `model.py(12): forward`.
    fn python_place(&mut self, name: u32) -> Option<(Text, u32)> {
        let name = self.collector.texts[name as usize];
        let (file, line) = python_place(self.collector.into.str(name))?;
        let file = file.to_owned();
        Some((self.collector.into.text(&file), line))
    }

    /// The iteration of the lane's process at a time, for threads without iterations of their own.
    fn step_at(&self, time_ns: i64) -> Option<u64> {
        let process = self.thread.as_ref()?.process;
        let steps = &self.collector.steps;
        let after =
            steps.partition_point(|step| (step.process, step.start_ns) <= (process, time_ns));
        let is_around = |step: &&Step| step.process == process && time_ns < step.end_ns;
        steps[..after]
            .last()
            .filter(is_around)
            .map(|step| step.number)
    }

    fn call(
        &mut self,
        record: Host,
        correlation: Option<u64>,
        bytes: Option<u64>,
    ) -> Result<(), Error> {
        let (thread, id) = self.row_id(&record)?;
        let brick = self.innermost(record.start_ns).map(|open| open.id);
        let name = self.collector.texts[record.name as usize];
        let (start_ns, dur_ns) = (
            record.start_ns - self.origin_ns,
            record.end_ns - record.start_ns,
        );
        self.collector.add(&CallRow {
            id,
            brick,
            name,
            thread,
            start_ns,
            dur_ns,
            correlation,
            ..CallRow::default()
        })?;
        self.collector.became(record.order, id)?;
        let launch = Launch {
            start_ns: record.start_ns,
            id,
            brick,
            thread,
            correlation,
        };
        let text = self.collector.into.str(name);
        self.collector.profiler_ranges.call(text, launch);
        if self.has_launch_flows {
            self.calls.retain(|call| call.end_ns >= record.start_ns);
            self.calls.push(launch_points::Call {
                id,
                brick,
                thread,
                name: record.name,
                start_ns: record.start_ns,
                end_ns: record.end_ns,
                bytes,
            });
        }
        let wait = CallKind::from_name(self.collector.into.str(name)).wait();
        let wait = wait.filter(|kind| kind.holds_up_host());
        if correlation.is_none() && wait.is_none() {
            return Ok(());
        }
        self.collector.link(Link {
            correlation: correlation.unwrap_or(NO_ID),
            event: LinkEvent::Call {
                id,
                brick,
                thread,
                wait,
                bytes,
            },
            start_ns: record.start_ns,
            dur_ns,
            order: id,
            name: record.name,
            device: NONE,
            stream: NONE,
            external: NO_ID,
        })
    }

    /// A total of a device's memory, under the number that its work has.
    fn total(&mut self, record: Host, bytes: f64) -> Result<(), Error> {
        let measured = (Some(self.texts.bytes), self.texts.measured);
        let name = self.collector.texts[record.name as usize];
        let renamed = self.collector.renamed_device.and_then(|(stated, used)| {
            let name = self.collector.into.str(name);
            let field = name.strip_prefix(&format!("gpu{stated} "))?;
            Some(format!("gpu{used} {field}"))
        });
        match renamed {
            Some(title) if !self.collector.shared_counters.contains(&record.name) => {
                let name = self.collector.into.text(&title);
                self.counter_row(record, name, bytes, measured)
            }
            _ => self.counter(record, bytes, measured),
        }
    }

    fn counter(
        &mut self,
        record: Host,
        value: f64,
        (unit, source): (Option<Text>, Text),
    ) -> Result<(), Error> {
        let mut name = self.collector.texts[record.name as usize];
        if self.collector.shared_counters.contains(&record.name) {
            let process = self.collector.lanes.get(record.lane).process;
            let process = self.collector.lanes.process_title(process);
            let title = format!("{process} / {}", self.collector.into.str(name));
            name = self.collector.into.text(&title);
        }
        self.counter_row(record, name, value, (unit, source))
    }

    fn counter_row(
        &mut self,
        record: Host,
        name: Text,
        value: f64,
        (unit, source): (Option<Text>, Text),
    ) -> Result<(), Error> {
        let row = CounterRow {
            time_ns: record.start_ns - self.origin_ns,
            name,
            value,
            unit,
            source,
            ..CounterRow::default()
        };
        self.collector.add(&row)
    }

    fn instant(&mut self, record: Host, arguments: Option<u32>) -> Result<(), Error> {
        let thread = match record.lane {
            NO_LANE => None,
            _ => Some(self.row_id(&record)?.0),
        };
        let texts = &self.collector.texts;
        let row = AnnotationRow {
            kind: self.texts.instant,
            name: texts[record.name as usize],
            thread,
            brick: self.innermost(record.start_ns).map(|open| open.id),
            time_ns: record.start_ns - self.origin_ns,
            arguments: arguments.map(|number| texts[number as usize]),
            ..AnnotationRow::default()
        };
        self.collector.add(&row)
    }

    fn flow(&mut self, flow: Flow) -> Result<(), Error> {
        let ended_now = |open: &Open| open.end_ns == flow.time_ns && flow.end == FlowEnd::Start;
        let around = self.innermost(flow.time_ns).copied();
        // TensorFlow's timelines let arrows begin where their operators end.
        let around = around.or(self.ended.filter(ended_now));
        let begins_now = around.is_some_and(|open| open.start_ns == flow.time_ns);
        match around {
            Some(around) if flow.end != FlowEnd::EndInNext || begins_now => {
                self.flow_point(flow, around)
            }
            _ if flow.end == FlowEnd::EndInNext => {
                self.next.push(flow);
                Ok(())
            }
            _ => {
                self.collector.notes.skip("flow without a slice around it");
                Ok(())
            }
        }
    }

    /// The outermost open row of a backward node. Kineto ends flows at the innermost, which begins a little later: the
    /// row around it would then begin for no reason.
    fn whole_backward_node(&self, inner: Open) -> Open {
        let is_same = |open: &&Open| open.end_ns >= inner.end_ns && open.node == inner.node;
        let is_backward = inner.node.is_some_and(Node::is_backward);
        let around = self.open.iter().find(is_same).filter(|_| is_backward);
        around.copied().unwrap_or(inner)
    }

    fn flow_point(&mut self, flow: Flow, brick: Open) -> Result<(), Error> {
        let brick = if flow.end == FlowEnd::Start {
            brick
        } else {
            self.whole_backward_node(brick)
        };
        let phase = match flow.end {
            FlowEnd::Start => 0,
            FlowEnd::Step => 1,
            FlowEnd::End | FlowEnd::EndInNext => 2,
        };
        let words = [
            flow.id,
            rising(flow.time_ns),
            phase,
            brick.id,
            rising(brick.start_ns),
            rising(brick.end_ns),
        ];
        self.flows.push(words)
    }
}
