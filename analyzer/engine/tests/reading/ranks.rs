//! Ranks opened as one run, against each of them opened alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;
use trueno_engine::query::Database;
use trueno_engine::run::Run;

use crate::sample::{bricks, edges, has_problem, ordered_rows, problem_texts, value};
use crate::writer::{End, RunWriter, Values, texts};

/// A rank: numbers of rows in `bricks` and `edges`, and when it began.
#[derive(Clone, Debug)]
struct Made {
    bricks: (u64, u64),
    edges: (u64, u64),
    origin_ns: Option<i64>,
}

fn write(temp: &TempDir, ranks: &BTreeMap<u32, Made>) -> PathBuf {
    let job = temp.path().join("job.run");
    std::fs::create_dir(&job).unwrap();
    for (rank, made) in ranks {
        let mut writer = RunWriter::new(&job.join(format!("rank={rank}")));
        if made.bricks.1 > 0 {
            let rows = bricks(made.bricks.0, made.bricks.1);
            writer.segment("bricks", 0, &rows, 8, End::Sealed);
        }
        if made.edges.1 > 0 {
            let rows = edges(made.edges.0, made.edges.1);
            writer.segment("edges", 0, &rows, 4, End::Sealed);
        }
        writer.run_json["clock"]["origin_realtime_ns"] = made.origin_ns.unwrap_or(0).into();
        writer.finish();
    }
    job
}

/// Adds an offset to each numeric cell; `-` is null.
fn moved(cells: &str, by: &[i128]) -> String {
    let cells: Vec<String> = cells
        .split('|')
        .zip(by)
        .map(|(cell, by)| match cell.parse::<i128>() {
            Ok(number) => (number + by).to_string(),
            Err(_) => cell.to_owned(),
        })
        .collect();
    cells.join("|")
}

fn rank_rows(job: &Path, rank: u32, sql: &str, by: &[i128]) -> Vec<String> {
    let run = Run::open(&job.join(format!("rank={rank}"))).unwrap();
    let rows = ordered_rows(&run.sql_context().unwrap(), sql);
    let row = |row: &String| format!("{rank}|{}", moved(row, by));
    rows.iter().map(row).collect()
}

/// One rank opened with a catalog has the same of everything as with all others.
fn same_in_part(job: &Path) {
    let whole = Run::open(job).unwrap();
    let catalog = serde_json::to_vec(&whole.catalog().unwrap()).unwrap();
    for rank in whole.rank_numbers() {
        let read = serde_json::from_slice(&catalog).unwrap();
        let part = Run::open_some(job, &BTreeSet::from([rank]), read).unwrap();
        assert_eq!(part.ranks().len(), 1);
        assert_eq!(part.rank_numbers(), whole.rank_numbers());
        assert_eq!(part.facts(), whole.facts());
        assert_eq!(part.problems(), whole.problems());
        assert_eq!(part.tables(), whole.tables());
        assert_eq!(
            part.hash_of_files().unwrap(),
            whole.hash_of_files().unwrap()
        );
        let same = |one: Database, other: Database| {
            assert!(one.table_names().eq(other.table_names()));
            for table in whole.tables() {
                let sql = format!("SELECT * FROM {}", table.name);
                assert_eq!(
                    ordered_rows(&one, &sql),
                    ordered_rows(&other, &sql),
                    "{sql}"
                );
                let sql = format!("SELECT COUNT(*) AS n FROM {}", table.name);
                assert_eq!(value(&one, &sql), value(&other, &sql), "{sql}");
            }
        };
        let of = |run: &Run, rank: u32| run.rank_context(rank).unwrap().unwrap();
        same(of(&part, rank), of(&whole, rank));
        // From here on it has opened the others too.
        same(part.sql_context().unwrap(), whole.sql_context().unwrap());
        for rank in whole.rank_numbers() {
            same(of(&part, rank), of(&whole, rank));
        }
        assert_eq!(part.others_failed(), None);
    }
}

