//! Queries whose tables another engine reads: the answer is the one of this engine alone, whatever order rows come in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use polars::prelude::{DataFrame, IdxCa, NewChunkedArray};
use trueno_engine::query::output::csv;
use trueno_engine::query::{
    Database, Division, QueryError, RowsOfRanks, collect, collect_in_order,
};
use trueno_engine::run::Run;
use trueno_format::run_json::RunJson;
use trueno_model::csv::CsvTexts;

use crate::direct_queries::queries;
use crate::harness::Dir;

/// Ranks of the job. Some are missing, and 10 sorts before 2 by name.
const RANKS: [u32; 4] = [0, 1, 2, 10];

/// A job of ranks with rows in all tables. Their clocks began at different times.
pub fn full_job(dir: &Dir) -> PathBuf {
    let job = dir.join("job");
    std::fs::create_dir_all(&job).unwrap();
    for (place, rank) in RANKS.into_iter().enumerate() {
        let mut facts = RunJson::default();
        facts.clock.origin_realtime_ns = 1_700_000_000_000_000_000 + 250 * place as i64;
        let texts = [["gemm", "ä \"b\" 'c'", "="], ["gemm", "", "softmax"]][place % 2];
        trueno_testing::full_of(&job.join(format!("rank={rank}")), facts, texts);
    }
    job
}

/// Queries besides those of plugins: groups, conditions, and cases that easily go wrong.
const OWN: &[&str] = &[
    "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns, MIN(start_ns) AS first, MAX(name) AS last FROM bricks GROUP BY name",
    "SELECT rank, name, AVG(dur_ns) AS mean FROM bricks GROUP BY rank, name ORDER BY mean DESC LIMIT 5",
    "SELECT SUM(layer) AS s, AVG(layer) AS a, COUNT(layer) AS n, MAX(layer) AS m FROM bricks WHERE kind = 'nothing'",
    "SELECT kind, SUM(layer) AS s, AVG(layer) AS a FROM bricks GROUP BY kind",
    "SELECT COUNT(*) FROM kernels",
    "SELECT COUNT(*), SUM(dur_ns), SUM(dur_ns) FROM kernels",
    "SELECT name, SUM(dur_ns) / COUNT(*) AS mean, ROUND(SUM(dur_ns) * 0.1, 2) AS r FROM kernels GROUP BY name",
    "SELECT DISTINCT name, name_id FROM kernels ORDER BY name DESC",
    "SELECT name_id, COUNT(*) AS n FROM bricks GROUP BY name_id HAVING n > 1 ORDER BY n DESC, name_id",
    "SELECT name, COUNT(*) AS n FROM bricks WHERE dur_ns BETWEEN 10 AND 400 AND NOT (rank = 1 OR rank IN (2, 3)) GROUP BY name",
    "SELECT name, dur_ns FROM bricks WHERE name <> 'gemm' AND dur_ns * 2 > 100 AND parent IS NOT NULL",
    "SELECT b.name FROM bricks AS b WHERE b.rank >= 2 AND b.name LIKE 'g%'",
    "SELECT name FROM bricks WHERE parent IS NULL LIMIT 3",
    "SELECT * FROM kernels WHERE rank = 10",
    "SELECT * FROM bricks",
    "SELECT UPPER(name) AS name, COUNT(*) AS n FROM bricks GROUP BY name",
    "SELECT rank, COUNT(DISTINCT name) AS n FROM bricks GROUP BY rank",
    "SELECT a.name, b.n FROM kernels a JOIN (SELECT name, COUNT(*) AS n FROM kernels GROUP BY name) b ON a.name = b.name",
    "SELECT k.name, r.offset_ns FROM kernels k JOIN ranks r ON k.rank = r.rank",
    "SELECT rank, STDDEV(dur_ns) AS s FROM bricks GROUP BY rank",
    "SELECT label, COUNT(*) AS n FROM run GROUP BY label",
    "SELECT kind FROM bricks GROUP BY kind HAVING SUM(dur_ns) > 100 ORDER BY kind",
    "SELECT DISTINCT rank FROM kernels WHERE name = 'ä \"b\" ''c'''",
    "SELECT MAX(id) AS id FROM kernels WHERE rank = -1",
    "SELECT thread, COUNT(*) AS n FROM bricks WHERE thread < 99999999999 GROUP BY thread",
];

fn shown(frame: &DataFrame) -> String {
    let mut bytes = Vec::new();
    csv(frame, CsvTexts::Exact, &mut bytes).unwrap();
    let rows = String::from_utf8(bytes).unwrap();
    format!("{:?}\n{rows}", frame.dtypes())
}

/// Reorders rows as another engine may: the ranks, or the groups, come in another order.
fn disturbed(frame: &DataFrame) -> DataFrame {
    let ranks: Vec<u64> = match frame.column("rank") {
        Ok(ranks) => ranks.u64().unwrap().iter().map(Option::unwrap).collect(),
        Err(_) => (0..frame.height() as u64).collect(),
    };
    let mut order: Vec<usize> = (0..frame.height()).collect();
    order.sort_by_key(|row| std::cmp::Reverse(ranks[*row]));
    let order = IdxCa::from_iter_values("order".into(), order.into_iter().map(|row| row as u32));
    frame.take(&order).unwrap()
}

