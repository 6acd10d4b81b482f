//! What the lanes of a file are, where categories of events do not say it: threads of the host, streams of a device,
//! or rows that say again what others hold.
//!
//! The first pass counts evidence for each lane. A lane is of a device where two pieces of evidence say so: the name
//! of its process (which counts twice), of its thread, the category of its rows, a stream or device among their
//! arguments, a correlation with a call, an arrow from a launch, and rows that follow one another without nesting.
//! Where there are such lanes the file is read once more, now that all of it is known. One piece alone is not enough:
//! a warning names the process and `--device`, and the run says that devices of it may be missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_analysis::vendors::{self, DeviceLane, XlaFramework};

use super::lanes::Lanes;
use crate::collective_tasks::lies_within_collectives;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    #[default]
    Host,
    /// Calls of a device API, whatever their category.
    Calls,
    Work(Place),
    /// Repeats what other lanes of a device show: annotations.
    Repeated(Place),
    /// Idle time of a device, its readings, or sums over other lanes.
    NoWork,
    /// Tasks of a device's collectives that another lane has whole.
    PartOfCollective(u32),
}

/// The device and the stream of a lane, for rows that state none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub device: u32,
    pub stream: u32,
    /// Rows that contain others are annotations: only the innermost are work.
    pub may_nest: bool,
    /// Rows within others are parts of them: only the outermost are work.
    pub is_inclusive: bool,
    /// Collectives whose tasks other lanes have.
    pub is_of_collectives: bool,
    pub is_stated: bool,
}

/// The lanes of a file that are not just host threads, by process and thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    roles: HashMap<Vec<u8>, Role>,
    pub warnings: Vec<String>,
    /// Processes that may be devices, as text; the file does not settle it.
    pub unclear: Vec<String>,
    /// What devices that are no GPUs are called, by number.
    pub accelerators: BTreeMap<u32, &'static str>,
    /// Devices for which operators ran and of which no work is in the file: a title, and how many operators.
    pub unrecorded: Vec<(String, u64)>,
    /// What wrote the file, if its lanes show it.
    pub maker: Option<&'static str>,
}

/// What wrote a file. The lanes of the first two are no threads.
const TENSORFLOW: &str = "tensorflow timeline";
const HOROVOD: &str = "horovod timeline";
const XLA: &str = "xla";
/// The same of a program of TensorFlow.
const XLA_OF_TENSORFLOW: &str = "tensorflow xla";

impl Layout {
    pub fn role(&self, process: &[u8], thread: &[u8]) -> Role {
        if self.roles.is_empty() {
            return Role::Host;
        }
        let key = key(process, thread);
        self.roles.get(&key).copied().unwrap_or_default()
    }

    pub fn is_plain(&self) -> bool {
        self.roles.is_empty()
    }
}

fn key(process: &[u8], thread: &[u8]) -> Vec<u8> {
    let mut key = process.to_owned();
    key.push(0);
    key.extend_from_slice(thread);
    key
}

#[derive(Clone, Debug, Default)]
struct Evidence {
    slices: u64,
    /// Operators, Python functions and annotations: signs of a host thread.
    host: u64,
    calls: u64,
    /// Rows named like calls of a device API; Ascend's operations are named so too.
    named_calls: u64,
    work: u64,
    /// Rows with a stream, a device or a launch grid among the arguments.
    places: u64,
    correlations: u64,
    arrows: u64,
    /// Tasks of collectives.
    collectives: u64,
    /// Copies, waits and marks, which are found among any work.
    any: u64,
    /// Tasks that do not say what they do.
    unknown: u64,
    /// `None` once a row was seen that is none of collectives.
    times_of_collectives: Option<IntervalSetBuilder<i64>>,
    /// Operations of a graph, as MindSpore describes those that a device ran.
    operations: u64,
    /// Rows that add up such operations.
    sums: u64,
    /// Phases in which a rank waits for the others, as Horovod writes them.
    negotiations: u64,
    last: Option<(i64, i64)>,
    may_nest: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub is_host: bool,
    pub is_call: bool,
    pub is_named_call: bool,
    pub is_work: bool,
    pub states_place: bool,
    pub has_correlation: bool,
    pub is_of_collective: bool,
    pub is_of_any_work: bool,
    /// A wait of a stream, or a mark in it.
    pub is_of_stream: bool,
    pub is_of_unknown_kind: bool,
    /// A collective as a whole, by its name or that of its thread.
    pub is_whole_collective: bool,
    pub is_operation: bool,
    pub is_sum: bool,
    pub is_negotiation: bool,
    /// Its name is one of this framework's runtime.
    pub framework: Option<XlaFramework>,
    pub start_ns: i64,
    pub end_ns: i64,
}

