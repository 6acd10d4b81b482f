//! Simulated jobs: what was planted is named first, no rank, host or stage is blamed where nothing was, and gains are
//! those of the job run again.

use std::collections::BTreeMap;

use trueno_analysis::testing::simulated_pipeline::{Flaws, Operation, Pipeline, Planted, Schedule};
use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_collectives::Collectives;
use trueno_plugin_stragglers::Stragglers;

const JOBS: &str = "TRUENO_STRAGGLER_JOBS";

fn run(job: &Pipeline) -> Output {
    testing::run::<Stragglers>(job.inputs(None), "{}").unwrap()
}

fn texts(output: &Output, table: &str, column: &str) -> Vec<String> {
    let has = output.tables.iter().any(|of| of.name() == table);
    if !has {
        return Vec::new();
    }
    let column = output.table(table).text(column).unwrap();
    column
        .iter()
        .map(|text| text.unwrap_or_default().to_owned())
        .collect()
}

fn first(output: &Output) -> Option<(String, String, i64)> {
    let (kinds, names) = (
        texts(output, "causes", "kind"),
        texts(output, "causes", "name"),
    );
    let gains = output
        .tables
        .iter()
        .find(|table| table.name() == "causes")?;
    let gain_ns = gains.i64("gain_ns").unwrap().iter().next()??;
    Some((kinds.first()?.clone(), names.first()?.clone(), gain_ns))
}

/// Kind of the cause that the page must name first, and words that its name contains; `None` if there must be none.
fn expected(job: &Pipeline) -> Option<(&'static str, String)> {
    match job.planted {
        Planted::Nothing => None,
        Planted::Rank(rank, _) | Planted::Pause(rank, ..) => Some(("rank", format!("rank {rank}"))),
        Planted::Cut(rank) | Planted::Late(rank) => Some(("recording", format!("rank {rank}"))),
        Planted::Stage(0, _) => Some(("stage", "the first stage".to_owned())),
        Planted::Stage(stage, _) => Some(("stage", format!("stage {stage}"))),
        Planted::Host(host, _) => Some(("host", format!("host node{host}"))),
        Planted::HostLinks(host, _) => Some(("link", format!("links within host node{host}"))),
        Planted::Link(group, _) => {
            let ranks = (0..job.ranks()).filter(|rank| {
                let (stage, _, tensor) = job.place(*rank);
                stage * job.tensor + tensor == group
            });
            let ranks: Vec<String> = ranks.map(|rank| rank.to_string()).collect();
            Some(("link", format!("(ranks {})", ranks.join(", "))))
        }
        Planted::Lengths(_) => Some(("sequence lengths", "sequence lengths".to_owned())),
    }
}

fn kind(planted: Planted) -> &'static str {
    match planted {
        Planted::Nothing => "nothing",
        Planted::Rank(..) => "rank",
        Planted::Pause(..) => "pause",
        Planted::Stage(..) => "stage",
        Planted::Host(..) => "host",
        Planted::Link(..) => "link",
        Planted::HostLinks(..) => "links of a host",
        Planted::Lengths(_) => "lengths",
        Planted::Cut(_) => "ends early",
        Planted::Late(_) => "begins late",
    }
}

/// The job as it was recorded: `collectives` matches what ranks did together and compares their clocks.
fn run_recorded(job: &Pipeline) -> Output {
    let met = testing::run::<Collectives>(job.collective_inputs(), "{}").unwrap();
    let mut inputs = job.recorded_inputs(None);
    inputs.extend(meetings(&met));
    testing::run::<Stragglers>(inputs, "{}").unwrap()
}

/// The query `meetings` of `stragglers`.
fn meetings(met: &Output) -> Option<TableBuilder> {
    let has = met.tables.iter().any(|of| of.name() == "arrivals");
    let (arrivals, instances) = has.then(|| (met.table("arrivals"), met.table("instances")))?;
    let number = instances.u64("instance").unwrap();
    let places: BTreeMap<u64, usize> = number.iter().flatten().zip(0..).collect();
    let instance = arrivals.u64("instance").unwrap();
    let rows = || 0..arrivals.rows();
    let of = |row: usize| places[&instance.get(row).unwrap()];
    let (bytes, receiver) = (
        instances.u64("bytes").unwrap(),
        instances.u64("receiver").unwrap(),
    );
    let (operation, communicator) = (
        instances.text("operation").unwrap(),
        instances.text("communicator").unwrap(),
    );
    Some(
        Table::build("meetings")
            .u64("instance", instance.iter())
            .u64("rank", arrivals.u64("rank").unwrap().iter())
            .u64("id", arrivals.u64("id").unwrap().iter())
            .i64("arrive_ns", arrivals.i64("arrive_ns").unwrap().iter())
            .i64(
                "uncertainty_ns",
                arrivals.i64("uncertainty_ns").unwrap().iter(),
            )
            .text("operation", rows().map(|row| operation.get(of(row))))
            .u64("bytes", rows().map(|row| bytes.get(of(row))))
            .text("communicator", rows().map(|row| communicator.get(of(row))))
            .u64("receiver", rows().map(|row| receiver.get(of(row)))),
    )
}

