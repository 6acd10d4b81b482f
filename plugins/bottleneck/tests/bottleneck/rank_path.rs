//! The part of the critical path that is a rank's.

use crate::inputs::{US, Work, facts, gains, kernels, path, pieces, texts};
use trueno_plugin::Table;
use trueno_plugin::testing::run;
use trueno_plugin_bottleneck::Bottleneck;

/// Both ranks launch too late; all of the path except its first piece is on rank 1.
#[test]
fn a_rank_saves_no_more_than_its_part_of_the_path() {
    let kernel = |rank: i64, n: i64| Work {
        device: Some(rank << 16),
        called_us: Some(n * 50 - 10),
        ..Work::at("step", n * 50, 30)
    };
    let rows: Vec<Work> = (0..200).map(|at| kernel(at % 2, at / 2)).collect();
    let ranks = || Table::build("ranks").u64("rank", [0_u64, 1]);
    let judged = |first, name, rank| {
        let rest = ("work", Some("launch"), "rank 1 thread 0", 1, 300, 4_700);
        let pieces = pieces(&[("work", name, first, rank, 0, 300), rest]);
        let path = path(&[("work", 5_000)]);
        let inputs = [facts(5_000), kernels(&rows), ranks(), path, pieces];
        run::<Bottleneck>(inputs, "{}").expect("it ends well")
    };
    let output = judged("rank 0 thread 0", Some("launch"), 0);
    assert_eq!(
        texts(&output, "bottlenecks", "scope"),
        ["rank 1 gpu0", "gpu0"]
    );
    // 99 gaps of 20 µs; of rank 0 no more than the path has of it.
    assert_eq!(gains(&output), [1_980, 300].map(|us| Some(us * US)));
    // A gap has no row, but a lane.
    let output = judged("rank 1 thread 0", None, 0);
    assert_eq!(texts(&output, "bottlenecks", "scope"), ["rank 1 gpu0"]);
}
