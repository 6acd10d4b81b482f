//! Data that goes to a device and straight back.

use std::collections::HashMap;

use super::{ExecutionGraph, ExecutionNodeId};

impl ExecutionGraph {
    /// Transfers to a device or from it, each with the next one of the same bytes at the same place of the device in the
    /// other direction. Whether the data was changed in between is not recorded.
    pub fn detect_ping_pong(&self) -> Vec<(ExecutionNodeId, ExecutionNodeId)> {
        let mut last = HashMap::new();
        let mut pairs = Vec::new();
        for (id, node) in self.numbered() {
            let Some((place, bytes, direction)) = Self::device_side(node) else {
                continue;
            };
            match last.insert((place, bytes), (id, direction)) {
                Some((before, other)) if other != direction => pairs.push((before, id)),
                _ => {}
            }
        }
        pairs
    }
}