#[derive(Clone, Copy, Default)]
struct Score {
    jobs: usize,
    right: usize,
    /// Another cause was first, rather than none.
    wrong: usize,
    gains: usize,
    right_gains: usize,
}

impl Score {
    fn add(&mut self, other: Self) {
        self.jobs += other.jobs;
        self.right += other.right;
        self.wrong += other.wrong;
        self.gains += other.gains;
        self.right_gains += other.right_gains;
    }
}

/// Without what is too little to be worth a line on a page: that is no cause.
fn worth(job: Pipeline) -> (Pipeline, i64) {
    let saved_ns = job.wall_ns() - job.fixed().wall_ns();
    let is_worth = saved_ns as f64 >= 0.015 * job.wall_ns() as f64;
    let is_of_recording = matches!(job.planted, Planted::Cut(_) | Planted::Late(_));
    let planted = match job.planted {
        planted if is_worth || is_of_recording => planted,
        _ => Planted::Nothing,
    };
    (Pipeline { planted, ..job }, saved_ns)
}

fn judge(seed: u64, job: Pipeline, run: fn(&Pipeline) -> Output) -> (Planted, Score) {
    let (job, saved_ns) = worth(job);
    let output = run(&job);
    let first = first(&output);
    let kinds = texts(&output, "causes", "kind");
    let is_blame = |kind: &str| !["recording", "delays"].contains(&kind);
    let is_right = match (expected(&job), &first) {
        (None, _) => !kinds.iter().any(|kind| is_blame(kind)),
        (Some((kind, name)), Some((found, found_name, _))) => {
            let is_name = match kind {
                "rank" => *found_name == name,
                _ => found_name.contains(&name),
            };
            found == kind && is_name
        }
        (Some(_), None) => false,
    };
    let mut score = Score {
        jobs: 1,
        right: usize::from(is_right),
        wrong: usize::from(!is_right && first.is_some()),
        ..Score::default()
    };
    if !is_right {
        let expected = expected(&job);
        println!("{seed}: {job:?}\n  expected {expected:?}, found {first:?} of {kinds:?}");
    }
    if let Some((kind, ..)) = first.filter(|_| is_right && expected(&job).is_some())
        && kind != "recording"
    {
        // Not all steps are compared.
        let gain_share = output.table("causes").f64("gain_share").unwrap().value(0);
        let off = gain_share - saved_ns as f64 / job.wall_ns() as f64;
        score.gains = 1;
        score.right_gains = usize::from(off.abs() <= 0.02);
        if off.abs() > 0.02 {
            println!("{seed}: gain off by {off:.3}: {job:?}");
        }
    }
    (job.planted, score)
}

/// `gains_percent` is how many of the gains must be within 2 %.
fn judge_all(
    jobs: impl Iterator<Item = (u64, Pipeline)>,
    run: fn(&Pipeline) -> Output,
    gains_percent: usize,
) {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut all = Score::default();
    for (seed, job) in jobs {
        let (planted, score) = judge(seed, job, run);
        scores.entry(kind(planted)).or_default().add(score);
        if planted != Planted::Nothing {
            all.add(score);
        }
    }
    println!(
        "| planted | jobs | first | another first | gains within 2 % |\n| --- | --- | --- | --- | --- |"
    );
    for (kind, of) in scores.iter().chain([(&"all", &all)]) {
        let Score {
            jobs,
            right,
            wrong,
            gains,
            right_gains,
        } = of;
        println!("| {kind} | {jobs} | {right} | {wrong} | {right_gains} of {gains} |");
    }
    let healthy = scores["nothing"];
    let Score {
        jobs,
        right,
        gains,
        right_gains,
        ..
    } = all;
    assert!(right * 100 >= jobs * 95, "{right} of {jobs}");
    assert!(healthy.right * 100 >= healthy.jobs * 99);
    assert!(
        right_gains * 100 >= gains * gains_percent,
        "{right_gains} of {gains}"
    );
}

fn jobs(default: u64) -> u64 {
    let jobs = std::env::var(JOBS).ok();
    jobs.and_then(|jobs| jobs.parse().ok()).unwrap_or(default)
}

#[test]
fn the_planted_cause_is_named_first() {
    let all = (0..jobs(64)).map(|seed| (seed, Pipeline::random(seed)));
    judge_all(all, run, 95);
}

