//! Memory that the system gave a program, by its recorded system calls.
//!
//! Anonymous `mmap`, growth of `brk`, and what `mremap` made. Rows do not say which addresses `munmap` took, so nothing
//! is subtracted: the sum is a bound from above. It says that a budget holds, never that one is violated.

use trueno_engine::frame::Rows;
use trueno_engine::query::{QueryError, collect};

use super::loss::Tables;
use super::subject::Subject;

/// Upper bound on mapped bytes; `None` unless these calls were completely recorded for one process.
pub(super) fn mapped_bytes(subject: &Subject<'_>) -> Result<Option<u64>, String> {
    bound(subject).map_err(|error| error.to_string())
}

fn bound(subject: &Subject<'_>) -> Result<Option<u64>, QueryError> {
    let tables = Tables::from_names(["calls", "threads"]);
    let processes = collect(
        &subject.database,
        "SELECT DISTINCT process FROM threads WHERE thread IN (SELECT thread FROM calls)",
    )?;
    // A child begins with the memory of its parent.
    if processes.height() != 1 || subject.missing(&tables).is_some() {
        return Ok(None);
    }
    // What is mapped of a file is the file's.
    let calls = "SELECT CAST(name AS VARCHAR) AS name, status, CASE WHEN target IS NULL THEN bytes END AS bytes FROM calls \
                 WHERE kind = 'syscall' AND errno IS NULL AND name IN ('execve', 'brk', 'mmap', 'mremap') \
                 ORDER BY start_ns";
    let frame = collect(&subject.database, calls)?;
    let rows = Rows::new(&frame);
    let (names, status, bytes) = (rows.text("name")?, rows.i64("status")?, rows.u64("bytes")?);
    let (mut total, mut end, mut has) = (0_u64, None, [false; 2]);
    for row in 0..frame.height() {
        match names.get(row).unwrap_or_default() {
            // Another program, with other memory.
            "execve" => end = None,
            "brk" => {
                let now = status.get(row).unwrap_or(0).cast_unsigned();
                // The first says where the heap begins.
                let before = end.unwrap_or(now);
                total = total.saturating_add(now.saturating_sub(before));
                end = Some(before.max(now));
                has[0] = true;
            }
            name => {
                total = total.saturating_add(bytes.get(row).unwrap_or(0));
                has[1] |= name == "mmap";
            }
        }
    }
    // Every program begins with both: else they were not asked for.
    Ok((has == [true; 2]).then_some(total))
}
