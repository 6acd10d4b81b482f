//! Launching and timing.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use trueno_cupti::driver::{
    Api, Argument, Buffer, Context, Device, DriverError, Event, Function, Launch, Module, Pinned,
    Stream, attribute,
};

use super::cache::CODE_VERSION;
use super::library::{Blas, MATRICES, Matrices};
use super::product;
use super::rates::{Sheet, TOLERANCE};
use super::workloads::{
    self, BLOCKS_EACH, CHECK_ROUNDS, KernelArgument, Step, THREADS, Text, peak_level,
};
use super::{Gpu, GpuCeilings, GpuEffort};
use crate::measure::Progress;
use crate::repeat::{Repeated, millionths, whole};
use trueno_format::{Ceiling, CeilingKind, Source};

/// Limit on the length of a loop. A kernel that still takes no time does not work.
const MAX_ROUNDS: u64 = 1 << 31;

/// Measures all ceilings of a device; `library` opens cuBLAS where no kernel of ours reaches the peak; `progress` hears
/// of each ceiling before it is measured.
///
/// Ceilings that cannot be measured are named in the notes and left out. So are those of a kernel that computes
/// something else, and those above what the device's data sheet allows.
///
/// # Errors
/// The device cannot be used at all.
pub fn measure(
    device: &Device,
    effort: &GpuEffort,
    library: impl Fn() -> Result<Blas, String>,
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
    let capability = capability(device);
    let plan = workloads::plan(l2_bytes, array_bytes, capability);
    if !plan.iter().any(|step| step.product.is_some()) {
        notes.push("tensor_mma_sync: not measured: needs compute capability 8.0".to_owned());
    }
    let bench = Bench::new(&context, device, array_bytes, capability)?;
    bench.fill(array_bytes)?;
    progress(Progress {
        done: 0,
        all: plan.len(),
        now: "clocks rise",
    });
    bench.warm_up(effort)?;
    let clock_hz = match bench.clock_hz() {
        Ok(clock) => clock,
        Err(error) => {
            notes.push(format!("clock: not measured: {error}"));
            None
        }
    };
    let sheet = sheet(device, capability, clock_hz);
    let mut ceilings = Vec::new();
    for (done, step) in plan.iter().enumerate() {
        progress(Progress {
            done,
            all: plan.len(),
            now: &step.name(),
        });
        let limit = sheet.limit(step.kind, step.level, step.precision);
        match bench.believed(step, effort, limit) {
            Ok(found) => ceilings.push(step.ceiling(gpu.number, found)),
            Err(why) => notes.push(format!("{}: not measured: {why}", step.name())),
        }
    }
    bench.by_library(
        capability,
        &sheet,
        effort,
        library,
        &mut ceilings,
        &mut notes,
        gpu.number,
    );
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
            .map(|device| measure(device, effort, Blas::open, &mut progress))
            .collect()
    }
}

/// Compute capability without its point: 90 is 9.0.
fn capability(device: &Device) -> u32 {
    let of = |which| device.attribute(which).unwrap_or(0).unsigned_abs();
    of(attribute::MAJOR) * 10 + of(attribute::MINOR)
}

