//! End-to-end tests: the built command, real plugins, real recordings.

mod bottlenecks;
mod categories;
mod check;
mod check_limits;
mod check_plugins;
mod cli;
mod compare;
#[path = "../plugins/bottleneck/corpus/mod.rs"]
mod corpus;
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
mod html;
mod import;
mod isolate;
mod iterations;
mod killed;
mod look;
#[path = "../analyzer/src/graph/made.rs"]
mod made;
mod newcomer;
mod nsys_parquet;
mod outputs;
mod perfetto;
mod plugins;
mod ranks;
mod recover;
mod report;
mod roofline;
mod round_trip;
mod rules;
mod terminal;
mod victim;
mod what_if;
