//! Idle time of a device is gained once, and launches only as far as a graph can span them.

use crate::inputs::{US, Work, blocking, facts, gains, kernels, texts};
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_bottleneck::Bottleneck;

/// What a thread does, one after the other: it launches kernels that begin 10 µs later, or when the one before has ended.
#[derive(Default)]
struct Program {
    now_us: i64,
    free_us: i64,
    kernels: Vec<Work>,
    copies: Vec<Work>,
    waits: Vec<(i64, i64)>,
    loads: Vec<(i64, i64)>,
    allocations: Vec<(i64, i64)>,
}

impl Program {
    fn launch(&mut self, dur_us: i64) {
        let start_us = self.free_us.max(self.now_us + 10);
        self.kernels.push(Work {
            called_us: Some(self.now_us),
            ..Work::at("step", start_us, dur_us)
        });
        self.free_us = start_us + dur_us;
        self.now_us += 5;
    }

    fn work(&mut self, us: i64) {
        self.now_us += us;
    }

    fn wait(&mut self) {
        let end_us = self.free_us.max(self.now_us) + 5;
        self.waits.push((self.now_us, end_us));
        self.now_us = end_us;
    }

    fn copy(&mut self, us: i64) {
        let start_us = self.free_us.max(self.now_us + 2);
        self.copies.push(Work {
            called_us: Some(self.now_us),
            ..Work::at("h2d", start_us, us)
        });
        self.free_us = start_us + us;
        self.now_us = self.free_us;
    }

    fn load(&mut self, us: i64) {
        let start_us = self.free_us.max(self.now_us);
        self.loads.push((start_us, us));
        self.now_us = start_us + us;
    }

    fn allocate(&mut self, us: i64) {
        self.allocations.push((self.now_us, us));
        self.now_us += us;
    }

    fn judge(self, options: &str) -> Output {
        let wall_us = self.free_us.max(self.now_us);
        let rows = |name: &str, rows: &[(i64, i64)]| {
            Table::build(name)
                .i64("thread", rows.iter().map(|_| 0_i64))
                .i64("start_ns", rows.iter().map(|row| row.0 * US))
                .i64("dur_ns", rows.iter().map(|row| row.1 * US))
        };
        let waits: Vec<_> = self
            .waits
            .iter()
            .map(|wait| (wait.0, wait.1 - wait.0))
            .collect();
        let waits = rows("waits", &waits)
            .u64("id", (0..waits.len()).map(|at| at as u64 + 1_000))
            .text("kind", waits.iter().map(|_| "device"));
        let names = Table::build("brick_names")
            .i64("name_id", self.loads.first().map(|_| 1_i64))
            .text("name", self.loads.first().map(|_| "load batch"))
            .text("category", self.loads.first().map(|_| None::<&str>))
            .text("kind", self.loads.first().map(|_| "brick"))
            .i64("dur_ns", self.loads.first().map(|_| 1_i64))
            .i64("end_ns", self.loads.first().map(|_| wall_us * US));
        let inputs: Vec<TableBuilder> = vec![
            facts(wall_us),
            kernels(&self.kernels),
            blocking(&self.copies),
            waits,
            names,
            rows("loader_rows", &self.loads).i64("name_id", self.loads.iter().map(|_| 1_i64)),
            rows("memory_calls", &self.allocations)
                .text("name", self.allocations.iter().map(|_| "cudaMalloc")),
        ];
        run::<Bottleneck>(inputs, options).expect("it ends well")
    }
}

fn found(output: &Output) -> Vec<(String, Option<i64>)> {
    let codes = texts(output, "bottlenecks", "code");
    codes.into_iter().zip(gains(output)).collect()
}

/// Sixty kernels of 5 µs with 20 µs from launch to launch; after every `every`th something happens that no graph can hold.
fn interrupted(every: usize, by: fn(&mut Program)) -> Vec<(String, Option<i64>)> {
    let mut program = Program::default();
    for n in 1..=60 {
        program.launch(5);
        program.work(15);
        if n % every == 0 {
            by(&mut program);
        }
    }
    let launches = found(&program.judge("{}"));
    launches
        .into_iter()
        .filter(|row| row.0 == "launch_bound")
        .collect()
}

