//! Order between streams.

use std::sync::Arc;

use cudarc::driver::CudaEvent;
use trueno_recorder::SpanId;

use crate::error::Error;
use crate::stream::Stream;

/// A point of a stream that other streams can wait for; from [`Stream::record`].
#[derive(Clone, Debug)]
pub struct Event {
    event: Arc<CudaEvent>,
    behind: Option<SpanId>,
}

impl Event {
    /// The event, as cudarc has it.
    pub fn event(&self) -> &CudaEvent {
        &self.event
    }
}

impl Stream {
    /// An event behind what the stream was given so far.
    ///
    /// # Errors
    /// The driver's error.
    pub fn record(&self) -> Result<Event, Error> {
        let event = self
            .stream
            .record_event(None)
            .map_err(Error::call("cannot record an event"))?;
        Ok(Event {
            event: Arc::new(event),
            behind: self.order().last,
        })
    }

    /// Lets all later work of this stream come after `event`. The next row here gets an edge of kind `depends_on`
    /// from the row that the event lies behind.
    ///
    /// # Errors
    /// The driver's error.
    pub fn wait(&self, event: &Event) -> Result<(), Error> {
        self.stream
            .wait(&event.event)
            .map_err(Error::call("cannot wait for an event"))?;
        self.order().waited.extend(event.behind);
        Ok(())
    }
}
