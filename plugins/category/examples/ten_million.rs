//! Times the analysis on ten million made-up intervals: `cargo run --release --example ten_million`.
//!
//! One thread, layers of 99 bricks each, written as a recorder does: children first.

use std::time::Instant;

use trueno_analysis::lanes::{
    Class, Label, Lane, LaneKey, LaneKind, Lanes, NO_ELEMENTS, OUTSIDE, Span, UNCATEGORISED,
};
use trueno_analysis::quantiles::quantiles;
use trueno_analysis::start_order::sort_by_start;
use trueno_plugin_category::sums::Sums;

const ROWS: u64 = 10_000_000;
const BRICKS_OF_A_LAYER: u64 = 99;

fn main() {
    let mut run = Lanes::default();
    let kind = run.texts.number("brick");
    let layer = run.labels.number(Label {
        class: Class::Scope,
        kind,
        name: kind,
        category: OUTSIDE,
    });
    let bricks: Vec<u32> = (0..23)
        .map(|name| run.texts.number(&format!("brick {name}")))
        .map(|name| {
            run.labels.number(Label {
                class: Class::Brick,
                kind,
                name,
                category: UNCATEGORISED,
            })
        })
        .collect();
    let mut spans = Vec::with_capacity(ROWS as usize);
    for first in (0..ROWS).step_by(BRICKS_OF_A_LAYER as usize + 1) {
        let begin = first as i64 * 1000;
        for brick in 1..=BRICKS_OF_A_LAYER {
            let start_ns = begin + brick as i64 * 1000;
            // Durations without a pattern.
            let dur_ns = ((first + brick).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as i64;
            let label = bricks[(brick % 23) as usize];
            spans.push(Span {
                start_ns,
                end_ns: start_ns + dur_ns,
                id: first + brick,
                label,
                elements: NO_ELEMENTS,
            });
        }
        spans.push(Span {
            start_ns: begin,
            end_ns: begin + 99_900,
            id: first,
            label: layer,
            elements: NO_ELEMENTS,
        });
    }
    run.wall_ns = ROWS as i64 * 1000;

    let begin = Instant::now();
    sort_by_start(&mut spans);
    println!("sort lane        {:.3} s", begin.elapsed().as_secs_f64());
    run.lanes.push(Lane {
        life: None,
        name: "thread 0".to_owned(),
        key: LaneKey::Thread(Some(0)),
        kind: LaneKind::Host,
        spans,
    });

    let begin = Instant::now();
    let sums = Sums::new(&run, quantiles);
    println!("sums             {:.3} s", begin.elapsed().as_secs_f64());
    let total = sums.lanes[0].total;
    assert_eq!(total.busy_ns, total.self_ns);

    let mut shuffled = std::mem::take(&mut run.lanes[0].spans);
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(
            i,
            (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % (i + 1),
        );
    }
    let begin = Instant::now();
    sort_by_start(&mut shuffled);
    println!("sort any order   {:.3} s", begin.elapsed().as_secs_f64());
}
