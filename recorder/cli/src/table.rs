//! Ceilings for people.

use std::fmt::Write;

use trueno_ceilings::gpu::GpuCeilings;
use trueno_ceilings::{CpuCache, CpuCeilings, disagree};
use trueno_recorder::{Ceiling, CeilingKind};

pub fn text(peaks: &CpuCeilings) -> String {
    let mut out = String::new();
    // Writing to a text cannot fail.
    let _ = write_machine(&mut out, peaks);
    write_ceilings(&mut out, &peaks.ceilings, &peaks.notes);
    out
}

pub fn gpu_text(peaks: &GpuCeilings) -> String {
    let mut out = String::new();
    // As above.
    let _ = write_gpu(&mut out, peaks);
    write_ceilings(&mut out, &peaks.ceilings, &peaks.notes);
    out
}

fn write_ceilings(out: &mut String, ceilings: &[Ceiling], notes: &[String]) {
    for kind in [CeilingKind::Bandwidth, CeilingKind::Compute] {
        let rows: Vec<&Ceiling> = ceilings.iter().filter(|c| c.kind == kind).collect();
        if !rows.is_empty() {
            let _ = write_rows(out, kind, &rows);
        }
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        let _ = writeln!(out, "note: {note}");
    }
}

fn write_gpu(out: &mut String, peaks: &GpuCeilings) -> std::fmt::Result {
    let gpu = &peaks.gpu;
    let known = |value: Option<String>| value.unwrap_or_else(|| "not known".to_owned());
    let ghz = |hz: f64| format!("{:.2} GHz", hz / 1e9);
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    writeln!(out, "gpu:{} {}, {}", gpu.number, gpu.name, gpu.uuid)?;
    writeln!(
        out,
        "compute capability {}, {} multiprocessors, L2 {}, memory {}",
        known(gpu.compute_capability.clone()),
        known(gpu.multiprocessors.map(|count| count.to_string())),
        known(gpu.l2_bytes.map(mib)),
        known(gpu.memory_bytes.map(mib)),
    )?;
    writeln!(
        out,
        "clock: {} measured, {} at most",
        known(peaks.clock_hz.map(ghz)),
        known(gpu.highest_clock_hz.map(|hz| ghz(hz as f64)))
    )
}

fn write_machine(out: &mut String, peaks: &CpuCeilings) -> std::fmt::Result {
    let machine = &peaks.machine;
    let model = machine.cpu_model.as_deref().unwrap_or("unknown processor");
    let plural = if machine.threads == 1 { "" } else { "s" };
    writeln!(
        out,
        "{model}, {}, {} thread{plural}",
        machine.arch, machine.threads
    )?;
    let caches: Vec<String> = machine.caches.iter().map(cache).collect();
    let caches = if caches.is_empty() {
        "not known".to_owned()
    } else {
        caches.join(", ")
    };
    writeln!(out, "caches: {caches}")?;
    let ghz =
        |hz: Option<f64>| hz.map_or("not known".to_owned(), |hz| format!("{:.2} GHz", hz / 1e9));
    writeln!(
        out,
        "clock: {} measured, {} at most, governor {}",
        ghz(peaks.clock.hz),
        ghz(peaks.clock.highest_hz),
        peaks.clock.governor.as_deref().unwrap_or("not known")
    )
}

fn cache(cache: &CpuCache) -> String {
    let kib = cache.bytes >> 10;
    let size = if kib >= 1024 && kib.is_multiple_of(1024) {
        format!("{} MiB", kib >> 10)
    } else {
        format!("{kib} KiB")
    };
    format!("L{} {size} per {}", cache.level, cache.shared_by)
}

fn write_rows(out: &mut String, kind: CeilingKind, rows: &[&Ceiling]) -> std::fmt::Result {
    let unit = match kind {
        CeilingKind::Bandwidth => "GB/s",
        CeilingKind::Compute => "Gop/s",
    };
    // Instructions of tensor cores have long names, and nothing else does.
    let widest = |least: usize, text: &dyn Fn(&Ceiling) -> usize| {
        rows.iter().fold(least, |most, row| most.max(text(row)))
    };
    let precision = widest(4, &|row| row.precision.as_deref().map_or(0, str::len));
    let operation = widest(9, &|row| row.operation.as_deref().map_or(0, str::len));
    writeln!(
        out,
        "\n{:<15} {:<precision$} {:<operation$} {:>8} {:>9} {:>9} {:>7}",
        kind.name(),
        "",
        "operation",
        "threads",
        format!("best {unit}"),
        "median",
        "spread"
    )?;
    for row in rows {
        let text = |text: &Option<std::borrow::Cow<'static, str>>| {
            text.as_deref().unwrap_or("").to_owned()
        };
        let giga = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{:.1}", v / 1e9));
        writeln!(
            out,
            "{:<15} {:<precision$} {:<operation$} {:>8} {:>9} {:>9} {:>7}{}{}",
            text(&row.level),
            text(&row.precision),
            text(&row.operation),
            row.threads.map_or("-".to_owned(), |n| n.to_string()),
            giga(Some(row.value)),
            giga(row.median),
            row.spread
                .map_or("-".to_owned(), |s| format!("{:.1} %", s * 100.0)),
            if row.settled == Some(false) {
                "  unsettled"
            } else {
                ""
            },
            row.earlier
                .filter(|earlier| disagree(row.value, *earlier))
                .map_or(String::new(), |v| format!("  {:.1} before", v / 1e9)),
        )?;
    }
    Ok(())
}