#[derive(Debug, Default)]
pub(super) struct Survey {
    lanes: Vec<Evidence>,
    has_jax: bool,
    has_tensorflow: bool,
    labels: HashMap<Vec<u8>, String>,
}

impl Survey {
    fn lane(&mut self, lane: u32) -> &mut Evidence {
        let at = lane as usize;
        if at >= self.lanes.len() {
            self.lanes.resize(at + 1, Evidence::default());
        }
        &mut self.lanes[at]
    }

    pub fn see(&mut self, lane: u32, seen: Seen) {
        self.has_jax |= seen.framework == Some(XlaFramework::Jax);
        self.has_tensorflow |= seen.framework == Some(XlaFramework::TensorFlow);
        let of = self.lane(lane);
        of.slices += 1;
        of.host += u64::from(seen.is_host);
        of.calls += u64::from(seen.is_call);
        of.named_calls += u64::from(seen.is_named_call);
        of.work += u64::from(seen.is_work);
        of.places += u64::from(seen.states_place);
        of.correlations += u64::from(seen.has_correlation);
        of.collectives += u64::from(seen.is_of_collective);
        of.any += u64::from(seen.is_of_any_work);
        of.unknown += u64::from(seen.is_of_unknown_kind);
        of.see_times(&seen);
        of.operations += u64::from(seen.is_operation);
        of.sums += u64::from(seen.is_sum);
        of.negotiations += u64::from(seen.is_negotiation);
        // Rows out of order may nest as well: nobody looks back.
        let is_apart = of
            .last
            .is_none_or(|(start_ns, end_ns)| start_ns <= seen.start_ns && end_ns <= seen.start_ns);
        of.may_nest |= !is_apart;
        let end_ns = of
            .last
            .map_or(seen.end_ns, |(_, end_ns)| end_ns.max(seen.end_ns));
        of.last = Some((seen.start_ns, end_ns));
    }

    pub fn arrow(&mut self, lane: u32) {
        self.lane(lane).arrows += 1;
    }

    pub fn label(&mut self, process: &[u8], label: &[u8]) {
        let label = String::from_utf8_lossy(label).into_owned();
        self.labels.insert(process.to_owned(), label);
    }

