//! Simulated jobs: clocks are recovered within what is stated, the late rank is found.

use proptest::prelude::*;
use trueno_analysis::testing::simulated_job::{Job, Planted};
use trueno_plugin::Table;
use trueno_plugin::testing::{self, Output};
use trueno_plugin_collectives::Collectives;

fn run(job: &Job) -> Output {
    testing::run::<Collectives>(job.inputs(), "{}").unwrap()
}

fn u64s(output: &Output, table: &str, column: &str) -> Vec<Option<u64>> {
    output.table(table).u64(column).unwrap().iter().collect()
}

fn i64s(output: &Output, table: &str, column: &str) -> Vec<Option<i64>> {
    output.table(table).i64(column).unwrap().iter().collect()
}

/// Compares each rank's reported clock offset with the truth; false if it lies outside the reported uncertainty.
fn clocks_are_right(job: &Job, output: &Output) -> Vec<bool> {
    let ranks = u64s(output, "by_rank", "rank");
    let offsets = i64s(output, "by_rank", "clock_offset_ns");
    let uncertainties = i64s(output, "by_rank", "clock_uncertainty_ns");
    let mut out = Vec::new();
    for ((rank, offset), uncertainty) in ranks.iter().zip(offsets).zip(uncertainties) {
        let (Some(offset_ns), Some(uncertainty_ns)) = (offset, uncertainty) else {
            continue;
        };
        // In the middle of the job drift and offset count together; so long is a job that the time itself matters little.
        let middle_ns = job.steps * 7_000_000 / 2;
        let truth_ns = job.local(rank.unwrap() as u32, middle_ns) - job.local(0, middle_ns);
        let slack_ns = 200 + job.steps * 7_000_000 / 2 * 40 / 1_000_000;
        out.push((offset_ns - truth_ns).abs() <= uncertainty_ns + slack_ns);
    }
    out
}

/// The rank that the finding names, if any.
fn named(output: &Output) -> Option<u64> {
    output.finding("late_rank")?;
    let (ranks, caused_ns) = (
        u64s(output, "by_rank", "rank"),
        i64s(output, "by_rank", "caused_ns"),
    );
    let most = (0..ranks.len()).max_by_key(|row| caused_ns[*row])?;
    ranks[most]
}

fn judge(seeds: std::ops::Range<u64>) -> [usize; 5] {
    let (mut clocks, mut right_clocks, mut late, mut right, mut wrong) = (0, 0, 0, 0, 0);
    for seed in seeds {
        let job = Job::random(seed);
        let output = run(&job);
        let judged = clocks_are_right(&job, &output);
        clocks += judged.len();
        right_clocks += judged.iter().filter(|is_right| **is_right).count();
        let (rank, ..) = job.late.unwrap();
        late += 1;
        match named(&output) {
            Some(of) if of == u64::from(rank) => right += 1,
            Some(_) => wrong += 1,
            None => {}
        }
    }
    [clocks, right_clocks, late, right, wrong]
}

#[test]
fn late_ranks_and_clocks_of_random_jobs() {
    let [clocks, right_clocks, late, right, wrong] = judge(1..41);
    assert!(
        right_clocks * 100 >= clocks * 99,
        "{right_clocks} of {clocks} clocks"
    );
    assert!(right * 100 >= late * 95, "{right} of {late} named");
    assert_eq!(wrong, 0, "of {late}");
}

/// `cargo test -p trueno-plugin-collectives --test jobs -- --ignored --nocapture`
#[test]
#[ignore = "a minute: 1,000 jobs"]
fn late_ranks_and_clocks_of_a_thousand_jobs() {
    let [clocks, right_clocks, late, right, wrong] = judge(1..1_001);
    println!(
        "{right_clocks} of {clocks} clocks within their uncertainty; {right} of {late} late ranks named, {wrong} wrong"
    );
    assert!(right_clocks * 100 >= clocks * 99 && right * 100 >= late * 95 && wrong == 0);
}

