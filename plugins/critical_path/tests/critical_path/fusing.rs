//! Sequences of kernels, and what fusing them would save.

use proptest::prelude::*;
use trueno_analysis::testing::{RunFixture, interval, lines};
use trueno_plugin::testing::Output;

use crate::linked::{Linked, Waiting};

const LAUNCH_NS: i64 = 3_000;
const TO_DEVICE_NS: i64 = 5_000;
const BETWEEN_NS: i64 = 1_000;
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// A host that launches the kernels of a body, again and again.
#[derive(Clone, Debug)]
struct Program {
    /// Host work before each kernel, and how long the kernel takes.
    body: Vec<(i64, i64)>,
    repeats: usize,
    /// The host waits for the stream after each body.
    waits: bool,
}

impl Program {
    /// Runs the program. Fused, the body is one kernel that is launched where its first was.
    fn simulate(&self, is_fused: bool) -> (Linked, i64) {
        let mut run = Linked {
            fixture: RunFixture::default(),
            ..Linked::default()
        };
        let (mut now_ns, mut free_ns, mut id) = (0, i64::MIN, 0);
        let mut next = || {
            id += 1;
            id
        };
        for _ in 0..self.repeats {
            for (at, (work_ns, kernel_ns)) in self.body.iter().enumerate() {
                if *work_ns > 0 {
                    let row = interval(next(), "brick", "host", now_ns, now_ns + work_ns);
                    run.fixture.bricks.push(row);
                }
                now_ns += work_ns;
                if is_fused && at > 0 {
                    free_ns += kernel_ns;
                    continue;
                }
                let (call, kernel) = (next(), next());
                let row = interval(call, "", "cudaLaunchKernel", now_ns, now_ns + LAUNCH_NS);
                run.fixture.calls.push(row);
                let start_ns = (now_ns + TO_DEVICE_NS).max(free_ns.saturating_add(BETWEEN_NS));
                free_ns = start_ns + kernel_ns;
                let row = interval(kernel, "", NAMES[at], start_ns, free_ns);
                run.fixture.kernels.push(row.stream(0, 7));
                run.launches.push((call, kernel));
                now_ns += LAUNCH_NS;
            }
            if self.waits {
                let start_ns = now_ns;
                now_ns = now_ns.max(free_ns) + BETWEEN_NS;
                let (call, wait) = (next(), next());
                let row = interval(call, "", "cudaStreamSynchronize", start_ns, now_ns);
                run.fixture.calls.push(row);
                let row = interval(wait, "", "stream", start_ns, now_ns);
                run.fixture.syncs.push(row);
                run.waits.push(Waiting {
                    id: wait,
                    kind: "stream",
                    device: Some(0),
                    stream: Some(7),
                    start_ns,
                    ..Waiting::default()
                });
            }
        }
        let wall_ns = now_ns.max(free_ns);
        run.fixture.wall_ns = Some(wall_ns);
        (run, wall_ns)
    }
}

const COLUMNS: [&str; 7] = [
    "sequence",
    "repeats",
    "kernels",
    "dur_ns",
    "gap_ns",
    "launch_ns",
    "gain_ns",
];

fn sequences(out: &Output) -> Vec<String> {
    lines(out.table("sequences"), &COLUMNS)
}

fn finding(out: &Output) -> Option<String> {
    let found = out
        .findings
        .iter()
        .find(|of| of.code == "repeated_sequence");
    found.map(|of| of.title.clone())
}

/// The device waits for the host, whose work between launches stays. The last kernel also saves the way of its launch, 2 µs.
#[test]
fn a_host_that_launches_short_kernels_saves_its_calls() {
    let program = Program {
        body: vec![(20_000, 1_000), (20_000, 1_000), (20_000, 1_000)],
        repeats: 10,
        waits: false,
    };
    let (run, _) = program.simulate(false);
    let out = run.analyse();
    assert_eq!(
        sequences(&out),
        ["a → b → c | 10 | 3 | 30000 | 440000 | 60000 | 62000"]
    );
    assert_eq!(
        finding(&out).unwrap(),
        "3 kernels in a row, from `a` to `c`, run 10 times; if each sequence were one kernel, the run would be 8.9 % shorter"
    );
}

/// Here the host is far ahead, and its calls cost nothing.
#[test]
fn a_busy_device_saves_its_gaps() {
    let program = Program {
        body: vec![(0, 50_000), (0, 50_000)],
        repeats: 20,
        waits: false,
    };
    let (run, _) = program.simulate(false);
    assert_eq!(
        sequences(&run.analyse()),
        ["a → b | 20 | 2 | 2000000 | 20000 | 60000 | 20000"]
    );
}