#[test]
fn a_graph_saves_the_gaps_that_it_can_span() {
    let of = |gain: Option<i64>| vec![("launch_bound".to_owned(), gain.map(|us| us * US))];
    let nothing: fn(&mut Program) = |_| ();
    assert_eq!(interrupted(60, nothing), of(Some(59 * 15)));
    for by in [
        (|program| program.wait()) as fn(&mut Program),
        |program| program.copy(1),
        |program| program.allocate(1),
    ] {
        // Of runs of twenty, each gap but the first.
        let gain = interrupted(20, by);
        assert_eq!(gain, of(Some(3 * 19 * 15)));
        // Three in a row are less than what a graph is worth.
        assert_eq!(interrupted(3, by), of(None));
    }
}

/// What the host does between some launches is in the graph's gain, and in no other.
#[test]
fn what_a_graph_of_the_step_closes_is_gained_once() {
    let mut program = Program::default();
    for n in 1..=200 {
        program.launch(5);
        program.work(if n % 40 == 0 { 315 } else { 15 });
    }
    program.launch(5);
    let output = program.judge("{}");
    assert_eq!(
        found(&output),
        [("launch_bound".to_owned(), Some((195 * 15 + 5 * 315) * US))]
    );
    let sentence = &texts(&output, "bottlenecks", "sentence")[0];
    assert!(
        sentence.contains("of 5.00 µs), and for 29 % while the host works between them; capturing"),
        "{sentence}"
    );
}

/// Over programs of all kinds, findings about the gaps of a device gain no more than it idles.
#[test]
fn gains_of_gaps_are_no_more_than_the_idle_time() {
    const OF_GAPS: [&str; 6] = [
        "launch_bound",
        "host_prepares",
        "device_waits",
        "blocking_copies",
        "first_launches",
        "data_load_bound",
    ];
    let mut seen: Vec<String> = Vec::new();
    for seed in 0..400_u64 {
        let mut number = seed;
        let mut next = |below: u64| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((number >> 33) % below) as i64
        };
        let mut program = Program::default();
        // Which things happen, and how often.
        let often: Vec<i64> = (0..5).map(|_| next(2) * (1 + next(6))).collect();
        // The first gap.
        program.launch(10);
        program.work(60);
        for _ in 0..120 {
            let mut choice = next(60);
            for (kind, often) in often.iter().enumerate() {
                if (0..*often).contains(&choice) {
                    match kind {
                        0 => program.wait(),
                        1 => program.copy(1 + next(9)),
                        2 => program.load(100 + next(300)),
                        3 => program.allocate(1 + next(20)),
                        _ => program.work(200 + next(200)),
                    }
                }
                choice -= often;
            }
            program.work(next(30));
            program.launch(2 + next(40));
        }
        let output = program.judge(r#"{"least_share": 0.0001, "least_gaps": 4}"#);
        let idle = output.table("idle").i64("idle_ns").expect("idle time");
        let idle_ns: i64 = idle.iter().flatten().sum();
        let of_gaps = found(&output);
        let of_gaps = of_gaps
            .iter()
            .filter(|row| OF_GAPS.contains(&row.0.as_str()));
        let gain_ns: i64 = of_gaps.clone().filter_map(|row| row.1).sum();
        assert!(
            gain_ns <= idle_ns,
            "{seed}: {gain_ns} of {idle_ns}, {:?}",
            found(&output)
        );
        seen.extend(
            of_gaps
                .filter(|row| row.1.is_some())
                .map(|row| row.0.clone()),
        );
    }
    for code in [
        "launch_bound",
        "host_prepares",
        "device_waits",
        "blocking_copies",
        "data_load_bound",
    ] {
        assert!(seen.iter().any(|one| one == code), "no {code} at all");
    }
}
