//! A recorded device, and a shader for it.

use std::path::Path;
use std::sync::Arc;

use trueno_recorder::{Overflow, Recorder, SyncMode};
use trueno_recorder_wgpu::wgpu::{self, BufferUsages, Features};
use trueno_recorder_wgpu::{Buffer, Encoder, Wgpu, WgpuDevice};
use trueno_testing::Table;

/// Adds 1 to each float.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64)
fn increment(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&x) { x[id.x] += 1.0; }
}
";

pub const FLOATS: u64 = 1 << 12;
pub const BYTES: u64 = 4 * FLOATS;
pub const GROUPS: u32 = FLOATS as u32 / 64;

/// A device on the first adapter, with those of the wanted features that it has. `None`, with a message, if there
/// is no adapter.
pub fn device(wanted: Features) -> Option<Arc<WgpuDevice>> {
    let instance = wgpu::Instance::new(&wgpu::InstanceDescriptor::from_env_or_default());
    let backends = wgpu::Backends::from_env().unwrap_or(wgpu::Backends::all());
    let mut adapters = instance.enumerate_adapters(backends);
    let Some(adapter) = adapters.drain(..).next() else {
        println!("skipped: wgpu finds no adapter here (mesa-vulkan-drivers has one in software)");
        return None;
    };
    let descriptor = wgpu::DeviceDescriptor {
        required_features: WgpuDevice::features(&adapter) & wanted,
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    Some(WgpuDevice::from_device(3, &adapter, &device, &queue))
}

/// A device with all time stamps. `None`, with a message, if there is none.
pub fn stamping_device() -> Option<Arc<WgpuDevice>> {
    let device = device(Features::all())?;
    let all = Features::TIMESTAMP_QUERY
        | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
        | Features::TIMESTAMP_QUERY_INSIDE_PASSES;
    if device.device().features().contains(all) {
        return Some(device);
    }
    println!("skipped: {} has not all time stamps", device.info().name);
    None
}

pub struct Rig {
    pub gpu: Wgpu,
    pub rec: Recorder,
    pub x: Buffer,
    pub readable: Buffer,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

impl Rig {
    pub fn new(path: &Path, device: &Arc<WgpuDevice>, mode: SyncMode) -> Self {
        let rec = Recorder::builder(path)
            .overflow(Overflow::Block)
            .sync_mode(mode)
            .device(device.clone())
            .create()
            .unwrap();
        let gpu = Wgpu::new(&rec, device);
        let storage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let x = gpu.buffer("x", BYTES, storage);
        let readable = gpu.buffer(
            "readable",
            BYTES,
            BufferUsages::MAP_READ | BufferUsages::COPY_DST,
        );
        let device = device.device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("increment"),
            compilation_options: Default::default(),
            cache: None,
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: x.as_entire_binding(),
            }],
        });
        Self {
            gpu,
            rec,
            x,
            readable,
            pipeline,
            group,
        }
    }

    /// Records a pass of this many dispatches, of which the n-th states n FLOPs.
    pub fn increments(&self, encoder: &mut Encoder<'_>, dispatches: u64) {
        let mut pass = encoder.compute_pass("increments");
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        for nth in 0..dispatches {
            pass.dispatch("increment", [GROUPS, 1, 1])
                .workgroup(64, 1, 1)
                .elements(FLOATS)
                .flops(nth)
                .bytes(2 * BYTES)
                .encode();
        }
    }

    /// The floats, after all submitted work.
    pub fn read(&self) -> Vec<f32> {
        let bytes = self.gpu.read_buffer(&self.readable, ..).unwrap();
        let (floats, _) = bytes.as_chunks::<4>();
        floats.iter().copied().map(f32::from_ne_bytes).collect()
    }
}

pub fn interval(table: &Table, row: usize) -> (i128, i128) {
    let start = table.number("start_ns", row).unwrap();
    (start, start + table.number("dur_ns", row).unwrap())
}