#[test]
fn nothing_is_saved_without_launches() {
    let program = Program {
        body: vec![(0, 1_000), (0, 1_000)],
        repeats: 10,
        waits: false,
    };
    let (mut run, _) = program.simulate(false);
    run.launches = Vec::new();
    let out = run.analyse();
    assert_eq!(sequences(&out), ["a → b | 10 | 2 | 20000 | 20000 | - | -"]);
    assert_eq!(finding(&out), None);
}

#[test]
fn waits_copies_and_communication_break_a_sequence() {
    let program = Program {
        body: vec![(0, 1_000)],
        repeats: 10,
        waits: true,
    };
    let (run, _) = program.simulate(false);
    assert!(
        run.analyse()
            .tables
            .iter()
            .all(|table| table.name() != "sequences"),
        "the host reads each result"
    );

    let program = Program {
        body: vec![(0, 1_000), (0, 1_000), (0, 1_000)],
        repeats: 10,
        waits: false,
    };
    let (mut run, _) = program.simulate(false);
    for kernel in run.fixture.kernels.iter_mut().filter(|of| of.name == "b") {
        kernel.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    }
    let rows = sequences(&run.analyse());
    assert!(
        rows.len() == 1 && rows[0].starts_with("c → a | 9 | 2"),
        "{rows:?}"
    );
}

/// The nodes of a graph have one call, which is not saved.
#[test]
fn a_call_that_launched_a_graph_stays() {
    let mut run = Linked {
        fixture: RunFixture {
            wall_ns: Some(2_000),
            ..RunFixture::default()
        },
        ..Linked::default()
    };
    for k in 0..10_i64 {
        let (id, at) = (10 * k as u64, 200 * k);
        let row = interval(id + 1, "", "cudaGraphLaunch", at, at + 20);
        run.fixture.calls.push(row);
        for (n, name) in (0..).zip(["a", "b"]) {
            let start = at + 50 + 60 * n;
            let row = interval(id + 2 + n as u64, "", name, start, start + 50);
            run.fixture.kernels.push(row.stream(0, 7));
            run.launches.push((id + 1, id + 2 + n as u64));
        }
    }
    let rows = sequences(&run.analyse());
    assert_eq!(rows, ["a → b | 10 | 2 | 1000 | 100 | - | -"]);
}

fn programs() -> impl Strategy<Value = Program> {
    let us = |most: i64| (0..most).prop_map(|us| 1_000 * us);
    let body = prop::collection::vec((prop_oneof![Just(0), us(20)], us(40)), 2..9);
    (body, 4..20_usize, any::<bool>()).prop_map(|(body, repeats, waits)| Program {
        body,
        repeats,
        waits,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Never more than running the fused program saves, nor than the time that fusing removes.
    #[test]
    fn a_gain_is_no_more_than_the_fused_program_saves(program in programs()) {
        let (run, wall_ns) = program.simulate(false);
        let (_, fused_ns) = program.simulate(true);
        let out = run.analyse();
        // Kernels that take no time are no sequence.
        if run.fixture.kernels.iter().any(|of| of.dur_ns == 0) {
            return Ok(());
        }
        let table = out.table("sequences");
        let column = |name: &str, row: usize| table.i64(name).unwrap().get(row).unwrap();
        for row in 0..table.rows() {
            let gain_ns = column("gain_ns", row);
            let removed_ns = column("gap_ns", row) + column("launch_ns", row);
            prop_assert!((0..=removed_ns).contains(&gain_ns), "{gain_ns} of {removed_ns}");
            prop_assert!(gain_ns <= wall_ns - fused_ns + TO_DEVICE_NS, "{gain_ns} of {wall_ns}, fused {fused_ns}");
        }
        // The what-if of a user: no call takes time, and nothing lies before a kernel.
        let ids = run.launches.iter().flat_map(|(call, kernel)| {
            let kernels = run.fixture.kernels.iter().filter(move |of| of.id == *kernel);
            let same = kernels.map(|of| format!("id:{}={}ns", of.id, of.dur_ns));
            std::iter::once(format!("id:{call}=0")).chain(same)
        });
        let rules: Vec<String> = ids.chain(["kind:launch_delay=0".into(), "kind:queue=0".into()]).collect();
        let options = serde_json::json!({ "what_if": rules }).to_string();
        let out = run.analyse_with(&options);
        let what_if = out.table("what_if");
        let most_ns = what_if.i64("gain_ns").unwrap().value(what_if.rows() - 1);
        let gains = (0..table.rows()).map(|row| column("gain_ns", row));
        prop_assert!(gains.max().unwrap_or(0) <= most_ns);
    }
}
