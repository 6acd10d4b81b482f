//! What recorded a run: advice is in its words.

use trueno_plugin::Table;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Producer {
    /// `trueno-recorder`.
    #[default]
    Recorder,
    PyTorch,
    Jax,
    /// Its profiles of XLA's form.
    TensorFlow,
    /// Nsight Systems.
    Nsight,
    /// A timeline whose lanes are rows of a picture, and no threads: TensorFlow's has operators in the lowest free row,
    /// Horovod's a row for each tensor.
    Timeline,
    /// Any other program whose trace was imported.
    Other,
}

/// How Nsight Systems records allocations.
pub const NSIGHT_MEMORY: &str = "`nsys profile --cuda-memory-usage=true` records memory of devices";

impl Producer {
    /// Reads the first row of column `clock_source` of table `run`.
    pub fn of_run(table: &Table) -> Self {
        let source = table.text("clock_source").ok();
        let source = source.and_then(|source| source.iter().flatten().next());
        match source {
            // The clocks of the recorder.
            None | Some("" | "tsc" | "monotonic") => Self::Recorder,
            Some("imported: kineto" | "imported: torch memory") => Self::PyTorch,
            Some("imported: xplane" | "imported: xla") => Self::Jax,
            Some("imported: tensorflow xplane" | "imported: tensorflow xla") => Self::TensorFlow,
            Some("nsys") => Self::Nsight,
            Some("imported: tensorflow timeline" | "imported: horovod timeline") => Self::Timeline,
            Some(_) => Self::Other,
        }
    }

    /// What a lane of the host is.
    pub fn host_lane(self) -> &'static str {
        match self {
            Self::Timeline => "lane",
            _ => "thread",
        }
    }

    /// How to record what is missing.
    pub fn to_record(self, recorder: &str, pytorch: &str, nsight: &str) -> String {
        match self {
            Self::Recorder => recorder,
            Self::PyTorch => pytorch,
            Self::Nsight => nsight,
            Self::Jax | Self::TensorFlow | Self::Timeline | Self::Other => {
                "the trace's own profiler would have to record it"
            }
        }
        .to_owned()
    }

    /// How to record what no other profiler does.
    pub fn to_record_here(self, recorder: &str) -> String {
        match self {
            Self::Recorder => recorder,
            _ => "only recordings of trueno-recorder hold it",
        }
        .to_owned()
    }

    pub fn advice(self, pytorch: &str, general: &str) -> String {
        match self {
            Self::PyTorch => pytorch,
            _ => general,
        }
        .to_owned()
    }

    /// How to have the launches of a step compiled as one program, if the framework does that; `None`: it is up to the program.
    pub fn compile_launches(self) -> Option<&'static str> {
        match self {
            Self::Jax => Some(
                "put the whole step under one `jax.jit`; within one program, XLA records launches in command buffers (`XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN`)",
            ),
            Self::TensorFlow => Some(
                "put the whole step under one `tf.function(jit_compile=True)`, or give each kernel more work (a larger batch)",
            ),
            _ => None,
        }
    }

    /// How to record allocations; `None`: no way is known.
    pub fn record_memory(self) -> Option<&'static str> {
        match self {
            Self::Recorder => Some(
                "call Recorder::allocation(tag, bytes, address) when memory is allocated, with negative bytes when it is released; or let the program's allocator do it: trueno_recorder::alloc (feature `alloc`)",
            ),
            Self::PyTorch => Some(
                "record with profile(profile_memory=True), or import the snapshot of torch.cuda.memory._dump_snapshot",
            ),
            Self::Nsight => Some(NSIGHT_MEMORY),
            Self::Jax | Self::TensorFlow | Self::Timeline | Self::Other => None,
        }
    }

    /// How to record iterations; `None`: no way is known.
    pub fn record_steps(self) -> Option<&'static str> {
        match self {
            Self::Recorder => Some("wrap each token, step or batch in Recorder::iteration(number)"),
            Self::PyTorch => Some("call step() of the profiler after each step"),
            Self::Jax => Some("wrap each step in jax.profiler.StepTraceAnnotation"),
            Self::TensorFlow => Some(
                "wrap each step in tf.profiler.experimental.Trace(\"train\", step_num=step, _r=1)",
            ),
            Self::Nsight | Self::Timeline | Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_says_what_recorded_a_run() {
        for (source, producer) in [
            ("tsc", Producer::Recorder),
            ("monotonic", Producer::Recorder),
            ("imported: kineto", Producer::PyTorch),
            ("imported: xla", Producer::Jax),
            ("imported: tensorflow xplane", Producer::TensorFlow),
            ("imported: tensorflow xla", Producer::TensorFlow),
            ("nsys", Producer::Nsight),
            ("imported: tensorflow timeline", Producer::Timeline),
            ("imported: horovod timeline", Producer::Timeline),
            ("perf", Producer::Other),
            ("imported: otlp", Producer::Other),
        ] {
            let run = Table::build("run").text("clock_source", [source]);
            assert_eq!(
                Producer::of_run(&run.finish().unwrap()),
                producer,
                "{source}"
            );
        }
    }
}
