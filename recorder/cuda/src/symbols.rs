//! Driver functions that cudarc calls for us.

use std::ffi::CStr;

/// Functions of the driver that this crate reaches through cudarc, which panics at the first call of one that is
/// missing: asked for first. All are there from CUDA 11.2 on. `cuEventElapsedTime` is called without cudarc, which would
/// take another function with some of its versions.
pub const NEEDED: &[&CStr] = &[
    c"cuCtxGetCurrent",
    c"cuCtxSetCurrent",
    c"cuCtxSynchronize",
    c"cuDeviceGet",
    c"cuDeviceGetAttribute",
    c"cuDeviceGetName",
    c"cuDevicePrimaryCtxRelease_v2",
    c"cuDevicePrimaryCtxRetain",
    c"cuDriverGetVersion",
    c"cuEventCreate",
    c"cuEventDestroy_v2",
    c"cuEventElapsedTime",
    c"cuEventQuery",
    c"cuEventRecord",
    c"cuEventSynchronize",
    c"cuFuncGetAttribute",
    c"cuGetErrorString",
    c"cuLaunchKernel",
    c"cuMemAllocAsync",
    c"cuMemAlloc_v2",
    c"cuMemFreeAsync",
    c"cuMemFree_v2",
    c"cuMemcpyDtoDAsync_v2",
    c"cuMemcpyDtoHAsync_v2",
    c"cuMemcpyHtoDAsync_v2",
    c"cuMemsetD8Async",
    c"cuModuleGetFunction",
    c"cuModuleLoadData",
    c"cuModuleUnload",
    c"cuStreamCreate",
    c"cuStreamDestroy_v2",
    c"cuStreamSynchronize",
    c"cuStreamWaitEvent",
];
