//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, part};
use trueno_plugin_samples::Samples;

use crate::fixture::{Fixture, Frame, Row, Sample, Wait, frame};
use crate::oracle::{rows, samples, stacks};

/// Samples, stacks, rows and waits of a rank.
type Rank = (Vec<Sample>, Vec<Frame>, Vec<Row>, Vec<Wait>);

fn waits() -> impl Strategy<Value = Vec<Wait>> {
    let call = prop::option::of(prop_oneof![Just("read"), Just("futex")]);
    let stack = prop::option::of(0..6_u64);
    let waker = prop::option::of((0..4_i64, any::<bool>()));
    let wait = (
        0..3_i64,
        call,
        -5..60_i64,
        -2..30_i64,
        stack,
        any::<bool>(),
        waker,
    );
    let wait = wait.prop_map(
        |(thread, call, start_ns, dur_ns, stack, is_runnable, waker)| Wait {
            thread,
            call,
            start_ns,
            dur_ns,
            stack,
            is_runnable,
            waker,
        },
    );
    prop::collection::vec(wait, 0..8)
}

fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let circle = Just(vec![frame(10, Some(20), "a"), frame(20, Some(10), "b")]);
    let stacks = prop_oneof![6 => stacks(), 1 => circle];
    let rank = prop_oneof![
        1 => Just((Vec::new(), Vec::new(), Vec::new(), Vec::new())),
        6 => (samples(), stacks, rows(), waits()),
    ];
    prop::collection::vec(rank, 1..5)
}

/// Inputs of some ranks of a job. Numbers are unique in the job.
fn job(ranks: &[(u64, &Rank)], window: Option<(i64, i64)>) -> Fixture {
    let key = |rank: u64, id: u64| rank << 48 | id;
    let place = |rank: u64, thread: i64| (rank as i64) << 16 | thread;
    let mut job = Fixture {
        window,
        ..Fixture::default()
    };
    for (rank, (samples, stacks, rows, waits)) in ranks {
        let samples = samples.iter().map(|sample| Sample {
            thread: place(*rank, sample.thread),
            stack: sample.stack.map(|stack| key(*rank, stack)),
            ..*sample
        });
        job.samples.extend(samples);
        let stacks = stacks.iter().map(|frame| Frame {
            id: key(*rank, frame.id),
            caller: frame.caller.map(|caller| key(*rank, caller)),
            ..*frame
        });
        job.stacks.extend(stacks);
        let rows = rows.iter().map(|row| Row {
            thread: place(*rank, row.thread),
            ..*row
        });
        job.rows.extend(rows);
        let waits = waits.iter().map(|wait| Wait {
            thread: place(*rank, wait.thread),
            stack: wait.stack.map(|stack| key(*rank, stack)),
            waker: wait
                .waker
                .map(|(waker, by_end)| (place(*rank, waker), by_end)),
            ..*wait
        });
        job.waits.extend(waits);
        job.thread_names.push((place(*rank, 0), "main"));
        job.ended.push((place(*rank, 0), 90));
        job.stretches += 1;
    }
    job
}

proptest! {
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        window in prop::option::weighted(0.3, (0..20_i64, 20..70_i64)),
        options in prop_oneof![Just("{}"), Just(r#"{"functions_per_brick": 1}"#)],
    ) {
        let numbered: Vec<(u64, &Rank)> = (0..).zip(&ranks).collect();
        let whole = job(&numbered, window).analyse_with(options);
        let parts: Vec<Output> = numbered
            .iter()
            .map(|rank| part::<Samples>(job(&[*rank], window).inputs(), options).unwrap())
            .collect();
        let agreed = check_parts::<Samples>(&parts, cut, Vec::new, options, &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
