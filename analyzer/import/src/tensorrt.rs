//! JSON of TensorRT's `trtexec`: `--exportTimes`, times of each inference, and `--exportProfile`, sums by layer.
//!
//! | file | row |
//! | --- | --- |
//! | times | kernels (an inference is one), transfers, calls (`enqueue`) |
//! | sums | counters `sum: …` |
//!
//! In memory are the inferences, about 200 bytes each.
//!
//! Format: `samples/common/sampleReporting.cpp` of github.com/NVIDIA/TensorRT; before version 8 copies were called
//! `In` and `Out`.

use serde::Deserialize;

use crate::chrome::feed::{Feed, Kind, Slice};
use crate::importer::{Head, Import, Importer};
use crate::json::read_list;
use crate::lanes::Lanes;
use crate::time::rounded_ns;
use crate::{Error, mended};

/// The unit, and the value of the column `source`.
const TIME: (&str, &str) = ("ns", "measured");
const TIMES: [&str; 2] = ["\"startComputeMs\"", "\"endComputeMs\""];
const SUMS: [&str; 2] = ["\"timeMs\"", "\"percentage\""];

pub const IMPORTER: Importer = Importer {
    name: "trtexec",
    description: "TensorRT's trtexec: --exportTimes, --exportProfile",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let has = |rest: &str, keys: &[&str]| keys.iter().all(|key| rest.contains(key));
    let sums = head.behind(&["[", "{", "\"count\"", ":"]);
    let times = head.behind(&["[", "{", "\"start"]);
    times.is_some_and(|rest| has(rest, &TIMES)) || sums.is_some_and(|rest| has(rest, &SUMS))
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let format = mended::Document {
        expected: "JSON of trtexec",
        remedy: "write it again",
        units: "entries",
        count: |of: &Vec<Entry>| of.len(),
    };
    let expected = "a list of inferences or layers";
    let entries = format.read(&mut import, |list, from| read_list(expected, list, from))?;
    if entries.iter().any(|entry| entry.compute().is_some()) {
        write_times(&entries, import)
    } else if entries.iter().any(|entry| entry.time.is_some()) {
        write_sums(&entries, import)
    } else {
        Err(import.refused(
            "expected inferences or layers of trtexec, found none; write it with --exportTimes=FILE or \
             --exportProfile=FILE",
        ))
    }
}

pub(crate) fn has_times(head: &Head<'_>) -> bool {
    TIMES.iter().all(|key| head.text().contains(key))
}

/// An inference, or the sum of a layer. In milliseconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    #[serde(rename = "startEnqMs")]
    start_enqueue: Option<f64>,
    #[serde(rename = "endEnqMs")]
    end_enqueue: Option<f64>,
    #[serde(rename = "startH2dMs", alias = "startInMs")]
    start_in: Option<f64>,
    #[serde(rename = "endH2dMs", alias = "endInMs")]
    end_in: Option<f64>,
    #[serde(rename = "startComputeMs")]
    start_compute: Option<f64>,
    #[serde(rename = "endComputeMs")]
    end_compute: Option<f64>,
    #[serde(rename = "startD2hMs", alias = "startOutMs")]
    start_out: Option<f64>,
    #[serde(rename = "endD2hMs", alias = "endOutMs")]
    end_out: Option<f64>,
    /// Number of inferences, in the first entry of a file of sums.
    count: Option<f64>,
    name: Option<String>,
    #[serde(rename = "timeMs")]
    time: Option<f64>,
    #[serde(rename = "medianMs")]
    median: Option<f64>,
}

/// An interval in nanoseconds, if both ends are known and it is not empty.
fn interval(start_ms: Option<f64>, end_ms: Option<f64>) -> Option<(i64, i64)> {
    let ns = |ms: f64| rounded_ns(ms * 1e6);
    let (start, end) = (ns(start_ms?)?, ns(end_ms?)?);
    (start < end).then_some((start, end))
}

impl Entry {
    fn compute(&self) -> Option<(i64, i64)> {
        interval(self.start_compute, self.end_compute)
    }
}

/// Streams per concurrent inference: copies to the device, work, copies back.
const STREAMS: u32 = 3;

fn write_times(entries: &[Entry], import: Import<'_>) -> Result<Option<i64>, Error> {
    import.notes.warn(
        "an inference is one row of kernels: its kernels are not in the file (hint: `nsys profile --trace cuda,nvtx \
         trtexec …`, then `nsys export --type sqlite`)",
    );
    import.notes.warn(
        "times of the host and of the device begin apart, so what lies between a call and its work is not known",
    );
    let mut feed = Feed::new(import, "TensorRT");
    feed.name_thread(0, 0, "trtexec");
    // Lanes come in order of time.
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|at| entries[*at].compute().map(|(start, end)| (start, -end)));
    let mut lanes = Lanes::default();
    for at in order {
        let entry = &entries[at];
        feed.notes().read("inference");
        if let Some(times) = interval(entry.start_enqueue, entry.end_enqueue) {
            feed.slice(&Slice::new(Kind::Call, "enqueue", times))?;
        }
        let Some((start, end)) = entry.compute() else {
            feed.notes().leave_out("inference without a length");
            continue;
        };
        let lane = lanes.place(start, end, None) as u32;
        let works = [
            (
                Kind::Copy,
                "Memcpy HtoD",
                interval(entry.start_in, entry.end_in),
            ),
            (Kind::Kernel, "inference", Some((start, end))),
            (
                Kind::Copy,
                "Memcpy DtoH",
                interval(entry.start_out, entry.end_out),
            ),
        ];
        for ((kind, name, times), stream) in works.into_iter().zip(0..) {
            let Some(times) = times else { continue };
            feed.slice(&Slice {
                device: Some(0),
                stream: Some(lane.saturating_mul(STREAMS).saturating_add(stream)),
                ..Slice::new(kind, name, times)
            })?;
        }
    }
    feed.finish()
}

fn write_sums(entries: &[Entry], mut import: Import<'_>) -> Result<Option<i64>, Error> {
    import.problem(
        "the file has sums by layer only, no time of anything: they are counters, and when a layer ran is not known \
         (hint: `nsys profile --trace cuda,nvtx trtexec …`, then `nsys export --type sqlite`)",
    );
    let calls = entries.iter().find_map(|entry| entry.count);
    for entry in entries {
        let (Some(name), Some(time)) = (&entry.name, entry.time) else {
            if entry.count.is_none() {
                import.notes.leave_out("layer without a name or time");
            }
            continue;
        };
        import.notes.read("layer");
        import.sum(0, &format!("sum: {name} total"), time * 1e6, TIME)?;
        if let Some(median) = entry.median {
            let name = format!("sum: {name} median");
            import.sum(0, &name, median * 1e6, TIME)?;
        }
        if let Some(calls) = calls {
            import.sum(
                0,
                &format!("sum: {name} calls"),
                calls,
                ("calls", "measured"),
            )?;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
