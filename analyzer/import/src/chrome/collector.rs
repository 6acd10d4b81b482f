//! The one pass over the events: each becomes a record, or is left out with a reason.

mod arguments;
mod asynchronous;
pub(super) mod believable;
mod device;
mod kernel_counters;
mod points;
mod slices;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use arguments::KeptArguments;
pub(super) use asynchronous::Tasks;
pub(super) use device::{class_of_work, id_of_place};
use kernel_counters::KernelCounters;
pub(crate) use slices::{PART_OF_COLLECTIVE, WAIT_OF_LOWER_LAYER};
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{CollectiveRow, DiagnosticRow, TableRow};

use self::believable::{Believable, Doubts};
use self::slices::OperatorLane;
use super::category::Categories;
use super::collectives::Collective;
use super::decimal::{Unit, float, nanoseconds};
use super::document::{Failure, Sink};
use super::event::Event;
use super::facts::Facts;
use super::lanes::Lanes;
use super::launch_points::LAUNCH_FLOW_WORDS;
use super::layout::{Layout, Role, Survey};
use super::merged::{is_rank_of_label, rank_of, rank_of_name};
use super::open_intervals::{Open, OpenIntervals};
use super::profiler_ranges::ProfilerRanges;
use super::record::{
    HOST_WORDS, Host, HostEvent, LINK_WORDS, Link, NO_LANE, OPERATOR_WORDS, Operator,
};
use super::reimport::Mark;
use super::scanner::{Scanned, Scanner};
use crate::collective_tasks::CollectiveTasks;
use crate::doubtful::Memory;
use crate::signatures::Signatures;
use crate::sorter::Sorter;
use crate::{Error, Notes};

const NO_OBJECT: &str = "element that is not an object";
const NO_PHASE: &str = "object without ph";

/// An iteration of a process. Work on its other threads is assigned to it by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub process: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub number: u64,
}

pub(super) struct Collector<'a> {
    pub into: &'a mut RunWriter,
    pub notes: &'a mut Notes,
    pub categories: Categories,
    pub lanes: Lanes,
    pub facts: Facts,
    pub host: Sorter<HOST_WORDS>,
    pub links: Sorter<LINK_WORDS>,
    pub operators: Sorter<OPERATOR_WORDS>,
    /// Counters whose name occurs in several processes.
    pub shared_counters: HashSet<u32>,
    pub steps: Vec<Step>,
    /// Calls of ONNX Runtime's `Run` so far.
    pub session_runs: u64,
    pub profiler_ranges: ProfilerRanges,
    pub mark: Option<Mark>,
    pub texts: Vec<Text>,
    /// Signatures, indexed like `texts`: the same name with other shapes has another number.
    signature_numbers: Vec<Option<u32>>,
    pub layout: Layout,
    /// The same, indexed by lane.
    roles: Vec<Role>,
    /// Lanes whose rows count what is within them, see [`Place::is_inclusive`](super::layout::Place::is_inclusive).
    pub inclusive_lanes: BTreeSet<u32>,
    pub survey: Survey,
    pub is_survey: bool,
    /// Name of the format, if a file of another format is fed in as events.
    pub maker: Option<&'static str>,
    pub rank: Option<String>,
    /// Labels of ranks by process, where names of processes hold them. `None`: names were not read yet.
    pub labels: Option<HashMap<Vec<u8>, String>>,
    /// Events that were skipped because their rank follows from `labels` only.
    pub without_rank: u64,
    /// The process to read, together with the device work it launched.
    pub process: Option<u64>,
    pub host_processes: BTreeSet<u32>,
    pub ranks: BTreeSet<String>,
    pub devices: BTreeSet<u32>,
    /// Processes with work of devices. Such rows need no lane.
    device_processes: BTreeSet<u64>,
    /// The number under which the file describes its only device, and the number of all work, if they differ.
    pub renamed_device: Option<(u32, u32)>,
    pub launch_flows: Sorter<LAUNCH_FLOW_WORDS>,
    /// The earliest start and the latest end of all records.
    pub reach: Option<(i64, i64)>,
    /// Counters are sampled before and after the work, too.
    reach_of_counters: Option<(i64, i64)>,
    /// The same of all records but calls of a device's API.
    reach_beside_calls: Option<(i64, i64)>,
    /// When the profiler was on.
    window: Option<(i64, i64)>,
    /// Rows that state when it was.
    windows: u64,
    /// Something but calls of a device's API was recorded.
    has_work: bool,
    pub believable: Believable,
    pub doubts: Doubts,
    pub memory: Memory,
    numbers: HashMap<(Text, Option<u32>, Option<u32>), u32>,
    /// Distinct collectives, and the collective of each name (same index as `texts`).
    collectives: HashMap<Collective, u32>,
    collective_facts: Vec<Collective>,
    collective_numbers: Vec<Option<u32>>,
    /// A call states its collective, so kernels only repeat it.
    has_collective_calls: bool,
    counters: HashMap<u32, u32>,
    pub signatures: Signatures,
    pub arguments: KeptArguments,
    kernel_counters: KernelCounters,
    instant_bytes: usize,
    slices: OpenIntervals,
    asynchronous: OpenIntervals,
    /// Asynchronous intervals that became rows, by the number of their name.
    pub tasks: BTreeMap<u32, Tasks>,
    /// With their ends; their lane is known when all is read.
    overheads: Vec<(Open, i64)>,
    operator_lane: Option<OperatorLane>,
    collective_tasks: CollectiveTasks,
    /// Collectives with tasks: event, device, times.
    collectives_of_tasks: Vec<(u64, u32, (i64, i64))>,
    /// Number of events at times that a run cannot hold, and the first of these times.
    beyond_range: Option<(u64, Vec<u8>)>,
    order: u64,
    path: PathBuf,
}