    /// Decides the roles of the lanes. `devices` are processes that the user declared to be devices.
    pub fn layout(&self, lanes: &Lanes, devices: &[String]) -> Layout {
        let processes = Processes::of(self, lanes, devices);
        let collectives = processes.collectives(self, lanes);
        let mut layout = Layout::default();
        let mut unclear: BTreeMap<String, &str> = BTreeMap::new();
        let mut streams: HashMap<u32, BTreeSet<u32>> = HashMap::new();
        let mut roles: Vec<(u32, Role)> = Vec::new();
        for number in 0..lanes.len() {
            let Some(evidence) = self.lanes.get(number as usize) else {
                continue;
            };
            if evidence.slices == 0 {
                continue;
            }
            let process = &processes.all[lanes.get(number).process as usize];
            let role = match evidence.role(process, lanes, number, &collectives) {
                Verdict::Role(role) => role,
                Verdict::Unclear(why) => {
                    unclear.entry(process.title.clone()).or_insert(why);
                    continue;
                }
            };
            if let Role::Work(place) = role
                && place.stream != NO_STREAM
            {
                let taken = streams.entry(place.device).or_default();
                taken.insert(place.stream);
            }
            roles.push((number, role));
        }
        for (number, role) in roles {
            let role = match role {
                Role::Work(place) if place.stream == NO_STREAM => {
                    let taken = streams.entry(place.device).or_default();
                    let stream = (0..).find(|stream| !taken.contains(stream)).unwrap_or(0);
                    taken.insert(stream);
                    Role::Work(Place { stream, ..place })
                }
                role => role,
            };
            if role != Role::Host {
                let lane = lanes.get(number);
                let id = lanes.process_id(lane.process);
                layout
                    .roles
                    .insert(key(id.as_bytes(), lane.thread.as_bytes()), role);
            }
        }
        for (title, why) in unclear {
            layout.unclear.push(format!(
                "{title} looks like a device ({why}) and is read as threads of the host (hint: if it is one, `trueno-analyze import --device {}`)",
                flag_value(&title)
            ));
        }
        layout.unrecorded = self.unrecorded(&processes, lanes);
        layout.maker = self.maker(&processes, lanes);
        layout.warnings = processes.warnings;
        layout.accelerators = processes.accelerators;
        layout
    }

    /// Lanes with rows: the evidence, the process and the name.
    fn seen<'s>(
        &'s self,
        processes: &'s Processes,
        lanes: &'s Lanes,
    ) -> impl Iterator<Item = (&'s Evidence, &'s Process, &'s str)> {
        let all = (0..lanes.len()).zip(&self.lanes);
        let seen = all.filter(|(_, evidence)| evidence.slices > 0);
        seen.map(|(number, evidence)| {
            let lane = lanes.get(number);
            let process = &processes.all[lane.process as usize];
            (evidence, process, lane.name.as_deref().unwrap_or(""))
        })
    }

    fn unrecorded(&self, processes: &Processes, lanes: &Lanes) -> Vec<(String, u64)> {
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for (evidence, process, _) in self.seen(processes, lanes) {
            match process.kind {
                ProcessKind::Executor { is_alone: true } => {
                    *found.entry(&process.title).or_default() += evidence.slices;
                }
                ProcessKind::Device(_) | ProcessKind::Given(_) => return Vec::new(),
                _ => {}
            }
        }
        let found = found.into_iter();
        found
            .map(|(title, count)| (title.to_owned(), count))
            .collect()
    }

    fn maker(&self, processes: &Processes, lanes: &Lanes) -> Option<&'static str> {
        self.seen(processes, lanes)
            .find_map(|(evidence, process, lane)| match process.kind {
                ProcessKind::Executor { .. } => Some(TENSORFLOW),
                ProcessKind::Device(_) if matches!(lane, "XLA Ops" | "XLA Modules") => {
                    let is_of_tensorflow = self.has_tensorflow && !self.has_jax;
                    Some(if is_of_tensorflow {
                        XLA_OF_TENSORFLOW
                    } else {
                        XLA
                    })
                }
                _ if evidence.negotiations > 0 => Some(HOROVOD),
                _ => None,
            })
    }
}

fn flag_value(title: &str) -> String {
    let number = title
        .rsplit_once('(')
        .map(|(_, id)| id.trim_end_matches(')'));
    let id = number.or(title.strip_prefix("process ")).unwrap_or(title);
    if id
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    {
        id.to_owned()
    } else {
        format!("'{id}'")
    }
}

const NO_STREAM: u32 = u32::MAX;

