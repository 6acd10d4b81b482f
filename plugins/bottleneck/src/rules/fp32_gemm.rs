//! Matrix products and convolutions in 32-bit floats, on a device whose tensor cores stay unused.
//!
//! Evidence: kernels of cuBLAS, cuDNN and CUTLASS whose names say 32-bit floats without tensor cores (`sgemm`, `scudnn`, `simt`,
//! `ffma`, Winograd and FFT on `float`), on a device with tensor cores; at least `fp32_gemm_share` of its busy time. The compute
//! capability says which they are: TF32 and 16-bit types from Ampere (8.0) on, fp16 on Volta and Turing (7.x). Where it is not
//! recorded, kernels must run on the device that only exist from Ampere on.
//! No gain: what tensor cores save depends on the shapes, and whether fewer bits of mantissa suffice on the program.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;

use super::compute::UNOPTIMISED;
use super::draft::Draft;
use super::{Options, Rule};
use crate::facts::{Facts, Model, condition, name_of};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{percent, short};

thresholds! {
    pub struct Fp32Gemm {
        /// Share of the device's busy time.
        fp32_gemm_share: f64 = 0.2,
    }
}

/// Parts of names of kernels for Ampere and later.
const WITH_TF32: [&str; 9] = [
    "ampere_",
    "sm80",
    "sm86",
    "sm89",
    "sm90",
    "sm100",
    "sm120",
    "cutlass_80",
    "cutlass3x",
];

/// Parts of names of kernels that use tensor cores, or another type.
const NOT_FP32: [&str; 14] = [
    "tf32", "tensorop", "hmma", "s884", "s1688", "s16816", "fp16", "f16", "half", "hgemm", "dgemm",
    "igemm", "double", "f64",
];
/// Parts of names of convolutions, which do not say their type.
const CONVOLUTIONS: [&str; 5] = [
    "winograd",
    "fft2d_",
    "wgrad_alg",
    "dgrad_engine",
    "convolve",
];

fn is_fp32(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let has = |part: &str| name.contains(part);
    if NOT_FP32.iter().any(|part| has(part)) {
        return false;
    }
    has("sgemm")
        || has("scudnn")
        || (has("simt") && has("gemm"))
        || (has("_ffma") && has("f32f32"))
        || (has("float") && CONVOLUTIONS.iter().any(|part| has(part)))
}

fn is_convolution(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut parts = CONVOLUTIONS
        .iter()
        .chain(&["scudnn", "fprop", "dgrad", "wgrad"]);
    parts.any(|part| name.contains(part))
}

fn has_tf32(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WITH_TF32.iter().any(|part| name.contains(part))
}

/// What tensor cores compute in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TensorCores {
    /// TF32 and 16-bit types.
    Tf32,
    /// fp16 only.
    Half,
}

impl TensorCores {
    /// `None`: the device has none, or its compute capability is not recorded.
    fn of(model: &Model) -> Option<Self> {
        let name = model.name.as_deref().unwrap_or_default();
        let is_of_another = ["AMD", "Instinct", "Radeon", "gfx"];
        if is_of_another.iter().any(|part| name.contains(part)) {
            return None;
        }
        match model.capability? {
            (8.., _) => Some(Self::Tf32),
            (7, 5) if is_small_turing(name) => None,
            (7, _) => Some(Self::Half),
            _ => None,
        }
    }
}

/// Turing without tensor cores: GeForce GTX 16, MX, and Quadro T400 to T2000.
fn is_small_turing(name: &str) -> bool {
    let is_quadro = |word: &str| {
        let number = word
            .strip_prefix('T')
            .and_then(|number| number.parse().ok());
        number.is_some_and(|number: u32| number >= 100)
    };
    let mut words = name.split_whitespace();
    name.contains("GTX 16") || words.any(|word| word.starts_with("MX") || is_quadro(word))
}

