//! Reports: sums, as counters at the end.

use std::io::BufReader;

use serde::Deserialize;

use super::damaged;
use crate::{Error, Import};

const SUMS_ONLY: &str = "a report of axonml-profile: sums of the whole run, as counters at its end; when things ran is not \
                         in it (hint: export the timeline, TimelineProfiler::to_json)";

#[derive(Debug, Deserialize)]
struct Report {
    total_duration_secs: f64,
    memory: Option<Memory>,
    compute: Option<Compute>,
}

#[derive(Debug, Deserialize)]
struct Memory {
    current_usage: Option<u64>,
    peak_usage: Option<u64>,
    total_allocated: Option<u64>,
    total_freed: Option<u64>,
    allocation_count: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Compute {
    operation_count: Option<u64>,
    #[serde(default)]
    top_operations: Vec<Operation>,
}

#[derive(Debug, Deserialize)]
struct Operation {
    name: String,
    total_time_ns: Option<u64>,
    call_count: Option<u64>,
    avg_time_ns: Option<u64>,
}

pub fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut source = import.open()?;
    let report: Report = serde_json::from_reader(BufReader::new(&mut source))
        .map_err(|error| damaged(&import, &error))?;
    source.end(import.notes);
    let wall_ns = report.total_duration_secs * 1e9;
    let wall_ns = (wall_ns >= 0.0 && wall_ns < i64::MAX as f64).then_some(wall_ns as i64);
    if wall_ns.is_none() {
        import
            .notes
            .warn("its duration is not a time: the run has no length");
    }
    let time_ns = wall_ns.unwrap_or(0);
    let mut add = |name: String, value: Option<u64>, unit: &str| {
        let Some(value) = value else {
            return Ok(());
        };
        import.notes.read("sum");
        import.sum(time_ns, &name, value as f64, (unit, "computed"))
    };
    if let Some(memory) = report.memory {
        for (name, value, unit) in [
            ("current_usage", memory.current_usage, "byte"),
            ("peak_usage", memory.peak_usage, "byte"),
            ("total_allocated", memory.total_allocated, "byte"),
            ("total_freed", memory.total_freed, "byte"),
            ("allocation_count", memory.allocation_count, "allocations"),
        ] {
            add(format!("sum: memory {name}"), value, unit)?;
        }
    }
    if let Some(compute) = report.compute {
        let listed = compute.top_operations.len() as u64;
        let all = compute.operation_count;
        for operation in compute.top_operations {
            let name = operation.name;
            add(
                format!("sum: {name} total_time"),
                operation.total_time_ns,
                "ns",
            )?;
            add(format!("sum: {name} calls"), operation.call_count, "calls")?;
            add(format!("sum: {name} avg_time"), operation.avg_time_ns, "ns")?;
        }
        if let Some(others) = all
            .and_then(|all| all.checked_sub(listed))
            .filter(|n| *n > 0)
        {
            let text = format!("{others} operations are not in the report, which lists {listed}");
            import.notes.warn(text);
        }
    }
    import.problem(SUMS_ONLY);
    Ok(wall_ns)
}
