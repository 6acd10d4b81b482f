//! The third table: a million and more spans in a row, to disk. Each system in a process of
//! its own, so that CPU time is its own.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use tracing::dispatcher;
use trueno_recorder::{Overflow, Recorder};

use crate::candidates::{self, Measured};

const SYSTEMS: [(&str, u64); 4] = [
    ("trueno-recorder, 4 metrics", 4_000_000),
    ("trueno-recorder through tracing", 400_000),
    ("measureme, no metrics", 4_000_000),
    ("tracing-chrome, no fields", 200_000),
];

pub fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    println!("Spans in a row, kept on disk\n");
    println!(
        "{:<36} {:>7} {:>9} {:>13} {:>12} {:>11}",
        "", "threads", "spans", "wall ns/span", "CPU ns/span", "bytes/span"
    );
    for (system, _) in SYSTEMS {
        for threads in [1, 2] {
            let own = folder.join(format!("{}-{threads}", system.replace([' ', ','], "")));
            fs::create_dir_all(&own)?;
            let status = Command::new(std::env::current_exe()?)
                .args([system, &threads.to_string()])
                .arg(&own)
                .status()?;
            if !status.success() {
                return Err(format!("{system} ended with {status}").into());
            }
            fs::remove_dir_all(&own)?;
        }
    }
    println!();
    Ok(())
}

pub fn child(system: &str, threads: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let at = SYSTEMS.iter().position(|(name, _)| *name == system);
    let number = at.ok_or_else(|| format!("no system {system}"))?;
    let spans = SYSTEMS[number].1;
    let (start, cpu) = (Instant::now(), cpu_ns());
    match number {
        0 => recorder(threads, spans, folder)?,
        1 => layer(threads, spans, folder)?,
        2 => measureme(threads, spans, folder)?,
        _ => chrome(threads, spans, folder)?,
    }
    let each = |total: f64| total / spans as f64;
    println!(
        "{system:<36} {threads:>7} {spans:>9} {:>13.0} {:>12.0} {:>11.1}",
        each(start.elapsed().as_nanos() as f64),
        each(cpu_ns() - cpu),
        each(bytes(folder)? as f64),
    );
    Ok(())
}

fn spread(threads: u64, spans: u64, work: impl Fn(u32, u64) + Sync) {
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(thread as u32, spans / threads));
        }
    });
}

fn all_written(rec: &Recorder) -> Result<(), Box<dyn Error>> {
    match rec.finish()?.dropped {
        0 => Ok(()),
        lost => Err(format!("{lost} spans dropped").into()),
    }
}

/// A recorder that waits for its writer when necessary, so that nothing is lost and the full cost is measured.
fn waiting(folder: &Path) -> Result<Recorder, Box<dyn Error>> {
    let builder = Recorder::builder(folder.join("own.run")).overflow(Overflow::Block);
    Ok(builder.create()?)
}

fn recorder(threads: u64, spans: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let rec = waiting(folder)?;
    spread(threads, spans, |_, spans| {
        (0..spans).for_each(|i| candidates::brick(&rec, i, || ()));
    });
    all_written(&rec)
}

fn layer(threads: u64, spans: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let rec = waiting(folder)?;
    let dispatch = candidates::layer(&rec);
    spread(threads, spans, |_, spans| {
        dispatcher::with_default(&dispatch, || {
            (0..spans).for_each(|_| candidates::traced(|| ()))
        });
    });
    all_written(&rec)
}

fn measureme(threads: u64, spans: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let measured = Measured::new(&folder.join("own"))?;
    spread(threads, spans, |thread, spans| {
        (0..spans).for_each(|_| measured.span(thread, || ()));
    });
    Ok(())
}

fn chrome(threads: u64, spans: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let (dispatch, flush) = candidates::chrome(&folder.join("own.json"))?;
    spread(threads, spans, |_, spans| {
        dispatcher::with_default(&dispatch, || {
            (0..spans).for_each(|_| candidates::traced(|| ()))
        });
    });
    drop(flush);
    Ok(())
}

fn cpu_ns() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn bytes(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += if entry.file_type()?.is_dir() {
            bytes(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(sum)
}
