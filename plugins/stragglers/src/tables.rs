//! Output tables; columns and formulas: `docs/analyses/stragglers.md`.

use trueno_plugin::{Table, TableBuilder};

use crate::causes::Cause;
use crate::effects::Effects;
use crate::job::Job;
use crate::what_if::{Scope, StageWork, WhatIf};

fn ns(value: f64) -> i64 {
    value.round() as i64
}

/// Table `causes`: what slows the job down, the most costly first.
pub fn causes(causes: &[Cause]) -> TableBuilder {
    let rows = || causes.iter();
    Table::build("causes")
        .text("name", rows().map(|row| &row.name))
        .text("kind", rows().map(|row| row.kind))
        .text("pattern", rows().map(|row| row.pattern))
        .u64("steps", rows().map(|row| row.steps))
        .i64("gain_ns", rows().map(|row| ns(row.gain_ns)))
        .f64("gain_share", rows().map(|row| row.gain_share))
        .text("detail", rows().map(|row| &row.detail))
        .text("fix", rows().map(|row| &row.fix))
        .text("suggestion", rows().map(|row| row.suggestion))
}

fn scope(job: &Job, scope: &Scope) -> (&'static str, String) {
    match scope {
        Scope::Stages => ("stages", "balanced".to_owned()),
        Scope::Stage(stage) => ("stage", stage.to_string()),
        Scope::Data(data) => ("data", data.to_string()),
        Scope::Rank(rank) => ("rank", job.ranks[*rank].number.to_string()),
        Scope::Host(host) => ("host", host.clone()),
        Scope::Link(link) => ("link", job.link_name(&job.links[*link])),
        Scope::HostLinks(host) => ("links of host", host.clone()),
        Scope::Transfers => ("transfers", "none".to_owned()),
        Scope::Alike => ("ranks", "alike".to_owned()),
        Scope::Lengths => ("micro batches", "equal work".to_owned()),
        Scope::Kind(name) => ("kind", job.names.text(*name).to_owned()),
        Scope::Delays => ("delays", "none".to_owned()),
    }
}

/// Table `what_if`: one row for each re-timing.
pub fn what_if(job: &Job, what_if: &WhatIf) -> TableBuilder {
    let rows = || what_if.rows.iter();
    let scopes: Vec<_> = rows().map(|row| scope(job, &row.scope)).collect();
    Table::build("what_if")
        .text("scope", scopes.iter().map(|(kind, _)| *kind))
        .text("name", scopes.iter().map(|(_, name)| name))
        .i64("retimed_ns", rows().map(|row| ns(row.retimed_ns)))
        .i64("gain_ns", rows().map(|row| ns(row.gain_ns)))
        .f64("gain_share", rows().map(|row| row.gain_share))
        .f64("factor", rows().map(|row| row.factor))
        .bool("stands_out", rows().map(|row| row.stands_out))
}

/// Table `job`: one row.
pub fn job(job: &Job, what_if: &WhatIf) -> TableBuilder {
    let steps = job.steps.len() as f64;
    let schedule = &job.schedule;
    let count = |of: Option<usize>| [of.map(|count| count as u64)];
    Table::build("job")
        .u64("ranks", [job.ranks.len() as u64])
        .u64("stages", [u64::from(job.stages())])
        .bool("stages_inferred", [!job.are_stages_stated])
        .u64("micro_batches", count(schedule.micro_batches))
        .bool("micro_batches_inferred", [!schedule.is_stated])
        .u64("chunks", count(schedule.chunks))
        .text("schedule", [schedule.name])
        .u64("steps", [job.steps.len() as u64])
        .i64("step_ns", [ns(what_if.recorded_ns / steps)])
        .i64("retimed_ns", [ns(what_if.retimed_ns / steps)])
        .i64("without_delays_ns", [ns(what_if.without_delays_ns / steps)])
        .i64("ideal_ns", [ns(what_if.ideal_ns / steps)])
        .f64("slowdown", [what_if.slowdown()])
        .f64("bubble_share", [what_if.bubble_share])
        .f64("bubble_formula_share", [schedule.bubble(job.stages(), 1)])
        .f64("bubble_doubled_share", [schedule.bubble(job.stages(), 2)])
}

/// Table `by_rank`: each rank compared with those of its stage.
pub fn by_rank(job: &Job, effects: &Effects) -> TableBuilder {
    let rows = || job.ranks.iter().zip(&effects.ranks);
    let small = |value: Option<u32>| value.map(u64::from);
    Table::build("by_rank")
        .u64("rank", rows().map(|(rank, _)| u64::from(rank.number)))
        .text("host", rows().map(|(rank, _)| rank.host.as_ref()))
        .u64("stage", rows().map(|(rank, _)| u64::from(rank.stage)))
        .u64("data", rows().map(|(rank, _)| small(rank.data)))
        .u64("tensor", rows().map(|(rank, _)| small(rank.tensor)))
        .i64("work_ns", rows().map(|(_, of)| ns(of.work_ns)))
        .i64("delay_ns", rows().map(|(_, of)| ns(of.delay_ns)))
        .f64("excess_share", rows().map(|(_, of)| of.median_excess()))
        .bool(
            "stands_out",
            rows().map(|(_, of)| of.slow.is_some() || of.held.is_some()),
        )
}

/// Table `by_stage`: usual work of each stage.
pub fn by_stage(job: &Job, effects: &Effects) -> TableBuilder {
    let work = StageWork::new(job, effects);
    let recorded = job.recorded_stages();
    let stages = || recorded.iter().copied();
    let ranks = |stage: u32| job.ranks.iter().filter(|rank| rank.stage == stage).count() as u64;
    Table::build("by_stage")
        .u64("stage", stages().map(u64::from))
        .u64("ranks", stages().map(ranks))
        .i64("work_ns", stages().map(|stage| ns(work.of(stage))))
        .f64("factor", stages().map(|stage| work.factor_of(stage)))
}

/// Table `by_step`: each rank and step compared with its peers.
pub fn by_step(job: &Job, effects: &Effects, what_if: &WhatIf) -> TableBuilder {
    let rows = || {
        let steps = job.steps.iter().enumerate();
        steps.flat_map(|(at, step)| {
            let ranks = job.ranks.iter().zip(&effects.ranks);
            ranks.map(move |(rank, of)| (at, *step, rank.number, of))
        })
    };
    Table::build("by_step")
        .u64("step", rows().map(|(_, step, ..)| step))
        .u64("rank", rows().map(|(_, _, rank, _)| u64::from(rank)))
        .i64("step_ns", rows().map(|(at, ..)| ns(what_if.step_ns[at])))
        .f64(
            "excess_share",
            rows().map(|(at, _, _, of)| of.excess.get(at).copied().flatten()),
        )
        .i64(
            "late_ns",
            rows().map(|(at, _, _, of)| of.late_ns.get(at).copied().flatten().map(ns)),
        )
}
