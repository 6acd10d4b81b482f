//! Format 1 is frozen: what a version has is kept in `datasets/formats/<version>`, and `docs/format.md` tells all of it.
//!
//! `TRUENO_UPDATE=1 cargo test -p trueno-format --test frozen` writes the tables of a new version and the page's
//! tables. What is kept of a version that is there is never rewritten.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use trueno_format::journal::{Chunk, JOURNAL, Line};
use trueno_format::salvage;
use trueno_format::schema::{
    Column, FORMAT_MAJOR, FORMAT_MINOR, LaneRule, Provenance, Scope, TABLES,
};

const BEGIN: &str = "<!-- printed from recorder/format/src/schema/tables.rs -->\n";
const END: &str = "<!-- end of what is printed -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn version(minor: u32) -> String {
    format!("{FORMAT_MAJOR}.{minor}")
}

fn kept(minor: u32) -> PathBuf {
    root().join("datasets/formats").join(version(minor))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn updates() -> bool {
    std::env::var_os("TRUENO_UPDATE").is_some()
}

/// The steps for a new version, printed when one of these tests fails.
fn steps() -> String {
    let next = version(FORMAT_MINOR + 1);
    format!(
        "A table or column of a released version stays as it is. To add one: raise FORMAT_MINOR \
         (recorder/format/src/schema.rs), run this test with TRUENO_UPDATE=1, which writes \
         datasets/formats/{next}/schema.txt and the page's tables; record hello.run and killed.tar.gz there \
         (datasets/README.md says how); add a line to the versions in docs/format.md. What an old reader would \
         misread (a removed column, another type or meaning) needs a new FORMAT_MAJOR."
    )
}

fn provenance(column: &Column) -> &'static str {
    match column.provenance {
        Provenance::Measured => "measured",
        Provenance::Declared => "declared",
        Provenance::Identity => "identity",
    }
}

fn schema() -> String {
    let mut lines = String::new();
    for table in TABLES {
        for column in table.columns {
            let null = if column.nullable { "?" } else { "" };
            let ty = column.ty.name();
            let provenance = provenance(column);
            writeln!(
                lines,
                "{}.{} {ty}{null} {provenance}",
                table.name, column.name
            )
            .unwrap();
        }
    }
    lines
}

/// The recorded columns of a version: name, type, and whether it may be null.
fn columns(schema: &str) -> Vec<(&str, &str, bool)> {
    let mut all = Vec::new();
    for line in schema.lines() {
        let Some((name, rest)) = line.split_once(' ') else {
            panic!("not a column: {line}");
        };
        let ty = rest.split(' ').next().unwrap_or_default();
        all.push((name, ty.trim_end_matches('?'), ty.ends_with('?')));
    }
    all
}

/// The schema of a version. For the current version it is the live one, so that all tests agree while it is edited.
fn schema_of(minor: u32) -> String {
    if minor == FORMAT_MINOR {
        return schema();
    }
    text(&kept(minor).join("schema.txt"))
}

#[test]
fn the_tables_of_this_version_are_those_that_are_kept() {
    let path = kept(FORMAT_MINOR).join("schema.txt");
    if updates() && !path.exists() {
        fs::create_dir_all(kept(FORMAT_MINOR)).unwrap();
        fs::write(&path, schema()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == schema(),
        "the tables are not those of {}.\n{}",
        path.display(),
        steps()
    );
}

#[test]
fn each_version_has_its_tables_and_runs_and_no_other_is_kept() {
    for minor in 0..=FORMAT_MINOR {
        for name in [
            "schema.txt",
            "hello.run/run.json",
            "hello.bricks.csv",
            "hello.info.json",
            "killed.tar.gz",
            "killed.bricks.csv",
            "killed.info.json",
        ] {
            let path = kept(minor).join(name);
            assert!(path.exists(), "{} is missing.\n{}", path.display(), steps());
        }
        let run: serde_json::Value =
            serde_json::from_str(&text(&kept(minor).join("hello.run/run.json"))).unwrap();
        assert_eq!(run["format"]["minor"], minor, "the run of {minor}");
    }
    let folders = fs::read_dir(root().join("datasets/formats")).unwrap();
    let folders = folders.filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count() as u32, FORMAT_MINOR + 1);
}

