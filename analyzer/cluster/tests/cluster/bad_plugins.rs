//! Plugins that misbehave on one rank: the report says of it what a report of one process says.

use std::path::PathBuf;

use serde_json::Value;

use crate::engine_processes::Processes;
use crate::workplace::{Workplace, ends, same};

const RANK: usize = 2;

fn library(workplace: &Workplace) -> PathBuf {
    let file = workplace
        .analyze
        .with_file_name("libhostile_rank_plugin.so");
    assert!(
        file.is_file(),
        "{} is not there (hint: cargo build --workspace makes it)",
        file.display()
    );
    file
}

fn section(report: &str) -> Value {
    let report: Value = serde_json::from_str(report).expect("a report");
    let sections = report["sections"].as_array().expect("sections").iter();
    let mut found = sections.filter(|section| section["plugin"] == "hostile_rank");
    found.next().expect("its section").clone()
}

#[test]
fn a_plugin_that_misbehaves_on_a_rank_costs_its_section_there() {
    let workplace = Workplace::new();
    let job = workplace.job(4);
    let library = library(&workplace);
    let library = library.to_str().expect("a path in UTF-8");
    let cluster = Processes::of_three(&workplace);
    let report = |sin: &str, engine: Option<&str>| {
        let rank = format!("hostile_rank.rank={RANK}");
        let sin_is = format!("hostile_rank.sin={sin}");
        let args = [
            "--plugin",
            library,
            "--set",
            &rank,
            "--set",
            &sin_is,
            "--isolate",
            "--plugin-timeout",
            "3s",
            "--plugin-memory",
            "1G",
            "--plugin-id",
            "hostile_rank,category,lateness",
        ];
        match engine {
            Some(parts) => workplace.report_by(&job, &cluster.url, parts, &args),
            None => workplace.report(&job, &args),
        }
    };
    for (number, sin) in ["crash", "loop", "eat_memory", "refuse", "null"]
        .into_iter()
        .enumerate()
    {
        let local = ends(&mut report(sin, None), 0);
        let made = ends(&mut report(sin, Some(&format!("parts{number}"))), 0);
        same(&made.stdout, &local.stdout, sin);
        let found = section(&local.stdout);
        let rows = found["tables"][0]["rows"].as_array().expect("rows");
        let ranks: Vec<u64> = rows
            .iter()
            .map(|row| row[0].as_u64().expect("a rank"))
            .collect();
        let expected: &[u64] = if sin == "null" {
            &[0, 1, 2, 3]
        } else {
            &[0, 1, 3]
        };
        assert_eq!(ranks, expected, "{sin}: {found}");
        // Others have all ranks.
        assert!(local.stdout.contains("\"lateness\""), "{sin}");
        println!(
            "{sin}: {:.2?} here, {:.2?} by the cluster",
            local.took, made.took
        );
    }
    cluster.until_idle();
}
