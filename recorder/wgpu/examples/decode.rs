//! A small decoder on a GPU: `cargo run --manifest-path recorder/wgpu/Cargo.toml --example decode -- decode.run [TOKENS]`.
//!
//! For each token (default 8) it uploads an embedding, runs it through gated feed-forward layers with residual additions,
//! and reads the scores of a vocabulary back. Weights are arbitrary; the last scores are computed on the host too, and must
//! agree. Recorded are iterations, layers, a brick for each kind of work, each dispatch with its FLOPs and bytes, copies,
//! waits and memory. Exit code 3: no adapter here.

use std::process::ExitCode;

use trueno_recorder::{BrickId, Recorder, SyncMode};
use trueno_recorder_wgpu::wgpu::{self, BufferUsages};
use trueno_recorder_wgpu::{Buffer, Encoder, Wgpu, WgpuDevice};

const LAYERS: u32 = 4;
const DIM: u32 = 256;
const HIDDEN: u32 = 1024;
const VOCABULARY: u32 = 4096;
const WORKGROUP: u32 = 64;

/// `matvec`: y = W x, with one row per invocation. `gate`: x = silu(x) y. `add`: x = x + y.
const SHADER: &str = "
@group(0) @binding(0) var<storage, read> w: array<f32>;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn matvec(@builtin(global_invocation_id) id: vec3<u32>) {
    let width = arrayLength(&x);
    var sum = 0.0;
    for (var at = 0u; at < width; at++) { sum += w[id.x * width + at] * x[at]; }
    y[id.x] = sum;
}
@compute @workgroup_size(64)
fn gate(@builtin(global_invocation_id) id: vec3<u32>) {
    x[id.x] = x[id.x] / (1.0 + exp(-x[id.x])) * y[id.x];
}
@compute @workgroup_size(64)
fn add(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += y[id.x]; }
";

struct Step {
    name: &'static str,
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
    rows: u32,
    flops: u64,
    bytes: u64,
}

impl Step {
    fn encode(&self, encoder: &mut Encoder<'_>) {
        let mut pass = encoder.compute_pass(self.name);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch(self.name, [self.rows / WORKGROUP, 1, 1])
            .workgroup(WORKGROUP, 1, 1)
            .elements(u64::from(self.rows))
            .flops(self.flops)
            .bytes(self.bytes)
            .encode();
    }
}

fn bytes(floats: u32) -> u64 {
    4 * u64::from(floats)
}

/// Weights that keep values small; sign and size vary with their position.
fn weights(rows: u32, width: u32, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let scale = 2.0 / (width as f32).sqrt();
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 8) as f32 / (1 << 24) as f32 - 0.5) * scale
    };
    (0..rows * width).map(next).collect()
}

fn embedding(token: u32) -> Vec<f32> {
    (0..DIM)
        .map(|at| ((at * 7 + token * 13) % 17) as f32 / 17.0 - 0.5)
        .collect()
}

fn as_bytes(floats: &[f32]) -> Vec<u8> {
    floats
        .iter()
        .flat_map(|float| float.to_ne_bytes())
        .collect()
}

struct Decoder<'g> {
    gpu: &'g Wgpu,
    module: wgpu::ShaderModule,
}

impl Decoder<'_> {
    fn storage(&self, tag: &'static str, floats: u32) -> Buffer {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        self.gpu.buffer(tag, bytes(floats), usage)
    }

    /// Binds buffers `w`, `x` and `y`; without weights, not the first one.
    fn step(&self, name: &'static str, weights: Option<&Buffer>, x: &Buffer, y: &Buffer) -> Step {
        let device = self.gpu.device().device();
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &self.module,
            entry_point: Some(name),
            compilation_options: Default::default(),
            cache: None,
        });
        let buffers = [(0, weights), (1, Some(x)), (2, Some(y))];
        let entries: Vec<_> = buffers
            .into_iter()
            .filter_map(|(binding, buffer)| {
                let resource = buffer?.as_entire_binding();
                Some(wgpu::BindGroupEntry { binding, resource })
            })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(name),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let floats = |buffer: &Buffer| buffer.size() / 4;
        // An exponential counts as one operation.
        let (rows, flops, bytes) = match (name, weights) {
            ("matvec", Some(weights)) => (
                floats(y),
                2 * floats(weights),
                weights.size() + x.size() + y.size(),
            ),
            ("gate", _) => (floats(x), 5 * floats(x), 3 * x.size()),
            _ => (floats(x), floats(x), 3 * x.size()),
        };
        Step {
            name,
            pipeline,
            group,
            rows: rows as u32,
            flops,
            bytes,
        }
    }

    fn weights(&self, rows: u32, width: u32, seed: u32) -> Buffer {
        let buffer = self.storage("weights", rows * width);
        let mut encoder = self.gpu.encoder("weights");
        encoder.write_buffer(&buffer, 0, &as_bytes(&weights(rows, width, seed)));
        self.gpu.submit([encoder]);
        buffer
    }
}

