//! The sentence, and each of its figures.

use trueno_plugin::{Table, TableBuilder};

use crate::facts::{Facts, Prediction};
use crate::gain::Gain;
use crate::limit::{Limit, Shares};
use crate::sentence;

/// Gains below this share of the wall are not named, see [`crate::gain`].
const MIN_NAMED: f64 = 0.01;

#[derive(Debug)]
pub struct Headline<'a> {
    facts: &'a Facts,
    shares: Option<Shares>,
    limit: Option<Limit>,
    gain: Gain,
}

impl<'a> Headline<'a> {
    /// Finds what bounds the run and what would help most.
    pub fn new(facts: &'a Facts) -> Self {
        if facts.meaningless.is_some() {
            return Self {
                shares: None,
                limit: None,
                gain: Gain::NotKnown("the times of the run carry no information"),
                facts,
            };
        }
        let shares = Shares::new(facts);
        Self {
            limit: Limit::find(facts, shares.as_ref()),
            gain: Gain::find(facts),
            shares,
            facts,
        }
    }

    /// Table `headline`: one row. Nothing about time is in it if the run's times carry no information.
    ///
    /// - `wall_ns`: of the run, or of the report's window.
    /// - `steps`, `step_ns`: iterations, and the median of their wall times.
    /// - `host_runs_ahead`: devices are busy for longer than all iterations last, so iterations describe the host only.
    ///   Null if devices are busy all along a window, which hides it.
    /// - `steps_per_s`: inverse of the median time between starts of iterations; null if the host runs ahead, and for
    ///   a single iteration.
    /// - `accelerator`: what the devices are called (`GPU`, `NPU`); null without devices.
    /// - `gpu_busy_share`, `computation_share`, `communication_share`, `copy_share`, `idle_share`: of the mean device.
    /// - `busy_at_least`: some launched work was not recorded, so the devices were busy for at least that share, and
    ///   idle time is not known; null without devices.
    /// - `share_of`: `wall`, or `span` if the wall is not known.
    /// - `host_lane`: what a lane of the host is (`thread`, `lane`).
    /// - `threads`, `threads_busy_share`: of the host; the share is null if its rows only say that threads ran or
    ///   waited.
    /// - `bound_by`, `bound_share`, `bound_detail`: see [`mod@crate::limit`]; null if `bottleneck` did not run.
    /// - `gain_ns`, `gain_share`: upper limits, for the wall time, of the change `gain_by`, from table `gain_source`.
    /// - `gain_not_known`: why there is no gain.
    /// - `peak_bytes`: of the device with the most.
    /// - `kernel_names`, `kernels`, `kernels_ns`: kernels of all devices: their names, their launches, and the sum of
    ///   their durations; null without kernels.
    pub fn table(&self) -> TableBuilder {
        let facts = self.facts;
        let has_times = facts.meaningless.is_none();
        let steps = facts.steps.as_ref().filter(|_| has_times);
        let shares = self.shares.as_ref();
        let text = sentence::sentence(facts, shares, self.limit.as_ref(), &self.gain);
        let (gain, not_known) = match &self.gain {
            Gain::Known {
                fix, ns, source, ..
            } => (Some((fix, *ns, *source)), None),
            Gain::NotKnown(why) => (None, why_not(facts, why)),
        };
        let limit = self.limit.as_ref().filter(|_| facts.is_judged);
        let peaks = facts.devices.iter().filter_map(|device| device.peak_bytes);
        let kernels = || Some(&facts.kernels).filter(|all| !all.is_empty());
        let launches = kernels().map(|all| {
            let calls = all.iter().map(|kernel| kernel.calls);
            calls.fold(0, u64::saturating_add)
        });
        let kernels_ns = kernels().map(|all| {
            let times = all.iter().map(|kernel| kernel.dur_ns);
            times.fold(0, i64::saturating_add)
        });
        let share = |of: fn(&Shares) -> f64| [shares.map(of)];
        let is_host = !facts.host.categories.is_empty();
        let busy = facts.host.busy_share();
        Table::build("headline")
            .text("sentence", [text])
            .i64("wall_ns", [facts.wall_ns.filter(|_| has_times)])
            .u64("steps", [steps.map(|steps| steps.count)])
            .f64("step_ns", [steps.map(|steps| steps.median_ns)])
            .bool(
                "host_runs_ahead",
                [steps.and_then(|steps| steps.ahead.as_bool())],
            )
            .f64("steps_per_s", [steps.and_then(|steps| steps.per_s())])
            .text("accelerator", [shares.map(|_| facts.accelerator())])
            .f64("gpu_busy_share", share(Shares::busy))
            .f64("computation_share", share(|of| of.computation))
            .f64("communication_share", share(|of| of.communication))
            .f64("copy_share", share(|of| of.copy))
            .f64("idle_share", share(|of| of.idle))
            .bool(
                "busy_at_least",
                [shares.map(|_| facts.empty_graphs.is_some())],
            )
            .text("share_of", [shares.map(|shares| shares.of)])
            .text("host_lane", [is_host.then_some(facts.host_lane)])
            .u64("threads", [is_host.then_some(facts.host.threads)])
            .f64(
                "threads_busy_share",
                [busy.filter(|_| has_times && !facts.is_sampled_alone)],
            )
            .text("bound_by", [limit.map(|limit| &limit.by)])
            .f64("bound_share", [limit.and_then(|limit| limit.share)])
            .text("bound_detail", [limit.map(|limit| &limit.detail)])
            .i64("gain_ns", [gain.map(|gain| gain.1)])
            .f64(
                "gain_share",
                [gain.and_then(|gain| facts.gain_share(gain.1))],
            )
            .text("gain_by", [gain.map(|gain| gain.0)])
            .text("gain_source", [gain.map(|gain| gain.2)])
            .text("gain_not_known", [not_known])
            .i64("peak_bytes", [peaks.max()])
            .u64("kernel_names", [kernels().map(|all| all.len() as u64)])
            .u64("kernels", [launches])
            .i64("kernels_ns", [kernels_ns])
    }
}

/// Gains of names are looked for among few of them: those with enough calls that can be made faster alone. That no name
/// gains anything is then no reason where another name of the critical path does.
fn why_not(facts: &Facts, why: &'static str) -> Option<&'static str> {
    let is_about_names = why.starts_with("no name on the critical path");
    let gains = |(_, ns): &&Prediction| {
        let share = facts.gain_share(*ns);
        share.is_some_and(|share| share >= MIN_NAMED)
    };
    let mut gaining = facts.halved.iter().filter(gains).peekable();
    if !is_about_names || gaining.peek().is_none() {
        return Some(why);
    }
    let is_too_few = gaining.all(|(name, _)| !facts.is_enough(name));
    is_too_few.then_some("the names that would gain more have too few calls to predict from")
}
