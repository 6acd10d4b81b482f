//! Edges of the run as flows between slices.

use std::collections::HashMap;

use super::wire::Message;
use crate::error::ExportError;
use crate::rows::Source;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    From,
    To,
    /// At the end of a slice: a wait ends because of the other one.
    ToEnd,
}

pub(super) fn flows(source: &Source<'_>) -> Result<HashMap<u64, Vec<(u64, Touch)>>, ExportError> {
    let mut flows: HashMap<u64, Vec<(u64, Touch)>> = HashMap::new();
    let Some(edges) = source.table("edges").filter(|table| table.rows > 0) else {
        return Ok(flows);
    };
    let mut number = 0;
    source.each(&edges, |row| {
        let (Some(from), Some(to)) = (row.u64_of("from"), row.u64_of("to")) else {
            return Ok(());
        };
        let touch = match row.text_of("kind") {
            Some("joins" | "wakes") => Touch::ToEnd,
            _ => Touch::To,
        };
        number += 1;
        flows.entry(from).or_default().push((number, Touch::From));
        flows.entry(to).or_default().push((number, touch));
        Ok(())
    })?;
    Ok(flows)
}

pub(super) fn touch(
    event: &mut Message,
    flows: &HashMap<u64, Vec<(u64, Touch)>>,
    id: u64,
    touches: &[Touch],
) {
    for (number, touch) in flows.get(&id).into_iter().flatten() {
        if touches.contains(touch) {
            let field = if *touch == Touch::From { 47 } else { 48 };
            event.fixed64(field, *number);
        }
    }
}