fn quiet(ranks: u32) -> Job {
    Job {
        ranks,
        tensor_parallel: 1,
        is_pipeline: false,
        steps: 20,
        late: None,
        clocks: vec![(0, 0); ranks as usize],
        transfer_ns: 100_000,
        dropped: 0,
        states_sequence: true,
        is_stated: true,
        seed: 5,
    }
}

#[test]
fn ranks_that_come_together_have_no_late_one() {
    let output = run(&quiet(4));
    assert!(output.finding("late_rank").is_none());
    assert_eq!(u64s(&output, "by_rank", "collectives"), [Some(20); 4]);
}

#[test]
fn an_offset_of_a_clock_is_no_lateness() {
    let mut job = quiet(2);
    job.clocks[1] = (4_000_000, 0);
    let output = run(&job);
    assert!(output.finding("late_rank").is_none());
    let offset_ns = i64s(&output, "by_rank", "clock_offset_ns")[1].unwrap();
    assert!((offset_ns - 4_000_000).abs() < 150_000, "{offset_ns}");
}

/// Ranks 0 and 1 wait for each other in a pair because of rank 0, and both come last to the rest. Rank 0 is the
/// late one.
#[test]
fn who_was_held_up_by_the_late_rank_is_not_late() {
    let mut job = quiet(4);
    job.tensor_parallel = 2;
    job.late = Some((0, Planted::Compute, 2_000_000));
    let output = run(&job);
    assert_eq!(named(&output), Some(0));
    // In each step the last of its pair, and of all.
    assert_eq!(u64s(&output, "by_rank", "last")[..2], [Some(40), Some(0)]);
}

/// Rank 0 of three computes longer than the others. Rank 1 waits to receive from it, and rank 2 waits for rank 1.
/// Stages of a pipeline do so by design, so neither is last.
#[test]
fn a_receiver_waits_for_a_sender_and_none_is_last() {
    let mut job = quiet(3);
    job.is_pipeline = true;
    job.late = Some((0, Planted::Compute, 2_000_000));
    let output = run(&job);
    let operations = output.table("instances").text("operation").unwrap();
    let waits = output.table("instances").bool("waits").unwrap();
    let last = output.table("instances").u64("last_rank").unwrap();
    let sends =
        (0..output.table("instances").rows()).filter(|row| operations.get(*row) == Some("send"));
    let sends: Vec<_> = sends.map(|row| (waits.get(row), last.get(row))).collect();
    assert_eq!(sends, [(Some(true), None); 40]);
    assert!(output.finding("late_rank").is_none() && output.finding("late_ranks").is_none());
    assert!(
        output
            .tables
            .iter()
            .all(|table| table.name() != "unmatched")
    );
}

#[test]
fn each_step_has_the_rank_that_others_waited_for() {
    let mut job = quiet(4);
    job.late = Some((2, Planted::Input, 3_000_000));
    let output = run(&job);
    assert_eq!(u64s(&output, "by_step", "last_rank"), [Some(2); 20]);
    let shares = output.table("by_step").f64("imbalance_share").unwrap();
    // 7.65 ms and three times 4.65 ms of work, transfers of 0.1 ms.
    for share in shares.iter().map(Option::unwrap) {
        assert!((share - (7.75 / 5.5 - 1.0)).abs() < 0.03, "{share}");
    }
    let detail = output.finding("late_rank").unwrap().detail.clone().unwrap();
    assert!(
        detail.contains("longest waits in 20 of 20 steps"),
        "{detail}"
    );
    let step_ns = i64s(&output, "by_step", "longest_ns");
    let waited_ns = i64s(&output, "by_step", "waited_ns");
    for (step_ns, waited_ns) in step_ns.iter().zip(waited_ns) {
        let mean_ns = waited_ns.unwrap() / 3;
        assert!((2_600_000..3_400_000).contains(&mean_ns) && step_ns.unwrap() > mean_ns);
    }
}

#[test]
fn nothing_told_is_not_nothing() {
    let mut job = quiet(2);
    // So long a transfer leaves the clocks open by more than ranks come apart.
    job.transfer_ns = 5_000_000;
    let output = run(&job);
    assert_eq!(u64s(&output, "by_rank", "with_last"), [Some(0), Some(0)]);
    assert_eq!(i64s(&output, "by_rank", "caused_ns"), [None, None]);
    assert_eq!(i64s(&output, "by_rank", "waited_ns"), [None, None]);
}