/// The scores, computed on the host.
fn reference(token: u32) -> Vec<f32> {
    let matvec = |rows: u32, x: &[f32], seed: u32| -> Vec<f32> {
        let weights = weights(rows, x.len() as u32, seed);
        let row = |row: &[f32]| row.iter().zip(x).map(|(w, x)| w * x).sum();
        weights.chunks(x.len()).map(row).collect()
    };
    let mut x = embedding(token);
    for layer in 0..LAYERS {
        let gate = matvec(HIDDEN, &x, 3 * layer);
        let up = matvec(HIDDEN, &x, 3 * layer + 1);
        let gated = gate
            .iter()
            .zip(&up)
            .map(|(g, u)| g / (1.0 + (-g).exp()) * u);
        let down = matvec(DIM, &gated.collect::<Vec<_>>(), 3 * layer + 2);
        x.iter_mut().zip(&down).for_each(|(x, down)| *x += down);
    }
    matvec(VOCABULARY, &x, 3 * LAYERS)
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "decode.run".into());
    let tokens: u32 = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let device = match WgpuDevice::open(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("decode: {error}");
            return Ok(ExitCode::from(3));
        }
    };
    let rec = Recorder::builder(path)
        .overwrite(true)
        .device(device.clone())
        .sync_mode(SyncMode::Deferred)
        .create()?;
    let gpu = Wgpu::new(&rec, &device);
    let module = device
        .device()
        .create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("decode"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
    let decoder = Decoder { gpu: &gpu, module };
    let x = decoder.storage("activations", DIM);
    let [gate, up] = ["gate", "up"].map(|tag| decoder.storage(tag, HIDDEN));
    let down = decoder.storage("down", DIM);
    let scores = decoder.storage("scores", VOCABULARY);
    let readable = gpu.buffer(
        "scores of the host",
        bytes(VOCABULARY),
        BufferUsages::MAP_READ | BufferUsages::COPY_DST,
    );
    let mut kept = Vec::new();
    let mut matvec = |rows, width, seed, x: &Buffer, y: &Buffer| {
        let weights = decoder.weights(rows, width, seed);
        let step = decoder.step("matvec", Some(&weights), x, y);
        kept.push(weights);
        step
    };
    let layers: Vec<_> = (0..LAYERS)
        .map(|layer| {
            [
                (
                    BrickId::GateProjection.name(),
                    matvec(HIDDEN, DIM, 3 * layer, &x, &gate),
                ),
                (
                    BrickId::UpProjection.name(),
                    matvec(HIDDEN, DIM, 3 * layer + 1, &x, &up),
                ),
                (
                    BrickId::Activation.name(),
                    decoder.step("gate", None, &gate, &up),
                ),
                (
                    BrickId::DownProjection.name(),
                    matvec(DIM, HIDDEN, 3 * layer + 2, &gate, &down),
                ),
                ("Residual", decoder.step("add", None, &x, &down)),
            ]
        })
        .collect();
    let head = matvec(VOCABULARY, DIM, 3 * LAYERS, &x, &scores);

    let mut found = Vec::new();
    for token in 0..tokens {
        let _iteration = rec.iteration(u64::from(token));
        let mut encoder = gpu.encoder("token");
        {
            let _brick = rec.brick(BrickId::Embedding);
            encoder.write_buffer(&x, 0, &as_bytes(&embedding(token)));
        }
        for (number, steps) in (0..).zip(&layers) {
            let _layer = rec.layer(number);
            for (brick, step) in steps {
                let _brick = rec.brick(*brick);
                step.encode(&mut encoder);
            }
        }
        let _brick = rec.brick(BrickId::LmHead);
        head.encode(&mut encoder);
        encoder.copy_buffer_to_buffer(&scores, 0, &readable, 0, None);
        gpu.submit([encoder]);
        let read = gpu.read_buffer(&readable, ..)?;
        let (floats, _) = read.as_chunks::<4>();
        found = floats.iter().copied().map(f32::from_ne_bytes).collect();
    }
    drop((x, gate, up, down, scores, readable, kept));
    let summary = rec.finish()?;

    let off = found
        .iter()
        .zip(reference(tokens.saturating_sub(1)))
        .map(|(found, expected)| (found - expected).abs())
        .fold(0.0, f32::max);
    println!("adapter {}", device.info().name);
    println!("tokens {tokens}, dispatches {}", tokens * (LAYERS * 5 + 1));
    println!("greatest difference to the host {off:e}");
    println!("dropped {}", summary.dropped);
    Ok(if off < 1e-3 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
