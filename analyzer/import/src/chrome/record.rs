//! Records of events, kept until all are read: words of 64 bits that sort as the rows are written.

use super::event::Arguments;

/// Sorts as the number does.
pub(super) fn rising(time_ns: i64) -> u64 {
    time_ns.cast_unsigned() ^ 1 << 63
}

/// Back from [`rising`].
pub(super) fn time(word: u64) -> i64 {
    (word ^ 1 << 63).cast_signed()
}

/// Two halves of a word.
pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(super) fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

pub(super) fn low(word: u64) -> u32 {
    word as u32
}

/// No device, no stream, nothing counted.
pub(super) const NONE: u32 = u32::MAX;
/// No event, no id.
pub(super) const NO_ID: u64 = u64::MAX;
/// The lane of what lies on none.
pub(super) const NO_LANE: u32 = u32::MAX;
/// Bit of correlations that no file states: of device work, by its lane and its start.
pub(super) const OF_PLACE: u64 = 1 << 62;
/// Bit of the external ids of annotations, which are looked up apart from those of operators.
pub(super) const OF_ANNOTATION: u64 = 1 << 63;

/// Kind of a record of a lane, from the outside to the inside where times are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum What {
    Iteration,
    Function,
    Operator,
    Task,
    Call,
    Allocation,
    FlowStart,
    FlowStep,
    FlowEnd,
    /// Ends in the next slice, not in the one around it.
    FlowEndNext,
    /// Start of a flow to device work.
    LaunchFlow,
    /// Work of a device on a lane whose rows may hold others.
    DeviceWork,
    Counter,
    /// Bytes, as an allocator counts them.
    Total,
    Instant,
}

const WHATS: [What; 15] = [
    What::Iteration,
    What::Function,
    What::Operator,
    What::Task,
    What::Call,
    What::Allocation,
    What::FlowStart,
    What::FlowStep,
    What::FlowEnd,
    What::FlowEndNext,
    What::LaunchFlow,
    What::DeviceWork,
    What::Counter,
    What::Total,
    What::Instant,
];

pub(super) const HOST_WORDS: usize = 7;

/// An interval or a point of a lane. `a` and `b` depend on what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub lane: u32,
    pub start_ns: i64,
    pub end_ns: i64,
    pub what: What,
    /// Place in the file.
    pub order: u64,
    pub name: u32,
    /// Node of autograd's graph that an operator is about.
    pub node: Option<Node>,
    /// Iteration: its number. Operator: its operations. Call: its correlation.
    /// Device work: its correlation. Allocation: bytes. Flow: its id. Counter, total: bits of the value.
    /// Instant: number of the text of its arguments or [`NO_ID`].
    pub a: u64,
    /// Operator, function: its external id or [`NO_ID`]. Allocation: its address. Device work: device and stream.
    pub b: u64,
}

/// Lane by lane, by start, the longer first: whatever contains comes before what it contains.
impl Host {
    pub fn words(self) -> [u64; HOST_WORDS] {
        [
            u64::from(self.lane),
            rising(self.start_ns),
            !rising(self.end_ns),
            (self.what as u64) << 56 | self.order,
            pair(Node::word(self.node), self.name),
            self.a,
            self.b,
        ]
    }

    pub fn from_words([lane, start, end, order, name, a, b]: [u64; HOST_WORDS]) -> Self {
        Self {
            lane: low(lane),
            start_ns: time(start),
            end_ns: time(!end),
            what: WHATS[(order >> 56) as usize % WHATS.len()],
            order: order << 8 >> 8,
            name: low(name),
            node: Node::from_word(high(name)),
            a,
            b,
        }
    }
}

/// Kind of a record with a correlation. All of one correlation come together: the calls first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Part {
    Call,
    Wait,
    Recorded,
    Kernel,
    Copy,
    /// A host's annotation, drawn over the work it led to.
    Annotation,
}

const PARTS: [Part; 6] = [
    Part::Call,
    Part::Wait,
    Part::Recorded,
    Part::Kernel,
    Part::Copy,
    Part::Annotation,
];

pub(super) const LINK_WORDS: usize = 14;

/// A record to be linked. `more` depends on the part; see the functions that make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub correlation: u64,
    pub part: Part,
    pub start_ns: i64,
    pub dur_ns: i64,
    /// Place in the file.
    pub order: u64,
    pub name: u32,
    /// Or [`NONE`].
    pub device: u32,
    /// Or [`NONE`].
    pub stream: u32,
    /// Call: id, brick or [`NO_ID`], thread and process, kind of its wait or [`NO_ID`].
    /// Wait: kind, event or [`NO_ID`], correlation and stream of its record, each or [`NO_ID`].
    /// Recorded: event.
    /// Kernel: grid and block in three pairs, node of a graph or [`NO_ID`], registers, bytes of shared memory and
    /// bits of the occupancy in a pair, bits of the blocks per multiprocessor; a first number of the grid or of the
    /// block that is [`NONE`] says that it is not known, and so does a value that is no number.
    /// Copy: bytes or [`NO_ID`], direction, kinds of memory. The fifth has 32 bits only.
    pub more: [u64; 7],
    /// The operator it was begun in, as far as the file says, or [`NO_ID`].
    pub external: u64,
}

impl Link {
    pub fn words(self) -> [u64; LINK_WORDS] {
        let [a, b, c, d, e, f, g] = self.more;
        [
            self.correlation,
            (self.part as u64) << 56,
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
            part,
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
        Self {
            correlation,
            part: PARTS[(part >> 56) as usize % PARTS.len()],
            start_ns: time(start),
            dur_ns: dur.cast_signed(),
            order,
            name: high(name),
            device: high(place),
            stream: low(place),
            more: [a, b, c, d, u64::from(low(name)), f, g],
            external,
        }
    }
}

pub(super) const OPERATOR_WORDS: usize = 4;

/// An operator that device work may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub external: u64,
    pub start_ns: i64,
    /// Its row of bricks.
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

/// A node of autograd's graph, as an operator states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// Its number, below 2³¹ − 1.
    sequence: u32,
    is_backward: bool,
}

const NO_NODE: u32 = u32::MAX;

pub(super) const NODE_WORDS: usize = 5;

impl Node {
    /// The node that an operator with these arguments is about.
    pub fn of(arguments: &Arguments) -> Option<Self> {
        let sequence = u32::try_from(arguments.sequence?).ok()?;
        let is_backward = arguments.forward_thread? != 0;
        (sequence < NO_NODE >> 1).then_some(Self {
            sequence,
            is_backward,
        })
    }

    /// Half a word that holds one, or none.
    pub fn word(node: Option<Self>) -> u32 {
        node.map_or(NO_NODE, |node| {
            node.sequence << 1 | u32::from(node.is_backward)
        })
    }

    /// Back from [`word`](Self::word).
    pub fn from_word(word: u32) -> Option<Self> {
        (word != NO_NODE).then_some(Self {
            sequence: word >> 1,
            is_backward: word & 1 == 1,
        })
    }

    /// A record of an operator that sorts by node and time.
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