impl<'a> Collector<'a> {
    pub fn new(path: &Path, into: &'a mut RunWriter, notes: &'a mut Notes) -> Self {
        let folder = into.path().to_owned();
        let host = Sorter::new(folder.join("import.lanes"));
        let links = Sorter::new(folder.join("import.links"));
        let operators = Sorter::small(folder.join("import.operators"));
        Self {
            into,
            notes,
            categories: Categories::default(),
            lanes: Lanes::default(),
            facts: Facts::default(),
            host,
            links,
            operators,
            shared_counters: HashSet::new(),
            steps: Vec::new(),
            session_runs: 0,
            profiler_ranges: ProfilerRanges::default(),
            mark: None,
            texts: Vec::new(),
            signature_numbers: Vec::new(),
            layout: Layout::default(),
            roles: Vec::new(),
            inclusive_lanes: BTreeSet::new(),
            survey: Survey::default(),
            is_survey: true,
            maker: None,
            rank: None,
            labels: None,
            without_rank: 0,
            process: None,
            host_processes: BTreeSet::new(),
            ranks: BTreeSet::new(),
            devices: BTreeSet::new(),
            device_processes: BTreeSet::new(),
            renamed_device: None,
            launch_flows: Sorter::small(folder.join("import.launches")),
            reach: None,
            reach_of_counters: None,
            reach_beside_calls: None,
            window: None,
            windows: 0,
            has_work: false,
            believable: Believable::new(&folder),
            doubts: Doubts::default(),
            memory: Memory::default(),
            numbers: HashMap::new(),
            collectives: HashMap::new(),
            collective_facts: Vec::new(),
            collective_numbers: Vec::new(),
            has_collective_calls: false,
            counters: HashMap::new(),
            signatures: Signatures::default(),
            arguments: KeptArguments::new(&folder),
            kernel_counters: KernelCounters::new(&folder),
            instant_bytes: 0,
            slices: OpenIntervals::default(),
            asynchronous: OpenIntervals::default(),
            tasks: BTreeMap::new(),
            overheads: Vec::new(),
            operator_lane: None,
            collective_tasks: CollectiveTasks::default(),
            collectives_of_tasks: Vec::new(),
            beyond_range: None,
            order: 0,
            path: path.to_owned(),
        }
    }

    /// No events, but other objects.
    pub fn has_only_other_objects(&self) -> bool {
        self.notes.left_out.get(NO_PHASE) == Some(&self.order) && self.order > 0
    }

    pub fn has_no_objects(&self) -> bool {
        self.order == 0 && self.notes.left_out.contains_key(NO_OBJECT)
    }

    pub fn operator(&mut self, operator: Operator) -> Result<(), Error> {
        self.operators.push(operator.words())
    }

    pub fn put_launch_flow(&mut self, words: [u64; LAUNCH_FLOW_WORDS]) -> Result<(), Error> {
        self.launch_flows.push(words)
    }

    /// Keeps a record to be linked later. The caller has counted it already.
    pub fn link(&mut self, link: Link) -> Result<(), Error> {
        self.links.push(link.words())
    }

