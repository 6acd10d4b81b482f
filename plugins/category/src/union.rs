//! Length of a union of intervals, for many groups at once.

/// Adds up, for each group, the time in which at least one interval of the
/// group was open. Intervals of one lane come in the order of their starts.
pub struct Unions {
    /// Sum over the lanes so far.
    total_ns: Vec<i64>,
    /// Where the union of the current lane ends.
    reached_ns: Vec<i64>,
    /// The lane that `reached_ns` is about; saves resetting all groups for each lane.
    lane: Vec<u32>,
}

impl Unions {
    /// For groups `0..groups`.
    pub fn new(groups: usize) -> Self {
        Self {
            total_ns: vec![0; groups],
            reached_ns: vec![i64::MIN; groups],
            lane: vec![u32::MAX; groups],
        }
    }

    /// Adds an interval that begins no earlier than those of its group and lane before it.
    #[inline]
    pub fn add(&mut self, group: usize, lane: u32, start_ns: i64, end_ns: i64) {
        if self.lane[group] != lane {
            self.lane[group] = lane;
            self.reached_ns[group] = i64::MIN;
        }
        let from_ns = start_ns.max(self.reached_ns[group]);
        if end_ns > from_ns {
            self.total_ns[group] += end_ns - from_ns;
            self.reached_ns[group] = end_ns;
        }
    }

    /// The union of a group, summed over its lanes.
    pub fn total_ns(&self, group: usize) -> i64 {
        self.total_ns[group]
    }
}
