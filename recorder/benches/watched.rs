//! The cost of one span while another process watches the recording, as a ratio to the cost without a watcher.
//!
//! `cargo bench -p trueno-recorder --bench watched -- target/release/trueno-analyze`
//!
//! The watcher is `trueno-analyze watch --format json`; without a command it is this program, which reads all rings
//! every 2 ms, as often as `watch` ever does. It is stopped and let go by turns, in blocks of a quarter of a second, and
//! the two blocks of a pair change places, so that both meet the same weather. In a block batches of empty bricks are
//! timed, with pauses in which the writer empties the ring; the ratio is that of the medians of both blocks.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use trueno_format::observe::Observer;
use trueno_recorder::{BrickId, Overflow, Recorder};

const PAIRS: usize = 60;
const BLOCK: Duration = Duration::from_millis(250);
const BATCH: u32 = 5_000;
/// Pause after the watcher was released or stopped.
const SETTLE: Duration = Duration::from_millis(60);
const OWN: &str = "--own-watcher";

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    if let [own, run] = &args[..]
        && own == OWN
    {
        return watch(Path::new(run));
    }
    let folder = std::env::temp_dir().join(format!("trueno-watched-bench-{}", std::process::id()));
    let rec = Recorder::builder(&folder)
        .overflow(Overflow::Drop)
        .create()
        .expect("a recorder in the folder for temporary files");
    let mut watcher = match args.first() {
        Some(program) => Command::new(program)
            .args(["watch", "--format", "json"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn(),
        None => Command::new(std::env::current_exe().expect("this program"))
            .args([OWN.as_ref(), folder.as_os_str()])
            .stdout(Stdio::piped())
            .spawn(),
    }
    .expect("the watcher starts");
    // Its pictures are read, so that it does not wait for that.
    let mut out = watcher.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut bytes = 0;
        let mut part = [0; 1 << 16];
        while let Ok(read @ 1..) = out.read(&mut part) {
            bytes += read;
        }
        bytes
    });

    let mut ratios = Vec::new();
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let mut medians = [0.0; 2];
        for turn in 0..2 {
            let with = usize::from((pair + turn) % 2 == 1);
            signal(&watcher, [libc::SIGSTOP, libc::SIGCONT][with]);
            std::thread::sleep(SETTLE);
            medians[with] = block(&rec);
        }
        alone.push(medians[0]);
        watched.push(medians[1]);
        ratios.push(medians[1] / medians[0]);
    }
    signal(&watcher, libc::SIGCONT);
    let cpu_before = cpu(watcher.id());
    let begin = Instant::now();
    std::thread::sleep(Duration::from_secs(2));
    let idle = (cpu(watcher.id()) - cpu_before) / begin.elapsed().as_secs_f64();

    let row = |name: &str, values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
        println!(
            "{name:<28} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>8.3}",
            at(0.0),
            at(0.25),
            at(0.5),
            at(0.75),
            at(1.0)
        );
    };
    println!(
        "{:<28} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "least", "1/4", "median", "3/4", "most"
    );
    row("ns a span, without watcher", &mut alone);
    row("ns a span, with watcher", &mut watched);
    row("ratio", &mut ratios);
    let rows = rec.status().rows;
    println!(
        "{PAIRS} pairs of blocks; {rows} rows recorded; dropped meanwhile: {}",
        rec.status().dropped
    );
    println!(
        "the watcher took {:.2} % of a processor while nothing was recorded",
        100.0 * idle
    );
    drop(rec);
    signal(&watcher, libc::SIGINT);
    let _ = watcher.wait();
    println!("it wrote {} bytes", reader.join().unwrap_or(0));
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
}

fn block(rec: &Recorder) -> f64 {
    let mut times_ns = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < BLOCK {
        let start = Instant::now();
        for _ in 0..BATCH {
            drop(rec.brick(BrickId::QkvProjection));
        }
        times_ns.push(start.elapsed().as_nanos() as f64 / f64::from(BATCH));
        std::thread::sleep(Duration::from_millis(3));
    }
    times_ns.sort_by(f64::total_cmp);
    times_ns[times_ns.len() / 2]
}

fn watch(run: &Path) {
    let mut observer = Observer::new(run);
    let mut events = 0_u64;
    while observer.stop().is_ok() {
        observer.read(&mut |_| events += 1);
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("{events} events seen");
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: a child of ours that was not waited for.
    unsafe { libc::kill(child.id() as i32, signal) };
}

fn cpu(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}
