//! Data that the registry keeps of a span for us.

use super::fields::Fields;
use crate::names::Name;
use crate::owned_span::OwnedSpan;
use crate::span_id::SpanId;
use trueno_format::record::kind;

pub(super) struct Described {
    /// Number of the recorder.
    pub recorder: u64,
    pub name: Name,
    /// True if the name alone makes it a brick.
    pub brick: bool,
    pub fields: Fields,
    /// The row of the latest stay, while that lasts.
    pub open: Option<SpanId>,
    /// The same span for another recorder.
    pub next: Option<Box<Described>>,
}

pub(super) struct Plan {
    pub name: Name,
    pub kind: u8,
    /// Number of an iteration or layer.
    pub number: u64,
}

impl Described {
    pub fn for_recorder(&self, recorder: u64) -> Option<&Self> {
        if self.recorder == recorder {
            return Some(self);
        }
        self.next.as_ref()?.for_recorder(recorder)
    }

    pub fn for_recorder_mut(&mut self, recorder: u64) -> Option<&mut Self> {
        if self.recorder == recorder {
            return Some(self);
        }
        self.next.as_mut()?.for_recorder_mut(recorder)
    }

    pub fn plan(&self) -> Plan {
        let (kind, number) = self.scope().unwrap_or_else(|| {
            let brick = self.fields.brick.unwrap_or(self.brick);
            (if brick { kind::BRICK } else { kind::FUNCTION }, 0)
        });
        let name = self.name;
        Plan { name, kind, number }
    }

    fn scope(&self) -> Option<(u8, u64)> {
        let number = self.fields.number()?;
        match self.name.as_str() {
            "iteration" => Some((kind::ITERATION, number)),
            "layer" if u32::try_from(number).is_ok() => Some((kind::LAYER, number)),
            _ => None,
        }
    }

    /// Gives what the program has stated to the row that ends.
    pub fn finish(&mut self, row: &mut OwnedSpan) {
        row.labels = self.fields.labels;
        if row.takes_work() {
            row.work = std::mem::take(&mut self.fields.work);
        }
        if self.open == Some(row.id()) {
            self.open = None;
        }
    }
}