#[test]
fn a_version_only_adds_columns_that_may_be_null_at_the_end_of_tables() {
    for minor in 1..=FORMAT_MINOR {
        let (old, new) = (schema_of(minor - 1), schema_of(minor));
        let (old, new) = (columns(&old), columns(&new));
        let order = |columns: &[(&str, &str, bool)]| {
            let tables = columns
                .iter()
                .map(|c| c.0.split('.').next().unwrap().to_owned());
            let mut tables: Vec<String> = tables.collect();
            tables.dedup();
            tables
        };
        // Tables are numbered in this order, in `live/` and in records.
        assert!(
            order(&new).starts_with(&order(&old)),
            "1.{minor} moves tables"
        );
        let mut tables: BTreeMap<&str, Vec<(&str, &str, bool)>> = BTreeMap::new();
        for column in &old {
            tables
                .entry(column.0.split('.').next().unwrap())
                .or_default()
                .push(*column);
        }
        for (table, old) in tables {
            let prefix = format!("{table}.");
            let new: Vec<_> = new.iter().filter(|c| c.0.starts_with(&prefix)).collect();
            assert!(new.len() >= old.len(), "{table} lost columns in 1.{minor}");
            for (old, new) in old.iter().zip(&new) {
                let same = (old.0, old.1) == (new.0, new.1);
                assert!(same && new.2 >= old.2, "1.{minor}: {old:?} became {new:?}");
            }
            for added in &new[old.len()..] {
                assert!(added.2, "1.{minor}: {} is never null", added.0);
            }
        }
    }
}

fn since() -> BTreeMap<String, u32> {
    let mut since = BTreeMap::new();
    for minor in 0..=FORMAT_MINOR {
        let schema = schema_of(minor);
        for (name, ..) in columns(&schema) {
            since.entry(name.to_owned()).or_insert(minor);
        }
    }
    since
}

/// What the values of a column refer to, as text.
fn refers_to(column: &Column) -> &'static str {
    match column.scope() {
        Scope::Key => "ids of this run",
        Scope::Place => "thread or device of this run",
        Scope::PlaceName => "a device, in words",
        Scope::Time => "the run's timeline",
        Scope::Value => "–",
    }
}

fn reference() -> String {
    let since = since();
    let mut page = String::new();
    for table in TABLES {
        let lane = match table.lane {
            Some(LaneRule::Thread) => "; a row lies on its thread",
            Some(LaneRule::StreamElseThread) => {
                "; a row lies on the stream of its device, without a device on its thread"
            }
            Some(LaneRule::ThreadElseStream) => {
                "; a row lies on its thread, without one on the stream of its device"
            }
            None => "",
        };
        let nests = if table.nests {
            "; rows of a lane lie in one another"
        } else {
            ""
        };
        let facts = format!("{}{lane}{nests}.", escaped(table.doc));
        writeln!(page, "### `{}`\n\n{}\n", table.name, wrapped(&facts)).unwrap();
        page.push_str("| column | type | null | unit | origin | refers to | since | content |\n");
        page.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
        for column in table.columns {
            let since = since[&format!("{}.{}", table.name, column.name)];
            writeln!(
                page,
                "| `{}` | {} | {} | {} | {} | {} | {} | {} |",
                column.name,
                column.ty.name(),
                if column.nullable { "yes" } else { "never" },
                column.unit().unwrap_or("–"),
                provenance(column),
                refers_to(column),
                version(since),
                escaped(column.doc),
            )
            .unwrap();
        }
        page.push('\n');
    }
    page
}

/// Escapes text that Markdown would interpret as a cell border or an HTML tag.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<")
}

