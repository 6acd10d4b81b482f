//! Threads of the host, by the time in which they work.

use std::cmp::Reverse;

use trueno_display_names::display_name;
use trueno_plugin::{Result, Table, TableBuilder};

/// More threads than this are counted, not listed.
const MAX_ROWS: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    pub name: String,
    /// Time with a recorded row, of which `waiting_ns` is the part in rows that only wait.
    pub busy_ns: i64,
    pub waiting_ns: i64,
    pub wall_ns: i64,
    /// The name with the most self time, and that time.
    pub most: Option<(String, i64)>,
}

impl Thread {
    pub fn work_ns(&self) -> i64 {
        self.busy_ns.saturating_sub(self.waiting_ns).max(0)
    }
}

/// Reads `category.by_lane`: most work first.
///
/// # Errors
/// A table lacks a column or has it in another type.
pub fn read(lanes: &Table) -> Result<Vec<Thread>> {
    let (names, kinds) = (lanes.text("lane")?, lanes.text("lane_kind")?);
    let (busy, waiting) = (lanes.i64("busy_ns")?, lanes.i64("waiting_ns")?);
    let (most_names, most) = (lanes.text("most_name")?, lanes.i64("most_ns")?);
    let wall = lanes.i64("wall_ns")?;
    let thread = |row: usize| {
        Some(Thread {
            name: names.get(row)?.to_owned(),
            busy_ns: busy.get(row)?,
            waiting_ns: waiting.get(row)?,
            wall_ns: wall.get(row)?,
            most: most_names.get(row).map(str::to_owned).zip(most.get(row)),
        })
    };
    let hosts = (0..lanes.rows()).filter(|row| kinds.get(*row) == Some("host"));
    let mut threads: Vec<Thread> = hosts.filter_map(thread).collect();
    threads.sort_by_key(|thread| Reverse(thread.work_ns()));
    Ok(threads)
}

/// Table `threads`: the host threads with the most work.
///
/// `work_ns`: time with a recorded row that does not only wait; `share`: of the wall, for a pool of the wall times its
/// threads alive at once; `waiting_ns`: time in rows that only wait; `mostly_in`, `self_ns`: the name with the most
/// self time.
pub fn table(threads: &[Thread]) -> TableBuilder {
    let rows = &threads[..threads.len().min(MAX_ROWS)];
    let most = |row: &Thread| row.most.clone();
    Table::build("threads")
        .text("thread", rows.iter().map(|row| &row.name))
        .i64("work_ns", rows.iter().map(Thread::work_ns))
        .f64(
            "share",
            rows.iter()
                .map(|row| trueno_analysis::share(row.work_ns(), row.wall_ns)),
        )
        .i64("waiting_ns", rows.iter().map(|row| row.waiting_ns))
        .text(
            "mostly_in",
            rows.iter()
                .map(|row| most(row).map(|most| display_name(&most.0))),
        )
        .i64(
            "self_ns",
            rows.iter().map(|row| most(row).map(|most| most.1)),
        )
}
