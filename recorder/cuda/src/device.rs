//! A GPU as the device of a recorder.

use std::sync::{Arc, PoisonError, RwLock};

use cudarc::driver::{CudaContext, CudaStream};
use trueno_recorder::Device;

use crate::driver;
use crate::error::{Error, words};
use crate::events::Events;
use crate::injected::Injected;
use crate::symbols;

/// A GPU: give it to [`Builder::device`](trueno_recorder::Builder::device).
///
/// Marks are CUDA events from a pool. The device is waited for as a whole (`cuCtxSynchronize`), where the recorder's
/// [`SyncMode`](trueno_recorder::SyncMode) asks for it and nowhere else. Its clock is an event on a stream of its own:
/// reading it waits for nothing of the program's.
pub struct CudaDevice {
    context: Arc<CudaContext>,
    events: Events,
    streams: RwLock<Vec<Arc<CudaStream>>>,
    name: String,
    driver: Option<i32>,
    /// Set if CUPTI measures in this process: then no events are recorded.
    injected: Option<Injected>,
}

impl CudaDevice {
    /// Opens a device by its number, with its primary context.
    ///
    /// # Errors
    /// No driver, one that is too old, or no such device; the driver's error.
    pub fn open(number: usize) -> Result<Arc<Self>, Error> {
        let driver = driver::find()?;
        driver.check_functions(symbols::NEEDED)?;
        driver.check_device(number)?;
        let context = CudaContext::new(number).map_err(Error::call("cannot open the device"))?;
        Self::from_context(context)
    }

    /// Makes a device of a context that the program has already.
    ///
    /// # Errors
    /// As [`CudaDevice::open`].
    pub fn from_context(context: Arc<CudaContext>) -> Result<Arc<Self>, Error> {
        driver::find()?.check_functions(symbols::NEEDED)?;
        let name = context
            .name()
            .map_err(Error::call("cannot read the device's name"))?;
        let events = Events::new(&context).map_err(Error::call("cannot make events"))?;
        let mut version = 0;
        // SAFETY: valid for the write.
        let known = unsafe { cudarc::driver::sys::cuDriverGetVersion(&mut version) } as u32 == 0;
        Ok(Arc::new(Self {
            context,
            events,
            streams: RwLock::default(),
            name,
            driver: known.then_some(version),
            injected: Injected::here(),
        }))
    }

    pub(crate) fn injected(&self) -> Option<Injected> {
        self.injected
    }

    /// The context, as cudarc has it.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// The number that rows have for a stream (column `stream`): given in the order of first use here, from 1.
    pub fn number_of(&self, stream: &Arc<CudaStream>) -> u32 {
        let at = |streams: &[Arc<CudaStream>]| streams.iter().position(|known| known == stream);
        let number = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
        let known = at(&self.streams.read().unwrap_or_else(PoisonError::into_inner));
        if let Some(at) = known {
            return number(at);
        }
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = at(&streams) {
            return number(at);
        }
        streams.push(stream.clone());
        number(streams.len() - 1)
    }

    fn stream(&self, number: u32) -> Option<Arc<CudaStream>> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        let streams = self.streams.read().unwrap_or_else(PoisonError::into_inner);
        streams.get(at).cloned()
    }
}

impl Device for CudaDevice {
    fn number(&self) -> u32 {
        self.context.ordinal() as u32
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn synchronize(&self) -> Result<(), String> {
        self.context.synchronize().map_err(|error| words(&error))
    }

    fn clock_ns(&self) -> Option<u64> {
        if self.injected.is_some() {
            return None;
        }
        self.events.now_ns()
    }

    fn mark(&self, stream: u32) -> Option<u64> {
        self.events.mark(&*self.stream(stream)?).ok()
    }

    fn time_ns(&self, mark: u64) -> Option<u64> {
        self.events.time_ns(mark)
    }

    fn release(&self, mark: u64) {
        self.events.release(mark);
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = if self.injected.is_some() {
            let where_else = "none here: CUPTI's are in the recording of trueno-record run";
            vec![("time_source", where_else.to_owned())]
        } else {
            vec![
                ("time_source", "cuda_event".to_owned()),
                ("resolution_ns", self.events.resolution_ns().to_string()),
            ]
        };
        if let Some(version) = self.driver {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            facts.push(("driver", format!("CUDA {major}.{minor}")));
        }
        facts
    }
}
