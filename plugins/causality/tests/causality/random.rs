//! Small random runs against the oracle.

use proptest::prelude::*;
use trueno_analysis::testing;

use crate::fixture::{Edge, Fixture, clocks, row};
use crate::oracle::{Oracle, Row};

/// A row: placement, whether it is a wait, start, length, id.
type Drawn = (usize, bool, i64, i64, u64);

fn rows() -> impl Strategy<Value = Vec<Drawn>> {
    let row = (
        0..6_usize,
        prop::bool::weighted(0.3),
        0..12_i64,
        prop_oneof![2 => Just(0_i64), 8 => 0..9_i64, 1 => Just(-1_i64)],
    );
    prop::collection::vec(row, 0..16).prop_flat_map(|rows| {
        let ids: Vec<u64> = (1..=rows.len() as u64).collect();
        Just(ids).prop_shuffle().prop_map(move |ids| {
            let rows = rows.iter().zip(ids);
            rows.map(|(row, id)| (row.0, row.1, row.2, row.3, id))
                .collect()
        })
    })
}

fn edges() -> impl Strategy<Value = Vec<Edge>> {
    let kinds = vec![
        "depends_on",
        "joins",
        "launches",
        "spawns",
        "wakes",
        "reads",
    ];
    let edge = (0..18_u64, 0..18_u64, prop::sample::select(kinds));
    prop::collection::vec(edge, 0..14)
}

/// Placements: threads 0 and 1, an unrecorded thread, two streams, and an unrecorded stream.
fn place((place, ..): Drawn, row: testing::Row) -> testing::Row {
    let device = |stream| testing::Row {
        device: Some(0),
        stream,
        ..row.clone()
    };
    match place {
        0 | 1 => row.thread(place as i64),
        2 => row,
        3 | 4 => device(Some(place as i64)),
        _ => device(None),
    }
}

fn fixture(drawn: &[Drawn], edges: &[Edge]) -> Fixture {
    let mut fixture = Fixture {
        edges: edges.to_vec(),
        ..Fixture::default()
    };
    for drawn in drawn {
        let (_, is_wait, start_ns, dur_ns, id) = *drawn;
        let name = if is_wait { "device" } else { "work" };
        let row = place(*drawn, row(id, name, start_ns, start_ns + dur_ns));
        if is_wait {
            fixture.run.syncs.push(row)
        } else {
            fixture.run.kernels.push(row)
        }
    }
    fixture
}

fn oracle(drawn: &[Drawn]) -> Oracle {
    let rows = drawn.iter().filter(|of| of.3 >= 0);
    let rows = rows.map(|&(lane, is_wait, start_ns, dur_ns, id)| Row {
        id,
        lane,
        is_ordered: lane != 2 && lane != 5,
        is_wait,
        start_ns,
        end_ns: start_ns + dur_ns,
    });
    Oracle::new(&rows.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn clocks_are_those_of_the_oracle(drawn in rows(), edges in edges()) {
        let output = fixture(&drawn, &edges).analyse();
        let mut oracle = oracle(&drawn);
        if oracle.rows.is_empty() {
            prop_assert!(output.tables.is_empty() && output.findings.is_empty());
            return Ok(());
        }
        let ordered: Vec<(usize, usize)> =
            edges.iter().filter_map(|(from, to, kind)| oracle.events(*from, *to, kind)).collect();
        ordered.iter().for_each(|events| oracle.add(*events));
        let expected = oracle.clocks();
        prop_assert_eq!(output.table("events").rows(), oracle.rows.len());
        for (at, row) in oracle.rows.iter().enumerate() {
            prop_assert_eq!(clocks(&output, row.id), (expected[2 * at], expected[2 * at + 1]), "row {}", row.id);
        }
        // The clock condition, of all pairs and not only of direct ones.
        let closure = oracle.closure();
        for (a, first) in expected.iter().enumerate() {
            for (b, second) in expected.iter().enumerate().filter(|(b, _)| closure[a][*b]) {
                prop_assert!(first.zip(*second).is_none_or(|(first, second)| first < second), "{a} {b}");
            }
        }
        let is_on_circle = expected.contains(&None);
        prop_assert_eq!(output.finding("cycle").is_some(), is_on_circle);
    }

    #[test]
    fn contradictions_are_those_of_the_oracle(drawn in rows(), edges in edges()) {
        let output = fixture(&drawn, &edges).analyse();
        let oracle = oracle(&drawn);
        if oracle.rows.is_empty() {
            return Ok(());
        }
        let mut unique = edges.clone();
        unique.sort_unstable();
        unique.dedup();
        let mut expected: Vec<(u64, u64, &str, i64)> = Vec::new();
        let mut ordered = 0;
        for (from, to, kind) in unique {
            if let Some((first, second)) = oracle.events(from, to, kind) {
                ordered += 1;
                let late_ns = oracle.time_ns(first) - oracle.time_ns(second);
                if late_ns > 0 {
                    expected.push((from, to, kind, late_ns));
                }
            }
        }
        let table = output.table("contradictions");
        let cell = |column: &str, row: usize| table.u64(column).unwrap().value(row);
        let mut rows: Vec<(u64, u64, &str, i64)> = (0..table.rows())
            .map(|row| {
                let kind = table.text("kind").unwrap().value(row);
                (cell("from_id", row), cell("to_id", row), kind, table.i64("late_ns").unwrap().value(row))
            })
            .collect();
        prop_assert!(rows.is_sorted_by(|a, b| a.3 >= b.3));
        rows.sort_unstable();
        prop_assert_eq!(&rows, &expected);
        let sum = |column: &str| output.table("edges").u64(column).unwrap().iter().flatten().sum::<u64>();
        prop_assert_eq!(sum("contradicted"), expected.len() as u64);
        prop_assert_eq!(sum("edges"), ordered);
        let recorded = edges.iter().filter(|of| oracle.events(of.0, of.1, of.2).is_none()).count();
        prop_assert_eq!(sum("unused"), recorded as u64);
        prop_assert_eq!(output.finding("contradictions").is_some(), !expected.is_empty());
        // The groups of lanes, by walking from lane to lane.
        let lane = |id: u64| oracle.rows[oracle.row(id).unwrap()].lane;
        let ties: Vec<(usize, usize)> = edges
            .iter()
            .filter(|of| oracle.events(of.0, of.1, of.2).is_some() && lane(of.0) != lane(of.1))
            .map(|of| (lane(of.0), lane(of.1)))
            .collect();
        let mut label: Vec<usize> = (0..6).collect();
        for _ in 0..6 {
            for (a, b) in &ties {
                let least = label[*a].min(label[*b]);
                (label[*a], label[*b]) = (least, least);
            }
        }
        let tied: std::collections::BTreeSet<usize> = ties.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let groups: std::collections::BTreeSet<usize> = tied.iter().map(|lane| label[*lane]).collect();
        let total = |column: &str| output.table("totals").u64(column).unwrap().value(0);
        prop_assert_eq!((total("tied_lanes"), total("groups")), (tied.len() as u64, groups.len() as u64));
    }

    #[test]
    fn the_order_of_rows_does_not_matter(drawn in rows(), edges in edges(), seed in any::<prop::sample::Index>()) {
        let (mut turned, mut turned_edges) = (drawn.clone(), edges.clone());
        if !drawn.is_empty() {
            turned.rotate_left(seed.index(drawn.len()));
        }
        turned_edges.reverse();
        prop_assert_eq!(fixture(&drawn, &edges).analyse(), fixture(&turned, &turned_edges).analyse());
    }
}
