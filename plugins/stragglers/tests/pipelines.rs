//! Simulated jobs: what was planted is named first, no rank, host or stage is blamed where nothing was, and gains are
//! those of the job run again.

use std::collections::BTreeMap;

use trueno_analysis::testing::simulated_pipeline::{Operation, Pipeline, Planted, Schedule};
use trueno_plugin::Table;
use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};
use trueno_plugin::testing::{self, Output};
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
        Planted::Cut(rank) => Some(("recording", format!("rank {rank}"))),
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
        Planted::Cut(_) => "cut",
    }
}

#[derive(Default)]
struct Score {
    jobs: usize,
    right: usize,
    blamed: usize,
    gains: usize,
    right_gains: usize,
}

#[test]
fn the_planted_cause_is_named_first() {
    let jobs: u64 = std::env::var(JOBS)
        .ok()
        .and_then(|jobs| jobs.parse().ok())
        .unwrap_or(64);
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for seed in 0..jobs {
        let mut job = Pipeline::random(seed);
        // Too little to be worth a line on a page is no cause.
        let saved_ns = job.wall_ns() - job.fixed().wall_ns();
        let is_worth = saved_ns as f64 >= 0.015 * job.wall_ns() as f64;
        if !is_worth && !matches!(job.planted, Planted::Nothing | Planted::Cut(_)) {
            job.planted = Planted::Nothing;
        }
        let output = run(&job);
        let first = first(&output);
        let score = scores.entry(kind(job.planted)).or_default();
        score.jobs += 1;
        let kinds = texts(&output, "causes", "kind");
        let is_right = match (expected(&job), &first) {
            (None, _) => !kinds
                .iter()
                .any(|kind| ["rank", "host", "stage"].contains(&kind.as_str())),
            (Some((kind, name)), Some((found, found_name, _))) => {
                let is_name = match kind {
                    "rank" => *found_name == name,
                    _ => found_name.contains(&name),
                };
                found == kind && is_name
            }
            (Some(_), None) => false,
        };
        score.right += usize::from(is_right);
        score.blamed += usize::from(job.planted == Planted::Nothing && !is_right);
        if !is_right {
            println!(
                "{seed}: {job:?}\n  expected {:?}, found {first:?} of {kinds:?}",
                expected(&job)
            );
        }
        if let Some((_, _, gain_ns)) = first.filter(|_| is_right && expected(&job).is_some())
            && !matches!(job.planted, Planted::Cut(_))
        {
            score.gains += 1;
            let off = (gain_ns - saved_ns) as f64 / job.wall_ns() as f64;
            score.right_gains += usize::from(off.abs() <= 0.02);
            if off.abs() > 0.02 {
                println!("{seed}: gain off by {off:.3}: {job:?}");
            }
        }
    }
    let mut all = Score::default();
    for (kind, of) in &scores {
        println!(
            "{kind}: {} of {} right, {} of {} gains",
            of.right, of.jobs, of.right_gains, of.gains
        );
        if *kind != "nothing" {
            all.jobs += of.jobs;
            all.right += of.right;
        }
        all.gains += of.gains;
        all.right_gains += of.right_gains;
    }
    let healthy = &scores["nothing"];
    assert!(
        all.right * 100 >= all.jobs * 95,
        "{} of {}",
        all.right,
        all.jobs
    );
    assert!(
        healthy.blamed * 100 <= healthy.jobs,
        "{} of {}",
        healthy.blamed,
        healthy.jobs
    );
    assert!(
        all.right_gains * 100 >= all.gains * 95,
        "{} of {}",
        all.right_gains,
        all.gains
    );
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
    let met = rows().filter(|(_, of)| of.meeting.is_some());
    let stated = Table::build("stated").u64("kernel", met.map(|(id, _)| id));
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
            micro_batches: 8,
            steps: 3,
            schedule,
            ranks_of_host: 4,
            planted: Planted::Nothing,
            is_stated: true,
            noise: 0.0,
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
            micro_batches: 8,
            steps: 3,
            schedule,
            ranks_of_host: 4,
            planted: Planted::Nothing,
            is_stated: false,
            noise: 0.01,
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
        micro_batches: 4,
        steps: 3,
        schedule: Schedule::Interleaved(2),
        ranks_of_host: 4,
        planted: Planted::Nothing,
        is_stated: false,
        noise: 0.01,
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