#[derive(Debug)]
struct Process {
    title: String,
    kind: ProcessKind,
    /// Another process, or another thread of this one, has the collectives of the device as a whole.
    has_whole_collectives: bool,
    /// The stream in its name, as TensorFlow writes it.
    stream: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessKind {
    Device(u32),
    /// The label says so. Kineto labels host processes too, if their id equals a device number.
    Labelled(u32),
    DevicePerThread,
    Given(u32),
    Calls,
    Summary,
    Repeated(u32),
    /// The collectives of a device, whole and by their tasks: Ascend's.
    Collectives(u32),
    /// Operations as the host's executor ran them, whatever device they were for: TensorFlow's.
    Executor {
        /// They were for a device other than the host, and no other process shows that device.
        is_alone: bool,
    },
    Other,
}

/// A process of TensorFlow's `timeline`: one device seen from one side, such as `/gpu:0/stream:7 Compute`, or
/// `/job:localhost/replica:0/task:0/device:GPU:0 Compute` for what its executor did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeviceView<'n> {
    /// The program that the device belongs to; empty if the name does not say.
    task: &'n str,
    /// `GPU:0`.
    device: &'n str,
    side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Stream(u32),
    /// All streams at once.
    AllStreams,
    /// The copies of all streams.
    Copies,
    Executor,
}

/// True of a process that TensorFlow names after a device and the task it belongs to.
pub(super) fn names_device_of_task(process: &str) -> bool {
    DeviceView::of(process).is_some_and(|view| !view.task.is_empty())
}

impl<'n> DeviceView<'n> {
    fn of(name: &'n str) -> Option<Self> {
        const KINDS: [(&str, usize); 3] =
            [("/device:", "/device:".len()), ("/gpu:", 1), ("/cpu:", 1)];
        let name = name.trim_end();
        let name = name
            .strip_suffix(" Compute")
            .or(name.strip_suffix(" Tensors"))?;
        let found = KINDS
            .iter()
            .find_map(|(mark, skipped)| Some((name.find(mark)?, skipped)));
        let (at, skipped) = found?;
        let (task, rest) = (&name[..at], &name[at + skipped..]);
        let (device, side) = rest.split_once('/').unwrap_or((rest, ""));
        let side = match side.strip_prefix("stream:") {
            Some(stream) if stream.starts_with("all") => Side::AllStreams,
            Some(stream) => Side::Stream(leading_number(stream)?),
            None if side == "memcpy" => Side::Copies,
            None if side.is_empty() => Side::Executor,
            None => return None,
        };
        Some(Self { task, device, side })
    }

    fn is_of_device(&self, other: &Self) -> bool {
        let is_task = self.task == other.task || self.task.is_empty() || other.task.is_empty();
        is_task && self.device.eq_ignore_ascii_case(other.device)
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..end].parse().ok()
}

struct Processes {
    all: Vec<Process>,
    warnings: Vec<String>,
    accelerators: BTreeMap<u32, &'static str>,
}

