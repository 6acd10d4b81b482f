//! The least that keeps a raw event: two readings of the clock and one cache line stored.

use std::hint::black_box;

#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Line([u64; 8]);

const LINES: usize = 4096;

/// A ring of 256 KiB that is overwritten in a loop.
pub struct Floor {
    ring: Box<[Line]>,
    at: usize,
}

impl Floor {
    pub fn new() -> Self {
        let ring = vec![Line::default(); LINES].into_boxed_slice();
        Self { ring, at: 0 }
    }

    #[inline(always)]
    pub fn span(&mut self, i: u64, work: impl FnOnce()) {
        let start = ticks();
        work();
        let end = ticks();
        self.ring[self.at % LINES] = Line([start, end, i, 7, i << 2, i << 1, 3, 9]);
        self.at += 1;
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        black_box(self.ring.iter().fold(0, |sum, line| sum ^ line.0[0]));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: the instruction is there on every x86-64 processor.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
