//! Trees drawn at random against slow and obvious oracles, and one run with one of everything.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trueno_engine::run::Run;
use trueno_model::name_groups::NameGroups;

use super::alignment::{Side, align};
use super::rows::{MAX_PATH, Rows};
use super::sequence::{self, MAX_CELLS, Sibling, WINDOW};
use super::shapes::Shapes;
use super::tree::{KernelSum, Operator, thread_name};
use super::*;

#[derive(Clone, Debug, PartialEq)]
struct Nested {
    name: String,
    device_ns: i64,
    host_self_ns: i64,
    below: Vec<Nested>,
}

fn nested(name: &str, device_ns: i64, below: Vec<Nested>) -> Nested {
    Nested {
        name: name.to_owned(),
        device_ns,
        host_self_ns: 1,
        below,
    }
}

fn tree(lanes: &[Nested]) -> OperatorTree {
    let mut tree = OperatorTree::default();
    add(&mut tree, &nested("run", 0, lanes.to_vec()));
    tree
}

fn add(tree: &mut OperatorTree, node: &Nested) {
    let number = |tree: &mut OperatorTree, name: String| {
        tree.names.push(name);
        tree.names.len() as u32 - 1
    };
    let at = tree.operators.len();
    let name = number(tree, node.name.clone());
    tree.operators.push(Operator {
        name,
        size: 1,
        calls: 1,
        device_ns: node.device_ns,
        host_self_ns: node.host_self_ns,
        is_iteration: false,
    });
    if node.device_ns > 0 {
        let name = number(tree, format!("kernel of {}", node.device_ns));
        tree.kernels.push(KernelSum {
            operator: at as u32,
            name,
            calls: 1,
            device_ns: node.device_ns,
        });
    }
    for child in &node.below {
        add(tree, child);
    }
    tree.operators[at].size = (tree.operators.len() - at) as u32;
}

fn outline(node: &Nested) -> String {
    let below: String = node.below.iter().map(outline).collect();
    format!("({}{below})", node.name)
}

fn operators() -> impl Strategy<Value = Nested> {
    let leaf = ("[abc]", 0..4_i64, 0..9_i64).prop_map(|(name, device_ns, host_self_ns)| Nested {
        name,
        device_ns,
        host_self_ns,
        below: Vec::new(),
    });
    leaf.prop_recursive(4, 40, 5, |inner| {
        let below = prop::collection::vec(inner, 0..5);
        ("[abc]", 0..4_i64, 0..9_i64, below).prop_map(|(name, device_ns, host_self_ns, below)| {
            Nested {
                name,
                device_ns,
                host_self_ns,
                below,
            }
        })
    })
}

/// Two runs of one thread: independent ones, or the same with one change.
fn two_runs() -> impl Strategy<Value = (Vec<Nested>, Vec<Nested>)> {
    let thread = |below: Vec<Nested>| vec![nested("main", 0, below)];
    let one = move || prop::collection::vec(operators(), 0..6).prop_map(thread);
    let changed = (one(), operators(), any::<prop::sample::Index>()).prop_map(
        |(base, other, at): (Vec<Nested>, Nested, prop::sample::Index)| {
            let mut run = base.clone();
            let below = &mut run[0].below;
            let at = at.index(below.len() + 1);
            below.insert(at, other);
            (base, run)
        },
    );
    prop_oneof![(one(), one()), changed]
}

/// Matches of the best alignment and how many of them have equal subtrees, by brute force.
fn most_matches(a: &[Nested], b: &[Nested]) -> (usize, usize) {
    let mut best = vec![vec![(0, 0); b.len() + 1]; a.len() + 1];
    for x in (0..a.len()).rev() {
        for y in (0..b.len()).rev() {
            best[x][y] = best[x + 1][y].max(best[x][y + 1]);
            if a[x].name == b[y].name {
                let (matches, equal) = best[x + 1][y + 1];
                let is_equal = outline(&a[x]) == outline(&b[y]);
                best[x][y] = best[x][y].max((matches + 1, equal + usize::from(is_equal)));
            }
        }
    }
    best[0][0]
}