fn rows_of_ranks(run: &Run, database: &Database) -> RowsOfRanks {
    let mut all = RowsOfRanks::new();
    for table in run.tables() {
        let is_own = ["run", "segments", "problems", "ranks"].contains(&table.name.as_str());
        if is_own || table.rows == Some(0) {
            continue;
        }
        let sql = format!(
            "SELECT rank, COUNT(*) AS n FROM \"{}\" GROUP BY rank",
            table.name
        );
        let counts = collect(database, &sql).unwrap();
        let number = |name: &str, row| trueno_engine::frame::u64_at(&counts, name, row).unwrap();
        let of_rank = (0..counts.height()).map(|row| {
            let rank = u32::try_from(number("rank", row)).unwrap();
            (rank, number("n", row))
        });
        all.insert(table.name, of_rank.collect::<BTreeMap<u32, u64>>());
    }
    all
}

/// The result of a query, and whether it was divided by groups. This engine stands in for the other one; `change`
/// simulates that engine's faults.
fn divided(
    database: &Database,
    sql: &str,
    rows: &RowsOfRanks,
    change: &dyn Fn(DataFrame) -> DataFrame,
) -> Result<(DataFrame, bool), QueryError> {
    for division in [Division::Groups, Division::Rows] {
        let divided = database.divided(sql, rows, division)?;
        let answers = divided.pieces().iter().map(|piece| {
            let answer = collect(database, &piece.sql);
            let answer = answer.unwrap_or_else(|why| panic!("{}: {why}", piece.sql));
            change(disturbed(&answer))
        });
        let answers: Vec<DataFrame> = answers.collect();
        if let Some(answer) = divided.answer(database, answers)? {
            let mut pieces = divided.pieces().iter();
            return Ok((answer, pieces.any(|piece| piece.sql.contains("COUNT(*)"))));
        }
    }
    panic!("{sql}: no answer");
}

#[test]
fn divided_queries_have_the_same_answer() {
    let dir = Dir::new();
    let run = Run::open(&full_job(&dir)).unwrap();
    let database = run.sql_context().unwrap();
    let rows = rows_of_ranks(&run, &database);
    assert_eq!(
        rows.len(),
        trueno_format::schema::TABLES.len(),
        "all tables have rows"
    );
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let examples = page.split("\n\n");
    let examples =
        examples.filter(|part| part.starts_with("    SELECT") && !part.contains("before."));
    let documented = include_str!("documented_queries.sql").lines();
    let texts = documented.chain(examples).chain(OWN.iter().copied());
    let all = queries().into_iter().chain(texts.map(str::to_owned));
    let (mut answered, mut grouped) = (0, 0);
    for sql in all {
        let here = collect_in_order(&database, &sql);
        let there = divided(&database, &sql, &rows, &|rows| rows);
        match (here, there) {
            (Ok(here), Ok((there, groups))) => {
                assert_eq!(shown(&there), shown(&here), "{sql}");
                answered += 1;
                grouped += usize::from(groups);
            }
            (Err(here), Err(there)) => assert_eq!(here, there, "{sql}"),
            (here, there) => panic!("{sql}: {:?} {:?}", here.err(), there.err()),
        }
    }
    println!("{answered} answered, {grouped} by groups");
    assert!(answered > 100 && grouped > 25);
}

/// Rows that the other engine lost or duplicated are an error.
#[test]
fn wrong_answers_are_refused() {
    let dir = Dir::new();
    let run = Run::open(&full_job(&dir)).unwrap();
    let database = run.sql_context().unwrap();
    let rows = rows_of_ranks(&run, &database);
    let twice = |frame: DataFrame| frame.vstack(&frame).unwrap();
    let less = |frame: DataFrame| frame.slice(1, usize::MAX);
    let narrow = |frame: DataFrame| frame.columns()[0].clone().into_frame();
    let changes: [(&str, &dyn Fn(DataFrame) -> DataFrame); 3] =
        [("doubled", &twice), ("less", &less), ("narrow", &narrow)];
    for sql in [
        "SELECT name, dur_ns FROM bricks",
        "SELECT name, COUNT(*) AS n FROM bricks GROUP BY name",
        "SELECT DISTINCT name FROM bricks",
    ] {
        for (what, change) in changes {
            let found = divided(&database, sql, &rows, change);
            let is_refused =
                matches!(&found, Err(QueryError::Failed(why)) if why.contains("is refused"));
            assert!(
                is_refused,
                "{what}: {sql}: {:?}",
                found.map(|found| shown(&found.0))
            );
        }
    }
}

/// A mean that depends on the order of addition is computed by this engine.
#[test]
fn means_that_are_not_exact_are_made_here() {
    let dir = Dir::new();
    let run = Run::open(&full_job(&dir)).unwrap();
    let database = run.sql_context().unwrap();
    let rows = rows_of_ranks(&run, &database);
    let sql = "SELECT AVG(id) AS mean FROM bricks";
    let (found, groups) = divided(&database, sql, &rows, &|rows| rows).unwrap();
    assert!(!groups, "ids with ranks in them are too large");
    let here = collect_in_order(&database, sql).unwrap();
    // In which order rows are added differs from one number of threads to the next, here as well.
    let mean = |frame: &DataFrame| frame.columns()[0].f64().unwrap().get(0).unwrap();
    assert!((mean(&found) / mean(&here) - 1.0).abs() < 1e-12);
}
