//! A spool, in memory.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use trueno_cupti::kind;
use trueno_cupti::record::{
    Api, Context, CudaEvent, Device, Environment, ExternalCorrelation, GraphTrace, Jit, Kernel,
    Memory, MemoryPool, Moved, Overhead, Record, Stream, Synchronization, decode, kind_of,
};
use trueno_cupti::spool::{ClockReading, Damage, End, Facts, Item, Note, RangeEvent, Reader, read};

use crate::Error;
use crate::cuda::cupti_enums::{Direction, MemoryKind};

#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub kind: u32,
    pub direction: Direction,
    pub src_kind: Option<MemoryKind>,
    pub dst_kind: Option<MemoryKind>,
    pub is_async: bool,
    pub bytes: u64,
    pub start: u64,
    pub end: u64,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub correlation: u32,
    /// Node of a replayed graph; 0 if none.
    pub graph_node: u64,
}

impl Transfer {
    fn from_record(record: Record) -> Option<Self> {
        let memory = |kind: u8| MemoryKind::from_cupti(kind.into());
        Some(match record {
            Record::Memcpy(copy) => Self {
                src_kind: memory(copy.src_kind),
                dst_kind: memory(copy.dst_kind),
                is_async: copy.flags & 1 != 0,
                correlation: copy.correlation,
                graph_node: copy.graph_node,
                ..Self::from_moved(
                    kind::MEMCPY,
                    Direction::from_cupti(copy.copy_kind.into()).unwrap_or(Direction::Unknown),
                    copy.moved,
                )
            },
            Record::MemcpyPeer(copy) => Self {
                src_kind: memory(copy.src_kind),
                dst_kind: memory(copy.dst_kind),
                is_async: copy.flags & 1 != 0,
                correlation: copy.correlation,
                graph_node: copy.graph_node,
                ..Self::from_moved(kind::MEMCPY_PEER, Direction::PeerToPeer, copy.moved)
            },
            Record::Memset(fill) => Self {
                dst_kind: MemoryKind::from_cupti(fill.memory_kind.into()),
                is_async: fill.flags & 1 != 0,
                correlation: fill.correlation,
                graph_node: fill.graph_node,
                ..Self::from_moved(kind::MEMSET, Direction::Fill, fill.moved)
            },
            _ => return None,
        })
    }

    fn from_moved(kind: u32, direction: Direction, moved: Moved) -> Self {
        Self {
            kind,
            direction,
            src_kind: None,
            dst_kind: None,
            is_async: false,
            bytes: moved.bytes,
            start: moved.start,
            end: moved.end,
            device: moved.device,
            context: moved.context,
            stream: moved.stream,
            correlation: 0,
            graph_node: 0,
        }
    }
}

/// A function of the host that a stream or a graph called.
#[derive(Clone, Copy, Debug)]
pub struct HostFunction {
    pub correlation: u32,
    pub thread: u32,
    pub start: u64,
    pub end: u64,
    pub is_node: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    Driver,
    Runtime,
    /// A launch inside the driver, made by no public function.
    Internal,
}

#[derive(Debug, Default)]
pub struct Spool {
    pub facts: Facts,
    pub names: HashMap<u32, String>,
    pub callbacks: HashMap<(u32, u32), String>,
    pub threads: BTreeMap<u32, String>,
    pub clocks: Vec<ClockReading>,
    pub notes: Vec<Note>,
    pub end: Option<End>,
    pub ranges: Vec<RangeEvent>,
    pub kernels: Vec<Kernel>,
    pub transfers: Vec<Transfer>,
    pub calls: Vec<(Domain, Api)>,
    pub syncs: Vec<Synchronization>,
    pub events: Vec<CudaEvent>,
    pub overheads: Vec<Overhead>,
    pub memories: Vec<Memory>,
    pub pools: Vec<MemoryPool>,
    pub externals: Vec<ExternalCorrelation>,
    pub graphs: Vec<GraphTrace>,
    pub graph_clones: HashMap<u64, u64>,
    pub graph_edges: Vec<(u64, u64)>,
    pub environments: Vec<Environment>,
    pub jits: Vec<Jit>,
    pub host_functions: Vec<HostFunction>,
    pub contexts: BTreeMap<u32, Context>,
    pub streams: BTreeMap<(u32, u32), Stream>,
    pub devices: BTreeMap<u32, Device>,
    pub records: BTreeMap<String, u64>,
    pub unreadable: BTreeMap<String, u64>,
    pub dropped: u64,
    pub damage: Damage,
}

