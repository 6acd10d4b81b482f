//! End-to-end tests: the built command, real plugins, real recordings.

mod categories;
mod check;
mod check_limits;
mod check_plugins;
mod cli;
mod compare;
mod counters;
mod damage;
mod divergence;
mod dot;
mod export;
mod exported;
mod forked;
mod golden;
mod harness;
mod hostile;
mod import;
mod iterations;
mod killed;
mod look;
#[path = "../analyzer/src/graph/made.rs"]
mod made;
mod nsys_parquet;
mod perfetto;
mod plugins;
mod ranks;
mod recover;
mod report;
mod roofline;
mod round_trip;
mod structure;
mod terminal;
mod victim;
mod what_if;
