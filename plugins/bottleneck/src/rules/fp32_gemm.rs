//! Matrix products in 32-bit floats, on a device whose tensor cores stay unused.
//!
//! Evidence: kernels of cuBLAS and CUTLASS whose names say 32-bit floats without tensor cores (`sgemm`, `simt`), beside
//! kernels that only exist from Ampere on, which has TF32 tensor cores; at least `least_share` of the device's busy time.
//! No gain: what TF32 saves depends on the shapes, and whether its 10 bits of mantissa suffice on the program.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;

use super::compute::UNOPTIMISED;
use super::draft::Draft;
use super::{Options, Rule};
use crate::facts::{Facts, condition, name_of};
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

fn is_fp32(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("sgemm") || name.contains("simt") && name.contains("gemm")
}

fn has_tf32(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WITH_TF32.iter().any(|part| name.contains(part))
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
            if !times.keys().any(|name| has_tf32(name)) {
                continue;
            }
            let all_ns = times
                .values()
                .fold(0_i64, |sum, of| sum.saturating_add(of.0));
            let fp32 = times.iter().filter(|(name, _)| is_fp32(name));
            let (ns, calls) = fp32.clone().fold((0_i64, 0), |(ns, calls), (_, of)| {
                (ns.saturating_add(of.0), calls + of.1)
            });
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
                    "{} of the busy time of {name} is in matrix products in fp32 without tensor cores, most in {}",
                    percent(share),
                    short(most)
                ),
                fix: "allow TF32 or a 16-bit type if the accuracy suffices".into(),
                evidence: format!(
                    "SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM kernels WHERE {} GROUP BY name ORDER BY dur_ns DESC",
                    condition(Some(device))
                ),
                assumption: "none: no gain is claimed".into(),
                considered: "kernels of the same device that only run on tensor cores' generations (Ampere and later)".into(),
                suggestion: facts.producer.advice(
                    "torch.set_float32_matmul_precision(\"high\") allows TF32, which keeps 10 bits of mantissa; autocast uses bf16",
                    "let cuBLAS compute in TF32 (CUBLAS_COMPUTE_32F_FAST_TF32), which keeps 10 bits of mantissa, or use bf16",
                ),
            }
            .without_gain(facts, Evidence::new(calls, ns), Severity::from_share(facts.share(ns) / 2.0, &options.general), verdicts);
        }
    }
}