#[test]
fn dropped_parts_are_listed_and_shift_nothing() {
    let mut job = quiet(2);
    job.dropped = 150;
    job.late = Some((1, Planted::Compute, 2_000_000));
    let output = run(&job);
    assert_eq!(named(&output), Some(1));
    let parts: u64 = u64s(&output, "unmatched", "parts")
        .into_iter()
        .flatten()
        .sum();
    assert!(parts > 0);
    // Without numbers the same rows cannot be matched, and nobody is blamed.
    job.states_sequence = false;
    let output = run(&job);
    assert!(output.finding("late_rank").is_none());
}

#[test]
fn bandwidths_are_those_of_the_transfer() {
    let output = run(&quiet(4));
    let table = output.table("by_operation");
    let bytes = u64s(&output, "by_operation", "bytes");
    assert_eq!(bytes, [Some(4 << 20)]);
    let ns = i64s(&output, "by_operation", "transfer_ns")[0].unwrap();
    assert!((100_000..125_000).contains(&ns), "{ns}");
    let rate = table.f64("algorithm_bytes_per_s").unwrap().get(0).unwrap();
    assert!((rate - f64::from(4 << 20) * 1e9 / ns as f64).abs() < 1.0);
    let bus = table.f64("bus_bytes_per_s").unwrap().get(0).unwrap();
    assert!(
        (bus / rate - 1.5).abs() < 1e-9,
        "2 (n - 1) / n of four ranks"
    );
    assert_eq!(
        table.f64("bus_share").unwrap().get(0),
        None,
        "no link is given"
    );
}

/// A stretch begins when the rank leaves one all-reduce and ends when it arrives at the next, by its own clock.
#[test]
fn stretches_lead_from_one_meeting_of_all_to_the_next() {
    let mut job = quiet(2);
    job.clocks[1] = (3_000_000, 0);
    job.late = Some((1, Planted::Compute, 2_000_000));
    let output = run(&job);
    let stretches = output.table("stretches");
    assert_eq!(stretches.rows(), 2 * 19);
    let truth = job.stretches().finish().unwrap();
    for column in ["rank", "start_ns", "dur_ns"] {
        let sorted = |table: &trueno_plugin::Table| {
            let mut cells: Vec<String> = match column {
                "rank" => table
                    .u64(column)
                    .unwrap()
                    .iter()
                    .map(|n| format!("{n:?}"))
                    .collect(),
                _ => table
                    .i64(column)
                    .unwrap()
                    .iter()
                    .map(|n| format!("{n:?}"))
                    .collect(),
            };
            cells.sort();
            cells
        };
        assert_eq!(sorted(stretches), sorted(&truth), "{column}");
    }
}

fn check_over_ranks(job: &Job, cut: usize) {
    let part = |rank| testing::part::<Collectives>(job.inputs_of(rank), "{}").unwrap();
    let parts: Vec<Output> = (0..job.ranks).map(part).collect();
    let others = || {
        let missing = Table::build("missing").text("code", [""; 0]);
        vec![job.ranks_table(), missing]
    };
    testing::check_parts::<Collectives>(&parts, cut, others, "{}", &run(job)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn parts_of_ranks_are_merged_to_the_whole(
        seed in 1_u64..100_000, cut in 0_usize..9, states_sequence: bool, is_pipeline: bool,
    ) {
        let mut job = Job::random(seed);
        (job.states_sequence, job.is_pipeline) = (states_sequence, is_pipeline);
        check_over_ranks(&job, cut);
    }
}

/// Without names of communicators, kernels of one name are matched by the times at which ranks leave them.
#[test]
fn parts_that_nobody_states_are_merged_to_the_whole() {
    let mut job = quiet(3);
    job.late = Some((1, Planted::Input, 2_000_000));
    job.is_stated = false;
    let output = run(&job);
    assert_eq!(
        output.table("instances").bool("inferred").unwrap().get(0),
        Some(true)
    );
    check_over_ranks(&job, 1);
}
