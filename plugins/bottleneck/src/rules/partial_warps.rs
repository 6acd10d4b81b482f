//! Blocks that do not fill a warp: the hardware runs 32 threads at once (64 on some of AMD's devices), and those that a block
//! lacks do nothing.
//!
//! Evidence: kernels whose blocks have fewer than 32 threads take at least `partial_warp_share` of the device's busy time, in grids of
//! at least `few_blocks` blocks; smaller grids have a worse fault, which `small_batches` reports. No gain: a kernel that waits for
//! memory need not become faster with more threads.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;

use super::compute::UNOPTIMISED;
use super::draft::Draft;
use super::{Options, Rule};
use crate::facts::{Facts, condition, name_of};
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{percent, short};

/// The smallest warp of any device.
const WARP: i64 = 32;

thresholds! {
    pub struct PartialWarps {
        /// Share of the device's busy time.
        partial_warp_share: f64 = 0.2,
    }
}

impl Rule for PartialWarps {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let few_blocks = options.small_batches.few_blocks;
        for device in facts.device.devices() {
            let mut all_ns = 0_i64;
            let mut partial: BTreeMap<(&str, i64), (i64, u64)> = BTreeMap::new();
            let kernels = facts.device.of(Some(device));
            for work in kernels.filter(|work| work.is_kernel()) {
                let ns = work.end_ns.saturating_sub(work.start_ns);
                all_ns = all_ns.saturating_add(ns);
                let is_large = work.blocks.is_some_and(|blocks| blocks >= few_blocks);
                let threads = work.threads.filter(|threads| (1..WARP).contains(threads));
                if let Some(threads) = threads.filter(|_| is_large) {
                    let sum = partial
                        .entry((facts.device.name(work), threads))
                        .or_default();
                    *sum = (sum.0.saturating_add(ns), sum.1 + 1);
                }
            }
            let sums = partial.values();
            let (ns, calls) = sums.fold((0_i64, 0), |sum, of| {
                (sum.0.saturating_add(of.0), sum.1 + of.1)
            });
            let most = partial
                .iter()
                .max_by_key(|(of, sum)| (sum.0, std::cmp::Reverse(**of)));
            let Some(((most, threads), _)) = most else {
                continue;
            };
            let share = trueno_analysis::share(ns, all_ns).unwrap_or(0.0);
            if share < self.partial_warp_share || facts.share(ns) < options.general.least_share {
                continue;
            }
            let name = name_of(Some(device));
            Draft {
                class: UNOPTIMISED,
                code: "partial_warps",
                scope_kind: "device",
                scope: name.clone(),
                place: name.clone(),
                confidence: (Confidence::High, "the grids and blocks of kernels are recorded".into()),
                lead: format!(
                    "{} of the busy time of {name} is in blocks of fewer than {WARP} threads, which leave lanes of each warp idle; most in {} with {threads}",
                    percent(share),
                    short(most)
                ),
                fix: format!("give blocks a multiple of {WARP} threads"),
                evidence: format!(
                    "SELECT name, block_x, block_y, block_z, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM kernels WHERE {} \
                     AND block_x * block_y * block_z < {WARP} GROUP BY name, block_x, block_y, block_z ORDER BY dur_ns DESC",
                    condition(Some(device))
                ),
                assumption: "none: no gain is claimed".into(),
                considered: format!("grids of {few_blocks} blocks or more; smaller ones leave most of the device idle anyway"),
                suggestion: "128 or 256 threads a block suit most kernels; launch fewer blocks for it".into(),
            }
            .without_gain(facts, Evidence::new(calls, ns), Severity::from_share(facts.share(ns) / 2.0, &options.general), verdicts);
        }
    }
}
