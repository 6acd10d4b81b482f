//! Kernel sources, kept beside the tables under their hash.

use xxhash_rust::xxh3::xxh3_64;

/// Names a kernel source: the file `ptx/<hash>.ptx` of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PtxHash(u64);

impl PtxHash {
    /// XXH3-64 over the source's bytes.
    pub fn from_source(source: &str) -> Self {
        Self(xxh3_64(source.as_bytes()))
    }

    /// The hash of that number.
    pub fn from_number(hash: u64) -> Self {
        Self(hash)
    }

    /// The number; printed as 16 hex digits it names the file.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl std::fmt::Display for PtxHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