/// Clocks are off, drift and are set, rows are lost, recordings end early and begin late.
#[test]
fn the_planted_cause_is_named_first_in_flawed_recordings() {
    let all = (0..jobs(108)).map(|seed| (seed, Pipeline::random_recorded(seed)));
    judge_all(all, run_recorded, 90);
}

/// `cargo test -p trueno-plugin-stragglers --test pipelines -- --ignored --nocapture`
#[test]
#[ignore = "minutes: 1,000 jobs"]
fn the_planted_cause_of_a_thousand_flawed_recordings() {
    let all = (0..jobs(1_000)).map(|seed| (seed, Pipeline::random_recorded(seed)));
    judge_all(all, run_recorded, 95);
}

/// Ranks wait for the slow one in collectives that are not recorded. They would wait less if it were faster.
#[test]
fn waits_that_are_not_recorded_hide_no_gain() {
    let mut job = Pipeline::random(1);
    (job.data, job.tensor, job.stages, job.micro_batches) = (4, 1, 2, 8);
    (job.schedule, job.is_stated, job.noise) = (Schedule::OneForwardOneBackward, true, 0.01);
    job.planted = Planted::Rank(0, 1.8);
    let all = job.simulate();
    let is_recorded =
        |of: &Operation| !["grads-reduce-scatter", "optimizer-clip-main-grad"].contains(&of.name);
    let id = |at: usize| (u64::from(all[at].rank) << KEY_BITS) + at as u64 + 1;
    let lanes = ["compute", "pp-comm", "dp-comm"];
    let rows = || {
        (0..all.len())
            .map(|at| (id(at), &all[at]))
            .filter(|(_, of)| is_recorded(of))
    };
    let stream = |of: &Operation| {
        lanes
            .iter()
            .position(|lane| *lane == of.lane)
            .map(|at| at as i64)
    };
    let kernels = Table::build("kernels")
        .u64("id", rows().map(|(id, _)| id))
        .text("name", rows().map(|(_, of)| of.name))
        .i64(
            "device",
            rows().map(|(_, of)| i64::from(of.rank) << PLACE_BITS),
        )
        .i64("stream", rows().map(|(_, of)| stream(of)))
        .i64("start_ns", rows().map(|(_, of)| of.start_ns))
        .i64("dur_ns", rows().map(|(_, of)| of.end_ns - of.start_ns))
        .u64("step", rows().map(|(_, of)| u64::from(of.step)))
        .i64("called_ns", rows().map(|_| None));
    let met = || rows().filter(|(_, of)| of.meeting.is_some());
    let stated = Table::build("stated")
        .u64("kernel", met().map(|(id, _)| id))
        .text("operation", met().map(|_| None::<&str>));
    let batches: Vec<(u64, i64)> = rows()
        .filter_map(|(id, of)| Some((id, i64::from(of.micro_batch?))))
        .collect();
    let micro_batches = Table::build("micro_batches")
        .u64("span", batches.iter().map(|(id, _)| *id))
        .i64("micro_batch", batches.iter().map(|(_, of)| *of));
    let mut inputs = vec![kernels, stated, micro_batches];
    inputs.extend(job.around());
    let output = testing::run::<Stragglers>(inputs, "{}").unwrap();
    let (kind, name, gain_ns) = first(&output).unwrap();
    assert_eq!((kind.as_str(), name.as_str()), ("rank", "rank 0"));
    let saved_ns = job.wall_ns() - job.fixed().wall_ns();
    let off = (gain_ns - saved_ns) as f64 / job.wall_ns() as f64;
    assert!(off.abs() <= 0.03, "{gain_ns} of {saved_ns}");
}

/// Compares the bubble with the formula for equal stages.
#[test]
fn the_bubble_is_that_of_the_formula() {
    for schedule in [Schedule::GPipe, Schedule::OneForwardOneBackward] {
        let job = Pipeline {
            data: 1,
            tensor: 1,
            stages: 4,
            experts: 1,
            micro_batches: 8,
            steps: 3,
            schedule,
            ranks_of_host: 4,
            planted: Planted::Nothing,
            is_stated: true,
            noise: 0.0,
            flaws: Flaws::default(),
            seed: 1,
        };
        let output = run(&job);
        let of = |column: &str| output.table("job").f64(column).unwrap().get(0).unwrap();
        assert!((of("bubble_formula_share") - 3.0 / 11.0).abs() < 1e-9);
        // The optimizer's time has no bubble.
        let share = of("bubble_share");
        assert!((0.25..0.28).contains(&share), "{schedule:?}: {share}");
        assert_eq!(texts(&output, "causes", "kind"), Vec::<String>::new());
    }
}