/// Prose in lines of at most 100 characters.
fn wrapped(prose: &str) -> String {
    let mut lines = vec![String::new()];
    for word in prose.split(' ') {
        let last = lines.last_mut().unwrap();
        if last.chars().count() + 1 + word.chars().count() > 100 {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines.join("\n")
}

#[test]
fn the_page_has_the_tables() {
    let path = root().join("docs/format.md");
    let page = text(&path);
    let (before, behind) = page.split_once(BEGIN).expect("the mark before the tables");
    let (found, behind) = behind.split_once(END).expect("the mark behind the tables");
    let wanted = format!("\n{}", reference());
    if updates() {
        fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{behind}")).unwrap();
    } else {
        assert!(
            found == wanted,
            "the page has other tables than the schema: run this test with TRUENO_UPDATE=1"
        );
    }
}

#[test]
fn the_page_is_of_this_version_and_tells_all_fields() {
    let page = text(&root().join("docs/format.md"));
    let stated = format!("Format `trueno-run`, version {}.", version(FORMAT_MINOR));
    assert!(page.contains(&stated), "the page does not say: {stated}");
    for minor in 0..=FORMAT_MINOR {
        let row = format!("| {} |", version(minor));
        assert!(
            page.contains(&row),
            "no line for version {}",
            version(minor)
        );
    }
    // Fields of `run.json` and of the journal, from their own sources.
    let mut fields = 0;
    for source in ["run_json.rs", "journal.rs"] {
        let source = text(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("src")
                .join(source),
        );
        let names = source.lines().filter_map(|line| {
            let (name, _) = line.strip_prefix("    pub ")?.split_once(": ")?;
            (!name.contains(' ')).then_some(name)
        });
        for name in names {
            fields += 1;
            let is_told = page.contains(&format!("`{name}`"));
            assert!(is_told, "the page does not tell the field `{name}`");
        }
    }
    assert!(fields > 80, "{fields} fields");
}

#[test]
fn what_a_killed_program_of_each_version_left_is_all_there() {
    // Of those that the same program made: 30 iterations, as in `datasets/README.md`.
    for minor in [0, 1, 2, 5, 6, 7] {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = Command::new("tar")
            .arg("xzf")
            .arg(kept(minor).join("killed.tar.gz"))
            .current_dir(folder.path())
            .status();
        assert!(unpacked.expect("tar is there").success());
        let run = folder.path().join("killed.run");
        let salvaged = salvage::read(&run).unwrap().expect("it was killed");
        let mut rows: BTreeMap<String, u64> = BTreeMap::new();
        for line in text(&run.join(JOURNAL)).lines() {
            let line = Line::decode(line.as_bytes()).expect("a line of the journal");
            if line.chunk == Chunk::Batch {
                let table = line.segment.split('/').next().unwrap().to_owned();
                *rows.entry(table).or_default() += line.rows.unwrap();
            }
        }
        for segment in &salvaged.segments {
            *rows.entry(segment.table.to_owned()).or_default() += segment.rows;
        }
        let found =
            ["bricks", "kernels", "edges", "checksums"].map(|table| rows.get(table).copied());
        assert_eq!(salvaged.dropped, BTreeMap::new(), "1.{minor}");
        if minor == 0 {
            // Rows waited in another layout, which is said.
            let told = salvaged
                .problems
                .iter()
                .all(|text| text.contains("of another version"));
            assert!(
                told && salvaged.problems.len() == 4,
                "{:?}",
                salvaged.problems
            );
            assert_eq!(found, [Some(70), Some(20), Some(8192), Some(20)], "1.0");
        } else {
            assert!(
                salvaged.problems.is_empty(),
                "1.{minor}: {:?}",
                salvaged.problems
            );
            assert_eq!(
                found,
                [Some(212), Some(60), Some(9000), Some(60)],
                "1.{minor}"
            );
        }
    }
}
