//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_analysis::testing::{Row, RunFixture, interval};
use trueno_plugin::rank::{KEY_BITS, PLACE_BITS};
use trueno_plugin::testing::{Output, merge, part, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_category::Category;

const KINDS: [&str; 4] = ["layer", "brick", "task", "kernel"];
const NAMES: [&str; 3] = ["a", "b", "c"];
const CATEGORIES: [Option<&str>; 3] = [None, Some("FFN"), Some("uncategorised")];
const WORKERS: [&str; 9] = [
    "worker-1", "worker-2", "worker-3", "worker-4", "worker-5", "worker-6", "worker-7", "worker-8",
    "worker-9",
];

/// A generated row: index into each list, placement, times, declared values, and an oddity.
type Drawn = (
    (usize, usize, usize),
    (Option<i64>, Option<i64>, Option<i64>),
    (i64, i64),
    (Option<u64>, Option<u64>),
    usize,
);

fn rows() -> impl Strategy<Value = Vec<Drawn>> {
    let place = || prop::option::weighted(0.8, 0..3_i64);
    let elements = prop_oneof![1..9_u64, Just(u64::MAX)];
    let row = (
        (0..4_usize, 0..3_usize, 0..3_usize),
        (place(), place(), place()),
        (-5..62_i64, -1..30_i64),
        (prop::option::of(elements), prop::option::of(1..9_u64)),
        0..9_usize,
    );
    prop::collection::vec(row, 0..7)
}

#[derive(Clone, Debug)]
struct OfRank {
    tables: Vec<Vec<Drawn>>,
    /// Threads of one role that run one after the other: count, start, end, and the gap between two.
    workers: Option<(usize, i64, i64, i64)>,
}

impl OfRank {
    fn draw() -> impl Strategy<Value = Self> {
        let workers = prop::option::of((7..10_usize, 0..20_i64, 1..9_i64, 0..8_i64));
        let tables = prop::collection::vec(rows(), 6);
        let some = (tables, workers).prop_map(|(tables, workers)| Self { tables, workers });
        let only = |workers| Self {
            tables: vec![Vec::new(); 6],
            workers,
        };
        // Threads that are alive for a quarter of the time of the job, but not of that of their rank.
        let close = (8..10_usize, 0..20_i64, 7..9_i64, 2..4_i64).prop_map(Some);
        prop_oneof![5 => some, 1 => close.prop_map(only), 1 => Just(only(None))]
    }

    fn add_to(&self, fixture: &mut RunFixture, rank: i64) {
        let key = |id: u64| (rank.cast_unsigned() << KEY_BITS) + id;
        let place = |number: i64| (rank << PLACE_BITS) + number;
        let mut id = 0;
        let mut row = |of: &Drawn| {
            let &((kind, name, category), (thread, device, stream), (start_ns, dur_ns), _, odd) =
                of;
            let (elements, brick) = of.3;
            id += 1;
            Row {
                category: CATEGORIES[category],
                elements,
                brick: brick.map(key),
                thread: thread.map(place),
                device: device.map(place),
                stream,
                bound: odd == 0,
                invalid: odd == 1,
                ..interval(
                    key(id),
                    KINDS[kind],
                    NAMES[name],
                    start_ns,
                    start_ns + dur_ns,
                )
            }
        };
        fixture.threads.push((place(0), Some("main")));
        let [bricks, kernels, tiles, syncs, calls, transfers] = &self.tables[..] else {
            panic!("six tables");
        };
        fixture.bricks.extend(bricks.iter().map(&mut row));
        fixture.kernels.extend(kernels.iter().map(&mut row));
        fixture.tiles.extend(tiles.iter().map(&mut row));
        fixture.syncs.extend(syncs.iter().map(&mut row));
        fixture.calls.extend(calls.iter().map(&mut row));
        fixture.transfers.extend(transfers.iter().map(&mut row));
        let Some((count, first_ns, dur_ns, step_ns)) = self.workers else {
            return;
        };
        for (at, name) in (0..).zip(&WORKERS[..count]) {
            let (thread, start_ns) = (place(10 + at), first_ns + at * step_ns);
            fixture.threads.push((thread, Some(name)));
            let work = interval(
                key(100 + at.cast_unsigned()),
                "task",
                "head",
                start_ns,
                start_ns + dur_ns,
            );
            fixture.bricks.push(work.thread(thread));
        }
    }
}

#[derive(Clone, Debug)]
struct Job {
    ranks: Vec<OfRank>,
    wall_ns: Option<i64>,
    window: Option<(i64, i64)>,
    has_rules: bool,
}

impl Job {
    fn draw() -> impl Strategy<Value = Self> {
        (
            prop::collection::vec(OfRank::draw(), 1..5),
            prop::option::of(40..90_i64),
            prop::option::of((0..30_i64, 30..70_i64)),
            any::<bool>(),
        )
            .prop_map(|(ranks, wall_ns, window, has_rules)| Self {
                ranks,
                wall_ns,
                window,
                has_rules,
            })
    }

    /// Inputs with the rows of some ranks. Every second rank number is missing from the job.
    fn inputs(&self, ranks: impl Iterator<Item = usize>) -> Vec<TableBuilder> {
        let mut fixture = RunFixture {
            wall_ns: self.wall_ns,
            ..RunFixture::default()
        };
        if self.has_rules {
            fixture.rules = vec![("a", "Norm"), ("head", "Heads")];
        }
        for rank in ranks {
            self.ranks[rank].add_to(&mut fixture, 2 * rank as i64);
        }
        let mut inputs = fixture.inputs();
        let all = (0..self.ranks.len()).map(|rank| 2 * rank as i64);
        inputs.push(Table::build("ranks").i64("rank", all));
        if let Some((from_ns, until_ns)) = self.window {
            inputs.push(
                Table::build("report_window")
                    .i64("from_ns", [from_ns])
                    .i64("until_ns", [until_ns]),
            );
        }
        if self.has_rules {
            inputs.push(
                Table::build("name_groups")
                    .text("name", ["b"])
                    .text("name_group", ["c"]),
            );
        }
        inputs
    }
}

fn merged(parts: &[Output], is_final: bool) -> Output {
    merge::<Category>(parts, [], "{}", is_final).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn merged_parts_are_the_whole(job in Job::draw(), cut in 0..5_usize) {
        let all = 0..job.ranks.len();
        let whole = run::<Category>(job.inputs(all.clone()), "{}").unwrap();
        let parts: Vec<Output> = all
            .map(|rank| part::<Category>(job.inputs(std::iter::once(rank)), "{}").unwrap())
            .collect();
        for part in &parts {
            prop_assert!(part.findings.is_empty() && part.charts.is_empty());
        }
        prop_assert_eq!(&merged(&parts, true), &whole);
        let (first, rest) = parts.split_at(cut.min(parts.len()));
        if first.is_empty() || rest.is_empty() {
            return Ok(());
        }
        // As the host does: some are merged, then the others come.
        let mut some = vec![merged(first, false)];
        some.extend(rest.iter().cloned());
        prop_assert_eq!(&merged(&some, true), &whole);
        prop_assert_eq!(&merged(&[merged(first, false), merged(rest, false)], true), &whole);
        // And merging one part changes nothing.
        prop_assert_eq!(&merged(&[merged(&parts, false)], true), &whole);
    }
}

#[test]
fn the_pools_of_a_rank_are_its_own() {
    let of_rank = OfRank {
        tables: vec![
            vec![((1, 0, 1), (Some(0), None, None), (0, 60), (None, None), 8)],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
        ],
        workers: Some((8, 0, 5, 5)),
    };
    let job = Job {
        ranks: vec![of_rank.clone(), of_rank],
        wall_ns: Some(60),
        window: None,
        has_rules: false,
    };
    let parts = [0, 1].map(|rank| {
        let inputs = job.inputs(std::iter::once(rank));
        part::<Category>(inputs, "{}").unwrap()
    });
    let out = merged(&parts, true);
    assert_eq!(
        trueno_analysis::testing::lines(out.table("by_lane"), &["lane", "busy_ns", "wall_ns"]),
        [
            "rank 0 thread 0 main | 60 | 60",
            "rank 0 worker-* ×8 (1 at once) | 40 | 60",
            "rank 2 thread 0 main | 60 | 60",
            "rank 2 worker-* ×8 (1 at once) | 40 | 60",
        ]
    );
}

#[test]
fn parts_with_the_same_numbers_are_refused() {
    let job = Job {
        ranks: vec![OfRank {
            tables: vec![vec![]; 6],
            workers: Some((8, 0, 5, 5)),
        }],
        wall_ns: None,
        window: None,
        has_rules: false,
    };
    let part = part::<Category>(job.inputs(0..1), "{}").unwrap();
    let twice = merge::<Category>(&[part.clone(), part], [], "{}", true);
    let error = twice.unwrap_err().to_string();
    assert!(error.contains("as many"), "{error}");
}
