//! Predictions against a program that is run again: a host, its streams, launches, copies and waits, step by step.

use proptest::prelude::*;
use trueno_analysis::testing::{RunFixture, interval};

use crate::linked::{Linked, Waiting};

const LAUNCH_NS: i64 = 3_000;
const TO_DEVICE_NS: i64 = 2_000;
const WAKE_NS: i64 = 1_000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Work(i64),
    Launch(usize, i64),
    Copy(usize, i64),
    /// Waits for a stream; if false, the row does not name the stream.
    Stream(usize, bool),
    Device,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (5..80_i64).prop_map(|us| Step::Work(1_000 * us)),
        8 => (0..2_usize, 5..400_i64).prop_map(|(stream, us)| Step::Launch(stream, 1_000 * us)),
        2 => (0..2_usize, 2..60_i64).prop_map(|(stream, us)| Step::Copy(stream, 1_000 * us)),
        2 => (0..2_usize, any::<bool>()).prop_map(|(stream, is_named)| Step::Stream(stream, is_named)),
        1 => Just(Step::Device),
    ];
    prop::collection::vec(step, 1..60)
}

/// Runs the program with kernel times multiplied by `scale` on a device with parallel streams. Returns the rows and
/// the end. The flag is true if work of another stream ended later within a wait that does not name its stream, so
/// that times cannot tell what it waited for.
fn simulate(steps: &[Step], scale: f64) -> (Linked, i64, bool) {
    let mut run = Linked {
        fixture: RunFixture::default(),
        ..Linked::default()
    };
    let (mut now_ns, mut free_ns, mut id) = (0, [0_i64; 2], 0);
    let mut is_unclear = false;
    let mut next = || {
        id += 1;
        id
    };
    for step in steps {
        let start_ns = now_ns;
        match *step {
            Step::Work(ns) => {
                now_ns += ns;
                let row = interval(next(), "brick", "host", start_ns, now_ns);
                run.fixture.bricks.push(row);
            }
            Step::Launch(stream, ns) => {
                now_ns += LAUNCH_NS;
                let from_ns = free_ns[stream].max(start_ns + TO_DEVICE_NS);
                free_ns[stream] = from_ns + (ns as f64 * scale) as i64;
                let (call, kernel) = (next(), next());
                let row = interval(call, "", "cudaLaunchKernel", start_ns, now_ns);
                run.fixture.calls.push(row);
                let row = interval(kernel, "", "k", from_ns, free_ns[stream]);
                run.fixture.kernels.push(row.stream(0, stream as i64));
                run.launches.push((call, kernel));
            }
            Step::Copy(stream, ns) => {
                let from_ns = free_ns[stream].max(start_ns + TO_DEVICE_NS);
                free_ns[stream] = from_ns + ns;
                now_ns = free_ns[stream] + WAKE_NS;
                let (call, copy) = (next(), next());
                let row = interval(call, "", "cudaMemcpy", start_ns, now_ns);
                run.fixture.calls.push(row);
                let row = interval(copy, "", "d2h", from_ns, free_ns[stream]);
                run.fixture.transfers.push(row.stream(0, stream as i64));
                run.copies.push((call, copy));
                run.blocking.push((copy, call));
            }
            Step::Stream(..) | Step::Device => {
                let (kind, stream, until_ns) = match *step {
                    Step::Stream(stream, is_named) => {
                        let named = is_named.then_some(stream as i64);
                        ("stream", named, free_ns[stream])
                    }
                    _ => ("device", None, free_ns[0].max(free_ns[1])),
                };
                now_ns = start_ns.max(until_ns) + WAKE_NS;
                if matches!(*step, Step::Stream(_, false)) {
                    let meanwhile = until_ns.max(start_ns) + 1..=now_ns;
                    is_unclear |= free_ns.iter().any(|ns| meanwhile.contains(ns));
                }
                let (call, wait) = (next(), next());
                let row = interval(call, "", "cudaSynchronize", start_ns, now_ns);
                run.fixture.calls.push(row);
                let row = interval(wait, "", kind, start_ns, now_ns);
                run.fixture.syncs.push(row);
                run.waits.push(Waiting {
                    id: wait,
                    kind,
                    device: Some(0),
                    stream,
                    start_ns,
                    ..Waiting::default()
                });
            }
        }
    }
    let wall_ns = now_ns.max(free_ns[0]).max(free_ns[1]);
    run.fixture.wall_ns = Some(wall_ns);
    (run, wall_ns, is_unclear)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn half_of_all_kernel_time_is_predicted(steps in steps()) {
        let (run, wall_ns, is_unclear) = simulate(&steps, 1.0);
        if is_unclear || run.fixture.kernels.is_empty() {
            return Ok(());
        }
        let (_, half_ns, _) = simulate(&steps, 0.5);
        let out = run.analyse_with(r#"{"what_if": ["k=0.5"]}"#);
        let predicted_ns = out.table("what_if").i64("predicted_ns").unwrap().value(0);
        // A launch counts when its call has ended: of a handful of launches that may be more than a twentieth.
        let error_ns = (predicted_ns - half_ns).abs();
        prop_assert!(20 * error_ns <= half_ns.max(20 * LAUNCH_NS), "of {wall_ns} predicted {predicted_ns}, simulated {half_ns}");
    }
}
