//! What recorded a run: advice is in its words.

use trueno_plugin::Table;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Producer {
    /// `trueno-recorder`.
    #[default]
    Recorder,
    PyTorch,
    Jax,
    /// Any other program whose trace was imported.
    Other,
}

impl Producer {
    /// Reads the first row of column `clock_source` of table `run`.
    pub fn of_run(table: &Table) -> Self {
        let source = table.text("clock_source").ok();
        let source = source.and_then(|source| source.iter().flatten().next());
        match source.and_then(|source| source.strip_prefix("imported: ")) {
            None => Self::Recorder,
            Some("kineto" | "torch memory") => Self::PyTorch,
            Some("xplane" | "xla") => Self::Jax,
            Some(_) => Self::Other,
        }
    }

    pub fn advice(self, pytorch: &str, general: &str) -> String {
        match self {
            Self::PyTorch => pytorch,
            Self::Recorder | Self::Jax | Self::Other => general,
        }
        .to_owned()
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
            Self::Jax | Self::Other => None,
        }
    }

    /// How to record iterations; `None`: no way is known.
    pub fn record_steps(self) -> Option<&'static str> {
        match self {
            Self::Recorder => Some("wrap each token, step or batch in Recorder::iteration(number)"),
            Self::PyTorch => Some("call step() of the profiler after each step"),
            Self::Jax => Some("wrap each step in jax.profiler.StepTraceAnnotation"),
            Self::Other => None,
        }
    }
}
