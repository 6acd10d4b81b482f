//! Pages of trees: their width, and what they say.

use proptest::prelude::*;
use trueno_engine::run::Run;
use trueno_execution_graph::{Content, Limits, load};
use trueno_model::width;
use trueno_render::style::Palette;
use trueno_testing::{Made, sample};

use super::page::page;
use super::{Tree, TreeOptions};
use crate::commands::graph_input::GraphInput;

fn look(make: impl FnOnce(&std::path::Path)) -> GraphInput {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("made.run");
    make(&path);
    let run = Run::open(&path).unwrap();
    let graph = load(&run, Content::default()).unwrap();
    GraphInput::of_graph(run, graph)
}

fn text(look: &GraphInput, top: usize, merge: bool, room: usize) -> String {
    let options = TreeOptions {
        limits: Limits {
            top,
            min_share: 0.0,
        },
        depth: None,
        fit_rows: 200,
        merge,
        filter: None,
    };
    let tree = Tree::grow(&look.graph, &options);
    page(look, &tree, merge, room, Palette::new(false))
}

#[test]
fn a_page_says_what_ran_where_and_how_it_was_launched() {
    insta::assert_snapshot!("each", text(&look(sample), 10, false, 100));
    insta::assert_snapshot!("merged", text(&look(sample), 3, true, 80));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_line_is_wider_than_the_page(
        names in proptest::collection::vec(any::<String>(), 1..12),
        room in 80..200_usize,
        deep in any::<bool>(),
        merge in any::<bool>(),
    ) {
        let look = look(|path| {
            let mut made = Made::new(path);
            for (at, name) in names.iter().enumerate() {
                let id = at as i64 + 1;
                let mut row = vec![
                    ("id", id.into()),
                    ("kind", "brick".into()),
                    ("name", name.as_str().into()),
                    ("dur_ns", 1_234_567.into()),
                    ("elements", 99.into()),
                ];
                if deep && at > 0 {
                    row.push(("parent", (id - 1).into()));
                }
                made.row("bricks", &row);
                let kernel = [
                    ("id", (id + 1000).into()),
                    ("brick", id.into()),
                    ("name", name.as_str().into()),
                    ("device", 0.into()),
                    ("stream", 1.into()),
                    ("dur_ns", 7.into()),
                    ("grid_x", 1_000_000.into()),
                    ("registers", 255.into()),
                    ("ptx_hash", "0123456789abcdef".into()),
                ];
                made.row("kernels", &kernel);
            }
            made.finish(2_000_000);
        });
        let text = text(&look, 4, merge, room);
        for line in text.lines() {
            prop_assert!(width::measure(line) <= room, "{} > {room}: {line}", width::measure(line));
            prop_assert!(!line.chars().any(char::is_control));
        }
        prop_assert!(text.contains("1.23 ms"), "{text}");
    }
}

/// Drawing all guides would need 64,000 for the last row alone.
#[test]
fn a_page_of_as_many_levels_as_rows() {
    const LEVELS: i64 = 64_000;
    let look = look(|path| {
        let mut made = Made::new(path);
        for level in 0..LEVELS {
            made.row(
                "bricks",
                &[
                    ("id", (1 + level).into()),
                    ("name", "f".into()),
                    ("kind", "brick".into()),
                    ("start_ns", level.into()),
                    ("dur_ns", (2 * (LEVELS - level)).into()),
                ],
            );
        }
        made.finish(2 * LEVELS);
    });
    let options = TreeOptions {
        limits: Limits {
            top: 10,
            min_share: 0.0,
        },
        depth: Some(u32::MAX),
        fit_rows: 200,
        merge: false,
        filter: None,
    };
    let tree = Tree::grow(&look.graph, &options);
    assert_eq!(i64::from(tree.depth), LEVELS + 1);
    let page = page(&look, &tree, false, 100, Palette::new(false));
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("└ f")).collect();
    assert_eq!(rows.len() as i64, LEVELS);
    assert!(rows.iter().all(|row| width::measure(row) <= 100));
    assert!(rows[rows.len() - 1].starts_with('…'));
}
