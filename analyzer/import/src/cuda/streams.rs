//! Streams get numbers of their own where two processes or contexts use the same.

use std::collections::HashMap;

/// What a stream is on its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    pub process: u32,
    pub context: Option<i64>,
    pub device: Option<u32>,
    pub stream: u32,
}

/// How far apart the numbers of streams that share one are put.
const APART: u32 = 1_000_000;

/// Numbers of streams.
#[derive(Debug, Default)]
pub struct Streams {
    numbers: HashMap<Stream, u32>,
    taken: HashMap<(Option<u32>, u32), Stream>,
}

impl Streams {
    /// The number of a stream in the run; and whether it is not its own.
    pub fn number(&mut self, stream: Stream) -> (u32, bool) {
        if let Some(&number) = self.numbers.get(&stream) {
            return (number, number != stream.stream);
        }
        let mut number = stream.stream;
        while self.taken.contains_key(&(stream.device, number)) {
            number = number.wrapping_add(APART);
        }
        self.taken.insert((stream.device, number), stream);
        self.numbers.insert(stream, number);
        (number, number != stream.stream)
    }

    /// The number of a stream that has one.
    pub fn known(&self, stream: Stream) -> Option<u32> {
        self.numbers.get(&stream).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_two_processes_stay_apart() {
        let of = |process| Stream {
            process,
            context: Some(1),
            device: Some(0),
            stream: 7,
        };
        let mut streams = Streams::default();
        assert_eq!(streams.number(of(0)), (7, false));
        assert_eq!(streams.number(of(1)), (1_000_007, true));
        assert_eq!(streams.number(of(0)), (7, false));
    }
}