impl Spool {
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let bytes = read(path).map_err(|e| Error::io(path, "read it", e))?;
        Ok(Self::from_bytes(&bytes))
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut all = Self::default();
        let reader = Reader::new(bytes)?;
        let damage = reader.read(|item| all.take(item));
        all.damage = damage;
        Some(all)
    }

    fn take(&mut self, item: Item<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match item {
            Item::Facts(facts) => self.facts = *facts,
            Item::Name(number, name) => {
                self.names.insert(number, text(name));
            }
            Item::Callback(domain, number, name) => {
                self.callbacks.insert((domain, number), text(name));
            }
            Item::Thread(number, name) => {
                self.threads.insert(number, text(name));
            }
            Item::Record(bytes) => self.record(bytes),
            Item::Range(event) => self.ranges.push(event),
            Item::Clock(reading) => self.clocks.push(reading),
            Item::Dropped(count) => self.dropped = self.dropped.saturating_add(count),
            Item::Note(note) => self.notes.push(note),
            Item::GraphClone(clone, original) => {
                self.graph_clones.insert(clone, original);
            }
            Item::GraphEdge(from, to) => self.graph_edges.push((from, to)),
            Item::End(end) => self.end = Some(end),
        }
    }

    fn record(&mut self, bytes: &[u8]) {
        let record = match decode(bytes) {
            Ok(record) => record,
            Err(problem) => {
                *self.unreadable.entry(problem.to_string()).or_default() += 1;
                return;
            }
        };
        let name = kind_of(bytes).map_or_else(String::new, kind::name);
        *self.records.entry(name).or_default() += 1;
        match record {
            Record::Kernel(kernel) => self.kernels.push(kernel),
            Record::Memcpy(_) | Record::MemcpyPeer(_) | Record::Memset(_) => {
                self.transfers.extend(Transfer::from_record(record));
            }
            Record::Runtime(call) => self.calls.push((Domain::Runtime, call)),
            Record::Driver(call) => self.calls.push((Domain::Driver, call)),
            Record::InternalLaunch(call) => self.calls.push((Domain::Internal, call)),
            Record::Synchronization(sync) => self.syncs.push(sync),
            Record::CudaEvent(event) => self.events.push(event),
            Record::Overhead(overhead) => self.overheads.push(overhead),
            Record::ExternalCorrelation(external) => self.externals.push(external),
            Record::Memory(memory) => self.memories.push(memory),
            Record::MemoryPool(pool) => self.pools.push(pool),
            Record::GraphTrace(graph) => self.graphs.push(graph),
            Record::Environment(environment) => self.environments.push(environment),
            Record::Jit(jit) => self.jits.push(jit),
            Record::GraphHostNode(of) => self.host_functions.push(HostFunction {
                correlation: of.correlation,
                thread: of.thread,
                start: of.start,
                end: of.end,
                is_node: true,
            }),
            Record::HostLaunch(of) => self.host_functions.push(HostFunction {
                correlation: of.correlation,
                thread: of.thread,
                start: of.start,
                end: of.end,
                is_node: false,
            }),
            Record::Context(context) => {
                self.contexts.insert(context.context, context);
            }
            Record::Stream(stream) => {
                self.streams.insert((stream.context, stream.stream), stream);
            }
            Record::Device(device) => {
                self.devices.insert(device.device, device);
            }
        }
    }

    pub fn did_something(&self) -> bool {
        !self.ranges.is_empty() || !self.records.is_empty() || self.dropped > 0
    }

    pub fn name(&self, number: u64) -> Option<&str> {
        let number = u32::try_from(number).ok()?;
        self.names.get(&number).map(String::as_str)
    }
}
