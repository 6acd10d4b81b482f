//! Kernel sources, kept once each.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::record::TableNumber;
use crate::recorder::Recorder;
use crate::session_state::Request;

/// Names a kernel source: the file `ptx/<hash>.ptx` of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PtxHash(u64);

impl PtxHash {
    /// XXH3-64 over the source's bytes.
    pub fn from_source(source: &str) -> Self {
        Self(xxh3_64(source.as_bytes()))
    }

    pub(crate) fn from_number(hash: u64) -> Self {
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

impl Recorder {
    /// Keeps the source of a kernel or module; give the result to
    /// [`KernelGuard::ptx`](crate::KernelGuard::ptx).
    ///
    /// Call it once a source: it hashes and copies the text. The writer thread stores it.
    pub fn ptx(&self, name: &str, source: &str) -> PtxHash {
        if self.is_off() {
            return PtxHash(0);
        }
        let hash = PtxHash::from_source(source);
        if self.records(TableNumber::Ptx) {
            let request = Request::Ptx {
                hash: hash.0,
                name: name.to_owned(),
                source: Arc::from(source),
            };
            self.shared().request(request);
        }
        hash
    }
}
