//! File access: the host reads or writes files while devices have nothing to do.
//!
//! Evidence: calls of the C library and the kernel that read, write, open or flush files (as Nsight Systems records them with
//! `--trace=osrt`), at least `least_gaps` of them, on the critical path between the first and the last work of devices. Gain: what of
//! them could go on beside the work of devices, no more than the run would save without the host's work. Whether a
//! descriptor is a file or a pipe is not recorded.

use super::calls_between::CallsBetween;
use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Idle, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, percent, time};

pub const CLASS: Class =
    Class::new("file_access", 6).explaining(&["blocking_copies", "serialisation", "sync_bound"]);

const CALLS: [&str; 40] = [
    "read",
    "pread",
    "pread64",
    "readv",
    "preadv",
    "preadv64",
    "fread",
    "fread_unlocked",
    "fgets",
    "fgetc",
    "getc",
    "getline",
    "fscanf",
    "write",
    "pwrite",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev64",
    "fwrite",
    "fwrite_unlocked",
    "fputs",
    "fputc",
    "putc",
    "fprintf",
    "vfprintf",
    "fflush",
    "fsync",
    "fdatasync",
    "msync",
    "sendfile",
    "open",
    "open64",
    "openat",
    "openat64",
    "fopen",
    "fopen64",
    "fclose",
    "close",
    "lseek",
];

thresholds! {
    pub struct FileAccess {
    }
}

impl Rule for FileAccess {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let Some(found) = CallsBetween::find(facts, options, |name| CALLS.contains(&name)) else {
            return;
        };
        let most = found.names[0];
        let spans = &facts.idle.spans;
        let busy_ns = spans.iter().map(|span| span.3).max().unwrap_or(0);
        Draft {
            class: CLASS,
            code: "file_access",
            scope_kind: "run",
            scope: most.to_owned(),
            place: Idle::device_name(spans[0].0),
            confidence: (
                Confidence::Medium,
                "the calls are on the critical path; assumes that they can overlap device work".into(),
            ),
            lead: format!(
                "the host reads or writes files for {} of the wall while devices wait (most in {most})",
                percent(facts.share(found.path_ns))
            ),
            fix: "overlapping file access with the device".into(),
            evidence: found.sql(facts),
            assumption: "files are read ahead and written behind by another thread".into(),
            considered: format!(
                "{} calls on files in all, {} of them on the critical path after the first device work; whether each is a file or a pipe is not recorded",
                count(found.calls),
                time(found.path_ns)
            ),
            suggestion: "read ahead and write behind on another thread, in large pieces and with two buffers, or copy to the device from there".into(),
        }
        .with_gain(facts, options, facts.evidence(found.calls, &found.times), (found.path_ns.min(busy_ns), Without::Host), verdicts);
    }
}
