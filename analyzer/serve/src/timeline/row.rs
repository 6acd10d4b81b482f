//! Intervals of one lane at one depth, which do not overlap.

/// Intervals per block, and blocks per block of the next level.
const BLOCK: usize = 64;
/// Marks a duration that is in `long`.
const IS_LONG: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct Row {
    starts_ns: Vec<i64>,
    durations_ns: Vec<u32>,
    labels: Vec<u32>,
    ids: Vec<u64>,
    /// Durations that do not fit into four bytes, by index.
    long: Vec<(usize, i64)>,
    /// Sum of durations before each block. Differences are right even after it wrapped.
    sums_ns: Vec<u64>,
    /// Index of the longest interval in each block, by level.
    longest: Vec<Vec<u32>>,
}

impl Row {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self {
            starts_ns: Vec::with_capacity(count),
            durations_ns: Vec::with_capacity(count),
            labels: Vec::with_capacity(count),
            ids: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.starts_ns.len()
    }

    /// Adds an interval. Returns false if it begins before the last one ends.
    pub(super) fn push(&mut self, start_ns: i64, dur_ns: i64, label: u32, id: u64) -> bool {
        let reached = self.len().checked_sub(1).map(|last| self.end_ns(last));
        let is_next = reached.is_none_or(|end_ns| end_ns <= start_ns);
        if !is_next || dur_ns < 0 || start_ns.checked_add(dur_ns).is_none() {
            return false;
        }
        let short = u32::try_from(dur_ns).ok().filter(|short| *short != IS_LONG);
        if short.is_none() {
            self.long.push((self.len(), dur_ns));
        }
        self.starts_ns.push(start_ns);
        self.durations_ns.push(short.unwrap_or(IS_LONG));
        self.labels.push(label);
        self.ids.push(id);
        true
    }

    /// Computes sums and longest intervals once all intervals are added.
    pub(super) fn finish(&mut self) {
        let blocks = |count: usize| (0..count).step_by(BLOCK);
        let mut sum_ns = 0_u64;
        self.sums_ns.clear();
        let mut longest = Vec::new();
        for from in blocks(self.len()) {
            let until = self.len().min(from + BLOCK);
            self.sums_ns.push(sum_ns);
            for at in from..until {
                sum_ns = sum_ns.wrapping_add(self.duration_ns(at).cast_unsigned());
            }
            longest.push(self.first_longest(from..until));
        }
        self.longest = vec![longest];
        while let Some(last) = self.longest.last().filter(|last| last.len() > 1) {
            let above = blocks(last.len()).map(|from| {
                let of = &last[from..last.len().min(from + BLOCK)];
                self.first_longest(of.iter().map(|at| *at as usize))
            });
            let above = above.collect();
            self.longest.push(above);
        }
        for column in [&mut self.labels, &mut self.durations_ns] {
            column.shrink_to_fit();
        }
    }

    fn first_longest(&self, of: impl IntoIterator<Item = usize>) -> u32 {
        let mut best: Option<(i64, usize)> = None;
        for at in of {
            let dur_ns = self.duration_ns(at);
            if best.is_none_or(|(most_ns, _)| dur_ns > most_ns) {
                best = Some((dur_ns, at));
            }
        }
        best.map_or(0, |(_, at)| at as u32)
    }

    pub(super) fn start_ns(&self, at: usize) -> i64 {
        self.starts_ns[at]
    }

    pub(super) fn duration_ns(&self, at: usize) -> i64 {
        match self.durations_ns[at] {
            IS_LONG => match self.long.binary_search_by_key(&at, |(of, _)| *of) {
                Ok(found) => self.long[found].1,
                Err(_) => i64::from(IS_LONG),
            },
            short => i64::from(short),
        }
    }

    pub(super) fn end_ns(&self, at: usize) -> i64 {
        self.starts_ns[at].saturating_add(self.duration_ns(at))
    }

    pub(super) fn label(&self, at: usize) -> u32 {
        self.labels[at]
    }

    pub(super) fn id(&self, at: usize) -> u64 {
        self.ids[at]
    }

    /// Range of intervals in a window: they begin before its end, and end after its start or begin there.
    pub(super) fn within(&self, from_ns: i64, until_ns: i64) -> std::ops::Range<usize> {
        let is_before = |at: usize| self.start_ns(at) < from_ns && self.end_ns(at) <= from_ns;
        let (mut first, mut high) = (0, self.len());
        while first < high {
            let middle = first.midpoint(high);
            if is_before(middle) {
                first = middle + 1
            } else {
                high = middle
            }
        }
        first..self.first_from(first, until_ns)
    }

    pub(super) fn first_from(&self, at: usize, time_ns: i64) -> usize {
        at + self.starts_ns[at..].partition_point(|start_ns| *start_ns < time_ns)
    }

    pub(super) fn sum_ns(&self, of: std::ops::Range<usize>) -> u64 {
        self.sum_before(of.end)
            .wrapping_sub(self.sum_before(of.start))
    }

    fn sum_before(&self, at: usize) -> u64 {
        let block = (at / BLOCK).min(self.sums_ns.len().saturating_sub(1));
        let before = self.sums_ns.get(block).copied().unwrap_or(0);
        (block * BLOCK..at).fold(before, |sum, at| {
            sum.wrapping_add(self.duration_ns(at).cast_unsigned())
        })
    }

    /// The largest block that begins at `at` and ends by `end`: its level, size and longest interval.
    fn block(&self, at: usize, end: usize) -> (usize, usize, usize) {
        let mut found = (0, 1, at);
        let mut size = BLOCK;
        for (level, of) in self.longest.iter().enumerate() {
            if !at.is_multiple_of(size) || at + size > end {
                break;
            }
            found = (level + 1, size, of[at / size] as usize);
            size *= BLOCK;
        }
        found
    }

    /// The longest interval; the first one if several are equal.
    pub(super) fn longest_of(&self, of: std::ops::Range<usize>) -> usize {
        let (mut at, mut best) = (of.start, of.start);
        while at < of.end {
            let (_, size, longest) = self.block(at, of.end);
            if self.duration_ns(longest) > self.duration_ns(best) {
                best = longest;
            }
            at += size;
        }
        best
    }

    pub(super) fn each_of(
        &self,
        of: std::ops::Range<usize>,
        least_ns: i64,
        mut to: impl FnMut(usize),
    ) {
        let mut at = of.start;
        while at < of.end {
            let (mut level, mut size, mut longest) = self.block(at, of.end);
            // Down into the first of the smaller blocks, until one has none or is an interval.
            while level > 0 && self.duration_ns(longest) >= least_ns {
                level -= 1;
                size /= BLOCK;
                longest = match level {
                    0 => at,
                    level => self.longest[level - 1][at / size] as usize,
                };
            }
            if level == 0 && self.duration_ns(longest) >= least_ns {
                to(at);
            }
            at += size;
        }
    }
}
