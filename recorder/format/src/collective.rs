//! Parts in collectives, as a program states them.

use serde::{Deserialize, Serialize};

use crate::schema::CollectiveRow;
use crate::text::Texts;

/// A row of `collectives`, with the recorder's ticks for its times. What is not stated is `None`, or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// Row of bricks in which it was called.
    pub span: Option<u64>,
    /// Thread that called it.
    pub thread: u32,
    /// Ticks at which the call began and ended.
    pub ticks: (u64, u64),
    /// Name of the communicator, the same on all its ranks.
    pub communicator: String,
    /// Number in its communicator.
    pub sequence: Option<u64>,
    /// `all_reduce`, `all_gather`, `send`, ...
    pub operation: String,
    /// `ring`, `tree`, ...
    pub algorithm: Option<String>,
    /// Type of an element, such as `f32`.
    pub element_type: Option<String>,
    /// Elements that this rank gave.
    pub elements_in: Option<u64>,
    /// Elements that this rank got.
    pub elements_out: Option<u64>,
    /// Ranks of the communicator, in the job.
    pub ranks: Vec<u32>,
    /// The other rank of a send or receive.
    pub peer: Option<u32>,
}

impl Collective {
    /// Its row, at times of the run.
    pub fn row(&self, texts: &mut dyn Texts, start_ns: i64, end_ns: i64) -> CollectiveRow {
        let ranks: Vec<String> = self.ranks.iter().map(u32::to_string).collect();
        let ranks = (!ranks.is_empty()).then(|| format!("[{}]", ranks.join(",")));
        let mut given = |text: &Option<String>| text.as_deref().map(|text| texts.intern(text));
        CollectiveRow {
            algorithm: given(&self.algorithm),
            element_type: given(&self.element_type),
            group_ranks: given(&ranks),
            communicator: Some(texts.intern(&self.communicator)),
            operation: texts.intern(&self.operation),
            span: self.span,
            kernel: None,
            thread: Some(self.thread),
            time_ns: start_ns,
            dur_ns: end_ns.saturating_sub(start_ns).max(0),
            sequence: self.sequence,
            elements_in: self.elements_in,
            elements_out: self.elements_out,
            group_size: (!self.ranks.is_empty()).then_some(self.ranks.len() as u32),
            peer: self.peer,
        }
    }
}
