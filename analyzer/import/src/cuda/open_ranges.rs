//! NVTX ranges that are open on a thread, and the one that encloses an interval.

/// How many ranges are searched for an enclosing one, starting from the innermost.
const MAX_DEPTH: usize = 1_024;

/// The ranges of one thread, in order of their start.
#[derive(Debug, Default)]
pub(crate) struct OpenRanges {
    open: Vec<Range>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    id: u64,
    end_ns: i64,
}

impl OpenRanges {
    /// The innermost range that encloses the whole interval. Intervals must come in order of their start.
    /// Ranges started and ended by hand may overlap without nesting, so a range further down may still be open
    /// after one above it has ended.
    pub fn around(&mut self, start_ns: i64, end_ns: i64) -> Option<u64> {
        while self
            .open
            .last()
            .is_some_and(|range| range.end_ns < start_ns)
        {
            self.open.pop();
        }
        let inner = self.open.iter().rev().take(MAX_DEPTH);
        inner
            .into_iter()
            .find(|range| range.end_ns >= end_ns)
            .map(|range| range.id)
    }

    pub fn push(&mut self, id: u64, end_ns: i64) {
        self.open.push(Range { id, end_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_range_that_holds_all_of_it_is_the_one() {
        let mut ranges = OpenRanges::default();
        assert_eq!(ranges.around(0, 100), None);
        ranges.push(1, 100);
        assert_eq!(ranges.around(10, 50), Some(1));
        ranges.push(2, 50);
        // Overlaps 2 without nesting in it.
        assert_eq!(ranges.around(40, 80), Some(1));
        ranges.push(3, 80);
        assert_eq!(ranges.around(45, 49), Some(3));
        assert_eq!(ranges.around(60, 90), Some(1));
        assert_eq!(ranges.around(101, 102), None);
    }
}
