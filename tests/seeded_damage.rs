//! Damage drawn by seeds, through the command: no panic, no other exit code, and what changed is told.
//!
//! The engine's own tests hold every row and fact against the undamaged run (`reading/seeded_damage.rs`).

use serde_json::Value;
use trueno_testing::damage::Victim;

use crate::harness::{Dir, copy};

const ROWS: &str = "SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns, MIN(start_ns) AS first FROM bricks \
                    GROUP BY name ORDER BY name";

struct Said {
    facts: Value,
    problems: Vec<String>,
    is_incomplete: bool,
    rows: String,
}

/// `Ok(None)` if the run was refused. The error describes what went wrong.
fn say(dir: &Dir, run: &str) -> Result<Option<Said>, String> {
    let ends = |arguments: &[&str]| {
        let done = dir.command_with_plugins(arguments).command.output();
        let done = done.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let code = done.status.code().filter(|code| (0..=3).contains(code));
        match code {
            Some(code) if !said.contains("panicked") => {
                Ok((code, String::from_utf8_lossy(&done.stdout).into_owned()))
            }
            _ => Err(format!("{}: {}: {said}", arguments[0], done.status)),
        }
    };
    let (code, info) = ends(&["info", run, "--format", "json"])?;
    let (_, rows) = ends(&["query", run, ROWS, "--format", "csv"])?;
    let (_, report) = ends(&["report", run, "--json", "-"])?;
    ends(&["compare", run, "whole.run"])?;
    if report.contains("panicked") {
        return Err("the report tells of a panic".to_owned());
    }
    if code != 0 {
        return Ok(None);
    }
    let info: Value = serde_json::from_str(&info).map_err(|error| error.to_string())?;
    let problems = info["problems"].as_array().into_iter().flatten();
    let mut facts = info["run"].clone();
    let is_incomplete = facts["complete"] == false;
    facts["complete"] = Value::Null;
    Ok(Some(Said {
        facts,
        problems: problems.map(Value::to_string).collect(),
        is_incomplete,
        rows,
    }))
}

fn all_seeds(seeds: std::ops::Range<u64>) {
    let mut faults = Vec::new();
    let (mut cases, mut announced) = (0, 0);
    for (kind, has_journal) in [("run", true), ("run without a journal", false)] {
        let dir = Dir::new();
        let whole = dir.join("whole.run");
        trueno_testing::full(&whole, None);
        if !has_journal {
            std::fs::remove_file(whole.join("batches.jsonl")).expect("it is there");
        }
        copy(&whole, &dir.join("victim.run"));
        let before = say(&dir, "victim.run")
            .expect("no fault")
            .expect("it opens");
        let victim = Victim::new(&dir.join("victim.run"));
        for seed in seeds.clone() {
            let look = |what: &str| (what.to_owned(), say(&dir, "victim.run"));
            let Some((what, said)) = victim.damage(seed, look) else {
                continue;
            };
            cases += 1;
            match said {
                Err(fault) => faults.push(format!("{kind}: {what}: {fault}")),
                Ok(None) => announced += 1,
                Ok(Some(after)) => {
                    let is_new = |problem| !before.problems.contains(problem);
                    if after.is_incomplete && !before.is_incomplete
                        || after.problems.iter().any(is_new)
                    {
                        announced += 1;
                    } else if after.facts != before.facts || after.rows != before.rows {
                        faults.push(format!("{kind}: {what}: unseen change"));
                    }
                }
            }
        }
    }
    println!(
        "{cases} cases, {announced} announced, {} faults",
        faults.len()
    );
    assert!(announced > cases / 4, "{announced} of {cases} announced");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_say_what_is_damaged() {
    all_seeds(0..4);
}

/// `cargo test -p trueno-analyze --test e2e -- --ignored --nocapture commands_say_all`
#[test]
#[ignore = "minutes: hundreds of damages, four commands each"]
fn commands_say_all_that_is_damaged() {
    let cases = std::env::var("TRUENO_TEST_DAMAGES").ok();
    all_seeds(4..cases.and_then(|cases| cases.parse().ok()).unwrap_or(300));
}
