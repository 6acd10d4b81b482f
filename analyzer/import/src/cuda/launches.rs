//! Which call began which work of a device.

/// A call that has a correlation id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Process and correlation id.
    pub key: u64,
    /// Its row of `calls`.
    pub call: u64,
    /// The enclosing row of `bricks`; 0: none.
    pub brick: u64,
    pub start_ns: i64,
    pub end_ns: i64,
    pub thread: u32,
    pub manner: Manner,
}

/// What the name of a call says about how it waits.
///
/// Of copies, nothing in an export says whether they block; and of waits, `syncType` is not to be
/// trusted: exports of 2024 and of 2026 give the numbers of other kinds than the calls that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// A copy that returns when it has ended.
    Blocks,
    /// A copy or fill that may return before.
    ReturnsEarly,
    /// Waits for all of a device.
    Device,
    /// Waits for a stream.
    Stream,
    /// Waits for an event.
    Event,
    /// Has a stream wait for an event.
    StreamWait,
    /// Nothing.
    Unknown,
}

impl Manner {
    pub fn of_call(name: &str) -> Self {
        let name = name.trim_end_matches("_ptsz");
        match name.split_once("_v").map_or(name, |(name, _)| name) {
            "cudaDeviceSynchronize" | "cudaThreadSynchronize" | "cuCtxSynchronize" => Self::Device,
            "cudaStreamSynchronize" | "cuStreamSynchronize" => Self::Stream,
            "cudaEventSynchronize" | "cuEventSynchronize" => Self::Event,
            "cudaStreamWaitEvent" | "cuStreamWaitEvent" => Self::StreamWait,
            _ => Self::of_copy(name),
        }
    }

    fn of_copy(name: &str) -> Self {
        let copies = name.starts_with("cudaMemcpy") || name.starts_with("cuMemcpy");
        let fills = name.starts_with("cudaMemset") || name.starts_with("cuMemset");
        match name.contains("Async") {
            true if copies || fills => Self::ReturnsEarly,
            false if copies => Self::Blocks,
            // cudaMemset of device memory returns early, of pinned memory late.
            _ => Self::Unknown,
        }
    }

    /// The kind of a row of `syncs`.
    pub fn wait(self) -> Option<&'static str> {
        match self {
            Self::Device => Some("device"),
            Self::Stream => Some("stream"),
            Self::Event => Some("event"),
            Self::StreamWait => Some("stream_wait"),
            Self::Blocks | Self::ReturnsEarly | Self::Unknown => None,
        }
    }
}

/// What is known of a correlation id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link<'l> {
    /// No call has it.
    None,
    /// The outermost call that has it.
    To(&'l Launch),
    /// Calls that do not enclose each other have it.
    Ambiguous,
}

/// Launches by key, once all calls are read.
#[derive(Debug, Default)]
pub struct Launches {
    calls: Vec<Launch>,
}

impl Launches {
    /// Adds a call; calls come in order of their start.
    pub fn push(&mut self, launch: Launch) {
        self.calls.push(launch);
    }

    /// No more calls.
    pub fn sort(&mut self) {
        // Stable: of one key, the order of starts stays.
        self.calls.sort_by_key(|launch| launch.key);
    }

    /// The call of that key.
    pub fn get(&self, key: u64) -> Link<'_> {
        let first = self.calls.partition_point(|launch| launch.key < key);
        let Some(outer) = self.calls.get(first).filter(|launch| launch.key == key) else {
            return Link::None;
        };
        let inner = self.calls[first + 1..]
            .iter()
            .take_while(|launch| launch.key == key);
        // A call of the runtime and the call of the driver in it share an id.
        if inner
            .into_iter()
            .all(|inner| inner.thread == outer.thread && inner.end_ns <= outer.end_ns)
        {
            Link::To(outer)
        } else {
            Link::Ambiguous
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(key: u64, call: u64, start_ns: i64, end_ns: i64) -> Launch {
        Launch {
            key,
            call,
            brick: 0,
            start_ns,
            end_ns,
            thread: 0,
            manner: Manner::Unknown,
        }
    }

    #[test]
    fn nested_calls_of_one_id_are_one_launch_and_others_are_ambiguous() {
        let mut launches = Launches::default();
        for call in [
            launch(7, 1, 0, 10),
            launch(7, 2, 3, 9),
            launch(8, 3, 12, 13),
            launch(8, 4, 20, 30),
        ] {
            launches.push(call);
        }
        launches.sort();
        assert_eq!(launches.get(6), Link::None);
        assert!(matches!(launches.get(7), Link::To(Launch { call: 1, .. })));
        assert_eq!(launches.get(8), Link::Ambiguous);
        assert_eq!(launches.get(9), Link::None);
    }

    #[test]
    fn names_say_how_a_call_waits() {
        assert_eq!(Manner::of_call("cudaMemcpy"), Manner::Blocks);
        assert_eq!(
            Manner::of_call("cuMemcpyHtoDAsync_v2"),
            Manner::ReturnsEarly
        );
        assert_eq!(Manner::of_call("cudaMemset"), Manner::Unknown);
        assert_eq!(Manner::of_call("cudaGraphLaunch"), Manner::Unknown);
        assert_eq!(
            Manner::of_call("cudaDeviceSynchronize").wait(),
            Some("device")
        );
        assert_eq!(
            Manner::of_call("cuStreamWaitEvent_ptsz").wait(),
            Some("stream_wait")
        );
    }
}
