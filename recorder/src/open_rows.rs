//! Rows that were still open when the recording ended: they are in no table, and the run says so.
//!
//! Each thread stores how many rows it has open, one relaxed store a row, and the writer looks when it has read the rings
//! for the last time. Such a run is not complete.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::lock::lock;
use crate::session_state::SessionState;

/// Threads that are named; the others are summed up.
const NAMED: usize = 8;

/// Open rows of the thread that ends the recording: its number, and counts by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfThread {
    thread: u32,
    /// In the order in which the first of them began.
    kinds: Vec<(&'static str, u64)>,
}

impl OfThread {
    pub fn new(thread: u32, open: impl Iterator<Item = &'static str>) -> Self {
        let mut kinds: Vec<(&'static str, u64)> = Vec::new();
        for kind in open {
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
        Self { thread, kinds }
    }

    fn rows(&self) -> u64 {
        self.kinds.iter().map(|(_, count)| count).sum()
    }

    fn words(&self) -> String {
        let words = self.kinds.iter().map(|(kind, count)| match count {
            1 => (*kind).to_owned(),
            _ => format!("{count} {kind}s"),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Rows whose end came after that of the recording, or is yet to come.
#[derive(Debug, Default)]
pub(crate) struct OpenRows {
    by_thread: BTreeMap<u32, u64>,
    /// Open rows of the ending thread.
    ending: Option<OfThread>,
    /// Intervals without a thread.
    detached: u64,
    /// Work of open bricks on their streams.
    of_device: u64,
    /// Their end came while the run was being written; of which threads is not known.
    meanwhile: u64,
}

impl OpenRows {
    /// To be asked when the rings have been read for the last time: what is open now, or has
    /// ended since, is in no table. `ending` is the thread that ends the recording.
    ///
    /// Exact for every thread that the ending one knows to be between two calls of the recorder. Of
    /// another, the one row may be missed that it is opening or closing at this very moment.
    pub fn count(shared: &SessionState, ending: Option<OfThread>) -> Self {
        // Again where a row ended between one count and the other.
        loop {
            let meanwhile = shared.late();
            let threads = lock(&shared.threads.recording).clone();
            let open = threads
                .values()
                .map(|thread| (thread.index, thread.open_rows()));
            let found = Self {
                by_thread: open.filter(|(_, rows)| *rows > 0).collect(),
                detached: shared.counts.detached.load(Ordering::Relaxed),
                of_device: shared.counts.open_on_device.load(Ordering::Relaxed),
                ending: ending.clone(),
                meanwhile,
            };
            if shared.late() == meanwhile {
                return found;
            }
        }
    }

    pub fn rows(&self) -> u64 {
        self.by_thread.values().sum::<u64>() + self.detached + self.of_device + self.meanwhile
    }

    /// A sentence; `None`: there were none.
    pub fn text(&self) -> Option<String> {
        let rows = self.rows();
        if rows == 0 {
            return None;
        }
        let mut places: Vec<String> = self
            .by_thread
            .iter()
            .take(NAMED)
            .map(|(thread, rows)| {
                // It may have gone on meanwhile: a list of something else would mislead.
                let ending = self
                    .ending
                    .as_ref()
                    .filter(|ending| ending.thread == *thread && ending.rows() == *rows);
                match ending {
                    Some(ending) => format!("{rows} on thread {thread} ({})", ending.words()),
                    None => format!("{rows} on thread {thread}"),
                }
            })
            .collect();
        let others = self.by_thread.values().skip(NAMED);
        let of_others = (others.clone().count(), others.sum::<u64>());
        let more = [
            (
                of_others.1,
                format!("{} on {} other threads", of_others.1, of_others.0),
            ),
            (self.detached, format!("{} detached", self.detached)),
            (
                self.of_device,
                format!("{} of work on a device", self.of_device),
            ),
            (
                self.meanwhile,
                format!(
                    "{} that ended while the run was being closed",
                    self.meanwhile
                ),
            ),
        ];
        places.extend(more.into_iter().filter(|(n, _)| *n > 0).map(|(_, t)| t));
        let (were, are) = match rows {
            1 => ("row was", "is"),
            _ => ("rows were", "are"),
        };
        Some(format!(
            "{rows} {were} still open when the recording ended, and {are} not in the run: {} (hint: let guards go out of \
             scope before `Recorder::finish`)",
            places.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_no_problem() {
        assert_eq!(OpenRows::default().text(), None);
    }

    #[test]
    fn places_are_named_and_many_threads_summed_up() {
        let ending = OfThread::new(0, ["iteration", "layer", "brick", "brick"].into_iter());
        let mut open = OpenRows {
            by_thread: [(0, 4), (3, 1)].into(),
            ending: Some(ending),
            detached: 1,
            of_device: 2,
            meanwhile: 1,
        };
        assert_eq!(open.rows(), 9);
        assert_eq!(
            open.text().unwrap(),
            "9 rows were still open when the recording ended, and are not in the run: 4 on thread 0 \
             (iteration, layer, 2 bricks), 1 on thread 3, 1 detached, 2 of work on a device, 1 that \
             ended while the run was being closed (hint: let guards go out of scope before `Recorder::finish`)"
        );
        // The list is of another moment than the count.
        open.by_thread.insert(0, 3);
        assert!(open.text().unwrap().contains("3 on thread 0, 1 on"));
        let many = OpenRows {
            by_thread: (0..20).map(|thread| (thread, 2)).collect(),
            ..OpenRows::default()
        };
        let text = many.text().unwrap();
        assert!(text.starts_with("40 rows were"), "{text}");
        assert!(
            text.contains("2 on thread 7, 24 on 12 other threads (hint"),
            "{text}"
        );
        let one = OpenRows {
            detached: 1,
            ..OpenRows::default()
        };
        assert!(one.text().unwrap().starts_with("1 row was still open"));
    }
}
