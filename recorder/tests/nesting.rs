//! Parents, times, iterations and layers on one thread.

use proptest::prelude::*;
use trueno_recorder::{BrickId, Recorder, SpanId, TileLevel};
use trueno_testing::{Cell, folder, table};

#[test]
fn a_brick_is_written_as_it_was_given() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    {
        let _iteration = rec.iteration(7);
        let _layer = rec.layer(0);
        let mut brick = rec.brick(BrickId::QkvProjection);
        brick.elements(4).flops(0).backend("avx2");
    }
    rec.brick("softmax").category("Mine");
    drop(rec.brick("lm-head"));
    drop(rec.brick("something else"));
    drop(rec.function("head"));
    rec.finish().unwrap();

    let bricks = table(&path, "bricks");
    assert_eq!(bricks.rows, 7);
    let row = bricks.named("QkvProjection");
    for (column, cell) in [
        ("kind", Cell::T("brick".into())),
        ("brick_id", Cell::U(2)),
        ("category", Cell::T("Attention".into())),
        ("backend", Cell::T("avx2".into())),
        ("thread", Cell::U(0)),
        ("timing", Cell::T("host".into())),
        ("iteration", Cell::U(7)),
        ("layer", Cell::U(0)),
        ("elements", Cell::U(4)),
        ("flops", Cell::U(0)),
        ("bytes_read", Cell::Null),
        ("bytes_written", Cell::Null),
    ] {
        assert_eq!(bricks.cell(column, row), &cell, "{column}");
    }
    assert_eq!(
        bricks.number("parent", row),
        bricks.number("id", bricks.named("layer"))
    );
    let (iteration, layer) = (bricks.named("iteration"), bricks.named("layer"));
    assert_eq!(bricks.cell("iteration", iteration), &Cell::U(7));
    assert_eq!(bricks.cell("layer", iteration), &Cell::Null);
    assert_eq!(bricks.cell("iteration", layer), &Cell::U(7));
    assert_eq!(bricks.cell("layer", layer), &Cell::U(0));
    for (name, brick_id, category) in [
        ("softmax", Cell::U(5), Cell::T("Mine".into())),
        ("lm-head", Cell::U(13), Cell::T("Other".into())),
        ("something else", Cell::Null, Cell::Null),
        ("head", Cell::Null, Cell::Null),
    ] {
        let row = bricks.named(name);
        assert_eq!(bricks.cell("brick_id", row), &brick_id, "{name}");
        assert_eq!(bricks.cell("category", row), &category, "{name}");
        assert_eq!(bricks.cell("iteration", row), &Cell::Null, "{name}");
    }
}

