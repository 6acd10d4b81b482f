//! Calls of the APIs of devices, by name.

use trueno_analysis::vendors::{self, Call, WaitFor};

use super::cupti_enums::SyncKind;

/// Kind of a call, which decides when it returns. An export of Nsight Systems does not say whether copies block.
/// Its `syncType` of waits is unreliable: exports of 2024 and of 2026 state other kinds than the calls that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// A copy that returns when it is complete.
    BlockingTransfer,
    /// A copy or fill that may return earlier.
    AsyncTransfer,
    Wait(SyncKind),
    Other,
}

impl CallKind {
    pub fn from_name(name: &str) -> Self {
        match vendors::call(name) {
            Some(Call::BlockingCopy) => Self::BlockingTransfer,
            Some(Call::AsyncCopy) => Self::AsyncTransfer,
            Some(Call::Wait(of)) => Self::Wait(match of {
                WaitFor::Device => SyncKind::Device,
                WaitFor::Stream => SyncKind::Stream,
                WaitFor::Event => SyncKind::Event,
                WaitFor::StreamOrder => SyncKind::StreamWait,
            }),
            Some(Call::Launch | Call::MayWait | Call::Other) | None => Self::Other,
        }
    }

    pub fn wait(self) -> Option<SyncKind> {
        match self {
            Self::Wait(kind) => Some(kind),
            _ => None,
        }
    }

    /// True if the transfer may continue after its call has returned; `None` if the name does not say.
    pub fn is_async(self) -> Option<bool> {
        match self {
            Self::BlockingTransfer => Some(false),
            Self::AsyncTransfer => Some(true),
            Self::Wait(_) | Self::Other => None,
        }
    }
}

/// The public name of a function: `cudaLaunchKernel` for `cudaLaunchKernel_v7000`, a version suffix of the runtime.
/// `cuMemAlloc_v2` is kept, because it is a function of its own.
pub(crate) fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, version))
            if plain.starts_with("cu")
                && version.len() >= 4
                && version.bytes().all(|b| b.is_ascii_digit()) =>
        {
            plain
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_a_call_waits() {
        use CallKind::{AsyncTransfer, BlockingTransfer, Other, Wait};
        for (name, kind) in [
            ("cudaMemcpy", BlockingTransfer),
            ("hipMemcpyWithStream", BlockingTransfer),
            ("cuMemcpyHtoDAsync_v2", AsyncTransfer),
            ("hipMemsetAsync", AsyncTransfer),
            ("cudaMemset", Other),
            ("cudaGraphLaunch", Other),
            ("DeviceSynchronize", Other),
            ("cudaDeviceSynchronize", Wait(SyncKind::Device)),
            ("cudaThreadSynchronize", Wait(SyncKind::Device)),
            ("cuCtxSynchronize", Wait(SyncKind::Device)),
            ("hipStreamSynchronize", Wait(SyncKind::Stream)),
            ("cudaEventSynchronize_v3020", Wait(SyncKind::Event)),
            ("cuStreamWaitEvent_ptsz", Wait(SyncKind::StreamWait)),
        ] {
            assert_eq!(CallKind::from_name(name), kind, "{name}");
        }
    }

    #[test]
    fn versions_of_the_runtime_go_and_names_of_the_driver_stay() {
        assert_eq!(
            without_version("cudaLaunchKernel_v7000"),
            "cudaLaunchKernel"
        );
        assert_eq!(without_version("cuMemAlloc_v2"), "cuMemAlloc_v2");
        assert_eq!(without_version("kernel_v7000"), "kernel_v7000");
    }
}
