//! Records of events, kept until all are read: words of 64 bits that sort as the rows are written.

use super::event::Arguments;
use crate::cuda::cupti_enums::{Direction, MemoryKind, SyncKind};

/// Maps a signed time to a word with the same order.
pub(super) fn rising(time_ns: i64) -> u64 {
    time_ns.cast_unsigned() ^ 1 << 63
}

/// Inverse of [`rising`].
pub(super) fn time(word: u64) -> i64 {
    (word ^ 1 << 63).cast_signed()
}

pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(super) fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

pub(super) fn low(word: u64) -> u32 {
    word as u32
}

/// Stands for no device, no stream or no count.
pub(super) const NONE: u32 = u32::MAX;
/// Stands for no event or no id.
pub(super) const NO_ID: u64 = u64::MAX;
pub(super) const NO_LANE: u32 = u32::MAX;
/// Marks made-up correlations of device work, derived from its lane and start.
pub(super) const OF_PLACE: u64 = 1 << 62;
/// Marks external ids of annotations, which are looked up separately from those of operators.
pub(super) const OF_ANNOTATION: u64 = 1 << 63;

/// Marks a stated correlation that is kept where the external id belongs: of work that is linked by its place.
pub(super) const OF_CORRELATION: u64 = 1 << 63;

fn optional_word(id: Option<u64>) -> u64 {
    id.unwrap_or(NO_ID)
}

/// Inverse of [`optional_word`].
pub(super) fn stated(word: u64) -> Option<u64> {
    (word != NO_ID).then_some(word)
}

fn optional_half(number: Option<u32>) -> u32 {
    number.unwrap_or(NONE)
}