#[test]
fn kernels_tiles_and_moments_know_their_place() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let hash = rec.ptx("module", ".version 8.0");
    let (brick_id, kernel_id, tile_id);
    {
        let _layer = rec.layer(3);
        let brick = rec.brick("work");
        let mut kernel = rec.kernel("gemv");
        kernel
            .backend("avx512")
            .grid(1, 2, 3)
            .block(4, 5, 6)
            .flops(100)
            .ptx(hash);
        let mut tile = rec.tile(TileLevel::Midi, 8, 9);
        tile.depth(0).elements(64);
        let inner = rec.tile(TileLevel::Pack, 0, 1);
        rec.checksum("out", None, &[1.0f32, -3.0], &[1, 2]);
        rec.allocation("scratch", -64, Some(0x1000));
        rec.allocation("scratch", 64, None);
        rec.counter("loss", 0.5, "", trueno_recorder::Source::Declared);
        (brick_id, kernel_id, tile_id) = (brick.id(), kernel.id(), tile.id());
        drop(inner);
        drop(rec.brick("inside a kernel"));
    }
    drop(rec.kernel("bare"));
    rec.finish().unwrap();

    let id = |id: SpanId| Cell::U(id.get());
    let kernels = table(&path, "kernels");
    let row = kernels.named("gemv");
    for (column, cell) in [
        ("brick", id(brick_id)),
        ("backend", Cell::T("avx512".into())),
        ("thread", Cell::U(0)),
        ("device", Cell::Null),
        ("grid_y", Cell::U(2)),
        ("block_z", Cell::U(6)),
        ("ptx_hash", Cell::T(hash.to_string())),
        ("flops", Cell::U(100)),
        ("bytes", Cell::Null),
        ("work_source", Cell::T("declared".into())),
        ("valid", Cell::B(true)),
    ] {
        assert_eq!(kernels.cell(column, row), &cell, "{column}");
    }
    let bare = kernels.named("bare");
    for column in [
        "brick",
        "backend",
        "grid_x",
        "block_x",
        "ptx_hash",
        "work_source",
    ] {
        assert_eq!(kernels.cell(column, bare), &Cell::Null, "{column}");
    }
    let tiles = table(&path, "tiles");
    assert_eq!(tiles.texts("level"), [Some("pack"), Some("midi")]);
    assert_eq!(tiles.cell("parent", 0), &id(tile_id));
    assert_eq!(tiles.cell("parent", 1), &id(kernel_id));
    assert_eq!(tiles.numbers("row"), [Some(0), Some(8)]);
    assert_eq!(tiles.numbers("col"), [Some(1), Some(9)]);
    assert_eq!(tiles.numbers("depth"), [None, Some(0)]);
    let bricks = table(&path, "bricks");
    assert_eq!(
        bricks.cell("parent", bricks.named("inside a kernel")),
        &id(brick_id)
    );

    let checksums = table(&path, "checksums");
    for (column, cell) in [
        ("span", id(brick_id)),
        ("layer", Cell::U(3)),
        ("iteration", Cell::Null),
        ("position", Cell::Null),
        ("dtype", Cell::T("f32".into())),
        ("shape", Cell::T("1x2".into())),
        ("elements", Cell::U(2)),
        (
            "hash",
            Cell::U(trueno_recorder::fingerprint(&[1.0f32, -3.0]).hash),
        ),
        ("zero_count", Cell::U(0)),
        ("min", Cell::F(-3.0)),
        ("max", Cell::F(1.0)),
        ("absmax", Cell::F(3.0)),
        ("mean", Cell::F(-1.0)),
        ("l2", Cell::F(10f64.sqrt())),
    ] {
        assert_eq!(checksums.cell(column, 0), &cell, "{column}");
    }
    let allocations = table(&path, "allocations");
    assert_eq!(allocations.numbers("bytes"), [Some(-64), Some(64)]);
    assert_eq!(allocations.numbers("address"), [Some(0x1000), None]);
    let counters = table(&path, "counters");
    assert_eq!(counters.cell("value", 0), &Cell::F(0.5));
    assert_eq!(counters.cell("unit", 0), &Cell::Null);
    assert_eq!(counters.cell("source", 0), &Cell::T("declared".into()));
    let sources = table(&path, "ptx");
    assert_eq!(sources.texts("hash"), [Some(hash.to_string().as_str())]);
    let kept = std::fs::read_to_string(path.join(format!("ptx/{hash}.ptx"))).unwrap();
    assert_eq!(kept, ".version 8.0");
}

#[test]
fn guards_dropped_out_of_order_keep_parents_true() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    let outer = rec.brick("outer");
    let layer = rec.layer(1);
    let middle = rec.brick("middle");
    let inner = rec.brick("inner");
    drop(layer); // its bricks are still open
    drop(rec.brick("after the layer"));
    drop(middle);
    drop(rec.brick("in inner"));
    drop(inner);
    drop(rec.brick("in outer"));
    drop(outer);
    drop(rec.brick("top"));
    rec.finish().unwrap();
    let bricks = table(&path, "bricks");
    for (name, parent) in [
        ("outer", None),
        ("layer", Some("outer")),
        ("after the layer", Some("inner")),
        ("middle", Some("outer")),
        ("in inner", Some("inner")),
        ("inner", Some("outer")),
        ("in outer", Some("outer")),
        ("top", None),
    ] {
        let parent = parent.and_then(|parent| bricks.number("id", bricks.named(parent)));
        assert_eq!(
            bricks.number("parent", bricks.named(name)),
            parent,
            "{name}"
        );
    }
    for name in ["after the layer", "middle", "in inner"] {
        assert_eq!(
            bricks.cell("layer", bricks.named(name)),
            &Cell::Null,
            "{name}"
        );
    }
    assert_inside_parents(&bricks, false);
}