    pub fn add<R: TableRow>(&mut self, row: &R) -> Result<(), Error> {
        self.notes.add(self.into, row)
    }

    /// Adds a fact about the recording that plugins read by its code.
    pub fn diagnostic(&mut self, code: &str, text: &str, count: u64) -> Result<(), Error> {
        let row = DiagnosticRow {
            severity: self.into.text("warning"),
            code: self.into.text(code),
            text: self.into.text(text),
            count,
            ..DiagnosticRow::default()
        };
        self.add(&row)
    }

    pub fn check_times(&self) -> Result<(), Error> {
        let Some((count, time)) = &self.beyond_range else {
            return Ok(());
        };
        if self.reach.or(self.reach_of_counters).is_some() {
            return Ok(());
        }
        let next = match float(time).and_then(Unit::of) {
            Some(unit) => format!(
                ", and these look like {unit} (hint: {}, and import again)",
                unit.hint()
            ),
            None => " within 146 years".to_owned(),
        };
        let time = String::from_utf8_lossy(time);
        Err(Error::format(
            &self.path,
            format!(
                "all {count} events with a time are out of range, the first with \"ts\": {time}; expected microseconds{next}"
            ),
        ))
    }

    pub fn end(&mut self) -> Result<(), Error> {
        for _ in 0..self.slices.open() {
            self.notes.leave_out("B without its E: it has no end");
        }
        for _ in 0..self.asynchronous.open() {
            self.notes.leave_out("asynchronous begin without its end");
        }
        self.state_waits()?;
        self.place_overheads()
    }

    fn name(&mut self, text: &[u8]) -> u32 {
        self.name_of_operator(text, None, None)
    }

    /// A name, together with the shapes and the collective stated with it.
    fn name_of_operator(
        &mut self,
        text: &[u8],
        signature: Option<u32>,
        collective: Option<&Collective>,
    ) -> u32 {
        let text = self.into.text(&String::from_utf8_lossy(text));
        let collective = collective.map(|of| self.collective_number(of));
        let (numbers, texts) = (&mut self.numbers, &mut self.texts);
        *numbers
            .entry((text, signature, collective))
            .or_insert_with(|| {
                texts.push(text);
                self.signature_numbers.push(signature);
                self.collective_numbers.push(collective);
                texts.len() as u32 - 1
            })
    }

    fn collective_number(&mut self, of: &Collective) -> u32 {
        if let Some(number) = self.collectives.get(of) {
            return *number;
        }
        let number = self.collective_facts.len() as u32;
        self.collective_facts.push(of.clone());
        self.collectives.insert(of.clone(), number);
        number
    }

    /// Writes the collective of a call (or of its kernel, if calls state none). `name` is the number of its
    /// text.
    pub fn add_collective(
        &mut self,
        name: u32,
        place: impl FnOnce(CollectiveRow) -> CollectiveRow,
    ) -> Result<(), Error> {
        let Some(number) = self.collective_numbers[name as usize] else {
            return Ok(());
        };
        let collective = &self.collective_facts[number as usize];
        if collective.lacks_its_peer() {
            self.notes
                .skip("gloo: sends and receives without a recorded peer");
            return Ok(());
        }
        let is_a_call = collective.is_a_call();
        let collective = collective.clone().within(self.facts.only_group.as_ref());
        let row = place(collective.row(self.into));
        match row.kernel {
            Some(_) if self.has_collective_calls => return Ok(()),
            Some(_) => {}
            None => self.has_collective_calls |= is_a_call,
        }
        self.add(&row)
    }

    /// The id of an operator's signature row. `name` is the number of its text.
    pub fn signature(&self, name: u32) -> Option<u64> {
        self.signature_numbers[name as usize].map(u64::from)
    }

    fn reach(&mut self, start_ns: i64, end_ns: i64) {
        widen(&mut self.reach_beside_calls, start_ns, end_ns);
        self.reach_of_call(start_ns, end_ns);
    }

    fn reach_of_call(&mut self, start_ns: i64, end_ns: i64) {
        widen(&mut self.reach, start_ns, end_ns);
        self.believable.reach(start_ns, end_ns);
    }

