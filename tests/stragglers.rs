//! Jobs of a pipeline as a user opens them, and a page that leads with what slows them down: one timeline of all ranks, or
//! a folder with PyTorch's trace of each rank.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trueno_analysis::testing::simulated_pipeline::{Flaws, Operation, Pipeline, Planted, Schedule};

use crate::harness::{Dir, section};

fn job(planted: Planted) -> Pipeline {
    Pipeline {
        data: 2,
        tensor: 1,
        stages: 3,
        experts: 1,
        micro_batches: 6,
        steps: 8,
        schedule: Schedule::OneForwardOneBackward,
        ranks_of_host: 8,
        planted,
        is_stated: true,
        noise: 0.01,
        flaws: Flaws::default(),
        seed: 7,
    }
}

fn report(dir: &Dir, job: &Pipeline) -> Value {
    let file = dir.join("timeline.json");
    std::fs::write(&file, job.timeline()).unwrap();
    let run = dir.join("job");
    let files = [&file, &run].map(|path| path.to_str().unwrap().to_owned());
    dir.command(&["import", &files[0], "--output", &files[1], "--overwrite"])
        .exits(0);
    dir.report(&run, &["--json", "-"]).exits(0).json()
}

fn rows<'a>(report: &'a Value, plugin: &str, name: &str) -> &'a Vec<Value> {
    let tables = section(report, plugin)["tables"].as_array().unwrap();
    let table = tables.iter().find(|table| table["name"] == name).unwrap();
    table["rows"].as_array().unwrap()
}

/// The first line of the page, and its main bottleneck.
fn first(report: &Value) -> (String, String) {
    let headline = report["headline"].as_str().unwrap().to_owned();
    let top = rows(report, "bottleneck", "top").first();
    (headline, top.map_or(String::new(), Value::to_string))
}

#[test]
fn a_long_stage_is_named_and_no_rank() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Stage(2, 1.5)));
    let (headline, top) = first(&report);
    assert!(headline.contains("balancing the layers"), "{headline}");
    assert!(top.contains("stage 2 (the last) computes 1.5"), "{top}");
    let all = rows(&report, "bottleneck", "top");
    assert!(
        all.iter().all(|row| !row.to_string().contains("rank 5")),
        "{all:?}"
    );
}

#[test]
fn a_slow_rank_is_named_within_its_stage() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Rank(3, 1.3)));
    let (headline, top) = first(&report);
    assert!(headline.contains("a rank like its peers"), "{headline}");
    assert!(
        top.contains("rank 3 computes 1.30 × as long as the other ranks of its stage"),
        "{top}"
    );
}

#[test]
fn a_pipeline_of_equal_ranks_has_a_bubble_and_no_culprit() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Nothing));
    let (headline, _) = first(&report);
    assert!(!headline.contains("rank like"), "{headline}");
    let top = rows(&report, "bottleneck", "top");
    assert!(
        top.iter().all(|row| !row.to_string().contains("rank")),
        "{top:?}"
    );
    let findings = section(&report, "stragglers")["findings"]
        .as_array()
        .unwrap();
    assert!(
        findings.iter().any(|finding| finding["code"] == "bubble"),
        "{findings:#?}"
    );
}

#[test]
fn a_recording_that_ends_half_way_is_said_first() {
    let dir = Dir::new();
    let report = report(&dir, &job(Planted::Cut(1)));
    let causes = rows(&report, "stragglers", "causes");
    assert!(
        causes[0]
            .to_string()
            .contains("the recording of rank 1 ends"),
        "{causes:?}"
    );
}

/// PyTorch traces of a job of tensor × data × pipeline parallel ranks: steps, launches, and kernels. Those of NCCL
/// state their collectives.
struct Traces<'a> {
    job: &'a Pipeline,
    operations: Vec<Operation>,
    met: BTreeMap<usize, Vec<u32>>,
}

/// How long before its kernel a launch is.
const AHEAD_NS: i64 = 20_000;

impl<'a> Traces<'a> {
    fn new(job: &'a Pipeline) -> Self {
        let operations = job.simulate();
        let mut met: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for of in &operations {
            if let Some(meeting) = of.meeting {
                met.entry(meeting).or_default().push(of.rank);
            }
        }
        Self {
            job,
            operations,
            met,
        }
    }

    /// Ranks of the group of an operation, and the group's number.
    fn group(&self, of: &Operation) -> (Vec<u32>, u32) {
        let job = self.job;
        let own = job.place(of.rank);
        let is_member = |rank: &u32| {
            let (stage, data, tensor) = job.place(*rank);
            match of.name {
                "tp-allreduce" => (stage, data) == (own.0, own.1),
                "grads-reduce-scatter" => (stage, tensor) == (own.0, own.2),
                "optimizer-clip-main-grad" => true,
                _ => (data, tensor) == (own.1, own.2),
            }
        };
        let ranks: Vec<u32> = (0..job.ranks()).filter(is_member).collect();
        let kind = match of.name {
            "tp-allreduce" => 1,
            "grads-reduce-scatter" => 2,
            "optimizer-clip-main-grad" => 3,
            _ => 4,
        };
        let number = kind * 1_000 + ranks[0];
        (ranks, number)
    }