/// Asserts that every row lies inside its parent, to the nanosecond. If all guards were dropped in reverse order,
/// siblings must not overlap either.
fn assert_inside_parents(bricks: &trueno_testing::Table, in_order: bool) {
    let (ids, parents) = (bricks.numbers("id"), bricks.numbers("parent"));
    let (starts, durations) = (bricks.numbers("start_ns"), bricks.numbers("dur_ns"));
    let at = |row: usize| {
        (
            starts[row].unwrap(),
            starts[row].unwrap() + durations[row].unwrap(),
        )
    };
    for row in 0..bricks.rows {
        assert!(durations[row].unwrap() >= 0);
        if let Some(parent) = parents[row] {
            let parent = ids
                .iter()
                .position(|id| *id == Some(parent))
                .expect("a parent is a row");
            assert!(
                at(parent).0 <= at(row).0 && at(row).1 <= at(parent).1,
                "row {row} leaves its parent"
            );
        }
    }
    for a in 0..bricks.rows {
        for b in a + 1..bricks.rows {
            if in_order && parents[a] == parents[b] {
                assert!(
                    at(a).1 <= at(b).0 || at(b).0 <= at(a).0,
                    "rows {a} and {b} overlap"
                );
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Open,
    Layer(u32),
    Close(prop::sample::Index),
    CloseLast,
}

#[expect(dead_code, reason = "held to be dropped")]
enum Guard<'r> {
    Brick(trueno_recorder::BrickGuard<'r>),
    Layer(trueno_recorder::ScopeGuard<'r>),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    /// With any order of opening and dropping, a row's parent is the innermost row that was open around it when
    /// it ended, and its layer the innermost open layer.
    #[test]
    fn any_order_of_drops(steps in prop::collection::vec(prop_oneof![
        3 => Just(Step::Open),
        1 => (0u32..5).prop_map(Step::Layer),
        1 => any::<prop::sample::Index>().prop_map(Step::Close),
        2 => Just(Step::CloseLast),
    ], 0..60), orderly in any::<bool>()) {
        let (_folder, path) = folder();
        let rec = Recorder::create(&path).unwrap();
        let mut open: Vec<(Guard<'_>, u64, Option<u32>)> = Vec::new();
        let mut expected: Vec<(u64, Option<u64>, Option<u32>)> = Vec::new();
        let mut close = |open: &mut Vec<(Guard<'_>, u64, Option<u32>)>, at: usize| {
            let parent = open[..at].last().map(|(_, id, _)| *id);
            let own = open[at].2;
            let layer = own.or(open.iter().rev().find_map(|(_, _, layer)| *layer));
            expected.push((open[at].1, parent, layer));
            open.remove(at);
        };
        let mut in_order = true;
        for step in &steps {
            match step {
                Step::Open => {
                    let guard = rec.brick("b");
                    let id = guard.id().get();
                    open.push((Guard::Brick(guard), id, None));
                }
                Step::Layer(number) => {
                    let guard = rec.layer(*number);
                    let id = guard.id().get();
                    open.push((Guard::Layer(guard), id, Some(*number)));
                }
                Step::Close(which) if !open.is_empty() && !orderly => {
                    let at = which.index(open.len());
                    in_order &= at + 1 == open.len();
                    close(&mut open, at);
                }
                Step::CloseLast if !open.is_empty() => {
                    let last = open.len() - 1;
                    close(&mut open, last);
                }
                _ => {}
            }
        }
        while let Some(last) = open.len().checked_sub(1) {
            close(&mut open, last);
        }
        rec.finish().unwrap();
        let bricks = table(&path, "bricks");
        let found: Vec<_> = bricks.numbers("id").into_iter().map(|id| id.unwrap() as u64)
            .zip(bricks.numbers("parent").into_iter().map(|p| p.map(|p| p as u64)))
            .zip(bricks.numbers("layer").into_iter().map(|l| l.map(|l| l as u32)))
            .map(|((id, parent), layer)| (id, parent, layer)).collect();
        prop_assert_eq!(found, expected);
        assert_inside_parents(&bricks, in_order);
    }
}
