//! Two streams and one dependency between them that is known: `cargo run -p trueno-recorder-cuda --features cuda
//! --example two_streams -- two_streams.run [LAUNCHES]`.
//!
//! The first stream spins LAUNCHES times (default 100), the second as often; then the second waits for an event of the first and
//! spins once more. It prints the ids of the two launches on either side of that wait. Exit code 3: no device here.

use std::process::ExitCode;

use trueno_recorder::{Recorder, SyncMode};
use trueno_recorder_cuda::cudarc::driver::LaunchConfig;
use trueno_recorder_cuda::{Cuda, CudaDevice, Kernel, Memory, Stream};

/// Spins for `ns` of the device's own clock, and writes its first and last reading.
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

fn spin(
    stream: &Stream,
    kernel: &Kernel,
    out: &mut Memory<u64>,
    ns: u64,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut launch = stream.launch(kernel, ONE);
    launch.write(&mut **out).value(&ns);
    // SAFETY: two words to write to, and a number, as the kernel takes them.
    Ok(unsafe { launch.submit() }?.get())
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "two_streams.run".into());
    let launches: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("two_streams: {error}");
            return Ok(ExitCode::from(3));
        }
    };
    let rec = Recorder::builder(path)
        .device(device.clone())
        .sync_mode(SyncMode::Deferred)
        .create()?;
    let cuda = Cuda::new(&rec, &device);
    let (first, second) = (cuda.new_stream()?, cuda.new_stream()?);
    let kernel = cuda.load_ptx("spin", PTX)?.function("spin")?;
    // Memory of its own for each stream: nothing but the event orders them.
    let mut of_first = first.alloc_zeros("times of the first stream", 2)?;
    let mut of_second = second.alloc_zeros("times of the second stream", 2)?;
    let mut producer = 0;
    {
        let _brick = cuda.brick("produce");
        for _ in 0..launches {
            producer = spin(&first, &kernel, &mut of_first, 20_000)?;
        }
    }
    let event = first.record()?;
    let consumer = {
        let _brick = cuda.brick("consume");
        for _ in 0..launches {
            spin(&second, &kernel, &mut of_second, 2_000)?;
        }
        second.wait(&event)?;
        spin(&second, &kernel, &mut of_second, 50_000)?
    };
    let mut times = [0u64; 2];
    second.copy_to_host(&*of_second, &mut times)?;
    second.synchronize()?;
    // Given back while it is still recorded.
    drop((of_first, of_second));
    let summary = rec.finish()?;
    println!("launches {}", 2 * launches + 1);
    println!("producer {producer}");
    println!("consumer {consumer}");
    println!("globaltimer_ns {}", times[1].saturating_sub(times[0]));
    println!("dropped {}", summary.dropped);
    Ok(ExitCode::SUCCESS)
}
