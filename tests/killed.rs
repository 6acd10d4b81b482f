//! Recorders that are killed: every event that was complete is read, the run says how it
//! ended, and recovering it changes nothing but that.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use polars::prelude::{AnyValue, DataFrame};
use trueno_engine::query::collect_in_order;
use trueno_engine::run::{Recovered, Run, recover};
use trueno_model::{Level, RunState, TableInfo};

use crate::harness::{Dir, copy, ends};
use crate::victim::{self, Counts, LANES, TABLES, When, start};

/// Environment variable with the number of kills. The default is small enough for CI.
const KILLS: &str = "TRUENO_TEST_KILLS";
const DEEPEST: i128 = 5;

/// Pseudo-random numbers that are the same each time.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn rows(run: &Run, sql: &str) -> Vec<Vec<Option<i128>>> {
    let frame = collect_in_order(&run.sql_context().unwrap(), sql).unwrap();
    let cell = |value: AnyValue<'_>| value.extract::<i128>();
    (0..frame.height())
        .map(|row| {
            frame
                .columns()
                .iter()
                .map(|c| cell(c.get(row).unwrap()))
                .collect()
        })
        .collect()
}

/// The rows of all tables, without the columns of text numbers, which differ each time a run is opened.
pub fn everything(run: &Run) -> BTreeMap<String, DataFrame> {
    let database = run.sql_context().unwrap();
    let own = ["run", "segments", "problems"];
    let tables = run.tables().into_iter();
    let frame = |table: TableInfo| {
        let names = table.columns.iter().map(|column| column.name.as_str());
        let all: HashSet<&str> = names.clone().collect();
        let is_number = |name: &&str| name.strip_suffix("_id").is_some_and(|of| all.contains(of));
        let names: Vec<String> = names
            .filter(|name| !is_number(name))
            .map(|name| format!("\"{name}\""))
            .collect();
        let sql = format!("SELECT {} FROM {}", names.join(", "), table.name);
        (table.name, collect_in_order(&database, &sql).unwrap())
    };
    tables
        .filter(|table| !own.contains(&table.name.as_str()))
        .map(frame)
        .collect()
}

#[track_caller]
pub fn same_rows(
    before: &BTreeMap<String, DataFrame>,
    after: &BTreeMap<String, DataFrame>,
    what: &str,
) {
    assert!(before.keys().eq(after.keys()), "{what}");
    for (table, frame) in before {
        let other = &after[table];
        let first = || {
            let heights = frame.height().min(other.height());
            let row = |row: &usize| frame.get(*row) != other.get(*row);
            let row = (0..heights).find(row).unwrap_or(heights);
            format!("row {row}: {:?}, {:?}", frame.get(row), other.get(row))
        };
        assert!(
            frame.equals_missing(other),
            "{what}: {table} differs: {} rows, {} rows; {}",
            frame.height(),
            other.height(),
            first()
        );
    }
}

fn errors(run: &Run) -> Vec<String> {
    let problems = run.problems().iter().filter(|p| {
        p.severity == Level::Error || !["unclean_end", "live", "dropped"].contains(&&*p.code)
    });
    problems.map(|p| format!("{} {}", p.code, p.text)).collect()
}

/// Checks a killed run and returns its number of rows.
#[track_caller]
fn check(path: &Path, counts: &Counts, what: &str) -> u64 {
    let run = Run::open(path).unwrap();
    let facts = run.facts();
    assert_eq!(facts.state, RunState::Recording, "{what}");
    assert!(!facts.clean_end && facts.complete == Some(false), "{what}");
    assert_eq!(run.problems()[0].code, "unclean_end", "{what}");
    assert_eq!(errors(&run), [""; 0], "{what}");
    assert_eq!(facts.rows_lost, 0, "{what}");
    for (number, table) in TABLES.iter().enumerate() {
        let known = counts.table(number);
        let facts = facts.tables.iter().find(|facts| facts.name == *table);
        let (read, dropped) = facts.map_or((0, 0), |t| (t.rows_read, t.dropped.unwrap()));
        assert!(
            (known..=known + LANES as u64).contains(&(read + dropped)),
            "{what}: {table}: {known} events were complete, {read} rows were read, {dropped} dropped"
        );
        // Rows in several kinds of places are still one table to count.
        if read > 0 {
            let count = rows(&run, &format!("SELECT COUNT(*) AS n FROM {table}"));
            assert_eq!(count, [[Some(i128::from(read))]], "{what}: {table}");
        }
    }
    ids_are_sound(&run, what);
    facts.rows
}