impl Processes {
    fn of(survey: &Survey, lanes: &Lanes, devices: &[String]) -> Self {
        let count = lanes.processes();
        // Some write the name where its number belongs.
        let name = |process: u32| {
            let id = lanes.process_id(process);
            let is_number = id.parse::<i64>().is_ok();
            let named = lanes.process_name(process);
            named.unwrap_or(if is_number { "" } else { id })
        };
        let views: Vec<DeviceView<'_>> = (0..count)
            .filter_map(|process| DeviceView::of(name(process)))
            .collect();
        // Ascend writes a process for the tasks of a device, and one for its collectives; the order tells which belong
        // together.
        let of_ascend: Vec<u32> = (0..count)
            .filter(|process| name(*process) == ASCEND_TASKS)
            .collect();
        let has_whole_collectives = (0..lanes.len()).any(|number| {
            let lane = lanes.get(number);
            let is_seen = survey
                .lanes
                .get(number as usize)
                .is_some_and(|of| of.slices > 0);
            let is_whole = lane.name.as_deref().is_some_and(is_of_whole_collectives);
            is_seen && is_whole && vendors::is_collective_process(name(lane.process))
        });
        let mut collective_processes = 0;
        let mut numbers = DeviceNumbers::default();
        let (mut all, mut warnings) = (Vec::new(), Vec::new());
        let mut accelerators = BTreeMap::new();
        for process in 0..count {
            let (id, name) = (lanes.process_id(process), name(process));
            let is_given = devices.iter().any(|given| given == id || given == name);
            let named = vendors::device_of_process(name);
            let label = survey.labels.get(id.as_bytes());
            let labelled = label.and_then(|label| vendors::device_of_process(label));
            let view = DeviceView::of(name);
            let device = view.map_or(name.to_owned(), |view| {
                format!("{}/{}", view.task, view.device.to_ascii_lowercase())
            });
            let has_side = |is_side: fn(Side) -> bool| {
                view.is_some_and(|view| {
                    views
                        .iter()
                        .any(|other| other.is_of_device(&view) && is_side(other.side))
                })
            };
            let is_repeated = match view.map(|view| view.side) {
                Some(Side::AllStreams) => has_side(|side| matches!(side, Side::Stream(_))),
                Some(Side::Copies) => {
                    has_side(|side| matches!(side, Side::Stream(_) | Side::AllStreams))
                }
                _ => false,
            };
            let kind = if is_given {
                ProcessKind::Given(numbers.number(&device, named.and_then(|of| of.number)))
            } else if vendors::is_summary_process(name) {
                ProcessKind::Summary
            } else if vendors::is_call_process(name) {
                ProcessKind::Calls
            } else if vendors::is_collective_process(name) && labelled.is_some() {
                let at = of_ascend.get(collective_processes).or(of_ascend.last());
                collective_processes += 1;
                let device = at.map_or(id, |process| lanes.process_id(*process));
                ProcessKind::Collectives(numbers.number(device, labelled.and_then(|of| of.number)))
            } else if name == ASCEND_TASKS {
                let stated = labelled.and_then(|of| of.number);
                ProcessKind::Device(numbers.number(id, stated))
            } else if name == "CUDA functions" {
                ProcessKind::DevicePerThread
            } else if let Some(view) = view.filter(|view| view.side == Side::Executor) {
                let device = view.device.to_ascii_lowercase();
                let kind = device.split(':').next().unwrap_or_default();
                let is_host = ["cpu", "xla_cpu", "tpu_system"].contains(&kind);
                let is_alone = !is_host && !has_side(|side| side != Side::Executor);
                ProcessKind::Executor { is_alone }
            } else if let Some(of) = named {
                let number = numbers.number(&device, of.number);
                if is_repeated {
                    ProcessKind::Repeated(number)
                } else {
                    ProcessKind::Device(number)
                }
            } else if let Some(of) = labelled {
                ProcessKind::Labelled(numbers.number(id, of.number))
            } else {
                ProcessKind::Other
            };
            let noun = vendors::accelerator(Some(name), []);
            if let ProcessKind::Device(number) = kind
                && noun != "GPU"
            {
                accelerators.insert(number, noun);
            }
            all.push(Process {
                title: lanes.process_title(process),
                kind,
                has_whole_collectives,
                stream: view.and_then(|view| match view.side {
                    Side::Stream(stream) => Some(stream),
                    _ => None,
                }),
            });
        }
        for given in devices {
            let is_known = (0..count)
                .any(|process| lanes.process_id(process) == given || name(process) == given);
            if !is_known {
                warnings.push(format!(
                    "--device {given}: no process of the file has that number or name"
                ));
            }
        }
        Self {
            all,
            warnings,
            accelerators,
        }
    }

