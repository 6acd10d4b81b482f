//! End-to-end tests: the built command, real plugins, real recordings.

mod categories;
mod cli;
mod counters;
mod damage;
mod export;
mod exported;
mod forked;
mod harness;
mod hostile;
mod import;
mod killed;
mod nsys_parquet;
mod perfetto;
mod plugins;
mod ranks;
mod recover;
mod report;
mod round_trip;
mod structure;
mod victim;
mod what_if;