/// The only ids missing from a thread's sequence may be rows that were open when it died, or dropped. Every parent
/// must exist or be one of these.
#[track_caller]
fn ids_are_sound(run: &Run, what: &str) {
    let sql = "SELECT id, parent FROM bricks UNION ALL SELECT id, brick AS parent FROM kernels \
               UNION ALL SELECT id, parent FROM tiles UNION ALL SELECT id, NULL AS parent FROM syncs";
    let found = rows(run, sql);
    let mut threads: BTreeMap<i128, HashSet<i128>> = BTreeMap::new();
    for row in &found {
        let id = row[0].unwrap();
        assert!(
            threads.entry(id >> 32).or_default().insert(id),
            "{what}: id {id} is there twice"
        );
    }
    let dropped = run.facts().dropped.unwrap() > 0;
    for (thread, ids) in &threads {
        let last = ids.iter().max().unwrap() & 0xffff_ffff;
        let open = last - ids.len() as i128;
        assert!(
            dropped || open <= DEEPEST,
            "{what}: thread {thread}: {open} ids are missing"
        );
    }
    for row in &found {
        if let (Some(id), Some(parent)) = (row[0], row[1]) {
            assert!(
                parent < id && parent >> 32 == id >> 32,
                "{what}: {parent} cannot enclose {id}"
            );
        }
    }
}