    /// When the whole collectives of each device ran.
    fn collectives(&self, survey: &Survey, lanes: &Lanes) -> BTreeMap<u32, IntervalSet<i64>> {
        let mut times: BTreeMap<u32, IntervalSetBuilder<i64>> = BTreeMap::new();
        for (number, of) in (0..lanes.len()).zip(&survey.lanes) {
            let lane = lanes.get(number);
            let is_whole = lane.name.as_deref().is_some_and(is_of_whole_collectives);
            let kind = self.all[lane.process as usize].kind;
            if let (true, ProcessKind::Collectives(device)) = (is_whole, kind) {
                for (from_ns, to_ns) in of.times().ranges() {
                    times.entry(device).or_default().add(*from_ns, *to_ns);
                }
            }
        }
        let times = times.into_iter();
        times.map(|(device, of)| (device, of.finish())).collect()
    }
}

const ASCEND_TASKS: &str = "Ascend Hardware";

/// True for a thread of [`ProcessKind::Collectives`] with one row for each collective.
pub(super) fn is_of_whole_collectives(thread: &str) -> bool {
    thread.contains("Communication")
}

/// Assigns device numbers: those stated by names, if they are unique.
#[derive(Default)]
struct DeviceNumbers {
    given: HashMap<String, u32>,
    taken: BTreeSet<u32>,
}

impl DeviceNumbers {
    fn number(&mut self, device: &str, stated: Option<u32>) -> u32 {
        if let Some(number) = self.given.get(device) {
            return *number;
        }
        let free = || {
            (0..)
                .find(|number| !self.taken.contains(number))
                .unwrap_or(0)
        };
        let number = stated
            .filter(|number| !self.taken.contains(number))
            .unwrap_or_else(free);
        self.given.insert(device.to_owned(), number);
        self.taken.insert(number);
        number
    }
}

impl Evidence {
    fn see_times(&mut self, seen: &Seen) {
        let is_candidate = seen.is_of_collective
            || seen.is_of_any_work
            || seen.is_of_unknown_kind
            || seen.is_whole_collective;
        if !is_candidate {
            self.times_of_collectives = None;
        } else if self.slices == 1 {
            self.times_of_collectives = Some(IntervalSetBuilder::default());
        }
        if let Some(times) = &mut self.times_of_collectives
            && !seen.is_of_stream
        {
            times.add(seen.start_ns, seen.end_ns);
        }
    }

    fn times(&self) -> IntervalSet<i64> {
        let times = self.times_of_collectives.clone();
        times.unwrap_or_default().finish()
    }

    /// True for a stream of the library that runs collectives. Tasks that do not say what they do count if no call
    /// launched them and they run during the device's whole collectives.
    fn has_only_tasks_of(&self, collectives: Option<&IntervalSet<i64>>) -> bool {
        if self.collectives + self.any + self.unknown != self.slices {
            return false;
        }
        if self.unknown == 0 {
            return self.collectives > 0;
        }
        let times = self.times();
        let is_within = |collectives: &IntervalSet<i64>| {
            lies_within_collectives(times.total_ns(), times.common_ns(collectives))
        };
        self.correlations + self.arrows == 0 && collectives.is_some_and(is_within)
    }
}