fn flat(lanes: &[Nested]) -> Vec<(Nested, usize)> {
    fn visit(node: &Nested, around: usize, out: &mut Vec<(Nested, usize)>) {
        let at = out.len();
        out.push((node.clone(), around));
        node.below.iter().for_each(|child| visit(child, at, out));
    }
    let mut out = Vec::new();
    visit(&nested("run", 0, lanes.to_vec()), 0, &mut out);
    out
}

fn matched_pairs(base: &OperatorTree, run: &OperatorTree) -> Vec<(usize, usize)> {
    let mut shapes = Shapes::default();
    let numbered = [base, run].map(|tree| shapes.number(tree, &NameGroups::default()));
    let [a, b] = &numbered;
    let side = |tree, numbered| Side { tree, numbered };
    let mut pairs = Vec::new();
    let mut matched = |a: u32, b: u32| pairs.push((a as usize, b as usize));
    align(
        [side(base, a), side(run, b)],
        &mut Rows::default(),
        &mut matched,
    );
    pairs.sort_unstable();
    pairs
}

/// Calls, device time and host self time of a path, the base first.
type Sums = [(u64, i64, i64); 2];

/// Sums by path. Each operator counts for its lowest matched ancestor.
fn sums_by_path(flat: [&[(Nested, usize)]; 2], pairs: &[(usize, usize)]) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    for side in 0..2 {
        let is_matched = |at: usize| {
            let of = |pair: &(usize, usize)| [pair.0, pair.1][side];
            pairs.iter().any(|pair| of(pair) == at)
        };
        for (at, (node, _)) in flat[side].iter().enumerate() {
            let mut place = at;
            while !is_matched(place) {
                place = flat[side][place].1;
            }
            let is_own = place == at;
            let mut path = Vec::new();
            while place != 0 {
                path.insert(0, flat[side][place].0.name.clone());
                place = flat[side][place].1;
            }
            let sum = &mut sums.entry(path.join("/")).or_default()[side];
            sum.0 += u64::from(is_own);
            sum.1 += node.device_ns;
            sum.2 += node.host_self_ns;
        }
    }
    sums
}