impl Rule for Fp32Gemm {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for device in facts.device.devices() {
            let kernels = facts.device.of(Some(device));
            let kernels = kernels.filter(|work| work.is_kernel());
            let mut times: BTreeMap<&str, (i64, u64)> = BTreeMap::new();
            for work in kernels {
                let sum = times.entry(facts.device.name(work)).or_default();
                sum.0 = sum
                    .0
                    .saturating_add(work.end_ns.saturating_sub(work.start_ns));
                sum.1 += 1;
            }
            let model = facts.device.model(device);
            let model = model.filter(|model| model.capability.is_some());
            let by_names = || times.keys().any(|name| has_tf32(name));
            let cores = match model {
                Some(model) => TensorCores::of(model),
                None => by_names().then_some(TensorCores::Tf32),
            };
            let Some(cores) = cores else {
                continue;
            };
            let all_ns = times
                .values()
                .fold(0_i64, |sum, of| sum.saturating_add(of.0));
            let fp32 = times.iter().filter(|(name, _)| is_fp32(name));
            let (ns, calls) = fp32.clone().fold((0_i64, 0), |(ns, calls), (_, of)| {
                (ns.saturating_add(of.0), calls + of.1)
            });
            let mut names = fp32.clone();
            let convolves = names.any(|(name, _)| is_convolution(name));
            let Some((most, _)) = fp32.max_by_key(|(name, of)| (of.0, std::cmp::Reverse(**name)))
            else {
                continue;
            };
            let share = trueno_analysis::share(ns, all_ns).unwrap_or(0.0);
            if share < self.fp32_gemm_share || facts.share(ns) < options.general.least_share {
                continue;
            }
            let name = name_of(Some(device));
            Draft {
                class: UNOPTIMISED,
                code: "fp32_gemm",
                scope_kind: "device",
                scope: name.clone(),
                place: name.clone(),
                confidence: (Confidence::Medium, "by the names of kernels, which say precision and instruction".into()),
                lead: format!(
                    "{} of the busy time of {name} is in matrix products{} in fp32 without tensor cores, most in {}",
                    percent(share),
                    if convolves { " and convolutions" } else { "" },
                    short(most)
                ),
                fix: match cores {
                    TensorCores::Tf32 => "allow TF32 or a 16-bit type if the accuracy suffices",
                    TensorCores::Half => "use mixed precision (fp16) if the accuracy suffices",
                }
                .into(),
                evidence: format!(
                    "SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM kernels WHERE {} GROUP BY name ORDER BY dur_ns DESC",
                    condition(Some(device))
                ),
                assumption: "none: no gain is claimed".into(),
                considered: match model.and_then(|model| model.capability) {
                    Some((major, minor)) => format!("the device has tensor cores: its compute capability is {major}.{minor}"),
                    None => "kernels of the same device that only run on tensor cores' generations (Ampere and later)".into(),
                },
                suggestion: match cores {
                    TensorCores::Tf32 => facts.producer.advice(
                        "torch.set_float32_matmul_precision(\"high\") allows TF32, which keeps 10 bits of mantissa; autocast uses bf16",
                        "let cuBLAS compute in TF32 (CUBLAS_COMPUTE_32F_FAST_TF32), which keeps 10 bits of mantissa, or use bf16",
                    ),
                    TensorCores::Half => facts.producer.advice(
                        "`torch.autocast(\"cuda\", dtype=torch.float16)`, with `torch.amp.GradScaler` in training: these tensor cores compute in fp16, not in TF32 or bf16",
                        "compute products and convolutions in fp16 with sums in fp32: these tensor cores have no TF32 and no bf16",
                    ),
                },
            }
            .without_gain(facts, Evidence::new(calls, ns), Severity::from_share(facts.share(ns) / 2.0, &options.general), verdicts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_fp32_without_tensor_cores() {
        for name in [
            "volta_sgemm_128x64_nt",
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>(Params)",
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel",
            "_5x_cudnn_volta_scudnn_128x32_relu_small_nn_v1",
            "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(WinogradDataParams<float, float>)",
            "void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*)",
            "void cudnn::cnn::wgrad_alg1_engine<float, float, 512, 6, 5, 3, 3, 3, false, false>(int)",
        ] {
            assert!(is_fp32(name), "{name}");
        }
        for name in [
            "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn",
            "volta_fp16_scudnn_fp16_128x64_relu_interior_nn_v1",
            "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel",
            "void cutlass::Kernel2<cutlass_80_simt_dgemm_64x64_8x4_nn_align1>(Params)",
            "void cudnn::winograd_nonfused::winogradForwardData4x4<float, __half>(Params)",
            "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
        ] {
            assert!(!is_fp32(name), "{name}");
        }
    }

    #[test]
    fn devices_have_tensor_cores_by_their_capability() {
        let of = |name: &str, capability| {
            TensorCores::of(&Model {
                name: Some(name.to_owned()),
                capability: Some(capability),
            })
        };
        assert_eq!(of("NVIDIA GH200 480GB", (9, 0)), Some(TensorCores::Tf32));
        assert_eq!(of("NVIDIA RTX A4000", (8, 6)), Some(TensorCores::Tf32));
        assert_eq!(of("Tesla T4", (7, 5)), Some(TensorCores::Half));
        assert_eq!(
            of("NVIDIA GeForce RTX 2080 Ti", (7, 5)),
            Some(TensorCores::Half)
        );
        assert_eq!(of("Tesla V100-SXM2-32GB", (7, 0)), Some(TensorCores::Half));
        assert_eq!(of("NVIDIA GeForce GTX 1660 Ti", (7, 5)), None);
        assert_eq!(of("Quadro T2000", (7, 5)), None);
        assert_eq!(of("Tesla P100-PCIE-16GB", (6, 0)), None);
        assert_eq!(of("AMD Instinct MI300X", (9, 4)), None);
    }
}
