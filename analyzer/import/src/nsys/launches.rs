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
    /// What the name of the call says about it.
    pub blocking: Blocking,
}

/// Whether a call returns only when its work has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    Yes,
    No,
    Unknown,
}

impl Blocking {
    /// As the names of copies and fills say; nothing in an export does.
    pub fn of_call(name: &str) -> Self {
        let copies = ["cudaMemcpy", "cuMemcpy"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        let fills = ["cudaMemset", "cuMemset"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        match name.contains("Async") {
            true if copies || fills => Self::No,
            false if copies => Self::Yes,
            // cudaMemset of device memory returns early, of pinned memory late.
            _ => Self::Unknown,
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
            blocking: Blocking::Unknown,
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
    fn names_say_whether_a_copy_blocks() {
        assert_eq!(Blocking::of_call("cudaMemcpy"), Blocking::Yes);
        assert_eq!(Blocking::of_call("cuMemcpyHtoDAsync_v2"), Blocking::No);
        assert_eq!(Blocking::of_call("cudaMemset"), Blocking::Unknown);
        assert_eq!(Blocking::of_call("cudaGraphLaunch"), Blocking::Unknown);
    }
}
