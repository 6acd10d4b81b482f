//! The kernel's event of a thread that is woken, told by who wakes it: the tracepoint `sched:sched_waking`.

use crate::event::ThreadOf;
use crate::raw_sample::Pieces;
use crate::tracepoint::{self, Context, Field, Tracepoint};

const NAME: &str = "sched/sched_waking";
const FIELDS: [Field; 2] = [(" pid", 4), (" prio", 4)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waking {
    pub by: ThreadOf,
    pub woken: u32,
    /// In an interrupt, the waker is not the interrupted thread.
    pub context: Context,
}

/// Finds the tracepoint. The error is the end of a sentence.
pub(crate) fn find() -> Result<Tracepoint, String> {
    tracepoint::find(NAME, FIELDS)
}

pub(crate) fn read(of: &Tracepoint, from: Pieces<'_>) -> Option<(u64, Waking)> {
    let hit = of.read(from)?;
    let waking = Waking {
        by: hit.by,
        woken: hit.u32(of.fields_at[0])?,
        context: hit.context,
    };
    Some((hit.time_ns, waking))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoint::tests::{FORMAT, sample};

    #[test]
    fn a_waking_tells_both_threads_and_whom_the_processor_worked_for() {
        let of = tracepoint::parse("316", FORMAT, FIELDS).unwrap();
        let mut own = vec![0; 36];
        own[2] = 0x10;
        own[24..28].copy_from_slice(&9_u32.to_ne_bytes());
        let waking = Waking {
            by: ThreadOf {
                process: 7,
                thread: 8,
            },
            woken: 9,
            context: Context::SoftInterrupt,
        };
        let read = read(&of, Pieces::new(&[&sample(&own)]));
        assert_eq!(read, Some((50, waking)));
    }
}
