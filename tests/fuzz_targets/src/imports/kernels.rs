//! Kernels of a run that counters are joined to.

use trueno_import::ncu::TracedKernel;

/// A few kernels on two devices. Some share a name.
pub fn traced() -> impl Iterator<Item = TracedKernel<'static>> {
    let names = [
        "saxpy",
        "void gemm<float, 128>(float*, int)",
        "saxpy",
        "ns::reduce<(int)4>(T1 *)",
        "saxpy",
    ];
    names.into_iter().zip(0..).map(|(name, nth)| TracedKernel {
        id: nth + 1,
        name,
        grid: (nth != 3).then_some([8, 1, 1]),
        block: Some([32, 1 + u32::from(nth == 1), 1]),
        start_ns: 100 * nth as i64,
        correlation: (nth != 4).then_some(nth),
        device: Some(u32::from(nth == 2)),
        stream: Some(7),
    })
}
