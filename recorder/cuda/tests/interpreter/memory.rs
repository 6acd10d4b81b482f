//! Device memory, and what may be touched of it.

#[derive(Default)]
pub struct Memory {
    regions: Vec<(u64, Vec<u8>)>,
}

const FIRST: u64 = 0x7f00_0000_0000;
const APART: u64 = 0x1_0000_0000;

impl Memory {
    /// Maps bytes at an address that is `misaligned` bytes past a multiple of 256.
    pub fn lend(&mut self, bytes: &[u8], misaligned: u64) -> u64 {
        let at = FIRST + APART * self.regions.len() as u64 + misaligned;
        self.regions.push((at, bytes.to_vec()));
        at
    }

    pub fn reserve(&mut self, bytes: usize) -> u64 {
        let at = FIRST + APART * self.regions.len() as u64;
        self.regions.push((at, vec![0; bytes]));
        at
    }

    pub fn write(&mut self, address: u64, data: &[u8]) {
        let nth = (address.wrapping_sub(FIRST) / APART) as usize;
        let (at, bytes) = &mut self.regions[nth];
        let from = (address - *at) as usize;
        bytes[from..from + data.len()].copy_from_slice(data);
    }

    pub fn bytes(&self, address: u64) -> &[u8] {
        let (at, bytes) = self.region(address);
        &bytes[(address - at) as usize..]
    }

    fn region(&self, address: u64) -> (u64, &Vec<u8>) {
        let nth = (address.wrapping_sub(FIRST) / APART) as usize;
        let (at, bytes) = self
            .regions
            .get(nth)
            .unwrap_or_else(|| panic!("access to {address:#x}, where nothing is"));
        (*at, bytes)
    }

    pub(super) fn load(&self, address: u64, size: usize) -> u64 {
        check_aligned(address, size);
        let (at, bytes) = self.region(address);
        let from = address.wrapping_sub(at) as usize;
        let bytes = bytes
            .get(from..from.saturating_add(size))
            .unwrap_or_else(|| {
                panic!(
                    "read of {size} bytes at {from} of a region of {}",
                    bytes.len()
                )
            });
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    pub(super) fn store(&mut self, address: u64, size: usize, value: u64) {
        check_aligned(address, size);
        let nth = (address.wrapping_sub(FIRST) / APART) as usize;
        let (at, bytes) = self
            .regions
            .get_mut(nth)
            .unwrap_or_else(|| panic!("write to {address:#x}, where nothing is"));
        let (from, room) = (address.wrapping_sub(*at) as usize, bytes.len());
        let to = bytes
            .get_mut(from..from.saturating_add(size))
            .unwrap_or_else(|| panic!("write of {size} bytes at {from} of a region of {room}"));
        to.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

fn check_aligned(address: u64, size: usize) {
    assert!(
        address.is_multiple_of(size as u64),
        "access of {size} bytes at {address:#x}"
    );
}
