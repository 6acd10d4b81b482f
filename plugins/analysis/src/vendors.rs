//! Makers of accelerators and the programs that write traces of them: how they name devices, streams, calls,
//! communication, idle time and waits.
//!
//! Importers use it to tell work of devices from that of host threads, and analyses to tell launches, copies, waits and
//! communication apart. It is the only list of its kind: add a vendor here.

use std::borrow::Cow;

/// What a call of a device's API does, as far as its name says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Submits kernels or a graph to a device.
    Launch,
    /// Copies and returns when the copy has ended.
    BlockingCopy,
    /// Copies or fills, and may return before the end.
    AsyncCopy,
    Wait(WaitFor),
    /// Waits for the device if necessary, such as `cudaFree`.
    MayWait,
    Other,
}

/// What a wait of the host is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitFor {
    /// All work of a device.
    Device,
    /// All work of a stream or queue.
    Stream,
    /// An event, fence or signal.
    Event,
    /// The host does not wait: a stream waits for an event.
    StreamOrder,
}

struct Api {
    prefix: &'static str,
    /// Functions by name without the prefix; the first match counts.
    functions: &'static [(Name, Call)],
    /// Ordinary words begin with the prefix, too, so only listed functions are calls.
    is_vague: bool,
}

enum Name {
    Is(&'static str),
    Begins(&'static str),
    Has(&'static str),
}

use Name::{Begins, Has, Is};

/// CUDA and the APIs modelled on it.
const CUDA_LIKE: &[(Name, Call)] = &[
    (Is("DeviceSynchronize"), Call::Wait(WaitFor::Device)),
    (Is("ThreadSynchronize"), Call::Wait(WaitFor::Device)),
    (Is("CtxSynchronize"), Call::Wait(WaitFor::Device)),
    (Is("StreamSynchronize"), Call::Wait(WaitFor::Stream)),
    (Is("EventSynchronize"), Call::Wait(WaitFor::Event)),
    (Is("StreamWaitEvent"), Call::Wait(WaitFor::StreamOrder)),
    (Begins("LaunchHostFunc"), Call::Other),
    (Begins("Launch"), Call::Launch),
    (Begins("ModuleLaunch"), Call::Launch),
    (Begins("ExtLaunch"), Call::Launch),
    (Begins("ExtModuleLaunch"), Call::Launch),
    (Begins("HccModuleLaunch"), Call::Launch),
    (Begins("DrvLaunch"), Call::Launch),
    (Is("GraphLaunch"), Call::Launch),
    (Has("MemcpyAsync"), Call::AsyncCopy),
    (Is("CtxDestroy"), Call::MayWait),
    (Is("DeviceReset"), Call::MayWait),
    (Is("Free"), Call::MayWait),
    (Is("FreeArray"), Call::MayWait),
    (Is("FreeHost"), Call::MayWait),
    (Is("HostFree"), Call::MayWait),
    (Is("HostUnregister"), Call::MayWait),
    (Is("MemFree"), Call::MayWait),
    (Is("MemFreeHost"), Call::MayWait),
    (Is("MemHostUnregister"), Call::MayWait),
    (Is("ModuleUnload"), Call::MayWait),
];

const APIS: &[Api] = &[
    Api {
        prefix: "cuda",
        functions: CUDA_LIKE,
        is_vague: false,
    },
    Api {
        prefix: "cu",
        functions: CUDA_LIKE,
        is_vague: false,
    },
    Api {
        prefix: "hip",
        functions: CUDA_LIKE,
        is_vague: false,
    },
    Api {
        // Moore Threads.
        prefix: "musa",
        functions: CUDA_LIKE,
        is_vague: false,
    },
    Api {
        prefix: "mu",
        functions: CUDA_LIKE,
        is_vague: true,
    },
    Api {
        // MetaX.
        prefix: "mc",
        functions: CUDA_LIKE,
        is_vague: true,
    },
    Api {
        // ROCr, below HIP.
        prefix: "hsa_",
        functions: &[
            (Begins("signal_wait"), Call::Wait(WaitFor::Event)),
            (Begins("amd_signal_wait"), Call::Wait(WaitFor::Event)),
            (Begins("amd_memory_async_copy"), Call::AsyncCopy),
            (Is("memory_copy"), Call::BlockingCopy),
            (Begins("amd_memory_fill"), Call::AsyncCopy),
            (Begins("memory_free"), Call::MayWait),
        ],
        is_vague: false,
    },
    Api {
        // Level Zero.
        prefix: "ze",
        functions: &[
            (Is("CommandQueueSynchronize"), Call::Wait(WaitFor::Stream)),
            (
                Is("CommandListHostSynchronize"),
                Call::Wait(WaitFor::Stream),
            ),
            (Is("FenceHostSynchronize"), Call::Wait(WaitFor::Event)),
            (Is("EventHostSynchronize"), Call::Wait(WaitFor::Event)),
            (Is("CommandQueueExecuteCommandLists"), Call::Launch),
            (
                Begins("CommandListImmediateAppendCommandLists"),
                Call::Launch,
            ),
            (Begins("CommandListAppendLaunch"), Call::Launch),
            (Begins("CommandListAppendMemoryCopy"), Call::AsyncCopy),
            (Begins("CommandListAppendMemoryFill"), Call::AsyncCopy),
            (
                Begins("CommandListAppendWaitOnEvents"),
                Call::Wait(WaitFor::StreamOrder),
            ),
            (Begins("Mem"), Call::Other),
            (Begins("Command"), Call::Other),
            (Begins("Event"), Call::Other),
            (Begins("Kernel"), Call::Other),
            (Begins("Module"), Call::Other),
            (Begins("Device"), Call::Other),
            (Begins("Driver"), Call::Other),
            (Begins("Context"), Call::Other),
            (Begins("Fence"), Call::Other),
            (Begins("Init"), Call::Other),
        ],
        is_vague: true,
    },
    Api {
        // SYCL's unified runtime, and the plugins it came from.
        prefix: "ur",
        functions: UNIFIED_RUNTIME,
        is_vague: true,
    },
    Api {
        prefix: "pi",
        functions: UNIFIED_RUNTIME,
        is_vague: true,
    },
    Api {
        // OpenCL.
        prefix: "cl",
        functions: &[
            (Is("Finish"), Call::Wait(WaitFor::Stream)),
            (Is("WaitForEvents"), Call::Wait(WaitFor::Event)),
            (Begins("EnqueueNDRangeKernel"), Call::Launch),
            (Is("EnqueueTask"), Call::Launch),
            (Begins("EnqueueReadBuffer"), Call::AsyncCopy),
            (Begins("EnqueueWriteBuffer"), Call::AsyncCopy),
            (Begins("EnqueueCopy"), Call::AsyncCopy),
            (Begins("EnqueueFill"), Call::AsyncCopy),
            (Begins("Enqueue"), Call::Other),
            (Begins("CreateBuffer"), Call::Other),
            (Begins("CreateKernel"), Call::Other),
            (Begins("BuildProgram"), Call::Other),
            (Is("Flush"), Call::Other),
        ],
        is_vague: true,
    },
    Api {
        // Ascend.
        prefix: "aclrt",
        functions: &[
            (Begins("SynchronizeDevice"), Call::Wait(WaitFor::Device)),
            (Begins("SynchronizeStream"), Call::Wait(WaitFor::Stream)),
            (Begins("SynchronizeEvent"), Call::Wait(WaitFor::Event)),
            (Is("StreamWaitEvent"), Call::Wait(WaitFor::StreamOrder)),
            (Begins("Launch"), Call::Launch),
            (Begins("MemcpyAsync"), Call::AsyncCopy),
            (Begins("Memcpy2dAsync"), Call::AsyncCopy),
            (Begins("MemsetAsync"), Call::AsyncCopy),
            (Begins("Memcpy"), Call::BlockingCopy),
            (Is("Free"), Call::MayWait),
        ],
        is_vague: false,
    },
    Api {
        prefix: "aclnn",
        functions: &[(Begins(""), Call::Launch)],
        is_vague: false,
    },
    Api {
        prefix: "aclop",
        functions: &[(Begins("Execute"), Call::Launch)],
        is_vague: false,
    },
    Api {
        // Meta's MTIA.
        prefix: "mtia",
        functions: &[
            (Begins("DeviceSynchronize"), Call::Wait(WaitFor::Device)),
            (Begins("StreamSynchronize"), Call::Wait(WaitFor::Stream)),
            (Begins("EventSynchronize"), Call::Wait(WaitFor::Event)),
            (Begins("Launch"), Call::Launch),
            (Begins("MemcpyAsync"), Call::AsyncCopy),
            (Begins("Memcpy"), Call::BlockingCopy),
        ],
        is_vague: false,
    },
    Api {
        // Habana.
        prefix: "syn",
        functions: &[
            (Is("DeviceSynchronize"), Call::Wait(WaitFor::Device)),
            (Is("StreamSynchronize"), Call::Wait(WaitFor::Stream)),
            (Is("EventSynchronize"), Call::Wait(WaitFor::Event)),
            (Is("StreamWaitEvent"), Call::Wait(WaitFor::StreamOrder)),
            (Begins("Launch"), Call::Launch),
            (Begins("MemCopyAsync"), Call::AsyncCopy),
            (Begins("MemsetD"), Call::AsyncCopy),
        ],
        is_vague: true,
    },
    Api {
        // Cambricon.
        prefix: "cnrt",
        functions: &[
            (Is("QueueSync"), Call::Wait(WaitFor::Stream)),
            (Is("SyncDevice"), Call::Wait(WaitFor::Device)),
            (Begins("NotifierSync"), Call::Wait(WaitFor::Event)),
            (Begins("WaitNotifier"), Call::Wait(WaitFor::Event)),
            (Begins("InvokeKernel"), Call::Launch),
            (Begins("MemcpyAsync"), Call::AsyncCopy),
            (Begins("MemsetAsync"), Call::AsyncCopy),
            (Begins("Memcpy"), Call::BlockingCopy),
            (Is("Free"), Call::MayWait),
        ],
        is_vague: false,
    },
    Api {
        prefix: "cn",
        functions: &[
            (Is("InvokeKernel"), Call::Launch),
            (Is("QueueSync"), Call::Wait(WaitFor::Stream)),
            (Is("CtxSync"), Call::Wait(WaitFor::Device)),
            (Begins("MemcpyHtoDAsync"), Call::AsyncCopy),
            (Begins("MemcpyDtoHAsync"), Call::AsyncCopy),
            (Begins("MemcpyAsync"), Call::AsyncCopy),
        ],
        is_vague: true,
    },
    Api {
        // XLA's plugins.
        prefix: "PJRT_",
        functions: &[
            (Is("Event_Await"), Call::Wait(WaitFor::Event)),
            (Is("LoadedExecutable_Execute"), Call::Launch),
            (Is("Buffer_ToHostBuffer"), Call::AsyncCopy),
            (Is("Client_BufferFromHostBuffer"), Call::AsyncCopy),
        ],
        is_vague: false,
    },
    Api {
        // AWS Neuron: a call that runs a program and waits for it.
        prefix: "nrt_",
        functions: &[
            (Begins("execute"), Call::Launch),
            (Begins("tensor_read"), Call::BlockingCopy),
            (Begins("tensor_write"), Call::BlockingCopy),
        ],
        is_vague: false,
    },
    Api {
        // Vulkan.
        prefix: "vk",
        functions: &[
            (Begins("QueueSubmit"), Call::Launch),
            (Is("WaitForFences"), Call::Wait(WaitFor::Event)),
            (Begins("WaitSemaphores"), Call::Wait(WaitFor::Event)),
            (Is("QueueWaitIdle"), Call::Wait(WaitFor::Stream)),
            (Is("DeviceWaitIdle"), Call::Wait(WaitFor::Device)),
        ],
        is_vague: true,
    },
];

const UNIFIED_RUNTIME: &[(Name, Call)] = &[
    (Is("QueueFinish"), Call::Wait(WaitFor::Stream)),
    (Is("EventWait"), Call::Wait(WaitFor::Event)),
    (Is("EventsWait"), Call::Wait(WaitFor::Event)),
    (Begins("EnqueueKernelLaunch"), Call::Launch),
    (Begins("EnqueueCooperativeKernelLaunch"), Call::Launch),
    (Begins("EnqueueCommandBuffer"), Call::Launch),
    (Begins("EnqueueUSMMem"), Call::AsyncCopy),
    (Begins("EnqueueUSMFill"), Call::AsyncCopy),
    (Begins("EnqueueMemBuffer"), Call::AsyncCopy),
    (Begins("Enqueue"), Call::Other),
    (Begins("USM"), Call::Other),
    (Begins("Kernel"), Call::Other),
    (Begins("Program"), Call::Other),
];

impl Name {
    fn fits(&self, function: &str) -> bool {
        match self {
            Self::Is(name) => function == *name,
            Self::Begins(name) => function.starts_with(name),
            Self::Has(name) => function.contains(name),
        }
    }
}

/// The API of a function and its name in it, without its version: `cuMemFree_v2` is `MemFree`.
fn in_api(name: &str) -> Option<(&'static Api, &str)> {
    // Ascend writes the layer before the function: `AscendCL@aclrtSynchronizeStream`; programs that print CUPTI's records
    // write the kind: `Runtime: cudaFree`.
    let name = name.rsplit_once('@').map_or(name, |(_, name)| name);
    let kind = name.strip_prefix("Runtime: ");
    let name = kind.or(name.strip_prefix("Driver: ")).unwrap_or(name);
    APIS.iter().find_map(|api| {
        let function = name.strip_prefix(api.prefix)?;
        let first = function.as_bytes().first()?;
        let is_new_word = first.is_ascii_uppercase() || api.prefix.ends_with('_');
        let function = function.trim_end_matches("_ptsz").trim_end_matches("_spt");
        let function = match function.split_once("_v") {
            Some((plain, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => plain,
            _ => function,
        };
        is_new_word.then_some((api, function))
    })
}

/// What the call of that name does; `None`: it is no call of a device's API.
///
/// ```
/// use trueno_analysis::vendors::{Call, WaitFor, call};
///
/// assert_eq!(call("hipExtModuleLaunchKernel"), Some(Call::Launch));
/// assert_eq!(call("cuMemcpyHtoDAsync_v2"), Some(Call::AsyncCopy));
/// assert_eq!(call("aclrtSynchronizeStreamWithTimeout"), Some(Call::Wait(WaitFor::Stream)));
/// assert_eq!(call("customStep"), None);
/// ```
pub fn call(name: &str) -> Option<Call> {
    let (api, function) = in_api(name)?;
    let listed = api.functions.iter().find(|(name, _)| name.fits(function));
    match listed {
        Some((_, call)) => Some(*call),
        None if api.is_vague => None,
        // `cudaMemset` of device memory returns early, of pinned memory late.
        None if function.starts_with("Memset") && function.contains("Async") => {
            Some(Call::AsyncCopy)
        }
        None if function.starts_with("Memcpy") && function.contains("Async") => {
            Some(Call::AsyncCopy)
        }
        None if function.starts_with("Memcpy") => Some(Call::BlockingCopy),
        None => Some(Call::Other),
    }
}

/// True of a call that takes memory of a device, or pinned memory of the host, from the driver, or gives it back; not of one
/// that goes to a pool of the driver.
pub fn takes_or_returns_memory(name: &str) -> bool {
    const CALLS: [&str; 18] = [
        "Malloc",
        "Malloc3D",
        "Malloc3DArray",
        "MallocArray",
        "MallocManaged",
        "MallocMipmappedArray",
        "MallocPitch",
        "MallocHost",
        "HostAlloc",
        "HostMalloc",
        "MemAlloc",
        "MemAllocPitch",
        "MemAllocHost",
        "MemHostAlloc",
        "MemAllocDevice",
        "ExtMallocWithFlags",
        "ArrayCreate",
        "Array3DCreate",
    ];
    returns_memory(name) || in_api(name).is_some_and(|(_, function)| CALLS.contains(&function))
}

/// True of a call that gives such memory back.
pub fn returns_memory(name: &str) -> bool {
    const CALLS: [&str; 8] = [
        "Free",
        "FreeArray",
        "FreeHost",
        "FreeMipmappedArray",
        "HostFree",
        "MemFree",
        "MemFreeHost",
        "ArrayDestroy",
    ];
    in_api(name).is_some_and(|(_, function)| CALLS.contains(&function))
}

/// What the events of a category are, in Kineto and the programs that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// A kernel or another operation of a device.
    Kernel,
    /// A copy by a device.
    Copy,
    /// A fill of memory by a device.
    Fill,
    /// A call of a device's API.
    Call,
    /// Calls and device work mixed: the arguments of each event tell which it is.
    CallOrWork,
    /// A wait for a device.
    Wait,
    /// Host work, whatever its arguments are.
    Host,
}

/// What a category says; `None`: nothing, or it is not known.
pub fn category(category: &str) -> Option<Category> {
    Some(match category {
        // ONNX Runtime and PyTorch of 2021 write capitals.
        "kernel" | "Kernel" | "GPU_Kernel" | "mtia_ccp_events" | "gpu_op" | "npu_op"
        | "device_op" => Category::Kernel,
        "gpu_memcpy" | "Memcpy" | "MemCopy" => Category::Copy,
        "gpu_memset" | "Memset" | "MemSet" => Category::Fill,
        "cuda_runtime" | "cuda_driver" | "CUDA_Runtime" | "CUDA_Driver" | "Runtime"
        | "mtia_runtime" | "xpu_runtime" | "xpu_driver" | "glow_runtime" => Category::Call,
        "hpu_op" | "privateuse1_runtime" | "privateuse1_driver" | "collective_comm" => {
            Category::CallOrWork
        }
        "cuda_sync" | "xpu_sync" => Category::Wait,
        "cpu_op" | "Operator" | "user_annotation" | "python_function" | "cpu_instant_event"
        | "fwdbwd" | "Session" | "Node" => Category::Host,
        // Ascend's task queue: its `correlation_id` counts operators, not calls.
        "enqueue" | "dequeue" => Category::Host,
        _ if category.starts_with("hip_") || category.ends_with("_runtime") => Category::Call,
        _ => return None,
    })
}

/// A device that the name of a process states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedDevice {
    /// Its number, where the name has one.
    pub number: Option<u32>,
}

/// The device that a process of a trace stands for, by its name or label.
///
/// `GPU0` is one, `/device:GPU:0`, `Ascend Hardware` and `NPU 3`; `GPU worker` and `python` are none.
pub fn device_of_process(name: &str) -> Option<NamedDevice> {
    let lower = name.trim().to_ascii_lowercase();
    let found = |number: Option<u32>| Some(NamedDevice { number });
    if lower == "ascend hardware" || lower == "cuda functions" {
        return found(None);
    }
    // unitrace: `DEVICE<host>[Intel(R) …] 0:3a:0:0 #0`, `RANK 1 DEVICE<host>…`, `#0.1` of a tile.
    if lower.starts_with("device<") || lower.starts_with("rank ") && lower.contains(" device<") {
        let number = lower.rsplit_once('#').map(|(_, number)| number);
        let number = number.and_then(|number| number.split('.').next()?.parse().ok());
        return found(number);
    }
    if let Some((_, device)) = lower.split_once("/device:").or(lower
        .split_once("/gpu:")
        .map(|(before, _)| (before, &lower[before.len() + 1..])))
    {
        // XLA and TensorFlow: `/device:GPU:0`, `/job:worker/…/device:GPU:0/stream:7 Compute`.
        let (kind, rest) = device.split_once(':')?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_device = ACCELERATORS.contains(&kind);
        return is_device.then_some(NamedDevice {
            number: rest[..digits].parse().ok(),
        });
    }
    for kind in ACCELERATORS {
        let Some(rest) = lower.strip_prefix(kind) else {
            continue;
        };
        let rest = rest.trim_start_matches([' ', ':', '#', '_', '-']);
        if rest.is_empty() {
            return found(None);
        }
        // `GPU 0`, `GPU0 kernels`, `GPU 1 (MI300X)`: a number comes first.
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let ends = rest[digits..]
            .chars()
            .next()
            .is_none_or(|c| !c.is_alphanumeric());
        if digits > 0 && ends {
            return found(rest[..digits].parse().ok());
        }
    }
    None
}

const ACCELERATORS: [&str; 10] = [
    "gpu",
    "npu",
    "tpu",
    "xpu",
    "hpu",
    "mlu",
    "ipu",
    "mtia",
    "accelerator",
    "device",
];

/// What the rows of a thread of a device are, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceLane {
    /// Work, with the number of the stream or queue if the name has one.
    Work(Option<u32>),
    /// The same work as in other lanes, grouped differently: steps, modules, layers.
    Repeated,
    /// Time in which nothing ran.
    Idle,
    /// Readings and states, which take no time.
    Readings,
}

/// The rows of a thread of a device, by its name.
pub fn device_lane(name: &str) -> DeviceLane {
    let trimmed = name.trim();
    if is_idle_row(trimmed) {
        return DeviceLane::Idle;
    }
    if REPEATED_LANES.contains(&trimmed) {
        return DeviceLane::Repeated;
    }
    // XLA's.
    if trimmed == "_counters_" {
        return DeviceLane::Readings;
    }
    DeviceLane::Work(stream_number(trimmed))
}

/// The number in `stream 7`, `Stream #20(Compute,MemcpyD2D)`, `Queue 3`, `Stream 3`; `None`: no such name.
pub fn stream_number(name: &str) -> Option<u32> {
    let lower = name.trim().to_ascii_lowercase();
    let rest = ["stream", "queue", "hsa queue", "compute queue"]
        .iter()
        .find_map(|kind| lower.strip_prefix(kind))?;
    let rest = rest.trim_start_matches([' ', '#', ':', '_', '-']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

/// Lanes of devices that say again what the lanes of operations hold: XLA's (`xplane_schema.cc`).
pub const REPEATED_LANES: [&str; 13] = [
    "Steps",
    "Sparse Core Steps",
    "Sparse Core Modules",
    "Framework Name Scope",
    "Framework Ops",
    "TensorFlow Name Scope",
    "TensorFlow Ops",
    "XLA Modules",
    "Launch Stats",
    "Source code",
    "Source Code",
    "Step Trace",
    "Iteration",
];

/// Processes whose rows are sums over the rows of others, and so no work: Ascend's.
pub fn is_summary_process(name: &str) -> bool {
    matches!(
        name.trim(),
        "Overlap Analysis"
            | "Step Trace"
            | "AI Core Freq"
            | "Stars Soc Info"
            | "HBM"
            | "DDR"
            | "LLC"
    )
}

/// Processes all of whose rows are calls of a device's API: Ascend's, and rocprof's of version 1.
pub fn is_call_process(name: &str) -> bool {
    matches!(
        name.trim(),
        "CANN" | "CPU HIP API" | "CPU HSA API" | "CPU KFD API"
    )
}

/// True for the category of arrows that lead from a launch to the work it began.
pub fn is_launch_flow(category: &str) -> bool {
    // unitrace writes one category an arrow: `Flow_H2D_12_0`.
    LAUNCH_FLOWS.contains(&category)
        || category.starts_with("Flow_H2D_")
        || category.starts_with("CL_Flow_H2D_")
}

const LAUNCH_FLOWS: [&str; 8] = [
    "ac2g",
    "async_gpu",
    "async_cpu_to_gpu",
    "cpu_to_cuda",
    "DataFlow",
    "HostToDevice",
    "async_npu",
    "MsTx",
];

/// True for the name of a row that stands for time in which a device did nothing.
pub fn is_idle_row(name: &str) -> bool {
    matches!(
        name.trim().to_ascii_lowercase().as_str(),
        "free" | "idle" | "idle:" | "gpu idle" | "device idle" | "bubble" | "bubble time"
    )
}

/// True for the name of a row of a device that waits: for an event, a signal or another rank.
pub fn is_wait_row(name: &str) -> bool {
    let name = name.trim();
    matches!(
        name,
        "EVENT_WAIT" | "event_wait" | "Event Wait" | "EVENT_WAIT_SQE" | "CAPTURE_WAIT"
    )
}

/// True for the name of a task of Ascend's collectives that waits until another rank has come.
pub fn is_wait_for_rank(name: &str) -> bool {
    let name = name.trim().trim_end_matches("_SQE");
    matches!(name, "Notify Wait" | "Notify_Wait" | "NOTIFY_WAIT")
}

/// True for the name of a row that adds up operations of a stream, as MindSpore's timelines have them:
/// `stream_540_parallel_0`.
pub fn is_sum_of_streams(name: &str) -> bool {
    let stream = name.strip_prefix("stream_");
    let parts = stream.and_then(|rest| rest.split_once("_parallel_"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    parts.is_some_and(|(stream, part)| is_number(stream) && is_number(part))
}

/// True for the name of a task of one of Ascend's collectives: moving data, reducing it, waiting for another rank.
pub fn is_task_of_collective(name: &str) -> bool {
    let name = name.trim().trim_end_matches("_SQE");
    matches!(
        name,
        "SDMA"
            | "RDMASend"
            | "RDMA_SEND"
            | "Notify Record"
            | "Notify_Record"
            | "NOTIFY_RECORD"
            | "Write Value"
            | "WRITE_VALUE"
            | "Reduce_Inline"
            | "REDUCE_ASYNC"
            | "REDUCE_ASYNC_V2"
    ) || is_wait_for_rank(name)
}

/// True for the name of a process that shows Ascend's collectives: a thread with the whole of each, and one for each
/// plane, with their tasks.
pub fn is_collective_process(name: &str) -> bool {
    matches!(name.trim(), "HCCL" | "Communication")
}

/// True for the name of a row of a device that marks where a stream has come to.
pub fn is_mark_row(name: &str) -> bool {
    matches!(
        name.trim(),
        "EVENT_RECORD"
            | "event_record"
            | "EVENT_RECORD_SQE"
            | "EVENT_RESET"
            | "EVENT_RESET_SQE"
            | "PROFILING_ENABLE"
            | "PROFILING_DISABLE"
    )
}

/// Parts of names of communication kernels, in lower case: the libraries, and collectives that programs bring along.
pub const COMMUNICATION: [&str; 50] = [
    // Libraries.
    "nccl",
    "rccl",
    "hccl",
    "oneccl",
    "hcom_",
    "gloo",
    "c10d::",
    "nvshmem",
    "rocshmem",
    "mscclpp",
    "msccl",
    "mpi_",
    "cnclkernel",
    "xccl",
    // Experts in parallel: DeepEP under its names.
    "deep_ep",
    "deepep",
    "dpsk::ep",
    "internode::",
    "intranode::",
    "internode_ll",
    "mori::",
    "pplx",
    // Operations.
    "allreduce",
    "all_reduce",
    "allgather",
    "all_gather",
    "reducescatter",
    "reduce_scatter",
    "alltoall",
    "all_to_all",
    // XLA's.
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    // Inference servers, over peer memory or multicast.
    "cross_device_reduce",
    "quickreduce",
    "multimem_",
    "nvls",
    "symm_mem",
    "lamport",
    "userbuffers",
    "oneshotall",
    "twoshotall",
    // Tasks of Ascend's collectives.
    "notify_wait",
    "notify wait",
    "reduce_async",
    "reduce_inline",
    "rdmasend",
];

/// What a library of NVIDIA that comes without symbols is called, by its file name.
pub fn library_without_symbols(file: &str) -> Option<&'static str> {
    const LIBRARIES: [(&str, &str); 10] = [
        ("libcublas", "cuBLAS"),
        ("libcuda.so", "the CUDA driver"),
        ("libcudart.so", "the CUDA runtime"),
        ("libcudnn", "cuDNN"),
        ("libcufft", "cuFFT"),
        ("libcusolver", "cuSOLVER"),
        ("libcusparse", "cuSPARSE"),
        ("libnvidia-", "NVIDIA's driver"),
        ("libnvinfer", "TensorRT"),
        ("libnvrtc", "NVRTC"),
    ];
    let known = LIBRARIES.iter().find(|(start, _)| file.starts_with(start));
    known.map(|(_, called)| *called)
}

/// A framework that runs programs of XLA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XlaFramework {
    Jax,
    TensorFlow,
}

impl XlaFramework {
    /// The framework whose runtime gives rows this name. Readers of `tf.data` run TensorFlow in programs of JAX as well.
    pub fn of_row(name: &str) -> Option<Self> {
        const TENSORFLOW: [&str; 6] = [
            "SessionRun",
            "EagerExecute",
            "EagerLocalExecute",
            "EagerKernelExecute",
            "ExecutorState::Process",
            "FunctionRun",
        ];
        const JAX: [&str; 3] = ["PjitFunction", "JaxPmapFunction", "JaxCompiledFunction"];
        let is_of_jax = JAX.iter().any(|start| name.starts_with(start));
        if is_of_jax || name.contains("jax/_src/") {
            return Some(Self::Jax);
        }
        let is_of_tensorflow = TENSORFLOW.iter().any(|start| name.starts_with(start));
        is_of_tensorflow.then_some(Self::TensorFlow)
    }
}

/// True for the name of a function that starts or stops a profiler: PyTorch's or JAX's. It and all within it are the
/// profiler's work.
/// Other functions of a profiler may hold the program that it records.
pub fn is_profiler_control(name: &str) -> bool {
    const PARTS: [&str; 6] = [
        "prepare_trace",
        "start_trace",
        "stop_trace",
        "_prepare_profiler",
        "_enable_profiler",
        "_disable_profiler",
    ];
    PARTS.iter().any(|part| name.contains(part))
}

/// True for the name of a kernel that copies: those of ROCm's runtime, and XLA's operations that start an asynchronous
/// copy, make it, or wait for it.
pub fn is_copy_kernel(name: &str) -> bool {
    const XLA: [&str; 6] = [
        "async-copy",
        "async-copy-done",
        "copy-done",
        "copy-start",
        "slice-done",
        "slice-start",
    ];
    let operation = name
        .split_once('.')
        .map_or(name, |(operation, _)| operation);
    name.starts_with("__amd_rocclr_copy") || XLA.contains(&operation)
}

/// True for the name of PyTorch's range around a collective that runs on a device, such as `nccl:all_reduce`.
pub fn is_collective_of_devices(name: &str) -> bool {
    const LIBRARIES: [&str; 5] = ["nccl", "rccl", "hccl", "xccl", "oneccl"];
    let library = name.split_once(':').map(|(library, _)| library);
    library.is_some_and(|library| LIBRARIES.contains(&library))
}

/// True for an operator of PyTorch that runs on a device whatever its tensors are, such as `aten::cudnn_convolution`.
pub fn is_operator_of_devices(name: &str) -> bool {
    const OPERATORS: [&str; 8] = [
        "cudnn_batch_norm",
        "cudnn_convolution",
        "cudnn_ctc_loss",
        "cudnn_rnn",
        "miopen_",
        "mps_convolution",
        "mps_linear",
        "scaled_dot_product_cudnn_attention",
    ];
    let operator = name.strip_prefix("aten::");
    let operator = operator.map(|name| name.trim_start_matches('_'));
    operator.is_some_and(|name| OPERATORS.iter().any(|start| name.starts_with(start)))
}

/// What an accelerator is called, by its model, or where that is not recorded by the names of its kernels.
pub fn accelerator<'a>(
    model: Option<&str>,
    kernels: impl IntoIterator<Item = &'a str>,
) -> &'static str {
    /// Starts of a word of the model.
    const MODELS: [(&str, &str); 16] = [
        ("aiu", "AIU"),
        ("artemis", "MTIA"),
        ("ascend", "NPU"),
        ("blackhole", "device"),
        ("dcu", "DCU"),
        ("gaudi", "HPU"),
        ("grayskull", "device"),
        ("hpu", "HPU"),
        ("inferentia", "NeuronCore"),
        ("ipu", "IPU"),
        ("mtia", "MTIA"),
        ("npu", "NPU"),
        ("spyre", "AIU"),
        ("tpu", "TPU"),
        ("trainium", "NeuronCore"),
        ("wormhole", "device"),
    ];
    const KERNELS: [(&str, &str); 3] = [
        ("aclnn", "NPU"),
        ("hcom_", "NPU"),
        ("tpu_custom_call", "TPU"),
    ];
    let begins = |text: &str, starts: &[(&str, &'static str)]| {
        let mut starts = starts.iter();
        starts
            .find(|(start, _)| text.starts_with(start))
            .map(|(_, noun)| *noun)
    };
    let Some(model) = model else {
        let mut kernels = kernels.into_iter();
        let noun = kernels.find_map(|name| begins(name, &KERNELS));
        return noun.unwrap_or("GPU");
    };
    let model = model.to_ascii_lowercase();
    let mut words = model.split(|letter: char| !letter.is_ascii_alphanumeric());
    let noun = words.find_map(|word| begins(word, &MODELS));
    noun.unwrap_or("GPU")
}

/// True if a kernel of that name is communication, whose time depends on other ranks.
///
/// ```
/// use trueno_analysis::vendors::is_communication;
///
/// assert!(is_communication("void dpsk::ep::internode::combine<__nv_bfloat16, 8>(x)"));
/// assert!(is_communication("void vllm::cross_device_reduce_2stage<__half, 8>(…)"));
/// assert!(!is_communication("ampere_bf16_s1688gemm"));
/// ```
pub fn is_communication(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    COMMUNICATION.iter().any(|part| lower.contains(part))
}

/// The name of an operation of XLA. A program may give a collective any name (`psum.3`): then the kind of operation that XLA
/// states (`hlo_category`) comes before it.
///
/// ```
/// use trueno_analysis::vendors::xla_operation;
///
/// assert_eq!(xla_operation("psum.3", Some("all-reduce")), "all-reduce psum.3");
/// assert_eq!(xla_operation("all-reduce.3", Some("all-reduce")), "all-reduce.3");
/// assert_eq!(xla_operation("fusion.3", Some("loop fusion")), "fusion.3");
/// ```
pub fn xla_operation<'n>(name: &'n str, kind: Option<&str>) -> Cow<'n, str> {
    match kind {
        Some(kind) if is_communication(kind) && !is_communication(name) => {
            Cow::Owned(format!("{kind} {name}"))
        }
        _ => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_vendor_are_told_by_their_names() {
        use Call::{AsyncCopy, BlockingCopy, Launch, MayWait, Other, Wait};
        for (name, expected) in [
            ("cudaMemcpy", Some(BlockingCopy)),
            ("hipMemcpyWithStream", Some(BlockingCopy)),
            ("cuMemcpyHtoDAsync_v2", Some(AsyncCopy)),
            ("hipMemsetAsync", Some(AsyncCopy)),
            ("cudaMemset", Some(Other)),
            ("cudaGraphLaunch", Some(Launch)),
            ("cudaLaunchKernelExC_v11060", Some(Launch)),
            ("cudaLaunchHostFunc", Some(Other)),
            ("hipExtModuleLaunchKernel", Some(Launch)),
            ("hsa_signal_wait_scacquire", Some(Wait(WaitFor::Event))),
            ("hsa_amd_memory_async_copy_on_engine", Some(AsyncCopy)),
            ("zeCommandQueueExecuteCommandLists", Some(Launch)),
            ("zeEventHostSynchronize", Some(Wait(WaitFor::Event))),
            ("urEnqueueKernelLaunch", Some(Launch)),
            ("clFinish", Some(Wait(WaitFor::Stream))),
            ("aclrtMemcpyAsync", Some(AsyncCopy)),
            ("AscendCL@aclnnMm", Some(Launch)),
            ("Runtime: cudaLaunchKernel_v7000", Some(Launch)),
            ("mtiaLaunch", Some(Launch)),
            ("PJRT_Event_Await", Some(Wait(WaitFor::Event))),
            ("cnInvokeKernel", Some(Launch)),
            ("cuStreamWaitEvent_ptsz", Some(Wait(WaitFor::StreamOrder))),
            ("cudaThreadSynchronize", Some(Wait(WaitFor::Device))),
            ("cuMemFree_v2", Some(MayWait)),
            ("cudaFreeAsync", Some(Other)),
            ("DeviceSynchronize", None),
            ("cuda_like", None),
            ("currentStep", None),
            ("clear", None),
            ("muon_step", None),
            ("zeroGrad", None),
            ("zeroInit", None),
            ("synchronise", None),
        ] {
            assert_eq!(call(name), expected, "{name}");
        }
    }

    #[test]
    fn calls_that_go_to_the_driver_for_memory_are_told_from_those_of_a_pool() {
        for name in [
            "cudaMalloc",
            "cudaMallocArray",
            "cudaFreeArray_v3020",
            "cuArrayDestroy",
            "hipFree",
            "cuMemAlloc_v2",
            "cuMemFreeHost",
            "zeMemAllocDevice",
            "aclrtFree",
        ] {
            assert!(takes_or_returns_memory(name), "{name}");
        }
        for name in [
            "cudaMallocAsync",
            "cudaFreeAsync",
            "cuMemFreeAsync",
            "cudaMemcpy",
            "Free",
            "malloc",
        ] {
            assert!(!takes_or_returns_memory(name), "{name}");
        }
    }

    #[test]
    fn processes_that_are_devices_are_told_from_those_that_speak_of_them() {
        for (name, number) in [
            ("GPU0", Some(Some(0))),
            ("GPU 3", Some(Some(3))),
            ("/device:GPU:0 (pid 1)", Some(Some(0))),
            ("/device:TPU:12", Some(Some(12))),
            (
                "/job:localhost/replica:0/task:0/device:GPU:1/stream:all Compute",
                Some(Some(1)),
            ),
            ("/gpu:0/stream:7 Compute", Some(Some(0))),
            ("Ascend Hardware", Some(None)),
            ("NPU", Some(None)),
            ("CUDA functions", Some(None)),
            ("/host:CPU", None),
            ("/job:localhost/replica:0/task:0/device:CPU:0 Compute", None),
            ("GPU worker", None),
            ("gpu_loader", None),
            ("python", None),
            ("device manager", None),
            ("", None),
        ] {
            assert_eq!(
                device_of_process(name).map(|of| of.number),
                number,
                "{name}"
            );
        }
    }

    #[test]
    fn lanes_of_devices_are_streams_repeats_or_idle_time() {
        for (name, expected) in [
            ("Stream #20(Compute,MemcpyD2D)", DeviceLane::Work(Some(20))),
            ("stream 7 ", DeviceLane::Work(Some(7))),
            ("XLA Ops", DeviceLane::Work(None)),
            ("XLA Modules", DeviceLane::Repeated),
            ("_counters_", DeviceLane::Readings),
            ("Free", DeviceLane::Idle),
        ] {
            assert_eq!(device_lane(name), expected, "{name}");
        }
    }

    #[test]
    fn the_parts_of_communication_are_in_lower_case_and_each_once() {
        let mut parts = COMMUNICATION.to_vec();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), COMMUNICATION.len());
        for part in COMMUNICATION {
            assert_eq!(part, part.to_ascii_lowercase());
        }
    }

    #[test]
    fn an_accelerator_is_called_what_its_makers_call_it() {
        let of = |model| accelerator(model, ["aclnnMm_MatMul"]);
        assert_eq!(of(Some("NVIDIA H100 80GB HBM3")), "GPU");
        assert_eq!(of(Some("Ascend910B")), "NPU");
        assert_eq!(of(Some("TPU v5 lite")), "TPU");
        assert_eq!(of(Some("ARTEMIS")), "MTIA");
        assert_eq!(of(None), "NPU");
        assert_eq!(accelerator(None, ["ampere_sgemm_128x64_nn"]), "GPU");
    }
}