    /// When the recorded program had ended: the profiler was off, and of everything but calls nothing ran any more. The
    /// profiler goes on to collect calls of other threads until its buffers are flushed. `None` if the file does not
    /// state one window.
    pub fn end_of_recording(&self) -> Option<i64> {
        let (_, last_ns) = self.window.filter(|_| self.windows == 1)?;
        let beside_calls = self.reach_beside_calls.map(|(_, last_ns)| last_ns);
        Some(beside_calls.map_or(last_ns, |of_others| of_others.max(last_ns)))
    }

    /// The latest end of everything but calls.
    pub fn last_beside_calls(&self) -> Option<i64> {
        self.reach_beside_calls.map(|(_, last_ns)| last_ns)
    }

    /// Where no work was recorded, the run is as long as the profiler was on: that nothing ran is what it says.
    pub fn reach_over_window(&mut self) {
        if let (false, Some((start_ns, end_ns))) = (self.has_work, self.window) {
            self.reach(start_ns, end_ns);
        }
        if let (None, Some((start_ns, end_ns))) = (self.reach, self.reach_of_counters) {
            self.reach(start_ns, end_ns);
        }
    }

    fn is_of_other_process(&self, lane: u32) -> bool {
        let is_other = |only: u64| {
            lane != NO_LANE && {
                let process = self.lanes.get(lane).process;
                self.lanes.process_id(process).parse() != Ok(only)
            }
        };
        self.process.is_some_and(is_other)
    }

    fn push_host(&mut self, record: Host) -> Result<(), Error> {
        let is_work = matches!(record.event, HostEvent::DeviceWork { .. });
        if !is_work && self.is_of_other_process(record.lane) {
            return Ok(());
        }
        self.has_work |= !matches!(
            record.event,
            HostEvent::Call { .. }
                | HostEvent::Instant { .. }
                | HostEvent::LaunchFlow { .. }
                | HostEvent::Flow { .. }
        );
        if matches!(
            record.event,
            HostEvent::Counter { .. } | HostEvent::SumOfCalls { .. }
        ) {
            widen(&mut self.reach_of_counters, record.start_ns, record.end_ns);
        } else if matches!(record.event, HostEvent::Call { .. }) {
            self.reach_of_call(record.start_ns, record.end_ns);
        } else if !matches!(
            record.event,
            HostEvent::Flow { .. } | HostEvent::LaunchFlow { .. }
        ) {
            // The end of an arrow is no work.
            self.reach(record.start_ns, record.end_ns);
        }
        self.believable.host(&record);
        self.host.push(record.words())
    }

    fn push_link(&mut self, link: Link) -> Result<(), Error> {
        self.has_work = true;
        self.reach(
            link.start_ns,
            link.start_ns.max(link.start_ns + link.dur_ns),
        );
        self.believable.link(&link)?;
        self.link(link)
    }

    /// The start of an event. Events without one are left out.
    fn start(&mut self, event: &Event) -> Option<i64> {
        let start = nanoseconds(&event.time);
        if start.is_none() {
            let is_number = float(&event.time).is_some();
            if is_number {
                let first = || (0, event.time.clone());
                self.beyond_range.get_or_insert_with(first).0 += 1;
            }
            self.notes.leave_out(if event.time.is_empty() {
                "without ts"
            } else if is_number {
                "ts is out of range; are these nanoseconds?"
            } else {
                "ts is not a number"
            });
        }
        start
    }

    /// Labels of ranks by process, if the names of all processes with host lanes hold one and there are several. Empty
    /// otherwise. Without host lanes, those of all processes with device work.
    pub fn labels_of_names(&self) -> HashMap<Vec<u8>, String> {
        let label = |id: &u64| {
            let process = id.to_string().into_bytes();
            let label = rank_of_name(self.lanes.name_of(&process)?)?.to_owned();
            Some((process, label))
        };
        let hosts = self.lanes.numbered_processes();
        let devices = &self.device_processes;
        let labels: Option<HashMap<Vec<u8>, String>> = match hosts.is_empty() {
            true => devices.iter().map(label).collect(),
            false => hosts.iter().map(label).collect(),
        };
        let mut labels = labels.unwrap_or_default();
        if !labels.is_empty() {
            labels.extend(devices.iter().filter_map(label));
        }
        let different: BTreeSet<&String> = labels.values().collect();
        if different.len() > 1 {
            labels
        } else {
            HashMap::new()
        }
    }