/// Inverse of [`optional_half`].
pub(super) fn known(half: u32) -> Option<u32> {
    (half != NONE).then_some(half)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowEnd {
    Start,
    Step,
    End,
    /// Ends in the next slice, not in the enclosing one.
    EndInNext,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum HostEvent {
    Iteration {
        number: u64,
    },
    Function {
        external: Option<u64>,
        only_waits: bool,
    },
    Operator {
        flops: Option<u64>,
        external: Option<u64>,
    },
    /// An asynchronous interval. Those with the same key nest; others merely ran at the same time.
    Task {
        key: u64,
    },
    Call {
        correlation: Option<u64>,
        /// What it copies.
        bytes: Option<u64>,
    },
    Allocation {
        device: Option<u32>,
        bytes: i64,
        address: Option<u64>,
    },
    Flow {
        id: u64,
        end: FlowEnd,
    },
    LaunchFlow {
        id: u64,
    },
    /// Device work on a lane whose rows may nest.
    DeviceWork {
        correlation: u64,
        device: u32,
        stream: u32,
        /// Hash of all that the row states, if that is known. It takes the place of the node, which no such row has.
        arguments: Option<u32>,
    },
    Counter {
        value: f64,
    },
    /// Bytes according to the allocator.
    Total {
        bytes: f64,
    },
    /// Time of all calls of a name.
    SumOfCalls {
        ns: f64,
    },
    Instant {
        arguments: Option<u32>,
    },
}

impl HostEvent {
    /// Rank among records with equal times (outermost first), and two payload words.
    fn words(self) -> (u64, u64, u64) {
        match self {
            Self::Iteration { number } => (0, number, NO_ID),
            Self::Function {
                external,
                only_waits,
            } => (1, u64::from(only_waits), optional_word(external)),
            Self::Operator { flops, external } => {
                (2, optional_word(flops), optional_word(external))
            }
            Self::Task { key } => (3, key, 0),
            Self::Call { correlation, bytes } => {
                (4, optional_word(correlation), optional_word(bytes))
            }
            Self::Allocation { bytes, address, .. } => {
                (5, bytes.cast_unsigned(), optional_word(address))
            }
            Self::Flow { id, end } => {
                let rank = match end {
                    FlowEnd::Start => 6,
                    FlowEnd::Step => 7,
                    FlowEnd::End => 8,
                    FlowEnd::EndInNext => 9,
                };
                (rank, id, 0)
            }
            Self::LaunchFlow { id } => (10, id, 0),
            Self::DeviceWork {
                correlation,
                device,
                stream,
                ..
            } => (11, correlation, pair(device, stream)),
            Self::Counter { value } => (12, value.to_bits(), 0),
            Self::Total { bytes } => (13, bytes.to_bits(), 0),
            Self::SumOfCalls { ns } => (15, ns.to_bits(), 0),
            Self::Instant { arguments } => (14, optional_word(arguments.map(u64::from)), NO_ID),
        }
    }

    fn from_words(rank: u64, (node, name): (u32, u32), a: u64, b: u64) -> Self {
        let flow = |end| Self::Flow { id: a, end };
        match rank {
            0 => Self::Iteration { number: a },
            1 => Self::Function {
                external: stated(b),
                only_waits: a == 1,
            },
            2 => Self::Operator {
                flops: stated(a),
                external: stated(b),
            },
            3 => Self::Task { key: a },
            4 => Self::Call {
                correlation: stated(a),
                bytes: stated(b),
            },
            5 => Self::Allocation {
                device: known(name),
                bytes: a.cast_signed(),
                address: stated(b),
            },
            6 => flow(FlowEnd::Start),
            7 => flow(FlowEnd::Step),
            8 => flow(FlowEnd::End),
            9 => flow(FlowEnd::EndInNext),
            10 => Self::LaunchFlow { id: a },
            11 => Self::DeviceWork {
                correlation: a,
                device: high(b),
                stream: low(b),
                arguments: known(node),
            },
            12 => Self::Counter {
                value: f64::from_bits(a),
            },
            13 => Self::Total {
                bytes: f64::from_bits(a),
            },
            15 => Self::SumOfCalls {
                ns: f64::from_bits(a),
            },
            _ => Self::Instant {
                arguments: stated(a).map(|number| number as u32),
            },
        }
    }
}

pub(super) const HOST_WORDS: usize = 7;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Host {
    pub lane: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub event: HostEvent,
    pub order: u64,
    pub name: u32,
    pub node: Option<Node>,
}

/// Sorted by lane, then start, longer first: an enclosing interval precedes what it contains.
impl Host {
    pub fn words(self) -> [u64; HOST_WORDS] {
        let (rank, a, b) = self.event.words();
        let name = match self.event {
            HostEvent::Allocation { device, .. } => optional_half(device),
            _ => self.name,
        };
        let node = match self.event {
            HostEvent::DeviceWork { arguments, .. } => optional_half(arguments),
            _ => Node::word(self.node),
        };
        [
            u64::from(self.lane),
            rising(self.start_ns),
            !rising(self.end_ns),
            rank << 56 | self.order,
            pair(node, name),
            a,
            b,
        ]
    }

    pub fn from_words([lane, start, end, order, name, a, b]: [u64; HOST_WORDS]) -> Self {
        let event = HostEvent::from_words(order >> 56, (high(name), low(name)), a, b);
        let has_node = !matches!(event, HostEvent::DeviceWork { .. });
        Self {
            lane: low(lane),
            start_ns: time(start),
            end_ns: time(!end),
            event,
            order: order << 8 >> 8,
            name: low(name),
            node: has_node.then(|| Node::from_word(high(name))).flatten(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct KernelFacts {
    pub grid: Option<[u32; 3]>,
    pub block: Option<[u32; 3]>,
    pub graph_node: Option<u64>,
    pub registers: Option<u32>,
    pub shared_memory_bytes: Option<u32>,
    pub occupancy_percent: Option<f32>,
    pub blocks_per_sm: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LinkEvent {
    Call {
        id: u64,
        brick: Option<u64>,
        thread: u32,
        wait: Option<SyncKind>,
        /// What it copies.
        bytes: Option<u64>,
    },
    Wait {
        kind: SyncKind,
        event: Option<u64>,
        /// Correlation and stream of the call that recorded the event.
        record: Option<u64>,
        record_stream: Option<u32>,
    },
    Recorded {
        event: u64,
    },
    Kernel(KernelFacts),
    Copy {
        bytes: Option<u64>,
        direction: Direction,
        from: Option<MemoryKind>,
        to: Option<MemoryKind>,
    },
    /// A host annotation repeated over the device work that it launched.
    Annotation,
}

impl LinkEvent {
    /// Rank within a correlation (calls first) and seven payload words; the fifth must fit in 32 bits.
    fn words(self) -> (u64, [u64; 7]) {
        match self {
            Self::Call {
                id,
                brick,
                thread,
                wait,
                bytes,
            } => {
                let wait = optional_word(wait.map(|kind| kind as u64));
                let (brick, bytes) = (optional_word(brick), optional_word(bytes));
                (0, [id, brick, u64::from(thread), wait, 0, bytes, 0])
            }
            Self::Wait {
                kind,
                event,
                record,
                record_stream,
            } => {
                let stream = optional_word(record_stream.map(u64::from));
                let (event, record) = (optional_word(event), optional_word(record));
                (1, [kind as u64, event, record, stream, 0, 0, 0])
            }
            Self::Recorded { event } => (2, [event, 0, 0, 0, 0, 0, 0]),
            Self::Kernel(facts) => {
                let [grid, block] = [facts.grid, facts.block].map(|size| size.unwrap_or([NONE; 3]));
                let occupancy = facts.occupancy_percent.unwrap_or(f32::NAN);
                let words = [
                    pair(grid[0], grid[1]),
                    pair(grid[2], block[0]),
                    pair(block[1], block[2]),
                    optional_word(facts.graph_node),
                    u64::from(optional_half(facts.registers)),
                    pair(
                        optional_half(facts.shared_memory_bytes),
                        occupancy.to_bits(),
                    ),
                    facts.blocks_per_sm.unwrap_or(f64::NAN).to_bits(),
                ];
                (3, words)
            }
            Self::Copy {
                bytes,
                direction,
                from,
                to,
            } => {
                let half = |kind: Option<MemoryKind>| optional_half(kind.map(|kind| kind as u32));
                let memory = pair(half(from), half(to));
                let bytes = optional_word(bytes);
                (4, [bytes, direction as u64, memory, 0, 0, 0, 0])
            }
            Self::Annotation => (5, [0; 7]),
        }
    }

    fn from_words(rank: u64, [a, b, c, d, e, f, g]: [u64; 7]) -> Self {
        let sync_kind = |word: u64| SyncKind::ALL[word as usize % SyncKind::ALL.len()];
        match rank {
            0 => Self::Call {
                id: a,
                brick: stated(b),
                thread: low(c),
                wait: stated(d).map(sync_kind),
                bytes: stated(f),
            },
            1 => Self::Wait {
                kind: sync_kind(a),
                event: stated(b),
                record: stated(c),
                record_stream: stated(d).map(low),
            },
            2 => Self::Recorded { event: a },
            3 => {
                let size = |size: [u32; 3]| (size[0] != NONE).then_some(size);
                let occupancy = f32::from_bits(low(f));
                let blocks = f64::from_bits(g);
                Self::Kernel(KernelFacts {
                    grid: size([high(a), low(a), high(b)]),
                    block: size([low(b), high(c), low(c)]),
                    graph_node: stated(d),
                    registers: known(low(e)),
                    shared_memory_bytes: known(high(f)),
                    occupancy_percent: (!occupancy.is_nan()).then_some(occupancy),
                    blocks_per_sm: (!blocks.is_nan()).then_some(blocks),
                })
            }
            4 => {
                let kind = |half: u32| MemoryKind::ALL.get(half as usize).copied();
                Self::Copy {
                    bytes: stated(a),
                    direction: Direction::ALL[b as usize % Direction::ALL.len()],
                    from: kind(high(c)),
                    to: kind(low(c)),
                }
            }
            _ => Self::Annotation,
        }
    }
}

pub(super) const LINK_WORDS: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub correlation: u64,
    pub event: LinkEvent,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub order: u64,
    pub name: u32,
    pub device: u32,
    pub stream: u32,
    /// The operator in which it was launched, or [`NO_ID`].
    pub external: u64,
}

/// Sorted by correlation, then rank, then start.
impl Link {
    pub fn words(self) -> [u64; LINK_WORDS] {
        let (rank, [a, b, c, d, e, f, g]) = self.event.words();
        [
            self.correlation,
            rank << 56,
            rising(self.start_ns),
            self.dur_ns.cast_unsigned(),
            self.order,
            pair(self.device, self.stream),
            pair(self.name, low(e)),
            a,
            b,
            c,
            d,
            f,
            g,
            self.external,
        ]
    }

    pub fn from_words(words: [u64; LINK_WORDS]) -> Self {
        let [
            correlation,
            rank,
            start,
            dur,
            order,
            place,
            name,
            a,
            b,
            c,
            d,
            f,
            g,
            external,
        ] = words;
        let words = [a, b, c, d, u64::from(low(name)), f, g];
        Self {
            correlation,
            event: LinkEvent::from_words(rank >> 56, words),
            start_ns: time(start),
            dur_ns: dur.cast_signed(),
            order,
            name: high(name),
            device: high(place),
            stream: low(place),
            external,
        }
    }
}

pub(super) const OPERATOR_WORDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub external: u64,
    pub start_ns: i64,
    pub id: u64,
    pub thread: u32,
}

impl Operator {
    pub fn words(self) -> [u64; OPERATOR_WORDS] {
        [
            self.external,
            rising(self.start_ns),
            self.id,
            u64::from(self.thread),
        ]
    }

    pub fn from_words([external, start, id, thread]: [u64; OPERATOR_WORDS]) -> Self {
        Self {
            external,
            start_ns: time(start),
            id,
            thread: low(thread),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Sequence number, below 2³¹ − 1.
    sequence: u32,
    is_backward: bool,
}

const NO_NODE: u32 = u32::MAX;

pub(super) const NODE_WORDS: usize = 5;

impl Node {
    pub fn of(arguments: &Arguments) -> Option<Self> {
        let sequence = u32::try_from(arguments.sequence?).ok()?;
        let is_backward = arguments.forward_thread? != 0;
        (sequence < NO_NODE >> 1).then_some(Self {
            sequence,
            is_backward,
        })
    }

    pub fn is_backward(self) -> bool {
        self.is_backward
    }

    /// Packs an optional node into half a word.
    pub fn word(node: Option<Self>) -> u32 {
        node.map_or(NO_NODE, |node| {
            node.sequence << 1 | u32::from(node.is_backward)
        })
    }

    /// Inverse of [`word`](Self::word).
    pub fn from_word(word: u32) -> Option<Self> {
        (word != NO_NODE).then_some(Self {
            sequence: word >> 1,
            is_backward: word & 1 == 1,
        })
    }

    /// A record of an operator, sorted by node and time.
    pub fn words(self, brick: u64, start_ns: i64, end_ns: i64) -> [u64; NODE_WORDS] {
        [
            self.sequence.into(),
            rising(start_ns),
            brick,
            rising(end_ns),
            self.is_backward.into(),
        ]
    }
}
