//! Streams get numbers of their own where two processes or contexts use the same.
//!
//! Kineto names no context: there a device and a number are a stream.

use std::collections::{HashMap, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    pub process: u32,
    pub context: Option<i64>,
    pub device: Option<u32>,
    pub stream: u32,
}

/// Distance between the numbers given to streams with the same number.
const APART: u32 = 1_000_000;

#[derive(Debug, Default)]
pub(crate) struct Streams {
    numbers: HashMap<Stream, u32>,
    taken: HashSet<(Option<u32>, u32)>,
}

impl Streams {
    /// The stream's number in the run; differs from its own if that is taken.
    pub fn number(&mut self, stream: Stream) -> u32 {
        let taken = &mut self.taken;
        *self.numbers.entry(stream).or_insert_with(|| {
            let mut number = stream.stream;
            while !taken.insert((stream.device, number)) {
                number = number.wrapping_add(APART);
            }
            number
        })
    }

    pub fn known(&self, stream: Stream) -> Option<u32> {
        self.numbers.get(&stream).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_share_a_number_stay_apart() {
        let of = |process, context, device| Stream {
            process,
            context: Some(context),
            device: Some(device),
            stream: 7,
        };
        let mut streams = Streams::default();
        assert_eq!(streams.number(of(0, 1, 0)), 7);
        assert_eq!(streams.number(of(1, 1, 0)), 1_000_007, "of another process");
        assert_eq!(streams.number(of(0, 2, 0)), 2_000_007, "of another context");
        assert_eq!(streams.number(of(0, 3, 1)), 7, "of another device");
        assert_eq!(streams.number(of(0, 1, 0)), 7);
        assert_eq!(streams.known(of(2, 1, 0)), None);
    }
}
