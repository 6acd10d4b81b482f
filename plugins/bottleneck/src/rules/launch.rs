//! Launch-bound: the device is done before the host has launched the next piece, again and again.
//!
//! Evidence: at least `least_gaps` gaps of cause `launch` (see [`idle`](crate::facts::Idle)): the host asked after
//! the device had fallen idle, within `prepare_ns`, no wait held it, and the launch was not the first of its kernel, in which
//! code is loaded ([`idle_stretch`](super::idle_stretch) counts those). Gain: all of those gaps, as if
//! the work followed back to back, but no more than the path spends on the host (of a rank: on its lanes). A graph of a
//! whole step also leaves out what the host does between some launches for longer: where launches are at least as much, the gaps
//! of cause `host` count, too. (Three eager trainings of 39 kernels a step on an H200: 84, 77 and 78 % is what the path
//! spends on the host; a graph saved 84, 77 and 78 %.)

use std::collections::BTreeMap;

use super::draft::Draft;
use super::gaps::{gap_confidence, gaps, gaps_sql, host_path_ns, other_causes, times, total_ns};
use super::serialised::is_serialised;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Cause, Facts, Idle, Without, Work};
use crate::options::thresholds;
use crate::verdict::Verdicts;
use crate::wording::{count, percent, time};
use trueno_analysis::intervals::SaturatingSum;
use trueno_analysis::producer::Producer;

/// The device waits for the host to launch the next short kernel.
pub const CLASS: Class = Class::new("launch_bound", 3);

/// Number of calls that a capture forbids: they allocate or free memory, or wait (CUDA C++ Programming Guide, CUDA
/// graphs, "prohibited and unhandled operations").
fn not_captured(facts: &Facts) -> u64 {
    let is_forbidden = |name: &str| {
        let name = name.split("_v").next().unwrap_or(name);
        let starts = ["cuda", "cu", "hip"]
            .iter()
            .find_map(|start| name.strip_prefix(start));
        starts.is_some_and(|rest| {
            let memory = ["Malloc", "MemAlloc", "Free", "MemFree"].contains(&rest);
            memory || rest.ends_with("Synchronize")
        })
    };
    let calls = facts.bricks.calls.iter();
    let forbidden = calls.filter(|(name, ..)| is_forbidden(name));
    forbidden
        .map(|(_, count, ..)| *count)
        .fold(0, u64::saturating_add)
}

thresholds! {
    pub struct LaunchBound {
    }
}

impl Rule for LaunchBound {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for (device, ..) in &facts.idle.spans {
            let name = Idle::device_name(*device);
            let (unknown, unknown_ns) = facts.idle.total(*device, Cause::Unknown);
            if unknown >= options.gaps.least_gaps
                && facts.share(unknown_ns) >= options.general.least_share
            {
                verdicts.not_measurable(
                CLASS,
                &name,
                format!(
                    "when the host launched the work after {} gaps ({}){}",
                    count(unknown),
                    time(unknown_ns),
                    if facts.device.has_unknown() { ", or on which device it ran" } else { "" }
                ),
                "record API calls with their correlation (CUPTI runtime activity, nsys --trace=cuda, Kineto's CPU activity)",
            );
            }
            let launches = gaps(facts, *device, Cause::Launch).0;
            let (n, ns) = (launches.len() as u64, total_ns(&launches));
            if n < options.gaps.least_gaps || is_serialised(facts, options, *device) {
                continue;
            }
            let during = times(&launches);
            let work = facts.device.of(Some(*device));
            // Nodes of one graph have one launch.
            let mut launches_of: BTreeMap<(i64, i64), u64> = BTreeMap::new();
            for launch in work.clone().filter_map(|work| work.launch) {
                *launches_of.entry(launch).or_default() += 1;
            }
            let is_launched =
                |work: &&Work| work.launch.is_none_or(|launch| launches_of[&launch] == 1);
            let kernels = work.filter(|work| work.is_kernel()).filter(is_launched);
            let durs: Vec<i64> = kernels.map(|kernel| kernel.dur_ns()).collect();
            let kernels = durs.len() as u64;
            let mean = durs.into_iter().saturating_sum() / (kernels.max(1) as i64);
            let prepared_ns = total_ns(&gaps(facts, *device, Cause::Host).0);
            let is_of_launches = prepared_ns <= ns;
            let most_ns = ns.saturating_add(if is_of_launches { prepared_ns } else { 0 });
            Draft {
            class: CLASS,
            code: "launch_bound",
            scope_kind: "device",
            scope: name.clone(),
            place: name.clone(),
            confidence: gap_confidence(facts, n, options),
            lead: format!(
                "{name} waits for kernel launches for {} of the wall ({} kernels of {})",
                percent(facts.share(ns)),
                count(kernels),
                time(mean)
            ),
            fix: if facts.producer == Producer::Jax {
                "compiling the launches as one program"
            } else if not_captured(facts) >= n {
                "keeping allocations and waits out of the loop and capturing it in a graph"
            } else {
                "capturing the launches in a graph"
            }
            .into(),
            evidence: gaps_sql(launches),
            assumption: if is_of_launches && prepared_ns > 0 {
                format!(
                    "work launched together runs back to back, launching costs the host nothing, and the graph holds the whole step: \
                     the {} that the host works between some launches go, too",
                    time(prepared_ns)
                )
            } else {
                "work launched together runs back to back, and launching costs the host nothing".to_owned()
            },
            considered: other_causes(facts, *device, Cause::Launch),
            suggestion: if facts.producer == Producer::Jax {
                "put the whole step under one `jax.jit`; within one program, XLA records launches in command buffers (`XLA_FLAGS=--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUDNN`)".into()
            } else {
                facts.producer.advice(
                "`torch.compile(mode=\"reduce-overhead\")` or CUDA graphs (`torch.cuda.graph`), optimizers with `fused=True` or `foreach=True`, or a larger batch",
                "capture the launches in a CUDA or HIP graph, fuse small kernels, or give each kernel more work (a larger batch)",
            )
            },
        }
        .during(facts, &during)
        .with_gain(facts, options, facts.evidence(n, &during), (most_ns.min(host_path_ns(facts, *device)), Without::Host), verdicts);
        }
    }
}
