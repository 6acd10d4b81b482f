//! Streams get numbers of their own where two contexts use the same.

use std::collections::{BTreeMap, BTreeSet};

/// How far apart the numbers of streams that share one are put.
const APART: u32 = 1_000_000;
/// What CUPTI says where no stream is meant.
pub const NONE: u32 = u32::MAX;

/// Numbers of streams, by device, context and CUPTI's number.
#[derive(Debug, Default)]
pub struct Streams {
    numbers: BTreeMap<(u32, u32, u32), u32>,
    taken: BTreeSet<(u32, u32)>,
}

impl Streams {
    /// The number of a stream in the run.
    pub fn number(&mut self, device: u32, context: u32, stream: u32) -> u32 {
        let taken = &mut self.taken;
        *self
            .numbers
            .entry((device, context, stream))
            .or_insert_with(|| {
                let mut number = stream;
                while !taken.insert((device, number)) {
                    number = number.wrapping_add(APART);
                }
                number
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_two_contexts_stay_apart() {
        let mut streams = Streams::default();
        assert_eq!(streams.number(0, 1, 7), 7);
        assert_eq!(streams.number(0, 2, 7), 1_000_007);
        assert_eq!(streams.number(1, 3, 7), 7, "of another device");
        assert_eq!(streams.number(0, 1, 7), 7);
    }
}
