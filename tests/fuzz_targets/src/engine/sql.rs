//! Queries, up to the point where the engine runs them.

use std::cell::RefCell;
use std::path::Path;

use trueno_engine::query::{Database, tables_of};
use trueno_engine::run::Run;

/// Number of queries per database. The database caches each, so it is replaced after this many.
const MAX_USES: u32 = 256;

thread_local! {
    static DATABASE: RefCell<Option<(Database, u32)>> = const { RefCell::new(None) };
}

fn database() -> Database {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/tiny/test.run");
    let run = Run::open(&run).expect("a dataset");
    run.sql_context().expect("its tables")
}

/// A query over a small run. It is parsed, rewritten and planned, but not run.
pub fn sql(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let (database, uses) = DATABASE
        .take()
        .filter(|(_, uses)| *uses < MAX_USES)
        .unwrap_or_else(|| (database(), 0));
    let read = tables_of(text);
    let names = read.iter().flatten().map(String::len).sum::<usize>();
    assert!(names <= 4 * text.len(), "names of {names} bytes");
    let _ = database.bytes_of(text);
    drop(database.claims(text));
    let planned = database.planned(text);
    let is_planned = match planned {
        Ok(planned) => planned.columns().is_ok(),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    };
    DATABASE.set(Some((database, uses + 1)));
    is_planned
}
