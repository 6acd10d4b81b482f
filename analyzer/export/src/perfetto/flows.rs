//! Edges of the run as flows between slices.

use std::collections::HashMap;

use trueno_engine::frame::{text_at, u64_at};

use super::Events;
use super::wire::Message;
use crate::error::ExportError;
use crate::rows::Source;

/// End of a flow at a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    From,
    To,
    /// A wait is held up until its end.
    ToEnd,
}

/// Edges by both their ends.
pub(super) fn flows(source: &Source<'_>) -> Result<HashMap<u64, Vec<(u64, Touch)>>, ExportError> {
    let mut flows: HashMap<u64, Vec<(u64, Touch)>> = HashMap::new();
    let Some(edges) = source.table("edges").filter(|table| table.rows > 0) else {
        return Ok(flows);
    };
    let mut number = 0;
    source.each(&edges, |frame| {
        for row in 0..frame.height() {
            let (Some(from), Some(to)) = (u64_at(frame, "from", row), u64_at(frame, "to", row))
            else {
                continue;
            };
            let touch = match text_at(frame, "kind", row) {
                Some("joins" | "wakes") => Touch::ToEnd,
                _ => Touch::To,
            };
            number += 1;
            flows.entry(from).or_default().push((number, Touch::From));
            flows.entry(to).or_default().push((number, touch));
        }
        Ok(())
    })?;
    Ok(flows)
}

impl Events<'_, '_, '_> {
    /// Adds the flows that touch a slice.
    pub(super) fn touch(&self, event: &mut Message, id: u64, touches: &[Touch]) {
        for (number, touch) in self.flows.get(&id).into_iter().flatten() {
            if touches.contains(touch) {
                let field = if *touch == Touch::From { 47 } else { 48 };
                event.fixed64(field, *number);
            }
        }
    }
}
