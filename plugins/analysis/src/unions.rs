//! Length of a union of intervals that come in the order of their starts: one number, no list.

/// Time in which at least one interval was open.
///
/// ```
/// use trueno_analysis::unions::UnionLength;
///
/// let mut busy = UnionLength::default();
/// for (start_ns, end_ns) in [(0, 30), (10, 20), (25, 40), (60, 70)] {
///     busy.add(start_ns, end_ns);
/// }
/// assert_eq!(busy.total_ns(), 50);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct UnionLength {
    total_ns: i64,
    reached_ns: i64,
}

impl Default for UnionLength {
    fn default() -> Self {
        Self {
            total_ns: 0,
            reached_ns: i64::MIN,
        }
    }
}

impl UnionLength {
    /// Adds an interval that begins no earlier than those before it.
    #[inline]
    pub fn add(&mut self, start_ns: i64, end_ns: i64) {
        let from_ns = start_ns.max(self.reached_ns);
        if end_ns > from_ns {
            self.total_ns = self.total_ns.saturating_add(end_ns.saturating_sub(from_ns));
            self.reached_ns = end_ns;
        }
    }

    /// Begins another lane: its union is added to those before.
    #[inline]
    pub fn next_lane(&mut self) {
        self.reached_ns = i64::MIN;
    }

    /// The length so far.
    pub fn total_ns(&self) -> i64 {
        self.total_ns
    }
}

/// The same for many groups at once, lane by lane.
pub struct GroupedUnions {
    /// By group: its union, and the lane added to it last.
    groups: Vec<(UnionLength, u32)>,
}

impl GroupedUnions {
    /// Empty unions for the groups `0..groups`.
    pub fn new(groups: usize) -> Self {
        Self {
            groups: vec![(UnionLength::default(), u32::MAX); groups],
        }
    }

    /// Adds an interval that begins no earlier than those of its group and lane before it.
    #[inline]
    pub fn add(&mut self, group: usize, lane: u32, start_ns: i64, end_ns: i64) {
        let (union, last_lane) = &mut self.groups[group];
        if *last_lane != lane {
            *last_lane = lane;
            union.next_lane();
        }
        union.add(start_ns, end_ns);
    }

    /// The union of a group, summed over its lanes.
    pub fn total_ns(&self, group: usize) -> i64 {
        self.groups[group].0.total_ns()
    }
}