    /// Whether an event is of the rank to read. Those of no rank are of all.
    fn is_of_rank(&mut self, event: &Event) -> bool {
        let of_id = rank_of(&event.process);
        let Some(only) = &self.rank else {
            if let Some(rank) = of_id
                && !self.ranks.iter().any(|known| known.as_bytes() == rank)
            {
                self.ranks
                    .insert(String::from_utf8_lossy(rank).into_owned());
            }
            return true;
        };
        let labels = self.labels.as_ref();
        let of_name = labels.and_then(|labels| labels.get(&event.process));
        match of_id.or(of_name.map(String::as_bytes)) {
            Some(rank) => {
                let is_own = rank == only.as_bytes();
                // Processes have labels by their ids: no name need be read.
                if of_id.is_some() && self.without_rank == 0 {
                    self.labels.get_or_insert_default();
                }
                is_own
            }
            None => match labels {
                Some(labels) if !labels.is_empty() => event
                    .stated_rank()
                    .is_none_or(|rank| is_rank_of_label(rank, only)),
                Some(_) => true,
                None if event.phase == b'M' => true,
                None => {
                    self.lanes.number(&event.process, &event.thread);
                    self.without_rank += 1;
                    self.order += 1;
                    false
                }
            },
        }
    }

    fn metadata(&mut self, event: &Event) {
        let name = &event.arguments.name;
        match event.name.as_slice() {
            b"process_name" if !name.is_empty() => self.lanes.name_process(&event.process, name),
            b"thread_name" if !name.is_empty() => {
                self.lanes.name_thread(&event.process, &event.thread, name);
            }
            b"process_labels" if !event.arguments.label.is_empty() => {
                self.survey.label(&event.process, &event.arguments.label);
                self.notes.repeat("label of a process");
            }
            _ => self
                .notes
                .skip("metadata without a column, such as sort indices and labels"),
        }
    }
}

fn widen(reach: &mut Option<(i64, i64)>, start_ns: i64, end_ns: i64) {
    let (first, last) = reach.get_or_insert((start_ns, end_ns));
    (*first, *last) = ((*first).min(start_ns), (*last).max(end_ns));
}

impl Sink for Collector<'_> {
    type Event = Event;

    fn read<R: Read>(event: &mut Event, from: &mut Scanner<R>) -> Scanned<()> {
        event.read(from)
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        if !self.is_of_rank(event) {
            return Ok(());
        }
        let class = self.categories.met(event.phase, &event.category);
        self.order += 1;
        if event.is_raw_cut {
            self.notes.skip("arguments of an event: longer than 1 MiB");
        }
        if matches!(event.phase, b'X' | b'B' | b'b' | b'S') {
            self.keep_arguments(self.order, event, false)?;
        }
        match event.phase {
            b'X' => self.interval(event, class),
            b'B' => self.begin(event, class),
            b'E' => self.finish(event),
            b's' | b't' | b'f' => self.flow(event),
            b'b' | b'e' | b'S' | b'F' => self.asynchronous(event),
            b'C' => self.counter(event),
            b'i' | b'I' | b'R' => self.instant(event),
            b'M' => {
                self.metadata(event);
                Ok(())
            }
            b'n' | b'T' | b'p' => {
                self.notes
                    .skip("asynchronous step: a point inside its interval");
                Ok(())
            }
            0 => {
                self.notes.leave_out(NO_PHASE);
                Ok(())
            }
            phase => {
                self.notes
                    .skip(&format!("phase {}: no table for it", phase.escape_ascii()));
                Ok(())
            }
        }
    }

    fn end(&mut self, event: &Event) {
        let arguments = &mut self.notes.arguments_left_out;
        let others = Some((
            "with too many different names".to_owned(),
            event.unused.others,
        ));
        let others = others.filter(|(_, count)| *count > 0);
        for (name, count) in event.unused.counts().chain(others) {
            *arguments.entry(name).or_default() += count;
        }
    }

    fn no_event(&mut self) {
        self.notes.leave_out(NO_OBJECT);
    }

    fn fact(&mut self, key: &str, json: Option<&[u8]>) -> Result<(), Failure> {
        if key == "otherData"
            && let Some(mark) = json.and_then(Mark::parse)
        {
            self.mark = Some(mark);
            return Err(Failure::Enough);
        }
        if !self.facts.take(key, json) {
            self.notes.skip(&format!(
                "field {key} beside the events: too long, or lists without names"
            ));
        }
        Ok(())
    }

    fn unclosed_array(&mut self) {
        self.notes
            .warn("the array of events has no end, as the format allows; was the file cut?");
    }
}