/// Recovers the run. It must have the same rows, and must not look as if it ended cleanly.
#[track_caller]
fn check_recovery(path: &Path, what: &str) {
    let before = Run::open(path).unwrap();
    let (rows_before, facts_before) = (everything(&before), before.facts().clone());
    drop(before);
    let Recovered::Done(done) = recover(path, None, &mut |_| {}).unwrap() else {
        panic!("{what}: nothing was recovered");
    };
    assert!(!done.has_losses(), "{what}: {:?}", done.problems);
    let after = Run::open(path).unwrap();
    same_rows(&rows_before, &everything(&after), what);
    let facts = after.facts();
    assert_eq!(facts.state, RunState::Recovered, "{what}");
    assert!(!facts.clean_end, "{what}");
    assert_eq!(
        facts.complete,
        facts.dropped.map(|rows| rows == 0),
        "{what}: {:?}",
        after.problems()
    );
    assert_eq!(
        (facts.dropped, facts.wall_ns),
        (facts_before.dropped, facts_before.wall_ns),
        "{what}"
    );
    assert_eq!(facts.values, facts_before.values, "{what}");
    // To the last bit it need not be the same: it went through text.
    let mut clock = facts.clock.clone();
    let [killed, recovered] = [&facts_before.clock, &clock].map(|clock| clock.ticks_per_second);
    let differ = |(a, b): (f64, f64)| (a / b - 1.0).abs() > 1e-12;
    assert!(
        !killed.zip(recovered).is_some_and(differ),
        "{what}: {killed:?} {recovered:?}"
    );
    assert_eq!(killed.is_some(), recovered.is_some(), "{what}");
    clock.ticks_per_second = killed;
    clock.resolution_ns = facts_before.clock.resolution_ns;
    assert_eq!(clock, facts_before.clock, "{what}");
    assert_eq!(after.problems()[0].code, "unclean_end", "{what}");
    assert_eq!(errors(&after), [""; 0], "{what}");
    assert!(!path.join("live").exists(), "{what}");
    for table in &facts.tables {
        for file in fs::read_dir(path.join(&table.name)).into_iter().flatten() {
            let name = file.unwrap().file_name().into_string().unwrap();
            assert!(!name.ends_with(".open"), "{what}: {name}");
        }
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing() {
    let kills = std::env::var(KILLS).map_or(15, |kills| kills.parse().unwrap());
    let mut seeded = Seeded(0x9e37_79b9_7f4a_7c15);
    let (mut read, mut early, mut sealed, mut cut) = (0, 0, 0, 0);
    for kill in 0..kills {
        let dir = Dir::new();
        let role = ["block", "small", "drop", "grow", "block"][kill % 5];
        let path = dir.join("killed.run");
        let counts = Counts::open(&dir.join("counts"));
        let when = match kill {
            // The journal's last moments before a segment is renamed, and after.
            _ if kill % 10 == 4 => When::Sealed(seeded.below(400)),
            _ if kill % 3 == 0 => When::After(seeded.below(25_000)),
            _ => When::After(seeded.below(200_000)),
        };
        victim::kill(&dir, role, when);
        let what = format!("kill {kill} ({role})");
        if !path.join("run.json").exists() {
            assert_eq!(
                (0..TABLES.len()).map(|t| counts.table(t)).sum::<u64>(),
                0,
                "{what}"
            );
            early += 1;
            continue;
        }
        let rows = check(&path, &counts, &what);
        read += rows;
        early += u64::from(rows == 0);
        sealed += u64::from(path.join("bricks/000000.arrow").exists());
        cut += u64::from(
            trueno_format::salvage::read(&path)
                .unwrap()
                .is_some_and(|rest| !rest.cut.is_empty()),
        );
        check_recovery(&path, &what);
    }
    println!(
        "{kills} kills: {read} rows read, none lost; {early} before the first event, \
         {sealed} after a segment was sealed, {cut} while a batch was written"
    );
}

#[test]
fn a_program_that_exits_or_aborts_without_finish_loses_nothing() {
    for role in ["exit", "abort"] {
        let dir = Dir::new();
        let counts = Counts::open(&dir.join("counts"));
        let status = ends(&mut start(&dir, role, When::After(0)), role);
        assert!(!status.success());
        let path = dir.join("killed.run");
        check(&path, &counts, role);
        let text = dir.command(&["info", "killed.run"]).exits(0).stdout;
        for expected in [
            "no clean end",
            "0 dropped, 0 lost",
            "unclean end",
            "read from live/",
            "no hash covers",
            "model",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        check_recovery(&path, role);
        let sources = fs::read_dir(path.join("ptx")).unwrap();
        let mut sources = sources.map(|entry| fs::read_to_string(entry.unwrap().path()));
        assert!(
            sources.any(|source| source.is_ok_and(|text| text == "// a source\n")),
            "{role}"
        );
    }
}

/// The lines about tables in the output of `info`.
fn rows_of_tables(text: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with("table "));
    lines
        .take_while(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn files_of_live_that_somebody_deletes_or_empties_are_missed() {
    let template = Dir::new();
    let run = victim::kill(&template, "drop", When::Batches(3));
    let live = fs::read_dir(run.join("live")).unwrap();
    let mut files: Vec<_> = live.map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert!(files.len() > 6, "{files:?}");
    let whole = rows_of_tables(&template.command(&["info", "killed.run"]).exits(0).stdout);
    for file in files {
        for deletes in [true, false] {
            let dir = Dir::new();
            copy(&run, &dir.join("killed.run"));
            let path = dir.join("killed.run/live").join(&file);
            if deletes {
                fs::remove_file(&path).unwrap()
            } else {
                fs::write(&path, "").unwrap()
            }
            let text = dir.command(&["info", "killed.run"]).exits(0).stdout;
            let name = file.to_str().unwrap();
            // A ring that was made, and not taken by a thread when the program was killed.
            if name.ends_with(".ring") && rows_of_tables(&text) == whole {
                continue;
            }
            let is_told = text.contains(name)
                || name.ends_with(".ring") && text.contains("rings")
                // Without names, no row of any file can be read.
                || name == "log.jsonl" && text.contains("rows are damaged and left out");
            assert!(is_told, "{name}, deleted: {deletes}\n{text}");
            let is_of_rows = name.ends_with(".rows") || name.ends_with(".ring");
            let is_known = text.contains("0 lost");
            assert!(
                !(is_of_rows && is_known),
                "{name}, deleted: {deletes}\n{text}"
            );
        }
    }
    fs::remove_dir_all(run.join("live")).unwrap();
    fs::create_dir(run.join("live")).unwrap();
    let text = template.command(&["info", "killed.run"]).exits(0).stdout;
    assert!(text.contains("live: empty"), "{text}");
}
