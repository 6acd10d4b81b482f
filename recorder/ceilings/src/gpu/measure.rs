//! Launching and timing.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use trueno_cupti::driver::{
    Api, Argument, Buffer, Context, Device, DriverError, Event, Function, Launch, Pinned, Stream,
    attribute,
};

use super::cache::CODE_VERSION;
use super::workloads::{self, BLOCKS_EACH, KernelArgument, Step, THREADS};
use super::{CEILINGS_PTX, Gpu, GpuCeilings, GpuEffort, TENSOR_PTX};
use crate::measure::Progress;
use crate::repeat::Repeated;

/// Longer loops than this are not tried: a kernel that takes no time does not work.
const MAX_ROUNDS: u64 = 1 << 31;

/// Measures all ceilings of a device; `progress` hears of each before it is measured.
///
/// Ceilings that cannot be measured are named in the notes and left out.
///
/// # Errors
/// The device cannot be used at all.
pub fn measure(
    device: &Device,
    effort: &GpuEffort,
    mut progress: impl FnMut(Progress<'_>),
) -> Result<GpuCeilings, DriverError> {
    let context = device.context()?;
    let gpu = facts(device, &context)?;
    let mut notes = Vec::new();
    let l2_bytes = gpu.l2_bytes.unwrap_or(0);
    if l2_bytes == 0 {
        notes.push("L2: not measured: the driver does not say how large it is".to_owned());
    }
    let (free, _) = context.memory_bytes()?;
    let (array_bytes, is_enough) = workloads::array_bytes(l2_bytes, free);
    if !is_enough {
        notes.push(format!(
            "DRAM: arrays of {array_bytes} bytes, less than eight times the L2 cache: no more memory is free, so the \
             cache may take part"
        ));
    }
    let major = device.attribute(attribute::MAJOR).unwrap_or(0);
    if major < 8 {
        notes.push("tensor_mma_sync: not measured: needs compute capability 8.0".to_owned());
    }
    let plan = workloads::plan(l2_bytes, array_bytes, major >= 8);
    let bench = Bench::new(&context, device, array_bytes, major >= 8)?;
    bench.fill(array_bytes)?;
    progress(Progress {
        done: 0,
        all: plan.len(),
        now: "clocks rise",
    });
    bench.warm_up(effort)?;
    let mut ceilings = Vec::new();
    for (done, step) in plan.iter().enumerate() {
        progress(Progress {
            done,
            all: plan.len(),
            now: &step.name(),
        });
        let why = match bench.rates(step, effort) {
            Ok(rates) => match Repeated::from_rates(&rates) {
                Some(found) => {
                    ceilings.push(step.ceiling(gpu.number, found));
                    continue;
                }
                None => "it takes no time, so it did not run".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        notes.push(format!("{}: not measured: {why}", step.name()));
    }
    let clock_hz = match bench.clock_hz() {
        Ok(clock) => clock,
        Err(error) => {
            notes.push(format!("clock: not measured: {error}"));
            None
        }
    };
    Ok(GpuCeilings {
        code_version: CODE_VERSION,
        gpu,
        measured_at_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        clock_hz,
        notes,
        ceilings,
    })
}

impl GpuCeilings {
    /// Measures all devices of this machine, one after the other.
    ///
    /// # Errors
    /// There is no driver or no device, or one of them cannot be used.
    pub fn measure_all(
        effort: &GpuEffort,
        mut progress: impl FnMut(Progress<'_>),
    ) -> Result<Vec<Self>, DriverError> {
        let api = Arc::new(Api::load()?);
        let devices = Device::all(&api)?;
        devices
            .iter()
            .map(|device| measure(device, effort, &mut progress))
            .collect()
    }
}

fn facts(device: &Device, context: &Context) -> Result<Gpu, DriverError> {
    let positive = |which| device.attribute(which).filter(|value| *value > 0);
    let capability = positive(attribute::MAJOR).zip(device.attribute(attribute::MINOR));
    Ok(Gpu {
        number: device.number,
        name: device.name()?,
        uuid: device.uuid()?,
        compute_capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
        multiprocessors: positive(attribute::MULTIPROCESSORS).map(i32::unsigned_abs),
        l2_bytes: positive(attribute::L2_BYTES).map(|bytes| u64::from(bytes.unsigned_abs())),
        memory_bytes: Some(context.memory_bytes()?.1),
        highest_clock_hz: positive(attribute::CLOCK_KHZ)
            .map(|khz| u64::from(khz.unsigned_abs()) * 1000),
    })
}

/// Everything that launches need.
struct Bench {
    context: Context,
    stream: Stream,
    from: Event,
    to: Event,
    arrays: [Buffer; 3],
    out: Buffer,
    modules: Vec<trueno_cupti::driver::Module>,
    blocks: u32,
}

impl Bench {
    fn new(
        context: &Context,
        device: &Device,
        array_bytes: u64,
        has_tensor: bool,
    ) -> Result<Self, DriverError> {
        let multiprocessors = device.attribute(attribute::MULTIPROCESSORS).unwrap_or(1);
        let blocks = multiprocessors.max(1).unsigned_abs() * BLOCKS_EACH;
        let array = || Buffer::new(context, array_bytes as usize);
        let mut modules = vec![context.module(CEILINGS_PTX)?];
        if has_tensor {
            modules.push(context.module(TENSOR_PTX)?);
        }
        Ok(Self {
            stream: Stream::new(context)?,
            from: Event::new(context)?,
            to: Event::new(context)?,
            arrays: [array()?, array()?, array()?],
            out: Buffer::new(context, (blocks * THREADS) as usize * 8)?,
            modules,
            blocks,
            context: context.clone(),
        })
    }

    fn launch(&self) -> Launch {
        Launch {
            blocks: self.blocks,
            threads: THREADS,
            shared_bytes: 0,
        }
    }

    fn function(&self, step: &Step) -> Result<Function, DriverError> {
        self.modules[usize::from(step.is_tensor)].function(step.kernel)
    }

    /// Numbers in all arrays.
    fn fill(&self, bytes: u64) -> Result<(), DriverError> {
        let fill = self.modules[0].function("peak_fill")?;
        for array in &self.arrays {
            let arguments = [Argument::Word(array.address()), Argument::Word(bytes / 16)];
            // SAFETY: the kernel's arguments; the array has so many elements, and lives longer than `wait`.
            unsafe { fill.launch(self.launch(), self.stream.handle(), &arguments)? };
        }
        self.to.record(self.stream.handle())?;
        self.to.wait()
    }

    /// Seconds of one launch.
    fn seconds(&self, function: &Function, step: &Step, rounds: u64) -> Result<f64, DriverError> {
        let arguments: Vec<Argument<'_>> = step
            .arguments
            .iter()
            .map(|given| match *given {
                KernelArgument::Array(nth) => Argument::Word(self.arrays[nth].address()),
                KernelArgument::Out => Argument::Word(self.out.address()),
                KernelArgument::Count => Argument::Word(step.count()),
                KernelArgument::Rounds => Argument::Half(rounds as u32),
                KernelArgument::Half(value) => Argument::Half(value),
                KernelArgument::Word(value) => Argument::Word(value),
            })
            .collect();
        let stream = self.stream.handle();
        self.from.record(stream)?;
        // SAFETY: the arguments of the step's kernel; arrays have `count` elements, `out` a word for each thread, and
        // all live longer than the wait.
        unsafe { function.launch(self.launch(), stream, &arguments)? };
        self.to.record(stream)?;
        self.to.wait()?;
        self.from.seconds_to(&self.to)
    }

    fn warm_up(&self, effort: &GpuEffort) -> Result<(), DriverError> {
        let plan = workloads::plan(0, 0, false);
        let Some(step) = plan.iter().find(|step| step.kernel == "peak_ffma") else {
            return Ok(());
        };
        let function = self.function(step)?;
        let start = Instant::now();
        while start.elapsed() < effort.warm_up {
            self.seconds(&function, step, 4096)?;
        }
        Ok(())
    }

    /// Work a second, of each repetition.
    fn rates(&self, step: &Step, effort: &GpuEffort) -> Result<Vec<f64>, DriverError> {
        let function = self.function(step)?;
        let least = effort.repetition.as_secs_f64();
        let mut rounds = 1;
        loop {
            let seconds = self.seconds(&function, step, rounds)?;
            if seconds >= least || rounds >= MAX_ROUNDS {
                break;
            }
            rounds = more(rounds, seconds, least);
        }
        let threads = u64::from(self.blocks) * u64::from(THREADS);
        let amount = step.amount(threads, rounds);
        (0..effort.repetitions.max(1))
            .map(|_| Ok(amount / self.seconds(&function, step, rounds)?))
            .collect()
    }

    /// Clock of the processors.
    fn clock_hz(&self) -> Result<Option<f64>, DriverError> {
        const ROUNDS: u32 = 100_000;
        let function = self.modules[0].function("peak_clock")?;
        let launch = Launch {
            blocks: 1,
            threads: 1,
            shared_bytes: 0,
        };
        let arguments = [
            Argument::Word(self.out.address()),
            Argument::Half(ROUNDS),
            Argument::Half(0.75f32.to_bits()),
            Argument::Half(0.25f32.to_bits()),
        ];
        let mut host = Pinned::new(&self.context, 2)?;
        let stream = self.stream.handle();
        // SAFETY: the kernel's arguments, and `out` has three words; the copy is waited for before it is read.
        let (ticks, ns) = unsafe {
            function.launch(launch, stream, &arguments)?;
            host.receive(self.out.address(), 2, stream)?;
            self.to.record(stream)?;
            self.to.wait()?;
            (host.read()[0], host.read()[1])
        };
        Ok((ticks > 0 && ns > 0).then(|| (ticks as f64 / ns as f64 * 1e9).round()))
    }
}

/// Number of rounds that take long enough, if the time is proportional to it.
fn more(rounds: u64, seconds: f64, least: f64) -> u64 {
    let factor = if seconds > 0.0 {
        (least / seconds * 1.1).clamp(1.5, 1024.0)
    } else {
        1024.0
    };
    ((rounds as f64 * factor).ceil() as u64).min(MAX_ROUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_grow_until_it_takes_long_enough() {
        assert_eq!(more(1, 0.0, 5e-3), 1024);
        assert_eq!(more(100, 4.9e-3, 5e-3), 150);
        assert_eq!(more(1000, 1e-3, 5e-3), 5500);
        assert_eq!(more(MAX_ROUNDS, 1e-3, 5e-3), MAX_ROUNDS);
    }
}