    fn collective(&self, of: &Operation, sequence: u64) -> Value {
        let (ranks, number) = self.group(of);
        let (name, elements) = match of.name {
            "tp-allreduce" => ("allreduce", 1 << 23),
            "grads-reduce-scatter" => ("_reduce_scatter_base", 1 << 28),
            "optimizer-clip-main-grad" => ("allreduce", 1),
            name if name.ends_with("send") => ("send", 1 << 22),
            _ => ("recv", 1 << 22),
        };
        let mut out = json!({
            "Collective name": name, "dtype": "BFloat16", "In msg nelems": elements, "Out msg nelems": elements,
            "Group size": ranks.len(), "Process Group Name": number.to_string(),
            "Process Group Ranks": format!("{ranks:?}"), "Seq": sequence,
        });
        let met = of.meeting.map(|meeting| self.met[&meeting].as_slice());
        let peer = met.and_then(|met| met.iter().find(|rank| **rank != of.rank));
        match name {
            "send" => out["Dst Rank"] = json!(peer),
            "recv" => out["Src Rank"] = json!(peer),
            _ => {}
        }
        out
    }

    /// The trace of a rank whose recording begins at `since_ns`.
    fn of_rank(&self, rank: u32, since_ns: i64) -> String {
        let host = rank / self.job.ranks_of_host;
        // Clocks of hosts differ.
        let us = |ns: i64| (ns + 1_000_000 + i64::from(host % 3) * 700_000) as f64 / 1e3;
        let event = |cat: &str, name: &str, tid: u32, (from, to): (i64, i64), args: Value| json!({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": us(from), "dur": (to - from) as f64 / 1e3, "args": args});
        let own: Vec<&Operation> = self
            .operations
            .iter()
            .filter(|of| of.rank == rank)
            .collect();
        let mut events = Vec::new();
        let (mut begun_ns, mut launched_ns, mut number) = (0, i64::MIN, 0);
        let mut sequences: BTreeMap<u32, u64> = BTreeMap::new();
        for of_step in own.chunk_by(|a, b| a.step == b.step) {
            let end_ns = of_step.iter().map(|of| of.end_ns).max().unwrap();
            if begun_ns >= since_ns {
                let name = format!("ProfilerStep#{}", of_step[0].step + 10);
                let times = (begun_ns - AHEAD_NS - 1_000, end_ns - AHEAD_NS - 2_000);
                events.push(event("user_annotation", &name, 1, times, json!({})));
            }
            for of in of_step {
                number += 1;
                launched_ns = (of.start_ns - AHEAD_NS).max(launched_ns + 1_000);
                let mut args = json!({"correlation": number, "External id": number});
                let launch = (launched_ns, launched_ns + 500);
                let counted = sequences.entry(self.group(of).1).or_default();
                let sequence = *counted;
                *counted += 1;
                if of.start_ns < since_ns {
                    continue;
                }
                events.push(event(
                    "cuda_runtime",
                    "cudaLaunchKernel",
                    1,
                    launch,
                    args.clone(),
                ));
                let (name, stream) = match of.name {
                    "forward-compute" => ("gemm_forward", 7),
                    "backward-compute" => ("gemm_backward", 7),
                    "optimizer" => ("adam", 7),
                    "tp-allreduce" => ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20),
                    "grads-reduce-scatter" => ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 24),
                    "optimizer-clip-main-grad" => ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 28),
                    name if name.ends_with("send") => ("ncclDevKernel_SendRecv", 32),
                    _ => ("ncclDevKernel_SendRecv", 36),
                };
                (args["device"], args["stream"]) = (json!(0), json!(stream));
                if of.meeting.is_some() {
                    let stated = self.collective(of, sequence);
                    args.as_object_mut()
                        .unwrap()
                        .extend(stated.as_object().unwrap().clone());
                }
                events.push(event(
                    "kernel",
                    name,
                    stream,
                    (of.start_ns, of.end_ns),
                    args,
                ));
            }
            begun_ns = end_ns;
        }
        let trace = json!({
            "schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000_i64, "host_name": format!("node{host}"),
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.job.ranks()},
            "traceEvents": events,
        });
        trace.to_string()
    }

    /// The report on the folder of all traces. `late` is a rank, and when its recording begins.
    fn report(&self, late: Option<(u32, i64)>) -> Value {
        let dir = Dir::new();
        let folder = dir.join("traces");
        std::fs::create_dir_all(&folder).unwrap();
        for rank in 0..self.job.ranks() {
            let since_ns = late.filter(|(of, _)| *of == rank).map_or(0, |(_, ns)| ns);
            let file = folder.join(format!("rank{rank}.pt.trace.json"));
            std::fs::write(file, self.of_rank(rank, since_ns)).unwrap();
        }
        dir.report(&folder, &["--json", "-"]).exits(0).json()
    }
}