/// In a pipeline whose stages hold several chunks, the last stage also sends to the first. Stages, micro batches
/// and bubble must still be found.
#[test]
fn the_schedule_is_told_from_the_order_of_sends() {
    for (schedule, name, chunks) in [
        (Schedule::GPipe, "GPipe", 1),
        (Schedule::OneForwardOneBackward, "1F1B", 1),
        (Schedule::Interleaved(2), "interleaved 1F1B", 2),
    ] {
        let job = Pipeline {
            data: 2,
            tensor: 1,
            stages: 4,
            experts: 1,
            micro_batches: 8,
            steps: 3,
            schedule,
            ranks_of_host: 4,
            planted: Planted::Nothing,
            is_stated: false,
            noise: 0.01,
            flaws: Flaws::default(),
            seed: 3,
        };
        let output = run(&job);
        let table = output.table("job");
        let number = |column: &str| table.u64(column).unwrap().get(0);
        assert_eq!(number("stages"), Some(4), "{name}");
        assert_eq!(number("micro_batches"), Some(8), "{name}");
        assert_eq!(number("chunks"), Some(chunks), "{name}");
        assert_eq!(table.text("schedule").unwrap().get(0), Some(name));
        let formula = table.f64("bubble_formula_share").unwrap().get(0).unwrap();
        assert!((formula - 3.0 / (8.0 * chunks as f64 + 3.0)).abs() < 1e-9);
        let stages = output.table("by_rank").u64("stage").unwrap();
        let stages: Vec<u64> = stages.iter().flatten().collect();
        assert_eq!(stages, [0, 0, 1, 1, 2, 2, 3, 3], "{name}");
    }
}

/// With two stages nothing shows how many chunks there are.
#[test]
fn two_stages_of_chunks_state_no_micro_batches() {
    let job = Pipeline {
        data: 2,
        tensor: 1,
        stages: 2,
        experts: 1,
        micro_batches: 4,
        steps: 3,
        schedule: Schedule::Interleaved(2),
        ranks_of_host: 4,
        planted: Planted::Nothing,
        is_stated: false,
        noise: 0.01,
        flaws: Flaws::default(),
        seed: 3,
    };
    let output = run(&job);
    let table = output.table("job");
    assert_eq!(
        table.text("schedule").unwrap().get(0),
        Some("interleaved 1F1B")
    );
    assert_eq!(table.u64("micro_batches").unwrap().get(0), None);
}

/// If ranks are numbered as in Megatron, stages are known without any sends.
#[test]
fn roles_can_be_stated() {
    let job = Pipeline {
        is_stated: false,
        ..Pipeline::random(10)
    };
    let (data, tensor, stages) = (job.data, job.tensor, job.stages);
    let parallel = format!(r#"{{"parallel": "dp={data},tp={tensor},pp={stages}"}}"#);
    let output = testing::run::<Stragglers>(job.inputs(None), &parallel).unwrap();
    let table = output.table("by_rank");
    let columns = ["stage", "data", "tensor"].map(|column| table.u64(column).unwrap());
    for rank in 0..job.ranks() {
        let found = [0, 1, 2].map(|at: usize| columns[at].get(rank as usize).unwrap());
        let (stage, data, tensor) = job.place(rank);
        assert_eq!(found, [stage, data, tensor].map(u64::from));
    }
    let wrong = testing::run::<Stragglers>(job.inputs(None), r#"{"parallel": "dp=7"}"#);
    let message = wrong.err().unwrap().to_string();
    assert!(message.contains("the product is 7"), "{message}");
}

/// The section is the same whether ranks are read one by one or at once, stated or from kernels alone.
#[test]
fn parts_of_ranks_give_the_same_as_all_rows() {
    for (seed, is_stated) in [(1, true), (3, true), (1, false)] {
        let job = Pipeline {
            is_stated,
            ..Pipeline::random(seed)
        };
        let parts: Vec<Output> = (0..job.ranks())
            .map(|rank| testing::part::<Stragglers>(job.inputs(Some(rank)), "{}").unwrap())
            .collect();
        let others = || job.around();
        testing::check_parts::<Stragglers>(&parts, 2, others, "{}", &run(&job)).unwrap();
    }
}

/// By how much delays lengthen steps is no property of a rank that was not recorded in full.
#[test]
fn a_rank_that_begins_late_does_not_carry_what_delays_cost() {
    let mut job = Pipeline::random(1);
    (job.data, job.tensor, job.stages, job.micro_batches) = (4, 1, 2, 8);
    (job.schedule, job.is_stated) = (Schedule::OneForwardOneBackward, true);
    job.planted = Planted::Late(0);
    let output = run(&job);
    let late = output.findings.iter();
    let late: Vec<_> = late.filter(|of| of.code == "incomplete_rank").collect();
    assert!(!late.is_empty());
    for finding in late {
        let detail = format!("{:?}", finding.detail);
        assert!(!detail.contains("without delays"), "{detail}");
    }
}
