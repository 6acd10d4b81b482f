//! Check that kernels still come with times.
//!
//! In long recordings of graphs CUPTI has been seen to lose its buffers on the device: from then on records have
//! no times, or end before they start, and the device's memory fills up. Nothing says so but the records.

const WINDOW: u32 = 4096;

/// Kernels in the current window, and how many of them have no valid times.
#[derive(Debug, Default)]
pub struct TimingCheck {
    kernels: u32,
    unsound: u32,
}

impl TimingCheck {
    /// Counts a kernel's record. True if it makes more than half of a window invalid.
    pub fn lost(&mut self, record: &[u8]) -> bool {
        let time = |at: usize| {
            let bytes = record.get(at..at + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let (start, end) = (time(16).unwrap_or(0), time(24).unwrap_or(0));
        self.kernels += 1;
        // A start without an end is work that is not over yet.
        self.unsound += u32::from(start == 0 || (end != 0 && end < start));
        if self.kernels < WINDOW {
            return false;
        }
        let lost = self.unsound > WINDOW / 2;
        *self = Self::default();
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(start: u64, end: u64) -> [u8; 32] {
        let mut record = [0; 32];
        record[16..24].copy_from_slice(&start.to_ne_bytes());
        record[24..].copy_from_slice(&end.to_ne_bytes());
        record
    }

    /// How often times are reported lost in `windows` windows that each begin with `unsound` invalid records.
    fn lost(windows: u32, unsound: u32, record: [u8; 32]) -> u32 {
        let mut timing_check = TimingCheck::default();
        (0..windows * WINDOW)
            .filter(|at| {
                let bad = at % WINDOW < unsound;
                timing_check.lost(&if bad { record } else { kernel(5, 7) })
            })
            .count() as u32
    }

    #[test]
    fn more_than_half_of_a_window_is_lost() {
        for record in [kernel(0, 0), kernel(9, 8), kernel(0, 8)] {
            assert_eq!(lost(3, WINDOW / 2, record), 0);
            assert_eq!(lost(3, WINDOW / 2 + 1, record), 3);
        }
    }

    #[test]
    fn work_that_is_not_over_is_not_lost() {
        assert_eq!(lost(2, WINDOW, kernel(9, 0)), 0);
    }

    #[test]
    fn a_short_record_does_not_panic() {
        assert!(!TimingCheck::default().lost(&[0; 20]));
    }
}