fn made() -> impl Strategy<Value = Made> {
    let origin = prop::option::of(1_700_000_000_000_000_000..1_700_000_000_000_900_000_i64);
    (0..50_u64, 0..20_u64, 0..50_u64, 0..9_u64, origin).prop_map(|(a, b, c, d, origin_ns)| Made {
        bricks: (a, b),
        edges: (c, d),
        origin_ns,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_whole_is_its_ranks_moved(
        ranks in prop::collection::btree_map(prop::sample::select(vec![0, 1, 2, 7, 65_535_u32]), made(), 1..4),
    ) {
        let temp = tempfile::tempdir().unwrap();
        let job = write(&temp, &ranks);
        let whole = Run::open(&job).unwrap();
        let first_ns = ranks.values().filter_map(|made| made.origin_ns).min();
        let (mut all_bricks, mut all_edges, mut end_ns) = (Vec::new(), Vec::new(), None);
        for (&rank, made) in &ranks {
            let (key, place) = (i128::from(rank) << 48, i128::from(rank) << 16);
            let offset_ns = made.origin_ns.map_or(0, |ns| ns - first_ns.unwrap());
            let by = [key, key, place, i128::from(offset_ns), 0, 0, 0, 0];
            let columns = "id, parent, thread, start_ns, dur_ns, name, layer, elements";
            all_bricks.extend(rank_rows(&job, rank, &format!("SELECT {columns} FROM bricks"), &by));
            let columns = "\"from\", \"to\", kind";
            all_edges.extend(rank_rows(&job, rank, &format!("SELECT {columns} FROM edges"), &[key, key, 0]));
            let alone = Run::open(&job.join(format!("rank={rank}"))).unwrap();
            end_ns = end_ns.max(alone.facts().wall_ns.map(|wall_ns| wall_ns + offset_ns));
        }
        let database = whole.sql_context().unwrap();
        let sorted = |mut rows: Vec<String>| { rows.sort(); rows };
        let found = ordered_rows(&database, "SELECT rank, id, parent, thread, start_ns, dur_ns, name, layer, elements FROM bricks");
        let count = all_bricks.len();
        prop_assert_eq!(sorted(found), sorted(all_bricks));
        let found = ordered_rows(&database, "SELECT rank, \"from\", \"to\", kind FROM edges");
        prop_assert_eq!(sorted(found), sorted(all_edges));
        // What selects nothing but the rank, or counts, sees as many rows.
        prop_assert_eq!(value(&database, "SELECT COUNT(*) AS n FROM bricks"), count.to_string());
        prop_assert_eq!(ordered_rows(&database, "SELECT rank FROM bricks").len(), count);
        prop_assert_eq!(ordered_rows(&database, "SELECT rank, backend FROM bricks").len(), count);
        prop_assert_eq!(whole.facts().wall_ns, end_ns);
        let counted = whole.tables().into_iter().find(|table| table.name == "bricks").unwrap();
        prop_assert_eq!(counted.rows, Some(count as u64));
        let without = ranks.values().any(|made| made.origin_ns.is_none());
        prop_assert_eq!(has_problem(&whole, &["rank_not_aligned"]), without && ranks.len() > 1);
        let size = ranks.keys().next_back().unwrap() + 1;
        prop_assert_eq!(has_problem(&whole, &["rank_missing"]), size as usize != ranks.len());
        same_in_part(&job);
    }
}

#[test]
fn what_leaves_no_room_for_the_rank_is_left_out_and_counted() {
    let temp = tempfile::tempdir().unwrap();
    let plain = |from, rows| Made {
        bricks: (from, rows),
        edges: (0, 1),
        origin_ns: Some(1),
    };
    // Ids from 2^48 - 2 on: two have room, four have not.
    let ranks = BTreeMap::from([(0, plain(0, 4)), (1, plain((1 << 48) - 3, 6))]);
    let job = write(&temp, &ranks);
    let whole = Run::open(&job).unwrap();
    let database = whole.sql_context().unwrap();
    let by_rank = "SELECT rank, COUNT(*) AS n FROM bricks GROUP BY rank ORDER BY rank";
    assert_eq!(ordered_rows(&database, by_rank), ["0|4", "1|2"]);
    assert!(
        has_problem(&whole, &["rank 1: bricks.id: 4 values", "left out"]),
        "{:?}",
        problem_texts(&whole)
    );
    assert_eq!(
        (whole.facts().rows_lost, whole.facts().complete),
        (4, Some(false))
    );
    let ids = "SELECT COUNT(*) AS n FROM bricks WHERE id >= 562949953421312";
    assert_eq!(
        value(&database, ids),
        "0",
        "none is taken for one of rank 2"
    );
    same_in_part(&job);
}

#[test]
fn columns_of_files_that_differ_stay_beside_each_other() {
    let temp = tempfile::tempdir().unwrap();
    let job = temp.path().join("job.run");
    std::fs::create_dir(&job).unwrap();
    for (rank, extra) in [
        (0, ("mine".into(), Values::U64(vec![Some(5); 4]))),
        (1, ("other".into(), Values::U64(vec![Some(6); 4]))),
    ] {
        let mut rows = edges(0, 4);
        rows.push(extra);
        let mut writer = RunWriter::new(&job.join(format!("rank={rank}")));
        writer.segment("edges", 0, &rows, 4, End::Sealed);
        writer.finish();
    }
    let whole = Run::open(&job).unwrap();
    let sql = "SELECT DISTINCT rank, mine, other FROM edges ORDER BY rank";
    let rows = ordered_rows(&whole.sql_context().unwrap(), sql);
    assert_eq!(rows, ["0|5|-", "1|-|6"]);
    same_in_part(&job);
}

#[test]
fn devices_of_ceilings_are_those_of_kernels() {
    let temp = tempfile::tempdir().unwrap();
    let job = temp.path().join("job.run");
    std::fs::create_dir(&job).unwrap();
    for rank in [0, 2] {
        let rows = [
            texts("device", ["gpu:1", "cpu", "gpu:x"].map(Some)),
            texts("kind", ["compute"; 3].map(Some)),
            ("value".into(), Values::F64(vec![Some(1.0); 3])),
        ];
        let mut writer = RunWriter::new(&job.join(format!("rank={rank}")));
        writer.segment("ceilings", 0, &rows, 4, End::Sealed);
        writer.finish();
    }
    let database = Run::open(&job).unwrap().sql_context().unwrap();
    let rows = ordered_rows(&database, "SELECT rank, device FROM ceilings");
    assert_eq!(
        rows,
        [
            "0|gpu:1",
            "0|cpu",
            "0|gpu:x",
            "2|gpu:131073",
            "2|cpu",
            "2|gpu:x"
        ]
    );
    // The numbers of texts follow the new texts.
    let sql =
        "SELECT COUNT(DISTINCT device_id) AS ids, COUNT(DISTINCT device) AS texts FROM ceilings";
    assert_eq!(ordered_rows(&database, sql), ["4|4"]);
    same_in_part(&job);
}