/// A device may run faster than its driver says; if a faster clock was measured, that one counts.
fn sheet(device: &Device, capability: u32, measured_hz: Option<f64>) -> Sheet {
    let of = |which| f64::from(device.attribute(which).unwrap_or(0).max(0));
    Sheet {
        capability,
        multiprocessors: of(attribute::MULTIPROCESSORS),
        clock_hz: (of(attribute::CLOCK_KHZ) * 1e3).max(measured_hz.unwrap_or(0.0)),
        dram_bytes_a_second: 2.0 * of(attribute::MEMORY_CLOCK_KHZ) * 1e3 * of(attribute::BUS_BITS)
            / 8.0,
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

struct Bench {
    context: Context,
    stream: Stream,
    from: Event,
    to: Event,
    arrays: [Buffer; 3],
    out: Buffer,
    /// The texts for this device, or why the driver rejects them.
    modules: Vec<(Text, Result<Module, DriverError>)>,
    multiprocessors: u32,
}

impl Bench {
    fn new(
        context: &Context,
        device: &Device,
        array_bytes: u64,
        capability: u32,
    ) -> Result<Self, DriverError> {
        let multiprocessors = device.attribute(attribute::MULTIPROCESSORS).unwrap_or(1);
        let multiprocessors = multiprocessors.max(1).unsigned_abs();
        let threads = multiprocessors * BLOCKS_EACH * THREADS;
        let array = || Buffer::new(context, array_bytes as usize);
        let texts = Text::ALL
            .into_iter()
            .filter(|text| text.runs_on(capability));
        Ok(Self {
            stream: Stream::new(context)?,
            from: Event::new(context)?,
            to: Event::new(context)?,
            arrays: [array()?, array()?, array()?],
            out: Buffer::new(context, threads as usize * 8)?,
            modules: texts
                .map(|text| (text, context.module(text.ptx())))
                .collect(),
            multiprocessors,
            context: context.clone(),
        })
    }

    fn launch(&self) -> Launch {
        Launch {
            blocks: self.multiprocessors * BLOCKS_EACH,
            threads: THREADS,
            shared_bytes: 0,
        }
    }

    fn kernel(&self, text: Text, name: &str) -> Result<Function, DriverError> {
        let module = self.modules.iter().find(|(of, _)| *of == text);
        match module {
            Some((_, Ok(module))) => module.function(name),
            Some((_, Err(refused))) => Err(refused.clone()),
            None => Err(DriverError::Text("a text that is not for this device")),
        }
    }

    fn fill(&self, bytes: u64) -> Result<(), DriverError> {
        let fill = self.kernel(Text::All, "peak_fill")?;
        for array in &self.arrays {
            let arguments = [Argument::Word(array.address()), Argument::Word(bytes / 16)];
            // SAFETY: the kernel's arguments; the array has so many elements, and lives longer than `wait`.
            unsafe { fill.launch(self.launch(), self.stream.handle(), &arguments)? };
        }
        self.to.record(self.stream.handle())?;
        self.to.wait()
    }

    fn shape(&self, step: &Step) -> Launch {
        let (threads, blocks_each) = step.shape;
        Launch {
            blocks: self.multiprocessors * blocks_each,
            threads,
            shared_bytes: 0,
        }
    }

    fn seconds(
        &self,
        function: &Function,
        step: &Step,
        launch: Launch,
        rounds: u64,
    ) -> Result<f64, DriverError> {
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
        unsafe { function.launch(launch, stream, &arguments)? };
        self.to.record(stream)?;
        self.to.wait()?;
        self.from.seconds_to(&self.to)
    }

    fn warm_up(&self, effort: &GpuEffort) -> Result<(), DriverError> {
        let plan = workloads::plan(0, 0, 0);
        let Some(step) = plan.iter().find(|step| step.kernel == "peak_ffma") else {
            return Ok(());
        };
        let function = self.kernel(step.text, step.kernel)?;
        let start = Instant::now();
        while start.elapsed() < effort.warm_up {
            self.seconds(&function, step, self.launch(), 4096)?;
        }
        Ok(())
    }

    /// The ceiling of a kernel, if its result is right and its rate possible.
    fn believed(
        &self,
        step: &Step,
        effort: &GpuEffort,
        limit: Option<f64>,
    ) -> Result<Repeated, String> {
        let words = |error: DriverError| error.to_string();
        let function = self.kernel(step.text, step.kernel).map_err(words)?;
        self.check(&function, step)?;
        believed(&self.rates(&function, step, effort).map_err(words)?, limit)
    }

    fn check(&self, function: &Function, step: &Step) -> Result<(), String> {
        let Some((product, kind)) = step.product else {
            return Ok(());
        };
        let threads = step.shape.0;
        let launch = Launch {
            blocks: 1,
            threads,
            shared_bytes: 0,
        };
        let words = self
            .seconds(function, step, launch, CHECK_ROUNDS.into())
            .and_then(|_| self.words(&self.out, 0, threads as usize))
            .map_err(|error| error.to_string())?;
        match product.differs(&words, kind, threads, CHECK_ROUNDS) {
            None => Ok(()),
            Some((thread, found, expected)) => Err(format!(
                "its product is wrong: thread {thread} has {found}, expected {expected}"
            )),
        }
    }

    fn words(&self, from: &Buffer, at: u64, count: usize) -> Result<Vec<u64>, DriverError> {
        let mut host = Pinned::new(&self.context, count)?;
        let stream = self.stream.handle();
        // SAFETY: the buffer has so many; the copy is waited for before it is read.
        unsafe {
            host.receive(from.address() + at, count, stream)?;
            self.to.record(stream)?;
            self.to.wait()?;
            Ok(host.read().to_vec())
        }
    }

    /// Ceilings from cuBLAS, for types whose peak no kernel here reaches.
    #[expect(clippy::too_many_arguments, reason = "what `measure` has collected")]
    fn by_library(
        &self,
        capability: u32,
        sheet: &Sheet,
        effort: &GpuEffort,
        library: impl Fn() -> Result<Blas, String>,
        ceilings: &mut Vec<Ceiling>,
        notes: &mut Vec<String>,
        device: u32,
    ) {
        let is_there = |precision: &str| {
            let level = peak_level(capability, precision);
            let is_it = |row: &Ceiling| {
                row.level.as_deref() == level && row.precision.as_deref() == Some(precision)
            };
            level.is_some() && ceilings.iter().any(is_it)
        };
        let missing: Vec<Matrices> = MATRICES
            .into_iter()
            .filter(|of| sheet.has_tensor(of.precision) && !is_there(of.precision))
            .collect();
        if sheet.has_tensor("f8") && !is_there("f8") {
            notes.push("f8: no ceiling of the tensor cores: no kernel here reaches it, and cublasGemmEx has no FP8".to_owned());
        }
        if missing.is_empty() {
            return;
        }
        let blas = match library() {
            Ok(blas) => blas,
            Err(why) => {
                let names: Vec<&str> = missing.iter().map(|of| of.precision).collect();
                notes.push(format!(
                    "{}: no ceiling of the tensor cores: no kernel here reaches it, and there is no cuBLAS: {why}",
                    names.join(", ")
                ));
                return;
            }
        };
        for of in missing {
            let limit = sheet.limit(CeilingKind::Compute, "cublas", Some(of.precision));
            let found = self
                .gemm_rates(&blas, &of, effort)
                .and_then(|(side, rates)| Ok((side, believed(&rates, limit)?)));
            match found {
                Ok((side, found)) => ceilings.push(Ceiling {
                    level: Some("cublas".into()),
                    precision: Some(of.precision.into()),
                    operation: Some(format!("gemm {side}").into()),
                    median: Some(whole(found.median)),
                    spread: Some(millionths(found.spread)),
                    repetitions: Some(found.repetitions),
                    settled: Some(found.is_settled),
                    ..Ceiling::new(
                        format!("gpu:{device}"),
                        CeilingKind::Compute,
                        whole(found.reached),
                        Source::Measured,
                    )
                }),
                Err(why) => {
                    notes.push(format!("cublas {} gemm: not measured: {why}", of.precision))
                }
            }
        }
    }

    fn gemm_rates(
        &self,
        blas: &Blas,
        of: &Matrices,
        effort: &GpuEffort,
    ) -> Result<(u64, Vec<f64>), String> {
        let words = |error: DriverError| error.to_string();
        let [a, b, c] = &self.arrays;
        let side = of
            .side(a.bytes() as u64)
            .ok_or("there is no room for its matrices")?;
        // Columns lie one after the other.
        a.fill(&of.fill(side, |_, row| product::row(row as u32) > 1.0))
            .map_err(words)?;
        b.fill(&of.fill(side, |column, _| product::column(column as u32) > 1.0))
            .map_err(words)?;
        let handle = Handle::new(&self.context, blas)?;
        handle.call("cublasSetStream", |handle| {
            // SAFETY: a stream of this context.
            unsafe { (blas.set_stream)(handle, self.stream.handle().0) }
        })?;
        // One and zero of the type in which it computes.
        let (one, zero) = match of.compute {
            70 => (1f64.to_bits(), 0),
            72 => (1, 0),
            _ => (u64::from(1f32.to_bits()), 0u64),
        };
        let n = side as i32;
        let gemm = || {
            handle.call("cublasGemmEx", |handle| {
                // SAFETY: three matrices of `side` columns and rows, of the types that `of` says, in memory of the device.
                unsafe {
                    (blas.gemm)(
                        handle,
                        0,
                        0,
                        n,
                        n,
                        n,
                        (&raw const one).cast(),
                        a.address(),
                        of.types.0,
                        n,
                        b.address(),
                        of.types.0,
                        n,
                        (&raw const zero).cast(),
                        c.address(),
                        of.types.1,
                        n,
                        of.compute,
                        -1,
                    )
                }
            })
        };
        gemm()?;
        // A part of the first columns and of the last.
        let count = (side * 8).min(4096);
        let last = side * side - count;
        for first in [0, last] {
            let found = self
                .words(c, first * of.bytes.1, (count * of.bytes.1 / 8) as usize)
                .map_err(words)?;
            for nth in 0..count {
                let at = first + nth;
                let (row, column) = ((at % side) as u32, (at / side) as u32);
                let expected = side as f64 * product::row(row) * product::column(column);
                let found = of.element(&found, nth);
                if found != expected {
                    return Err(format!(
                        "its product is wrong: row {row}, column {column} has {found}, expected {expected}"
                    ));
                }
            }
        }
        let stream = self.stream.handle();
        let seconds = |times: u64| {
            self.from.record(stream).map_err(words)?;
            (0..times).try_for_each(|_| gemm())?;
            self.to.record(stream).map_err(words)?;
            self.to.wait().map_err(words)?;
            self.from.seconds_to(&self.to).map_err(words)
        };
        let (mut times, least) = (1, effort.repetition.as_secs_f64());
        loop {
            let took = seconds(times)?;
            if took >= least || times >= 1 << 16 {
                break;
            }
            times = more(times, took, least).min(1 << 16);
        }
        let amount = 2.0 * (side as f64).powi(3) * times as f64;
        let rates = (0..effort.repetitions.max(1)).map(|_| Ok(amount / seconds(times)?));
        Ok((side, rates.collect::<Result<_, String>>()?))
    }

    fn rates(
        &self,
        function: &Function,
        step: &Step,
        effort: &GpuEffort,
    ) -> Result<Vec<f64>, DriverError> {
        let launch = self.shape(step);
        let least = effort.repetition.as_secs_f64();
        let mut rounds = 1;
        loop {
            let seconds = self.seconds(function, step, launch, rounds)?;
            if seconds >= least || rounds >= MAX_ROUNDS {
                break;
            }
            rounds = more(rounds, seconds, least);
        }
        let threads = u64::from(launch.blocks) * u64::from(launch.threads);
        let amount = step.amount(threads, rounds);
        (0..effort.repetitions.max(1))
            .map(|_| Ok(amount / self.seconds(function, step, launch, rounds)?))
            .collect()
    }

    fn clock_hz(&self) -> Result<Option<f64>, DriverError> {
        const ROUNDS: u32 = 100_000;
        let function = self.kernel(Text::All, "peak_clock")?;
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

struct Handle<'b> {
    context: &'b Context,
    blas: &'b Blas,
    handle: *mut c_void,
}

impl<'b> Handle<'b> {
    fn new(context: &'b Context, blas: &'b Blas) -> Result<Self, String> {
        let mut made = Self {
            context,
            blas,
            handle: null_mut(),
        };
        let mut handle = null_mut();
        // SAFETY: valid for the write.
        made.call("cublasCreate", |_| unsafe { (blas.create)(&mut handle) })?;
        made.handle = handle;
        Ok(made)
    }

    fn call(&self, function: &str, call: impl FnOnce(*mut c_void) -> i32) -> Result<(), String> {
        let mut code = 0;
        self.context
            .with_current(|| code = call(self.handle))
            .map_err(|error| error.to_string())?;
        if code == 0 {
            Ok(())
        } else {
            Err(format!("{function}: error {code}"))
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: made when this was, and not used after it.
            let _ = self.call("cublasDestroy", |handle| unsafe {
                (self.blas.destroy)(handle)
            });
        }
    }
}

/// Summary of the repetitions, if they are not above what the data sheet allows.
fn believed(rates: &[f64], limit: Option<f64>) -> Result<Repeated, String> {
    let found = Repeated::from_rates(rates).ok_or("it takes no time, so it did not run")?;
    match limit.filter(|limit| found.reached > limit * TOLERANCE) {
        None => Ok(found),
        Some(limit) => Err(format!(
            "{:.4} T/s is more than the {:.4} T/s that its data sheet allows at the highest clock, so it is not believed",
            found.reached / 1e12,
            limit / 1e12
        )),
    }
}

/// Number of rounds that should take long enough, if the time is proportional to it.
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
