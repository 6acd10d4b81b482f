//! Kernel sources, kept once each.

use std::sync::Arc;

use crate::mailbox::Request;
use crate::recorder::Recorder;
use trueno_format::PtxHash;
use trueno_format::schema::TableId;

impl Recorder {
    /// Stores the source of a kernel or module; pass the result to
    /// [`KernelGuard::ptx`](crate::KernelGuard::ptx).
    ///
    /// Call it once per source: it hashes and copies the text. The writer thread stores it.
    pub fn ptx(&self, name: &str, source: &str) -> PtxHash {
        if self.is_off() {
            return PtxHash::from_number(0);
        }
        let hash = PtxHash::from_source(source);
        if self.records(TableId::Ptx) {
            let request = Request::Ptx {
                hash: hash.get(),
                name: name.to_owned(),
                source: Arc::from(source),
            };
            self.shared().mailbox.request(request);
        }
        hash
    }
}
