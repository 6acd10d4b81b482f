//! Samples as the kernel writes them into its buffer. Of a stack only what was filled is copied, once: most of the room
//! that the kernel keeps for it stays empty.

use crate::event::{Raw, ThreadOf};
use crate::registers::{self, Registers};

/// Longer chains are treated as damage. The kernel's own limit is 127 and configurable.
const MAX_CHAIN: u64 = 1 << 16;
/// Values from here on are not addresses but mark the kind of the addresses that follow.
const MAX_CONTEXT: u64 = -4095_i64 as u64;
const KERNEL_CONTEXT: u64 = -128_i64 as u64;

/// Content of a record after the header: one piece, or two if the ring buffer wraps round in it.
#[derive(Clone)]
pub(crate) struct Pieces<'a> {
    now: &'a [u8],
    next: &'a [u8],
}

impl<'a> Pieces<'a> {
    pub fn new(pieces: &[&'a [u8]]) -> Self {
        Self {
            now: pieces.first().copied().unwrap_or_default(),
            next: pieces.get(1).copied().unwrap_or_default(),
        }
    }

    /// Advances by at most this many bytes and returns those in the current piece.
    fn step(&mut self, bytes: usize) -> &'a [u8] {
        if self.now.is_empty() {
            self.now = std::mem::take(&mut self.next);
        }
        let (taken, rest) = self.now.split_at(bytes.min(self.now.len()));
        self.now = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut array = [0; N];
        let mut filled = 0;
        while filled < N {
            let piece = self.step(N - filled);
            if piece.is_empty() {
                return None;
            }
            array[filled..filled + piece.len()].copy_from_slice(piece);
            filled += piece.len();
        }
        Some(array)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    pub fn skip(&mut self, bytes: usize) -> Option<()> {
        let mut left = bytes;
        while left > 0 {
            let piece = self.step(left);
            if piece.is_empty() {
                return None;
            }
            left -= piece.len();
        }
        Some(())
    }

    pub fn copy(&mut self, bytes: usize, to: &mut Vec<u8>) -> Option<()> {
        while to.len() < bytes {
            let piece = self.step(bytes - to.len());
            if piece.is_empty() {
                return None;
            }
            to.extend_from_slice(piece);
        }
        Some(())
    }
}

/// Parses a sample with a stack, in the form that [`crate::opening`] requests. Copies the stack into the given
/// buffer.
pub(crate) fn with_stack(mut from: Pieces<'_>, mut stack: Vec<u8>) -> Option<(u64, Raw)> {
    let of = ThreadOf {
        process: from.u32()?,
        thread: from.u32()?,
    };
    let time_ns = from.u64()?;
    let (cpu, _) = (from.u32()?, from.u32()?);
    let period = from.u64()?;
    let length = from.u64().filter(|length| *length <= MAX_CHAIN)?;
    let chain = (0..length)
        .map(|_| from.u64())
        .collect::<Option<Vec<_>>>()?;
    let has_registers = from.u64()? != 0;
    let registers = if has_registers {
        let mut values = [0; registers::COUNT];
        for value in &mut values {
            *value = from.u64()?;
        }
        Registers::new(&values)
    } else {
        None
    };
    let room_bytes = usize::try_from(from.u64()?).ok()?;
    stack.clear();
    if room_bytes > 0 {
        // How much of the room is filled stands behind it.
        let mut behind = from.clone();
        behind.skip(room_bytes)?;
        let filled_bytes = usize::try_from(behind.u64()?).unwrap_or(usize::MAX);
        from.copy(filled_bytes.min(room_bytes), &mut stack)?;
    }
    let raw = Raw {
        of,
        cpu: Some(cpu),
        period,
        kernel: kernel_part(&chain),
        registers,
        stack,
    };
    Some((time_ns, raw))
}

fn kernel_part(chain: &[u64]) -> Vec<u64> {
    let begin = chain.iter().position(|address| *address == KERNEL_CONTEXT);
    let rest = begin.map_or(&[][..], |at| &chain[at + 1..]);
    let addresses = rest.iter().take_while(|address| **address < MAX_CONTEXT);
    addresses.copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_part_of_a_chain_ends_where_the_programs_begins() {
        let user = -512_i64 as u64;
        let chain = [KERNEL_CONTEXT, 7, 8, user, 9];
        assert_eq!(kernel_part(&chain), [7, 8]);
        assert!(kernel_part(&[user, 9]).is_empty());
        assert!(kernel_part(&[]).is_empty());
    }

    /// A sample with 32 bytes for its stack, of which this many are filled.
    fn sample(filled_bytes: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend([11_u32, 12].map(u32::to_ne_bytes).as_flattened());
        bytes.extend(77_u64.to_ne_bytes());
        bytes.extend([3_u32, 0].map(u32::to_ne_bytes).as_flattened());
        bytes.extend(
            [1000, 2, KERNEL_CONTEXT, 5, 2]
                .map(u64::to_ne_bytes)
                .as_flattened(),
        );
        (0..registers::COUNT as u64).for_each(|value| bytes.extend(value.to_ne_bytes()));
        bytes.extend(32_u64.to_ne_bytes());
        bytes.extend((0..32).map(|at| if at < filled_bytes as u8 { at } else { 0xEE }));
        bytes.extend(filled_bytes.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_sample_is_the_same_wherever_the_buffer_begins_anew_in_it() {
        let bytes = sample(20);
        for cut in 0..=bytes.len() {
            let (before, behind) = bytes.split_at(cut);
            let (time_ns, raw) = with_stack(Pieces::new(&[before, behind]), vec![9; 5]).unwrap();
            assert_eq!((time_ns, raw.of.process, raw.of.thread), (77, 11, 12));
            assert_eq!((raw.cpu, raw.period, raw.kernel), (Some(3), 1000, vec![5]));
            assert!(raw.registers.is_some());
            assert_eq!(raw.stack, (0..20).collect::<Vec<u8>>(), "{cut}");
        }
    }

    #[test]
    fn what_is_cut_is_no_sample_and_a_full_room_is_its_stack() {
        let bytes = sample(32);
        assert_eq!(
            with_stack(Pieces::new(&[&bytes]), Vec::new())
                .unwrap()
                .1
                .stack
                .len(),
            32
        );
        for length in 0..bytes.len() {
            assert!(with_stack(Pieces::new(&[&bytes[..length]]), Vec::new()).is_none());
        }
        // More than there was room for cannot be.
        let mut odd = sample(20);
        let at = odd.len() - 8;
        odd[at..].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert_eq!(
            with_stack(Pieces::new(&[&odd]), Vec::new())
                .unwrap()
                .1
                .stack
                .len(),
            32
        );
    }
}
