//! The least of many rows, in little memory.

/// Keeps the `limit` smallest rows.
pub struct Least<T> {
    limit: usize,
    rows: Vec<T>,
    bound: Option<T>,
}

impl<T: Ord + Copy> Least<T> {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            rows: Vec::new(),
            bound: None,
        }
    }

    /// Rows from this one on are not among the smallest; `None`: no bound yet.
    #[inline]
    pub fn bound(&self) -> Option<&T> {
        self.bound.as_ref()
    }

    #[inline]
    pub fn add(&mut self, row: T) {
        if self.bound.as_ref().is_none_or(|bound| row < *bound) {
            self.rows.push(row);
            if self.rows.len() >= self.limit.saturating_mul(2).max(1 << 16) {
                self.cut();
            }
        }
    }

    fn cut(&mut self) {
        if self.rows.len() > self.limit {
            if let Some(last) = self.limit.checked_sub(1) {
                self.bound = Some(*self.rows.select_nth_unstable(last).1);
            }
            self.rows.truncate(self.limit);
        }
    }

    pub fn into_rows(mut self) -> Vec<T> {
        self.cut();
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_many() {
        for limit in [0, 1, 100, 40_000, 200_000] {
            let mut least = Least::new(limit);
            // Each number below 200 003 once: it is prime.
            (1..200_003_u64).for_each(|at| least.add(at * 7_919 % 200_003));
            let mut rows = least.into_rows();
            rows.sort_unstable();
            assert!(rows.into_iter().eq(1..=limit.min(200_002) as u64));
        }
    }
}
