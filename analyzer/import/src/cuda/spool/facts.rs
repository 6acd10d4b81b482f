//! Facts of a recording, for `run.json` and `diagnostics`.

use std::collections::BTreeMap;

use trueno_cupti::record::Device;
use trueno_cupti::spool::Severity;
use trueno_format::host;
use trueno_format::run_directory::new_run_id;
use trueno_format::run_json::{
    Capture, Clock, Host, Options, Producer, Program, Recovery, RunJson,
};
use trueno_format::schema::DiagnosticRow;

use super::build::Build;
use super::spool_reader::Spool;
use crate::Error;

pub fn run_json(from: &Spool, here: bool) -> RunJson {
    RunJson {
        producer: Producer {
            name: "trueno-record run".to_owned(),
            version: from.facts.recorder_version.clone(),
        },
        run_id: new_run_id(),
        program: Program {
            argv: from.facts.argv.clone(),
            pid: Some(from.facts.pid),
        },
        host: if here { host::facts() } else { Host::default() },
        clock: Clock {
            source: "realtime".to_owned(),
            ticks_per_second: Some(1e9),
            origin_realtime_ns: from.facts.start_realtime_ns,
            resolution_ns: None,
        },
        recorder: Options {
            overflow: "drop".to_owned(),
            sync_mode: "none".to_owned(),
            ..Options::default()
        },
        recovery: from.end.is_none().then_some(Recovery {
            rows_from_live: 0,
            dropped_known: false,
            ..Recovery::default()
        }),
        ..RunJson::default()
    }
}

pub fn write(build: &mut Build) -> Result<(), Error> {
    let capture = capture(build);
    let mut problems = std::mem::take(&mut build.problems);
    if capture.dropped > 0 {
        problems.push(format!("CUPTI dropped {} records", capture.dropped));
    }
    if !capture.clean_end {
        problems.push(
            "the process ended before its recording was closed: the latest records are missing"
                .to_owned(),
        );
    }
    let damage = build.from.damage;
    if damage.chunks > 0 || damage.cut_bytes > 0 {
        problems.push(format!(
            "the recording is damaged: {} chunks left out, {} bytes cut at its end",
            damage.chunks, damage.cut_bytes
        ));
    }
    diagnostics(build, &capture, &problems)?;
    // These stand in the diagnostics by themselves.
    let said = build.from.notes.iter();
    let wrong = said.filter(|note| note.severity != Severity::Info);
    problems.extend(wrong.map(|note| note.text.clone()));
    let described: Vec<_> = build.from.devices.values().copied().collect();
    for device in described {
        describe(build, &device);
    }
    let run = build.into.run();
    run.dropped = capture.dropped;
    run.problems = problems;
    run.capture = Some(capture);
    Ok(())
}

/// Values of a device, from which its row in `devices` is made.
fn describe(build: &mut Build, device: &Device) {
    let name = build.from.name(device.name).map(str::to_owned);
    let facts = [
        ("name", name),
        ("uuid", device.own_uuid()),
        ("memory_bytes", Some(device.memory_bytes.to_string())),
        ("multiprocessors", Some(device.multiprocessors.to_string())),
        (
            "compute_capability_major",
            Some(device.compute_major.to_string()),
        ),
        (
            "compute_capability_minor",
            Some(device.compute_minor.to_string()),
        ),
    ];
    let values = &mut build.into.run().values;
    for (fact, value) in facts {
        if let Some(value) = value {
            values.insert(format!("gpu:{}.{fact}", device.device), value);
        }
    }
}

fn capture(build: &Build) -> Capture {
    let from = &build.from;
    let cupti = from.facts.cupti.clone().unwrap_or_default();
    let known = from.facts.cupti.is_some();
    Capture {
        level: from.facts.level.clone(),
        clean_end: from.end.is_some(),
        synchronized: from.end.as_ref().is_some_and(|end| end.synchronized),
        cupti_version: known.then_some(cupti.version),
        cupti_path: known.then_some(cupti.path),
        driver_version: cupti.driver_version,
        enabled: cupti.enabled,
        refused: cupti.refused,
        muted: cupti.muted,
        records: from.records.clone(),
        unreadable: from.unreadable.clone(),
        invalid: build.invalid.clone(),
        dropped: from.dropped,
        damaged_chunks: from.damage.chunks,
        cut_bytes: from.damage.cut_bytes,
        overhead_ns: build.overhead_ns.clone(),
        devices: from
            .devices
            .values()
            .map(|device| in_words(device, from))
            .collect(),
    }
}

fn in_words(device: &Device, from: &Spool) -> String {
    let name = from.name(device.name).unwrap_or("device without a name");
    let uuid: String = device
        .uuid
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let part = if device.is_mig.unwrap_or(0) == 0 {
        String::new()
    } else {
        let own = device.own_uuid().unwrap_or_else(|| "not known".to_owned());
        format!(", a part of a device (MIG), uuid of the part {own}")
    };
    format!(
        "gpu{}: {name}, compute capability {}.{}, {} multiprocessors, {} MiB, uuid {uuid}{part}",
        device.device,
        device.compute_major,
        device.compute_minor,
        device.multiprocessors,
        device.memory_bytes >> 20,
    )
}

fn diagnostics(build: &mut Build, capture: &Capture, problems: &[String]) -> Result<(), Error> {
    let row = |build: &mut Build,
               time: Option<i64>,
               severity: &str,
               code: &str,
               text: &str,
               count: u64| {
        let row = DiagnosticRow {
            time_ns: time,
            severity: build.text(severity),
            code: build.text(code),
            text: build.text(text),
            count,
        };
        build.add(&row)
    };
    for problem in problems {
        row(build, None, Severity::Warning.name(), "capture", problem, 1)?;
    }
    let counted: [(&str, &str, &BTreeMap<String, u64>); 2] = [
        ("invalid_record", "warning", &capture.invalid),
        ("unreadable_record", "warning", &capture.unreadable),
    ];
    for (code, severity, counts) in counted {
        for (text, count) in counts {
            row(build, None, severity, code, text, *count)?;
        }
    }
    for (what, why) in &capture.refused {
        let text = format!("{what} is not recorded: {why}");
        row(build, None, "warning", "refused", &text, 1)?;
    }
    for name in &capture.muted {
        let text = format!("calls of {name} are not recorded: programs make too many of them");
        row(build, None, "info", "muted", &text, 1)?;
    }
    for note in build.from.notes.clone() {
        let time = Some(build.own_time(note.realtime_ns));
        row(build, time, note.severity.name(), &note.code, &note.text, 1)?;
    }
    Ok(())
}
