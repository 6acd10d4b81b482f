//! The one place where the clocks are read, so that a test can count it.

use trueno_recorder::Recorder;
use trueno_recorder::finished::Moment;

pub fn now(rec: &Recorder) -> Moment {
    #[cfg(test)]
    tests::count_reading();
    Moment::now(rec)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use trueno_recorder::{BrickId, Recorder, TileLevel};

    use crate::BrickProfiler;

    thread_local! {
        static READINGS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count_reading() {
        READINGS.set(READINGS.get() + 1);
    }

    fn readings(work: impl FnOnce()) -> u64 {
        let before = READINGS.get();
        work();
        READINGS.get() - before
    }

    /// Claim F105: disabled costs nothing. The original read the clock all the same.
    #[test]
    fn f105_a_disabled_profiler_reads_no_clock() {
        let mut profiler = BrickProfiler::with_recorder(Recorder::disabled());
        let time = |profiler: &mut BrickProfiler| {
            let timer = profiler.start_brick(BrickId::LmHead);
            profiler.stop_brick(timer, 1);
            let timer = profiler.start("mine");
            profiler.stop(timer, 1);
            let tile = profiler.start_tile(TileLevel::Macro, 0, 0);
            profiler.stop_tile(tile, 1, 1);
            profiler.record_deferred(BrickId::LmHead, 0, 1);
        };
        assert_eq!(readings(|| time(&mut profiler)), 0);
        profiler.enable();
        assert!(
            readings(|| time(&mut profiler)) >= 5,
            "readings are counted"
        );
    }
}
