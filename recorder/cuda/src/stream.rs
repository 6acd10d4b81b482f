//! Streams whose work is recorded.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaStream, LaunchConfig};
use trueno_recorder::{LaunchGuard, Name, SpanId};

use crate::error::Error;
use crate::launch::Launch;
use crate::module::Kernel;
use crate::recorded::Cuda;

/// A stream: what is given to it through here is recorded. It is also the stream of cudarc, whose own methods
/// record nothing. Cheap to clone; clones are the same stream.
#[derive(Clone)]
pub struct Stream {
    pub(crate) cuda: Cuda,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) number: u32,
    order: Arc<Mutex<Order>>,
}

#[derive(Default)]
pub(crate) struct Order {
    /// The last row of this stream.
    pub last: Option<SpanId>,
    /// Rows of other streams that were waited for since.
    pub waited: Vec<SpanId>,
}

impl Deref for Stream {
    type Target = Arc<CudaStream>;

    fn deref(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

impl Stream {
    pub(crate) fn new(cuda: Cuda, stream: Arc<CudaStream>) -> Self {
        let number = cuda.device.number_of(&stream);
        Self {
            cuda,
            stream,
            number,
            order: Arc::default(),
        }
    }

    /// Its number in rows (column `stream`); also for
    /// [`BrickGuard::stream`](trueno_recorder::BrickGuard::stream).
    pub fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prepares a launch; [`Launch::submit`] makes it.
    pub fn launch<'a>(&'a self, kernel: &'a Kernel, config: LaunchConfig) -> Launch<'a> {
        Launch::new(self, kernel, config)
    }

    /// Anything that gives work to this stream without the methods here, such as a call of a library: one row of `kernels`
    /// of that name, from the start of what it gave to the end of it. It is one row however many kernels that is.
    ///
    /// # Errors
    /// Those of `submit`; there is no row then.
    #[track_caller]
    pub fn range<T, E>(
        &self,
        name: impl Into<Name>,
        submit: impl FnOnce(&Arc<CudaStream>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut guard = self.open(name);
        guard.begin();
        match submit(&self.stream) {
            Ok(done) => {
                self.submitted(guard);
                Ok(done)
            }
            Err(error) => {
                guard.cancel();
                Err(error)
            }
        }
    }

    #[track_caller]
    pub(crate) fn open(&self, name: impl Into<Name>) -> LaunchGuard<'_> {
        let mut guard = self.cuda.rec.launch(name, self.cuda.number(), self.number);
        guard.backend("cuda");
        guard
    }

    pub(crate) fn submitted(&self, mut guard: LaunchGuard<'_>) {
        guard.end();
        let id = guard.id();
        drop(guard);
        self.came(id);
    }

    /// Adds edges to a row from everything that the stream waited for.
    pub(crate) fn came(&self, id: SpanId) {
        let mut order = self.order();
        let waited = std::mem::take(&mut order.waited);
        order.last = Some(id);
        drop(order);
        for from in waited {
            self.cuda.rec.depends(from, id);
        }
    }

    /// Waits until the stream has done all it was given. Recorded as a row of `syncs`, joined by the last row here.
    ///
    /// # Errors
    /// The driver's error.
    pub fn synchronize(&self) -> Result<(), Error> {
        let last = self.order().last.unwrap_or(SpanId::NONE);
        let wait = self.cuda.rec.wait("cuStreamSynchronize", &[last]);
        let done = self.stream.synchronize();
        drop(wait);
        done.map_err(Error::call("cannot wait for the stream"))
    }
}
