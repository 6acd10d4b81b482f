//! Collectives, as PyTorch states them of `record_param_comms`, of the kernels of NCCL, and of the work of gloo.

use serde_json::Value;
use trueno_analysis::collectives::Operation;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::CollectiveRow;

use super::decimal::identity;
use super::facts::ProcessGroup;
use crate::signatures::Lists;

/// Longer rank lists of a communicator are dropped.
const MAX_GROUP_BYTES: usize = 1 << 20;

/// Prefix of the names of gloo's work, which runs on threads of its own.
const GLOO: &[u8] = b"gloo:";

/// Arguments that describe a collective; empty if not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Collective {
    name: Vec<u8>,
    element_type: Vec<u8>,
    sent: Option<u64>,
    received: Option<u64>,
    group: Vec<u8>,
    group_ranks: Vec<u8>,
    group_size: Option<u64>,
    sequence: Option<u64>,
    source: Option<u64>,
    destination: Option<u64>,
    /// Gloo's work itself, rather than a call that launches kernels.
    is_of_gloo: bool,
}

impl Collective {
    /// A collective of gloo, from its annotation's name and shapes; `None` if the annotation is not gloo's.
    /// Neither the process group nor the peer of a send or receive is stated.
    pub fn of_gloo(name: &[u8], [dimensions, types, ..]: &Lists) -> Option<Self> {
        let name = name.strip_prefix(GLOO)?;
        let operation = Operation::parse(std::str::from_utf8(name).ok()?)?;
        let sent = serde_json::from_slice(dimensions).ok().and_then(elements);
        let types: Vec<String> = serde_json::from_slice(types).unwrap_or_default();
        Some(Self {
            name: name.to_owned(),
            element_type: types.into_iter().next().unwrap_or_default().into_bytes(),
            sent,
            received: sent.filter(|_| operation == Operation::AllReduce),
            is_of_gloo: true,
            ..Self::default()
        })
    }

    /// Gloo's sends and receives do not name the peer.
    pub fn lacks_its_peer(&self) -> bool {
        self.is_of_gloo && matches!(self.operation(), Operation::Send | Operation::Recv)
    }

    pub fn is_a_call(&self) -> bool {
        !self.is_of_gloo
    }

    /// Fills in the process group, if the job has only one.
    pub fn within(mut self, group: Option<&ProcessGroup>) -> Self {
        if let Some(group) = group.filter(|_| self.is_of_gloo) {
            let size = group.ranks.len() as u64;
            self.group = group.name.clone().into_bytes();
            self.group_ranks = format!("{:?}", group.ranks).into_bytes();
            self.group_size = Some(size);
            if self.operation() == Operation::AllGather {
                self.received = self.sent.and_then(|sent| sent.checked_mul(size));
            }
        }
        self
    }

    fn operation(&self) -> Operation {
        Operation::parse(&String::from_utf8_lossy(&self.name)).unwrap_or(Operation::Other)
    }

    /// Stores an argument; false if it does not describe a collective.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> bool {
        match key {
            b"Collective name" => self.name = value.to_owned(),
            b"dtype" => self.element_type = value.to_owned(),
            b"In msg nelems" => self.sent = identity(value),
            b"Out msg nelems" => self.received = identity(value),
            b"Process Group Name" => self.group = value.to_owned(),
            // Older versions of PyTorch number groups and do not name them.
            b"Process Group ID" if self.group.is_empty() => self.group = value.to_owned(),
            b"Process Group ID" => {}
            b"Process Group Ranks" if value.len() <= MAX_GROUP_BYTES => {
                self.group_ranks = value.to_owned();
            }
            b"Group size" => self.group_size = identity(value),
            b"Seq" => self.sequence = identity(value),
            b"Src Rank" => self.source = identity(value),
            b"Dst Rank" => self.destination = identity(value),
            _ => return false,
        }
        true
    }

    /// The message as a signature: elements sent and received, their type, and the collective's name.
    pub fn lists(&self) -> Option<Lists> {
        let (sent, received) = (self.sent?, self.received?);
        let is_word = |text: &[u8]| {
            text.iter()
                .all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(byte))
        };
        let [name, element_type] = [&self.name, &self.element_type];
        if name.is_empty() || element_type.is_empty() || !is_word(name) || !is_word(element_type) {
            return None;
        }
        let [name, element_type] = [name, element_type].map(|text| String::from_utf8_lossy(text));
        Some([
            format!("[[{sent}],[{received}]]").into_bytes(),
            format!("[\"{element_type}\",\"{element_type}\"]").into_bytes(),
            Vec::new(),
            format!("[\"{name}\"]").into_bytes(),
        ])
    }

    /// `None` if the event names no collective, or only begins or ends one (`wait`, `init`).
    pub fn named(&self) -> Option<&Self> {
        let name = std::str::from_utf8(&self.name).ok()?;
        Operation::parse(name).map(|_| self)
    }

    pub fn row(&self, into: &mut RunWriter) -> CollectiveRow {
        let operation = self.operation();
        let mut text = |bytes: &[u8]| -> Option<Text> {
            (!bytes.is_empty()).then(|| into.text(&String::from_utf8_lossy(bytes)))
        };
        let peer = match operation {
            Operation::Send => self.destination,
            Operation::Recv => self.source,
            _ => None,
        };
        let ranks = group_ranks(&self.group_ranks);
        CollectiveRow {
            communicator: text(&self.group),
            element_type: text(&self.element_type),
            group_ranks: text(ranks.as_deref().unwrap_or_default().as_bytes()),
            operation: into.text(operation.name()),
            sequence: self.sequence,
            elements_in: self.sent,
            elements_out: self.received,
            group_size: self.group_size.and_then(|size| u32::try_from(size).ok()),
            peer: peer.and_then(|rank| u32::try_from(rank).ok()),
            ..CollectiveRow::default()
        }
    }
}

/// Number of elements in tensors of these dimensions (`[[8,16],[4]]`, possibly nested); `None` if there are none.
fn elements(dimensions: Value) -> Option<u64> {
    let Value::Array(items) = dimensions else {
        return None;
    };
    if items.iter().all(Value::is_number) {
        return None;
    }
    let of_one = |item: Value| match item {
        Value::Array(sizes) if sizes.iter().all(Value::is_number) => {
            let mut sizes = sizes.iter().map(Value::as_u64);
            sizes.try_fold(1_u64, |product, size| product.checked_mul(size?))
        }
        inner => elements(inner),
    };
    let mut of_all = items.into_iter().map(of_one);
    of_all.try_fold(0_u64, |sum, elements| sum.checked_add(elements?))
}

/// Ranks as JSON without spaces. PyTorch truncates long lists with `...`; those are dropped.
fn group_ranks(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let ranks: Option<Vec<u32>> = inside
        .split(',')
        .map(|rank| rank.trim().parse().ok())
        .collect();
    let ranks: Vec<String> = ranks?.iter().map(u32::to_string).collect();
    Some(format!("[{}]", ranks.join(",")))
}
