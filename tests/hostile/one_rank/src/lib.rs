//! A plugin over ranks that misbehaves on one of them: option `sin` names how, `rank` where.

use serde::Deserialize;
use trueno_plugin::{Error, Input, Parts, Plugin, Result, Run, Table, export};

struct HostileRank;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    rank: u64,
    /// If `None`, behaves.
    sin: Option<Sin>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sin {
    Crash,
    Loop,
    EatMemory,
    Refuse,
}

impl Plugin for HostileRank {
    const ID: &'static str = "hostile_rank";
    const SUMMARY: &'static str = "Rows of bricks by rank; misbehaves on one rank on request.";
    const INPUTS: &'static [Input] = &[Input::sql("bricks", "SELECT rank, 1 AS n FROM bricks")];
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        count(run, &options, "by_rank")
    }
}

impl Parts for HostileRank {
    const MERGE_INPUTS: &'static [Input] = &[Input::sql(
        "bricks",
        "SELECT rank, n FROM hostile_rank.bricks",
    )];

    fn part(run: &mut Run, options: Options) -> Result<()> {
        count(run, &options, "bricks")
    }

    fn merge(run: &mut Run, _options: Options) -> Result<()> {
        let table = if run.is_final() { "by_rank" } else { "bricks" };
        count(run, &Options::default(), table)
    }
}

fn count(run: &mut Run, options: &Options, table: &str) -> Result<()> {
    let rows = run.table("bricks")?;
    let (rank, n) = (rows.u64("rank")?, rows.i64("n")?);
    let mut counts = std::collections::BTreeMap::new();
    for row in 0..rows.rows() {
        let rank = rank.get(row).unwrap_or(u64::MAX);
        *counts.entry(rank).or_insert(0) += n.get(row).unwrap_or(0);
    }
    if counts.contains_key(&options.rank) {
        options.sin.map_or(Ok(()), commit)?;
    }
    run.emit(
        Table::build(table)
            .u64("rank", counts.keys().copied())
            .i64("n", counts.values().copied()),
    )
}

fn commit(sin: Sin) -> Result<()> {
    match sin {
        Sin::Crash => std::process::abort(),
        Sin::Loop => loop {
            std::hint::spin_loop();
        },
        Sin::EatMemory => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                all.push(vec![1; 1 << 20]);
            }
        }
        Sin::Refuse => Err(Error::failed("it does not like this rank")),
    }
}

export!(HostileRank, parts);
