//! The cost of each sync mode: `cargo run --release -p trueno-recorder-cuda --features cuda --example sync_modes --
//! FOLDER [LAYERS] [BRICKS] [MICROSECONDS]`.
//!
//! The same work, LAYERS of BRICKS with a kernel of so many microseconds each, without a recorder and then in each mode;
//! the median of five rounds. Runs lie in FOLDER. `over_percent` is the time over that without a recorder. Exit code 3: no device.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use trueno_recorder::{Recorder, SyncMode};
use trueno_recorder_cuda::cudarc::driver::LaunchConfig;
use trueno_recorder_cuda::{Cuda, CudaDevice};

const ROUNDS: usize = 5;
const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry spin(.param .u64 out, .param .u64 ns)
{
  .reg .pred %p;
  .reg .u64 %r<8>;
  ld.param.u64 %r1, [out];
  ld.param.u64 %r2, [ns];
  cvta.to.global.u64 %r6, %r1;
  mov.u64 %r3, %globaltimer;
again:
  mov.u64 %r4, %globaltimer;
  sub.u64 %r5, %r4, %r3;
  setp.lt.u64 %p, %r5, %r2;
  @%p bra again;
  st.global.u64 [%r6], %r3;
  st.global.u64 [%r6+8], %r4;
  ret;
}
";
const ONE: LaunchConfig = LaunchConfig {
    grid_dim: (1, 1, 1),
    block_dim: (1, 1, 1),
    shared_mem_bytes: 0,
};

#[derive(Clone, Copy)]
struct Work {
    layers: u32,
    bricks: u32,
    kernel_ns: u64,
}

/// Time of the work until its very end, in nanoseconds.
fn time(
    rec: &Recorder,
    device: &Arc<CudaDevice>,
    work: Work,
) -> Result<u64, Box<dyn std::error::Error>> {
    let cuda = Cuda::new(rec, device);
    let stream = cuda.new_stream()?;
    let kernel = cuda.load_ptx("spin", PTX)?.function("spin")?;
    let mut out = stream.alloc_zeros::<u64>("out", 2)?;
    device.context().synchronize()?;
    let start = Instant::now();
    for layer in 0..work.layers {
        let _layer = rec.layer(layer);
        for _ in 0..work.bricks {
            let _brick = rec.brick("spin");
            let mut launch = stream.launch(&kernel, ONE);
            launch.write(&mut *out).value(&work.kernel_ns);
            // SAFETY: two words to write to, and a number, as the kernel takes them.
            unsafe { launch.submit() }?;
        }
    }
    // What is still to be done belongs to the work, recorded or not.
    device.context().synchronize()?;
    Ok(start.elapsed().as_nanos() as u64)
}

fn median(
    folder: &Path,
    device: &Arc<CudaDevice>,
    mode: Option<SyncMode>,
    work: Work,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let rec = match mode {
            None => Recorder::disabled(),
            Some(mode) => Recorder::builder(folder.join(format!("{}.run", mode.name())))
                .overwrite(true)
                .device(device.clone())
                .sync_mode(mode)
                .create()?,
        };
        times.push(time(&rec, device, work)?);
        rec.finish()?;
    }
    times.sort_unstable();
    Ok(times[ROUNDS / 2])
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".into());
    let mut number = |otherwise| arguments.next().map_or(Ok(otherwise), |text| text.parse());
    let work = Work {
        layers: number(32)?,
        bricks: number(20)?,
        kernel_ns: 1000 * u64::from(number(10)?),
    };
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("sync_modes: {error}");
            return Ok(ExitCode::from(3));
        }
    };
    // Only streams of one program, used one after the other: nothing is left for cudarc to order.
    // SAFETY: all memory is used on the stream it was taken on.
    unsafe { device.context().disable_event_tracking() };
    let folder = Path::new(&folder);
    let modes = [
        None,
        Some(SyncMode::None),
        Some(SyncMode::Deferred),
        Some(SyncMode::PerLayer),
        Some(SyncMode::Immediate),
    ];
    println!("{:<14}{:>16}{:>14}", "mode", "ns_a_brick", "over_percent");
    let bricks = u64::from(work.layers) * u64::from(work.bricks);
    let mut bare = 0;
    for mode in modes {
        let taken = median(folder, &device, mode, work)?;
        bare = if mode.is_none() { taken } else { bare };
        let over = 100.0 * (taken as f64 / bare as f64 - 1.0);
        let name = mode.map_or("not_recorded", SyncMode::name);
        println!("{name:<14}{:>16}{over:>14.1}", taken / bricks.max(1));
    }
    Ok(ExitCode::SUCCESS)
}