proptest! {
    #[test]
    fn matched_operators_keep_names_ancestry_and_order_and_are_as_many_as_can_be((base, run) in two_runs()) {
        let (a, b) = (flat(&base), flat(&run));
        let pairs = matched_pairs(&tree(&base), &tree(&run));
        for &(x, y) in &pairs {
            prop_assert_eq!(&a[x].0.name, &b[y].0.name);
            prop_assert!(pairs.contains(&(a[x].1, b[y].1)), "those around {x} and {y} are not matched");
            let below: Vec<_> = pairs.iter().filter(|(p, q)| *p != 0 && a[*p].1 == x && b[*q].1 == y).collect();
            prop_assert!(below.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            let equal = below.iter().filter(|(p, q)| outline(&a[*p].0) == outline(&b[*q].0));
            let found = (below.len(), equal.count());
            prop_assert_eq!(found, most_matches(&a[x].0.below, &b[y].0.below));
        }
    }

    #[test]
    fn every_operator_counts_once_for_the_lowest_one_around_it_that_both_have((base, run) in two_runs()) {
        let (of_base, of_run) = (tree(&base), tree(&run));
        let (a, b) = (flat(&base), flat(&run));
        let expected = sums_by_path([&a, &b], &matched_pairs(&of_base, &of_run));
        let found = compare(&[(&of_base, &of_run)], &NameGroups::default());
        let rows = found.rows.iter().map(|row| {
            let sums = [
                (row.base_calls, row.base_device_ns as i64, row.base_host_self_ns as i64),
                (row.run_calls, row.run_device_ns as i64, row.run_host_self_ns as i64),
            ];
            (row.path.join("/"), sums)
        });
        prop_assert_eq!(rows.collect::<BTreeMap<_, _>>(), expected);
        let total = |all: &[(Nested, usize)]| all.iter().map(|(node, _)| node.device_ns).sum::<i64>() as f64;
        prop_assert_eq!((found.base_device_ns, found.run_device_ns), (total(&a), total(&b)));
        // The largest change comes first.
        let changes: Vec<f64> = found.rows.iter().map(|row| row.change_ns.abs()).collect();
        prop_assert!(changes.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn a_run_does_not_differ_from_itself((base, _) in two_runs()) {
        let base = tree(&base);
        let found = compare(&[(&base, &base), (&base, &base)], &NameGroups::default());
        prop_assert_eq!(found.matched_operators, found.base_operators);
        prop_assert!(found.rows.iter().all(|row| !row.is_different()), "{:?}", found.rows);
    }

    #[test]
    fn long_lists_are_aligned_in_order(
        labels in prop::collection::vec((0..4_u32, 0..60_u32), 1100..1500),
        left_out in prop::collection::vec(any::<prop::sample::Index>(), 0..400),
        apart in any::<bool>(),
    ) {
        let siblings: Vec<Sibling> = labels.iter().map(|(label, shape)| Sibling { label: *label, shape: label * 100 + shape }).collect();
        let mut fewer = siblings.clone();
        for at in &left_out {
            fewer.remove(at.index(fewer.len()));
        }
        if apart {
            fewer.reverse();
        }
        let found = sequence::align(&siblings, &fewer);
        let is_equal = |(x, y): &(u32, u32)| siblings[*x as usize].label == fewer[*y as usize].label;
        prop_assert!(found.pairs.iter().all(is_equal));
        prop_assert!(found.pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        if !apart {
            // At most as many are missed as were left out again.
            prop_assert!(found.pairs.len() + left_out.len() >= fewer.len(), "{} of {}", found.pairs.len(), fewer.len());
        }
    }
}

#[test]
fn a_long_list_with_some_siblings_more_is_aligned_and_said_to_be_in_part() {
    let sibling = |at: u32| Sibling {
        label: at % 7,
        shape: at % 7,
    };
    let base: Vec<Sibling> = (0..20_000).map(sibling).collect();
    let fewer = (0..9_000).chain(9_010..20_000);
    let fewer: Vec<Sibling> = fewer.map(sibling).collect();
    let found = sequence::align(&base, &fewer);
    assert!(!found.is_partial && found.pairs.len() == fewer.len());
    let other = Sibling { label: 9, shape: 9 };
    let with_others = base
        .chunks(50)
        .flat_map(|chunk| chunk.iter().chain([&other]))
        .copied();
    let with_others: Vec<Sibling> = with_others.collect();
    let found = sequence::align(&base, &with_others);
    assert!(found.is_partial && base.len() * with_others.len() > MAX_CELLS);
    assert!(
        found.pairs.len() + WINDOW > base.len(),
        "{}",
        found.pairs.len()
    );
}

#[test]
fn what_only_one_side_has_counts_for_the_operator_around_it() {
    let base = nested("linear", 0, vec![nested("addmm", 10, vec![])]);
    let mm = nested("mm", 8, vec![]);
    let run = nested(
        "linear",
        0,
        vec![nested("matmul", 0, vec![mm]), nested("add", 3, vec![])],
    );
    let thread = |below: Nested| tree(&[nested("main", 0, vec![below])]);
    let found = compare(&[(&thread(base), &thread(run))], &NameGroups::default());
    let row = &found.rows[0];
    assert_eq!(row.path, ["main", "linear"]);
    assert_eq!(
        (row.base_device_ns, row.run_device_ns, row.change_ns),
        (10.0, 11.0, 1.0)
    );
    assert_eq!(row.share, Some(0.1));
    let named = |list: &[OneSided]| -> Vec<(String, u64)> {
        list.iter()
            .map(|one| (one.name.clone(), one.operators))
            .collect()
    };
    assert_eq!(named(&row.only_base), [("addmm".to_owned(), 1)]);
    assert_eq!(
        named(&row.only_run),
        [("matmul".to_owned(), 2), ("add".to_owned(), 1)]
    );
    let kernels: Vec<&str> = row.kernels.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(kernels, ["kernel of 10", "kernel of 8", "kernel of 3"]);
    assert_eq!(
        (
            found.matched_operators,
            found.base_operators,
            found.run_operators
        ),
        (1, 2, 4)
    );
}

#[test]
fn names_that_hold_ids_are_one() {
    let run = |address: &str| {
        let name = format!("wait at {address}");
        tree(&[nested("main", 0, vec![nested(&name, 5, vec![])])])
    };
    let (base, run) = (run("0x7f0000001000"), run("0x7fffabcdef10"));
    let found = compare(&[(&base, &run)], &NameGroups::default());
    assert_eq!(found.matched_operators, 1, "{:?}", found.rows);
}

#[test]
fn threads_belong_together_by_what_they_do() {
    let forward = || nested("python", 0, vec![nested("forward", 5, vec![])]);
    let backward = || nested("python", 0, vec![nested("backward", 7, vec![])]);
    let (base, run) = (
        tree(&[forward(), backward()]),
        tree(&[backward(), forward()]),
    );
    let found = compare(&[(&base, &run)], &NameGroups::default());
    assert!(
        found.rows.iter().all(|row| !row.is_different()),
        "{found:?}"
    );
}

#[test]
fn several_pairs_are_means_with_the_range_of_their_changes() {
    let run = |device_ns| tree(&[nested("main", 0, vec![nested("gemm", device_ns, vec![])])]);
    let (base, runs) = (run(10), [run(11), run(15)]);
    let found = compare(
        &[(&base, &runs[0]), (&base, &runs[1])],
        &NameGroups::default(),
    );
    let row = &found.rows[0];
    assert_eq!((row.change_ns, row.change_range_ns), (3.0, Some([1, 5])));
    assert_eq!((row.base_calls, found.run_device_ns), (2, 13.0));
}

#[test]
fn the_tree_of_a_run_holds_operators_and_the_device_time_that_they_launched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made.run");
    trueno_testing::sample(&path);
    let tree = OperatorTree::read(&Run::open(&path).unwrap()).unwrap();
    let mut lines = Vec::new();
    let mut open = vec![(0, 0)];
    while let Some((at, depth)) = open.pop() {
        let operator = &tree.operators[at as usize];
        lines.push(format!(
            "{}{} {} {} {}",
            " ".repeat(depth),
            tree.names[operator.name as usize],
            operator.calls,
            operator.host_self_ns,
            operator.device_ns
        ));
        let children = tree.children(at).into_iter().rev();
        open.extend(children.map(|child| (child, depth + 1)));
    }
    assert_eq!(
        lines,
        [
            "run 1 0 0",
            " main 1 0 0",
            // With the wait that lies in it.
            "  iteration 1 110 0",
            "   layer 1 160 0",
            // With the call that launched: 20 to 400.
            "    QkvProjection 1 380 240",
            "     head 0 1 170 0",
            "    FfnGateUp 1 300 200",
            "     dot 1 50 0",
            " gpu0 1 0 0",
            "  orphan 1 0 30",
        ]
    );
    assert_eq!(tree.untimed, 2);
}

#[test]
fn threads_are_named_without_what_one_run_gives_them() {
    for (lane, name) in [
        ("thread 0 main", "main"),
        ("thread 12", "thread"),
        ("thread ?", "?"),
        ("thread 0 thread 59976 (python3)", "thread (python3)"),
        ("thread 3 python3 (144)", "python3"),
        ("rank 2 thread 1 worker 3", "rank * worker 3"),
    ] {
        assert_eq!(thread_name(lane), name, "{lane}");
    }
}

#[test]
fn paths_of_deep_trees_are_cut() {
    let mut rows = Rows::default();
    let mut row = rows.row(0, 0);
    for label in 1..2_000 {
        row = rows.row(row, label);
        let path = rows.path(row);
        let is_cut = path.contains(&None);
        assert_eq!(is_cut, label as usize > MAX_PATH + 1, "{label}");
        assert_eq!(path.first(), Some(&Some(1)));
        assert_eq!(path.last(), Some(&Some(label)));
        assert!(path.len() <= MAX_PATH + 2);
        if !is_cut {
            assert_eq!(path, (1..=label).map(Some).collect::<Vec<_>>());
        }
    }
}