/// A job with tensor, data and pipeline parallel groups.
fn hybrid(planted: Planted) -> Pipeline {
    Pipeline {
        data: 4,
        tensor: 2,
        stages: 2,
        experts: 1,
        micro_batches: 4,
        steps: 6,
        schedule: Schedule::OneForwardOneBackward,
        ranks_of_host: 4,
        planted,
        is_stated: false,
        noise: 0.01,
        flaws: Flaws::default(),
        seed: 3,
    }
}

/// The first line names the cause. Its promised gain is what the job saves without it, and no other promise is
/// larger.
fn is_first(job: &Pipeline, words: &str) {
    let report = Traces::new(job).report(None);
    let (headline, top) = first(&report);
    assert!(headline.contains(words), "{headline}");
    let saved = 1.0 - job.fixed().wall_ns() as f64 / job.wall_ns() as f64;
    let shares: Vec<f64> = rows(&report, "stragglers", "causes")
        .iter()
        .filter_map(|row| row[5].as_f64())
        .collect();
    let share = shares.iter().copied().fold(0.0, f64::max);
    assert!((share - saved).abs() < 0.02, "{share} of {saved}: {top}");
    no_other_blame(&report, words);
}

/// Asserts that no other finding blames a rank or promises a gain from overlapping.
fn no_other_blame(report: &Value, words: &str) {
    for row in rows(report, "bottleneck", "top") {
        let text = row.to_string();
        assert!(
            text.contains(words) || !text.contains("overlapping") && !text.contains("rank "),
            "{text}"
        );
    }
    for plugin in ["collectives", "lateness"] {
        let sections = report["sections"].as_array().unwrap();
        let section = sections.iter().find(|section| section["plugin"] == plugin);
        let findings = section.and_then(|section| section["findings"].as_array());
        for finding in findings.into_iter().flatten() {
            let code = finding["code"].as_str().unwrap();
            assert!(!code.contains("late"), "{finding}");
        }
    }
}

#[test]
fn a_slow_rank_of_a_hybrid_job_is_first() {
    is_first(
        &hybrid(Planted::Rank(5, 1.3)),
        "rank 5 computes 1.30 × as long as the other ranks of its stage",
    );
}

#[test]
fn a_slow_host_of_a_hybrid_job_is_first() {
    is_first(
        &hybrid(Planted::Host(1, 1.1)),
        "the ranks of host node1 compute 1.10 × as long",
    );
}

#[test]
fn a_slow_link_of_a_hybrid_job_is_first() {
    is_first(
        &hybrid(Planted::Link(1, 6.0)),
        "transfers of the data-parallel group of the first stage (ranks 1, 3, 5, 7) take 6.",
    );
}

#[test]
fn slow_links_within_a_host_are_first() {
    is_first(
        &hybrid(Planted::HostLinks(2, 4.0)),
        "transfers within host node2 take 4.",
    );
}

#[test]
fn pauses_of_a_rank_are_periodic() {
    let job = Pipeline {
        data: 2,
        steps: 22,
        ..hybrid(Planted::Pause(2, 7, 40_000_000))
    };
    is_first(
        &job,
        "rank 2 starts its operations later than the other ranks of its stage, every 7 steps",
    );
}

#[test]
fn a_hybrid_job_of_equal_ranks_waits_for_its_pipeline_alone() {
    let report = Traces::new(&hybrid(Planted::Nothing)).report(None);
    let (headline, _) = first(&report);
    // Of 4 micro batches in 2 stages a fifth, and less of the step with its optimizer.
    let words = "of a step by the pipeline's design (2 stages, 4 micro batches)";
    assert!(headline.contains(words), "{headline}");
    assert!(!headline.contains("saves"), "{headline}");
    no_other_blame(&report, "nothing");
}

#[test]
fn a_recording_that_begins_late_is_said_first_and_blames_nobody() {
    let job = hybrid(Planted::Nothing);
    let report = Traces::new(&job).report(Some((3, job.wall_ns() / 4)));
    let (headline, _) = first(&report);
    assert!(
        headline.starts_with("the recording of rank 3 begins "),
        "{headline}"
    );
    no_other_blame(&report, "nothing");
}

#[test]
fn a_trace_that_ends_half_way_is_said_first() {
    let report = Traces::new(&hybrid(Planted::Cut(3))).report(None);
    let (headline, _) = first(&report);
    assert!(
        headline.starts_with("the recording of rank 3 ends "),
        "{headline}"
    );
    no_other_blame(&report, "nothing");
}

#[test]
fn ranks_of_one_stage_are_retimed_as_well() {
    let job = Pipeline {
        stages: 1,
        experts: 1,
        ..hybrid(Planted::Rank(5, 1.3))
    };
    let report = Traces::new(&job).report(None);
    let (headline, top) = first(&report);
    let words = "rank 5 computes 1.30 × as long as the other ranks";
    assert!(headline.contains(words), "{headline}");
    assert!(top.contains(words), "{top}");
}
