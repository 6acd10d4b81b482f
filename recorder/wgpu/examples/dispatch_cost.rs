//! Costs of recording a dispatch: `cargo run --release --manifest-path recorder/wgpu/Cargo.toml --example dispatch_cost`.
//!
//! The same dispatches in three ways, in turn: by wgpu alone, with a recorder that is off, and recorded. It prints, of the
//! best of several rounds, host time of encoding and submitting, and time until the device is done, a dispatch each.

use std::sync::Arc;
use std::time::Instant;

use trueno_recorder::{Recorder, SyncMode};
use trueno_recorder_wgpu::wgpu;
use trueno_recorder_wgpu::{Wgpu, WgpuDevice};

const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64)
fn increment(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += 1.0; }
";
/// Floats in the smallest and a larger dispatch.
const SIZES: [u32; 2] = [64, 1 << 20];
const DISPATCHES: u32 = 500;
const ROUNDS: usize = 15;

struct Work {
    device: Arc<WgpuDevice>,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    groups: u32,
}

impl Work {
    fn new(device: &Arc<WgpuDevice>, floats: u32) -> Self {
        let wgpu = device.device();
        let module = wgpu.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = wgpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: Default::default(),
            cache: None,
        });
        let x = wgpu.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: u64::from(floats) * 4,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let group = wgpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: x.as_entire_binding(),
            }],
        });
        Self {
            device: device.clone(),
            pipeline,
            group,
            groups: floats / 64,
        }
    }

    fn prepare(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
    }

    /// With wgpu alone.
    fn plain(&self) {
        let mut encoder = self
            .device
            .device()
            .create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        self.prepare(&mut pass);
        for _ in 0..DISPATCHES {
            pass.dispatch_workgroups(self.groups, 1, 1);
        }
        drop(pass);
        self.device.queue().submit([encoder.finish()]);
    }

    fn recorded(&self, gpu: &Wgpu) {
        let mut encoder = gpu.encoder("cost");
        let mut pass = encoder.compute_pass("cost");
        self.prepare(&mut pass);
        for _ in 0..DISPATCHES {
            pass.dispatch("increment", [self.groups, 1, 1])
                .flops(1)
                .encode();
        }
        drop(pass);
        gpu.submit([encoder]);
    }

    /// Nanoseconds per dispatch: until it is submitted, and until it is done.
    fn measure(&self, submit: impl FnOnce()) -> Result<[f64; 2], wgpu::PollError> {
        let start = Instant::now();
        submit();
        let submitted = start.elapsed();
        self.device
            .device()
            .poll(wgpu::PollType::wait_indefinitely())?;
        let done = start.elapsed();
        Ok([submitted, done].map(|time| time.as_nanos() as f64 / f64::from(DISPATCHES)))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "dispatch_cost.run".into());
    let device = WgpuDevice::open(0)?;
    let rec = Recorder::builder(path)
        .overwrite(true)
        .device(device.clone())
        .sync_mode(SyncMode::Deferred)
        .create()?;
    let off = Wgpu::new(&Recorder::disabled(), &device);
    let on = Wgpu::new(&rec, &device);
    println!("adapter: {}, {DISPATCHES} dispatches", device.info().name);
    println!("floats      how  submitted_ns   done_ns");
    for floats in SIZES {
        let work = Work::new(&device, floats);
        let mut best = [[f64::INFINITY; 2]; 3];
        for _ in 0..ROUNDS {
            let measured = [
                work.measure(|| work.plain())?,
                work.measure(|| work.recorded(&off))?,
                work.measure(|| work.recorded(&on))?,
            ];
            // What is recorded is read in between, as in any program that waits.
            rec.synchronize()?;
            for (best, measured) in best.iter_mut().zip(measured) {
                *best = std::array::from_fn(|at| best[at].min(measured[at]));
            }
        }
        for (how, [submitted, done]) in ["wgpu", "off", "recorded"].iter().zip(best) {
            println!("{floats:<8} {how:>8} {submitted:>12.0} {done:>10.0}");
        }
    }
    println!("dropped {}", rec.finish()?.dropped);
    Ok(())
}