enum Verdict {
    Role(Role),
    /// May be a device, for this reason.
    Unclear(&'static str),
}

impl Evidence {
    fn role(
        &self,
        process: &Process,
        lanes: &Lanes,
        number: u32,
        collectives: &BTreeMap<u32, IntervalSet<i64>>,
    ) -> Verdict {
        let lane = lanes.get(number);
        let name = lane.name.as_deref().unwrap_or("");
        let stream = process
            .stream
            .or(vendors::stream_number(name))
            .or_else(|| lane.thread.parse().ok());
        let place = |device: u32, is_stated: bool| Place {
            device,
            stream: stream.unwrap_or(NO_STREAM),
            may_nest: self.may_nest,
            is_inclusive: false,
            is_of_collectives: false,
            is_stated,
        };
        let in_device = |device: u32, is_stated: bool| match vendors::device_lane(name) {
            DeviceLane::Idle | DeviceLane::Readings => Role::NoWork,
            // `Step Trace(Model ID:2)` of Ascend.
            _ if name.starts_with("Step Trace") => Role::NoWork,
            DeviceLane::Repeated => Role::Repeated(place(device, is_stated)),
            DeviceLane::Work(_) => Role::Work(place(device, is_stated)),
        };
        let most = |count: u64| count * 2 > self.slices;
        let is_host = self.host > 0 || self.calls > 0;
        match process.kind {
            ProcessKind::Given(device) => return Verdict::Role(in_device(device, true)),
            ProcessKind::Summary => return Verdict::Role(Role::NoWork),
            ProcessKind::Calls => return Verdict::Role(Role::Calls),
            ProcessKind::Executor { .. } => return Verdict::Role(Role::Host),
            ProcessKind::Collectives(device) => {
                let is_part = process.has_whole_collectives && !is_of_whole_collectives(name);
                let stream = NO_STREAM;
                return Verdict::Role(if is_part {
                    Role::PartOfCollective(device)
                } else {
                    Role::Work(Place {
                        stream,
                        is_of_collectives: true,
                        ..place(device, true)
                    })
                });
            }
            ProcessKind::Device(device)
                if process.has_whole_collectives
                    && self.has_only_tasks_of(collectives.get(&device)) =>
            {
                return Verdict::Role(Role::PartOfCollective(device));
            }
            ProcessKind::Repeated(device) => {
                return Verdict::Role(Role::Repeated(place(device, true)));
            }
            ProcessKind::Device(_) | ProcessKind::DevicePerThread if is_host => {
                // Calls of a runtime are made by threads, whatever process they are listed under.
                return if most(self.host + self.calls) && !most(self.calls) {
                    Verdict::Unclear("its name says so, and its rows are those of a thread")
                } else {
                    Verdict::Role(Role::Host)
                };
            }
            ProcessKind::Device(device) => return Verdict::Role(in_device(device, true)),
            ProcessKind::DevicePerThread => {
                let device = lane.thread.parse().unwrap_or(0);
                let place = Place {
                    stream: 0,
                    // The profiler of PyTorch before Kineto gives each operator the device time of all within it.
                    is_inclusive: true,
                    ..place(device, true)
                };
                return Verdict::Role(Role::Work(place));
            }
            ProcessKind::Labelled(_) | ProcessKind::Other if is_host || self.named_calls > 0 => {
                return Verdict::Role(Role::Host);
            }
            // MindSpore numbers processes by device and threads by stream, and names neither.
            ProcessKind::Labelled(_) | ProcessKind::Other if most(self.operations) => {
                let device = lanes.process_id(lane.process).parse().unwrap_or(0);
                return Verdict::Role(in_device(device, true));
            }
            ProcessKind::Other if self.sums == self.slices => {
                return Verdict::Role(Role::NoWork);
            }
            ProcessKind::Labelled(_) | ProcessKind::Other => {}
        }
        let signs = [
            (
                matches!(process.kind, ProcessKind::Labelled(_)),
                "its label says so",
            ),
            (
                vendors::stream_number(name).is_some(),
                "its thread is called a stream",
            ),
            (most(self.work), "the category of its rows says so"),
            (
                most(self.places),
                "its rows state a stream, a device or a launch grid",
            ),
            (most(self.correlations), "its rows have correlations"),
            (most(self.arrows), "arrows lead there from launches"),
        ];
        let mut found = signs.iter().filter(|(is, _)| *is).map(|(_, why)| *why);
        let (first, second) = (found.next(), found.next());
        let Some(first) = first else {
            return Verdict::Role(Role::Host);
        };
        let follows = !self.may_nest && self.slices > 1;
        if second.is_none() && !follows {
            return Verdict::Unclear(first);
        }
        // One sign and rows that never nest: enough only of what a category says.
        if second.is_none() && !most(self.work) {
            return Verdict::Unclear(first);
        }
        let device = match process.kind {
            ProcessKind::Labelled(device) => device,
            _ => 0,
        };
        Verdict::Role(in_device(device, false))
    }
}
