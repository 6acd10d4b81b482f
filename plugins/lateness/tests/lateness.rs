//! Simulated jobs: the reason why a rank is late is found, and the same rank by rank.

use proptest::prelude::*;
use trueno_analysis::testing::simulated_job::{Job, Planted};
use trueno_plugin::TableBuilder;
use trueno_plugin::testing::{self, Output};
use trueno_plugin_lateness::Lateness;

fn with_stretches(job: &Job, mut inputs: Vec<TableBuilder>) -> Vec<TableBuilder> {
    inputs.push(job.stretches());
    inputs
}

fn run(job: &Job) -> Output {
    testing::run::<Lateness>(with_stretches(job, job.lanes(None)), "{}").unwrap()
}

fn random(seed: u64) -> Job {
    let mut job = Job::random(seed);
    job.dropped = 0;
    job
}

fn first_cause(output: &Output) -> (Option<u64>, String, Option<String>) {
    let causes = output.table("causes");
    let text = |column: &str| causes.text(column).unwrap().get(0).map(str::to_owned);
    (
        causes.u64("rank").unwrap().get(0),
        text("cause").unwrap(),
        text("name"),
    )
}

#[test]
fn causes_of_random_jobs() {
    for seed in 1..41 {
        let job = random(seed);
        let (rank, planted, by_ns) = job.late.unwrap();
        let output = run(&job);
        let (of, cause, name) = first_cause(&output);
        let expected = match planted {
            Planted::Compute => ("compute", "gemm"),
            Planted::Input => ("input", "enumerate(DataLoader)"),
            Planted::Launch => ("launch", "cudaLaunchKernel"),
            Planted::Host => ("host", "optimizer hooks"),
        };
        assert_eq!(of, Some(rank.into()), "seed {seed}");
        assert_eq!(
            (cause.as_str(), name.as_deref()),
            (expected.0, Some(expected.1)),
            "seed {seed}"
        );
        let excess_ns = output
            .table("causes")
            .i64("excess_ns")
            .unwrap()
            .get(0)
            .unwrap();
        let planted_ns = by_ns * (job.steps - 1);
        assert!(
            (excess_ns - planted_ns).abs() < planted_ns / 5,
            "seed {seed}: {excess_ns} of {planted_ns}"
        );
        assert!(output.finding("late_because").is_some());
    }
}

#[test]
fn nothing_to_look_into_gives_nothing() {
    let job = random(3);
    let output = testing::run::<Lateness>(job.lanes(None), "{}").unwrap();
    assert_eq!(output, Output::default());
}

#[test]
fn a_rank_that_nobody_is_compared_with_is_not_judged() {
    let job = random(5);
    let (rank, ..) = job.late.unwrap();
    let inputs = with_stretches(&job, job.lanes(Some(rank)));
    let output = testing::run::<Lateness>(inputs, "{}").unwrap();
    assert_eq!(output, Output::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn parts_of_ranks_are_merged_to_the_whole(seed in 1_u64..100_000, cut in 0_usize..9) {
        let job = random(seed);
        let part = |rank| {
            let inputs = with_stretches(&job, job.lanes(Some(rank)));
            testing::part::<Lateness>(inputs, "{}").unwrap()
        };
        let parts: Vec<Output> = (0..job.ranks).map(part).collect();
        testing::check_parts::<Lateness>(&parts, cut, Vec::new, "{}", &run(&job)).unwrap();
    }
}
